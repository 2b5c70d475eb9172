"""Local level maps: equal to the shared ones where these are the same, the distributions of a predictive, and LOCBO's map."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import ndtr, ndtri

from calibo.calibration.monotone_play import isotonic_rows
from calibo.distributions import (
    Composed,
    Distribution,
    FlatLevels,
    FlatSet,
    Gaussian,
    Levels,
    LocalLevels,
    LocallyRelevelled,
    Relevelled,
    relevel_locally,
)
from calibo.errors import RecipeError
from calibo.testing import DistributionSuite

P = np.array([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0])
WIDE = np.array([0.0, 0.02, 0.15, 0.55, 0.9, 0.97, 1.0])
NARROW = np.array([0.0, 0.2, 0.35, 0.45, 0.6, 0.8, 1.0])
ATOM = np.array([0.0, 0.05, 0.3, 0.3, 0.6, 0.6, 1.0])
BASE = Gaussian(np.array([0.0, -1.0, 4.0]), np.array([1.0, 0.3, 2.5]))


def stretched(distribution: Gaussian, *batch: int) -> Gaussian:
    return Gaussian(np.broadcast_to(distribution.mean, (*batch, 3)), np.broadcast_to(distribution.std, (*batch, 3)))


def locally(rows: list[np.ndarray], *batch: int) -> LocallyRelevelled:
    r = np.stack(rows)
    return LocallyRelevelled(stretched(BASE, *batch), LocalLevels(P, np.broadcast_to(r, (*batch, *r.shape))))


class TestLocallyRelevelled(DistributionSuite):
    def distribution(self, *batch: int) -> Distribution:
        return locally([WIDE, NARROW, P], *batch)


class TestLocallyRelevelledWithAtoms(DistributionSuite):
    atoms = True
    tolerance = 1e-3

    def distribution(self, *batch: int) -> Distribution:
        return locally([WIDE, ATOM, NARROW], *batch)


class TestComposedOfFlatLevels(DistributionSuite):
    """Moments by quadrature over levels whose slope jumps: right to a few thousandths of a standard deviation."""

    tolerance = 5e-3

    def distribution(self, *batch: int) -> Distribution:
        threshold = np.broadcast_to([0.05, 0.2, 0.6], (*batch, 3))
        return Composed(Relevelled(stretched(BASE, *batch), Levels(P, WIDE)), FlatLevels(threshold, 0.2))


# --- against the map that is the same everywhere ----------------------------------------------------------------------


@st.composite
def knots(draw: st.DrawFn) -> np.ndarray:
    """Three monotone maps with flat stretches and dust, 3 x K."""
    steps = draw(arrays(float, (3, P.size - 1), elements=st.sampled_from([0.0, 1e-14, 1e-3, 0.1, 0.5, 1.0])))
    steps[:, [0, -1]] = np.maximum(steps[:, [0, -1]], 1e-3)
    r = np.concatenate([np.zeros((3, 1)), np.cumsum(steps, axis=1)], axis=1)
    r /= r[:, [-1]]
    return r


@given(r=knots(), h=st.floats(-6, 6), u=st.floats(1e-6, 1 - 1e-6))
def test_each_point_is_relevelled_as_if_alone(r: np.ndarray, h: float, u: float) -> None:
    local = LocallyRelevelled(BASE, LocalLevels(P, r))
    c = BASE.mean + h * BASE.std
    for i in range(3):
        alone = Relevelled(Gaussian(BASE.mean[[i]], BASE.std[[i]]), Levels(P, r[i]))
        close = lambda a, b: np.testing.assert_allclose(a, b[0], rtol=1e-7, atol=1e-10)
        close(local.mean[i], alone.mean)
        close(local.std[i], alone.std)
        close(local.icdf(u)[i], alone.icdf(u))
        close(local.expected_improvement(c)[i], alone.expected_improvement(c[[i]]))
        close(local.log_expected_improvement(c)[i], alone.log_expected_improvement(c[[i]]))
        close(local.negated().expected_improvement(-c)[i], alone.negated().expected_improvement(-c[[i]]))
        if not np.isclose(r[i], ndtr(h), atol=1e-9).any():
            close(local.cdf(c)[i], alone.cdf(c[[i]]))
            close(local.pdf(c)[i], alone.pdf(c[[i]]))
            close(local.log_probability_of_improvement(c)[i], alone.log_probability_of_improvement(c[[i]]))


def test_far_out_log_improvement_is_the_gaussians_plus_a_slope() -> None:
    distribution = locally([WIDE, NARROW, P])
    for k in (6.0, 40.0, 1e3):
        c = BASE.mean + k * BASE.std
        gap = distribution.log_expected_improvement(c) - BASE.log_expected_improvement(c)
        np.testing.assert_allclose(gap, np.log([0.1 / 0.03, 0.1 / 0.2, 1.0]), atol=1e-9)


def test_joint_draws_keep_the_copula() -> None:
    correlation = np.array([[1.0, 0.7, 0.0], [0.7, 1.0, 0.0], [0.0, 0.0, 1.0]])
    base = Gaussian(BASE.mean, BASE.std, lambda: correlation)
    distribution = LocallyRelevelled(base, LocalLevels(P, np.stack([WIDE, NARROW, P])))
    draws, _ = distribution.samples(np.random.default_rng(0).standard_normal((40_000, 3)))
    scores = ndtri(distribution.over_samples().cdf(draws))
    np.testing.assert_allclose(np.corrcoef(scores.T), correlation, atol=0.025)  # five standard errors


def test_a_gaussian_gets_closed_forms_and_another_law_is_composed() -> None:
    levels = LocalLevels(P, np.stack([WIDE, NARROW, P]))
    distribution = relevel_locally(BASE, levels)
    assert isinstance(distribution, LocallyRelevelled)
    other = relevel_locally(Relevelled(BASE, Levels.identity()), levels)
    assert isinstance(other, Composed)
    for u in (0.03, 0.4, 0.97):
        np.testing.assert_allclose(other.icdf(u), distribution.icdf(u))
        np.testing.assert_allclose(other.negated().icdf(1 - u), -distribution.icdf(u), rtol=1e-9)
    base = np.random.default_rng(1).standard_normal((5, 3))
    np.testing.assert_allclose(other.samples(base)[0], distribution.samples(base)[0])
    np.testing.assert_allclose(other.negated().samples(base)[0], distribution.negated().samples(base)[0])


def test_played_values_are_clipped_and_given_end_knots() -> None:
    levels = LocalLevels.clipped(np.array([0.2, 0.8]), np.array([[-0.5, 0.4], [0.6, 1.7]]), 1e-3)
    np.testing.assert_allclose(levels.r, [[0.0, 1e-3, 0.4, 1.0], [0.0, 0.6, 0.999, 1.0]])


@pytest.mark.parametrize(
    ("p", "r", "words"),
    [
        ([0.0, 0.5, 1.0], [[0.0, 1.0]], "shape"),
        ([0.0, 0.5, 1.0], [[0.1, 0.5, 1.0]], "end knots"),
        ([0.0, 0.2, 0.5, 1.0], [[0.0, 0.6, 0.5, 1.0]], "project r first"),
        ([0.0, 0.5, 1.0], [[0.0, 1.0, 1.0]], "clip r first"),
    ],
)
def test_wrong_maps_are_refused(p: list[float], r: list[list[float]], words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        LocalLevels(np.array(p), np.array(r))


def test_two_thousand_candidates_take_milliseconds() -> None:
    """A budget of 15 ms is meant; the test allows four times that on a busy machine."""
    rng = np.random.default_rng(0)
    p = np.linspace(0.02, 0.98, 23)
    hidden = p + 0.05 * rng.standard_normal((2048, 23))
    base = Gaussian(rng.standard_normal(2048), rng.uniform(0.5, 2.0, 2048))

    def once() -> float:
        start = time.process_time()
        levels = LocalLevels.clipped(p, isotonic_rows(hidden), 1e-3)
        LocallyRelevelled(base, levels).log_expected_improvement(1.0)
        return time.process_time() - start

    assert min(once() for _ in range(5)) < 0.06


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


@given(threshold=st.floats(1e-3, 0.999), alpha=st.floats(0.02, 0.95), p=st.floats(1e-6, 1 - 1e-6))
def test_flat_levels_invert(threshold: float, alpha: float, p: float) -> None:
    levels = FlatLevels(np.array([threshold]), alpha)
    np.testing.assert_allclose(levels.inverse(levels.forward(p)), p, atol=1e-9)


def test_flat_levels_put_the_right_mass_inside() -> None:
    levels = FlatLevels(np.array([0.05, 0.4, 1.0]), 0.2)
    np.testing.assert_allclose(levels.forward(0.1), levels.threshold / 2)
    np.testing.assert_allclose(levels.forward(0.9), 1 - levels.threshold / 2)
    np.testing.assert_allclose(levels.forward(0.5), 0.5)
    # With nothing left to be flat on, the middle is an atom at the median.
    np.testing.assert_allclose(levels.forward(np.array([0.3]))[2], 0.5)
    np.testing.assert_allclose(levels.inverse(0.5)[2], 0.9)
    np.testing.assert_allclose(levels.inverse(0.5 - 1e-12)[2], 0.1)


@pytest.mark.parametrize(("threshold", "alpha"), [(0.0, 0.2), (1.1, 0.2), (0.5, 0.0), (0.5, 1.0)])
def test_wrong_flat_levels_are_refused(threshold: float, alpha: float) -> None:
    with pytest.raises(RecipeError):
        FlatLevels(np.array([threshold]), alpha)
