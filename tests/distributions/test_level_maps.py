"""Level maps: what they accept, their inverses, and their moments."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr, ndtri

from calibo.distributions import Composed, FlatLevels, FlatSet, Gaussian, LevelFunction, Levels, Tempered
from calibo.errors import RecipeError

WIDE = Levels(np.array([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]), np.array([0.0, 0.02, 0.15, 0.55, 0.9, 0.97, 1.0]))
FLAT = Levels(np.array([0.0, 0.25, 0.5, 0.75, 1.0]), np.array([0.0, 0.3, 0.3, 0.8, 1.0]))
levels01 = st.floats(0, 1)


@pytest.mark.parametrize(
    "levels",
    [Levels.identity(), WIDE, Tempered(2.0), Tempered(0.3), FlatLevels(np.array(0.3), 0.2)],
    ids=["identity", "wide", "hot", "cold", "flat set"],
)
@given(p=st.floats(1e-3, 1 - 1e-3))
def test_inverse_undoes_forward(levels: LevelFunction, p: float) -> None:
    assert float(levels.inverse(levels.forward(p))) == pytest.approx(p, rel=1e-8)


@pytest.mark.parametrize("levels", [WIDE, FLAT, Tempered(2.0)], ids=["wide", "flat", "hot"])
@given(u=st.lists(levels01, min_size=2, max_size=6))
def test_both_ways_are_monotone(levels: Levels | Tempered, u: list[float]) -> None:
    u = sorted(u)
    assert np.all(np.diff(levels.forward(np.array(u))) >= 0) and np.all(np.diff(levels.inverse(np.array(u))) >= -1e-15)


def test_a_flat_stretch_counts_from_the_right() -> None:
    assert float(FLAT.inverse(0.3)) == pytest.approx(0.5)
    assert float(FLAT.inverse(np.nextafter(0.3, 0))) == pytest.approx(0.25)
    np.testing.assert_array_equal(FLAT.slope[1], 0.0)


@given(levels01)
def test_negated_mirrors(u: float) -> None:
    for levels in (WIDE, FLAT):
        assert float(levels.negated().forward(u)) == pytest.approx(1 - float(levels.forward(1 - u)), abs=1e-12)


def test_temperature_stretches_scores() -> None:
    p = np.array([0.1, 0.5, 0.975])
    np.testing.assert_allclose(ndtri(Tempered(1.5).forward(p)), 1.5 * ndtri(p), atol=1e-12)


def test_a_temperature_for_each_point() -> None:
    factors = np.array([[0.5, 1.0, 2.0], [3.0, 0.1, 1.0]])
    each, p = Tempered(factors), np.array([0.1, 0.5, 0.975])
    for i, j in np.ndindex(2, 3):
        assert each.forward(p)[i, j] == pytest.approx(float(Tempered(factors[i, j]).forward(p[j])))
    np.testing.assert_allclose(each.inverse(each.forward(p)), np.tile(p, (2, 1)), rtol=1e-8)
    levels = p[:, None]
    assert each.over_samples().forward(levels).shape == (2, 3, 3)
    np.testing.assert_array_equal(each.over_samples().forward(levels)[:, 1], each.forward(0.5))
    assert Tempered(2.0).over_samples().factor == 2.0


@pytest.mark.parametrize("levels", [WIDE, FLAT, Levels.identity()], ids=["wide", "flat", "identity"])
def test_moments_against_quadrature(levels: Levels) -> None:
    def integral(f, a: float, b: float) -> float:  # type: ignore[no-untyped-def]
        # In the normal score of the calibrated level the ends are tame.
        return quad(
            lambda s: f(float(levels.forward(ndtr(s)))) * np.exp(-s * s / 2) / np.sqrt(2 * np.pi), a, b, limit=200
        )[0]

    cuts = np.clip(ndtri(levels.p), -8.0, 8.0)
    first = [integral(ndtri, a, b) for a, b in itertools.pairwise(cuts)]
    second = [integral(lambda r: ndtri(r) ** 2, a, b) for a, b in itertools.pairwise(cuts)]
    above = np.concatenate([np.cumsum(first[::-1])[::-1], [0.0]])
    np.testing.assert_allclose(levels.first_moment_above, above, atol=1e-8)
    assert float(levels.second_moment) == pytest.approx(sum(second), abs=1e-7)


@pytest.mark.parametrize(
    ("p", "r", "words"),
    [
        ([0, 1], [0, 0.5, 1], "K >= 2"),
        ([0, 0.5, 1], [[0.1, 0.5, 1]], "start at"),
        ([0, 0.5, 0.5, 1], [0, 0.2, 0.3, 1], "strictly increasing p"),
        ([0, 0.4, 1], [0, np.nan, 1], "non-decreasing r"),
    ],
)
def test_wrong_level_maps_are_refused(p: list[float], r: list[float], words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        Levels(np.array(p, dtype=float), np.array(r, dtype=float))


@given(st.lists(st.floats(-12, 12), min_size=1, max_size=8), st.floats(1e-4, 0.4))
def test_clipping_makes_any_monotone_values_a_level_map(values: list[float], smallest: float) -> None:
    p = np.linspace(0, 1, len(values) + 2)[1:-1]
    levels = Levels.clipped(p, np.sort(values), smallest)
    assert levels.r[0] == 0 and levels.r[-1] == 1
    assert np.all((levels.r[1:-1] >= smallest) & (levels.r[1:-1] <= 1 - smallest))
    assert np.isfinite([levels.first_moment_above[0], levels.second_moment]).all()
    np.testing.assert_array_equal(Levels.clipped(p, np.sort(values)[None], smallest).r[0], levels.r)


def test_steps_of_rounding_size_are_flat_and_the_last_knot_stays_at_one() -> None:
    levels = Levels(np.linspace(0, 1, 6), np.array([0.0, 0.3, 0.3 + 1e-14, 0.6, 1 - 1e-14, 1.0]))
    np.testing.assert_array_equal(levels.r[[1, 2, 3, 5]], [0.3, 0.3, 0.6, 1.0])
    assert levels.slope[1] == 0.0 and np.isfinite(levels.first_moment_above).all()


def test_an_atom_at_the_top_belongs_to_the_last_real_segment() -> None:
    for r in (np.array([0.0, 0.5, 1.0, 1.0]), np.array([[0.0, 0.5, 1.0, 1.0], [0.0, 0.2, 0.5, 1.0]])):
        levels = Levels(np.array([0.0, 0.3, 0.8, 1.0]), r)
        np.testing.assert_array_equal(np.ravel(levels.segment(np.array(1.0)))[0], 1)
        np.testing.assert_allclose(np.ravel(levels.inverse(1.0))[0], 0.8)


# --- LOCBO's map ------------------------------------------------------------------------------------------------------


@given(threshold=st.floats(1e-3, 1.0), alpha=st.floats(0.02, 0.95), u=st.floats(1e-4, 1 - 1e-4))
def test_flat_levels_of_a_gaussian_are_the_flat_set(threshold: float, alpha: float, u: float) -> None:
    one = Gaussian(np.array([0.7]), np.array([2.0]))
    by_levels = Composed(one, FlatLevels(np.array([threshold]), alpha))
    flat = FlatSet.central(one, np.array([threshold]), alpha)
    np.testing.assert_allclose(by_levels.icdf(u), flat.icdf(u), rtol=1e-6, atol=1e-6)
    y = one.icdf(u)
    if threshold < 0.999:
        np.testing.assert_allclose(by_levels.cdf(y), flat.cdf(y), atol=1e-7)


def test_flat_levels_put_the_right_mass_inside() -> None:
    levels = FlatLevels(np.array([0.05, 0.4, 1.0]), 0.2)
    np.testing.assert_allclose(levels.forward(0.1), levels.threshold / 2)
    np.testing.assert_allclose(levels.forward(0.9), 1 - levels.threshold / 2)
    np.testing.assert_allclose(levels.forward(0.5), 0.5)
    # With nothing left to be flat on, the middle is an atom at the median.
    np.testing.assert_allclose(levels.forward(np.array([0.3]))[2], 0.5)
    np.testing.assert_allclose(levels.inverse(0.5)[2], 0.9)
    np.testing.assert_allclose(levels.inverse(0.5 - 1e-12)[2], 0.1)


@pytest.mark.parametrize(("threshold", "alpha"), [(0.0, 0.2), (0.5, 1.0)])
def test_wrong_flat_levels_are_refused(threshold: float, alpha: float) -> None:
    with pytest.raises(RecipeError):
        FlatLevels(np.array([threshold]), alpha)


def test_one_map_after_another_keeps_their_order() -> None:
    outer = Levels(np.array([0.0, 0.3, 1.0]), np.array([0.0, 0.7, 1.0]))
    inner = Levels(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.1, 1.0]))
    p = np.linspace(0.0, 1.0, 23)
    np.testing.assert_allclose(outer.after(inner).forward(p), outer.forward(inner.forward(p)), atol=1e-12)
    assert np.abs(outer.after(inner).forward(p) - inner.after(outer).forward(p)).max() > 0.1
