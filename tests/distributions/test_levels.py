"""Level maps: what they accept, their inverses, and their moments."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr, ndtri

from calibo.distributions import Levels, Tempered
from calibo.errors import RecipeError

WIDE = Levels(np.array([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]), np.array([0.0, 0.02, 0.15, 0.55, 0.9, 0.97, 1.0]))
FLAT = Levels(np.array([0.0, 0.25, 0.5, 0.75, 1.0]), np.array([0.0, 0.3, 0.3, 0.8, 1.0]))
levels01 = st.floats(0, 1)


@given(levels01)
def test_the_identity_changes_nothing(u: float) -> None:
    identity = Levels.identity()
    assert float(identity.forward(u)) == pytest.approx(u) and float(identity.inverse(u)) == pytest.approx(u)


@pytest.mark.parametrize("levels", [WIDE, Tempered(2.0), Tempered(0.3)], ids=["wide", "hot", "cold"])
@given(p=st.floats(1e-3, 1 - 1e-3))
def test_inverse_undoes_forward(levels: Levels | Tempered, p: float) -> None:
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


def test_ends_stay_ends() -> None:
    for levels in (WIDE, FLAT):
        np.testing.assert_array_equal(levels.forward(np.array([0.0, 1.0])), [0.0, 1.0])
        np.testing.assert_allclose(levels.inverse(np.array([0.0, 1.0])), [0.0, 1.0], atol=1e-15)


@given(levels01)
def test_negated_mirrors(u: float) -> None:
    for levels in (WIDE, FLAT):
        assert float(levels.negated().forward(u)) == pytest.approx(1 - float(levels.forward(1 - u)), abs=1e-12)


def test_temperature_stretches_scores() -> None:
    p = np.array([0.1, 0.5, 0.975])
    np.testing.assert_allclose(ndtri(Tempered(1.5).forward(p)), 1.5 * ndtri(p), atol=1e-12)
    np.testing.assert_allclose(Tempered(1.5).inverse(Tempered(1.5).forward(p)), p)


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
    assert levels.second_moment == pytest.approx(sum(second), abs=1e-7)
    np.testing.assert_allclose(levels.mass_above, 1 - levels.p)


@pytest.mark.parametrize(
    ("p", "r", "says"),
    [
        ([0, 1], [0, 0.5, 1], "one length"),
        ([0.0], [0.0], "length >= 2"),
        ([0.1, 1], [0, 1], "start at"),
        ([0, 1], [0, 0.9], "end at"),
        ([0, 0.5, 0.5, 1], [0, 0.2, 0.3, 1], "strictly increasing p"),
        ([0, 0.4, 0.5, 1], [0, 0.3, 0.2, 1], "project r first"),
        ([0, 0.4, 1], [0, np.nan, 1], "non-decreasing r"),
    ],
)
def test_what_is_no_level_map_is_refused(p: list[float], r: list[float], says: str) -> None:
    with pytest.raises(RecipeError, match=says):
        Levels(np.array(p, dtype=float), np.array(r, dtype=float))


@given(st.lists(st.floats(-12, 12), min_size=1, max_size=8), st.floats(1e-4, 0.4))
def test_clipping_makes_any_monotone_play_a_level_map(played: list[float], smallest: float) -> None:
    p = np.linspace(0, 1, len(played) + 2)[1:-1]
    levels = Levels.clipped(p, np.sort(played), smallest)
    assert levels.r[0] == 0 and levels.r[-1] == 1
    assert np.all((levels.r[1:-1] >= smallest) & (levels.r[1:-1] <= 1 - smallest))
    assert np.isfinite([levels.first_moment_above[0], levels.second_moment]).all()
