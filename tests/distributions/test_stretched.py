"""Stretched normal scores: closed forms against quadrature on any stretch, the far tail, batches and draws."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr

from calibo.distributions import Composed, Gaussian, Stretched, StretchedScores, relevel
from calibo.errors import RecipeError
from calibo.testing import DistributionSuite

KNOTS = np.array([0.3, 1.0, 2.0])
#: One stretch for each of three points: narrower with heavy tails, wider with light ones, and none.
VALUES = np.array([[0.1, 0.6, 3.0], [1.5, 2.0, 2.2], KNOTS])
MEAN, STD = np.array([0.0, -3.0, 50.0]), np.array([1.0, 0.2, 7.0])


class TestStretched(DistributionSuite):
    def distribution(self, *batch: int) -> Stretched:
        base = Gaussian(np.broadcast_to(MEAN, (*batch, 3)), np.broadcast_to(STD, (*batch, 3)))
        return Stretched(
            base, StretchedScores(KNOTS, np.broadcast_to(VALUES, (*batch, 3, 3)), np.array([0.4, 0.0, -1.3]))
        )


class TestOneStretchForAllPoints(DistributionSuite):
    def distribution(self, *batch: int) -> Stretched:
        base = Gaussian(np.broadcast_to(MEAN, (*batch, 3)), np.broadcast_to(STD, (*batch, 3)))
        return Stretched(base, StretchedScores(KNOTS, VALUES[0]))


@st.composite
def stretches(draw: st.DrawFn) -> StretchedScores:
    """Any stretch with one to five knots, slopes over four orders of magnitude, moved or not."""
    size = draw(st.integers(1, 5))
    steps, slopes = (
        draw(st.lists(st.floats(*ends), min_size=size, max_size=size)) for ends in ((0.1, 1.0), (-4.6, 4.6))
    )
    shift = draw(st.one_of(st.just(0.0), st.floats(-3.0, 3.0)))
    return StretchedScores(np.cumsum(steps), np.cumsum(np.array(steps) * np.exp(slopes)), shift)


def at(levels: StretchedScores, mean: float = 0.7, std: float = 2.5) -> Stretched:
    return Stretched(Gaussian(np.array([mean]), np.array([std])), levels)


def brute_force(levels: StretchedScores, f: object, *cuts: float) -> float:
    """E f(T(Z)) by quadrature over normal scores, cut where T or f has a kink."""
    edges = np.unique(np.clip([-10.0, 10.0, 0.0, *levels.knots, *-levels.knots, *cuts], -10.0, 10.0))
    weighted = lambda z: f(float(levels.stretch(z))) * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)  # type: ignore[operator]
    return sum(quad(weighted, a, b, epsabs=1e-13, epsrel=1e-11)[0] for a, b in itertools.pairwise(edges))


@settings(max_examples=60)
@given(levels=stretches(), level=st.floats(-4.0, 4.0))
def test_closed_forms_equal_quadrature(levels: StretchedScores, level: float) -> None:
    distribution, h = at(levels), float(levels.stretch(level))
    improvement = 2.5 * brute_force(levels, lambda t: max(t - h, 0.0), level)
    assert float(distribution.expected_improvement(0.7 + 2.5 * h)[0]) == pytest.approx(improvement, rel=1e-7, abs=1e-10)
    variance = brute_force(levels, lambda t: np.square(t - levels.shift))
    assert float(distribution.std[0]) == pytest.approx(2.5 * np.sqrt(variance), rel=1e-8)
    assert float(distribution.mean[0]) == pytest.approx(0.7 + 2.5 * float(levels.shift))


@given(levels=stretches(), zeta=st.floats(-30.0, 30.0))
def test_compressing_undoes_stretching(levels: StretchedScores, zeta: float) -> None:
    assert float(levels.compress(levels.stretch(zeta))) == pytest.approx(zeta, rel=1e-9, abs=1e-9)
    assert float(levels.stretch(-zeta)) == -float(levels.negated().stretch(zeta))
    assert float(levels.stretch(0.0)) == levels.shift


@given(levels=stretches(), coverages=st.lists(st.floats(0.01, 0.999), min_size=2, max_size=6, unique=True))
def test_intervals_are_nested_around_the_median(levels: StretchedScores, coverages: list[float]) -> None:
    distribution = at(levels)
    ends = np.array([distribution.interval(c) for c in sorted(coverages)])[..., 0]
    assert (np.diff(ends[:, 0]) < 0.0).all() and (np.diff(ends[:, 1]) > 0.0).all()
    assert (ends[:, 0] < distribution.median).all() and (distribution.median < ends[:, 1]).all()


def test_linear_scores_are_a_scaled_gaussian() -> None:
    gaussian = Gaussian(MEAN, STD)
    wide, scaled = Stretched(gaussian, StretchedScores(KNOTS, 3.0 * KNOTS)), gaussian.scaled(3.0)
    np.testing.assert_allclose(wide.std, scaled.std, rtol=1e-12)
    for c in (-2.0, 0.0, 4.0, 300.0):
        np.testing.assert_allclose(wide.log_expected_improvement(c), scaled.log_expected_improvement(c), rtol=1e-9)
        np.testing.assert_allclose(
            wide.log_probability_of_improvement(c), scaled.log_probability_of_improvement(c), rtol=1e-12
        )


def test_log_improvement_goes_on_falling_far_out() -> None:
    """Where the improvement itself is no float: the tail's slope, and no floor that hides which candidate is better."""
    levels = StretchedScores(KNOTS, np.array([0.1, 0.6, 3.0]))
    far = np.array([60.0, 200.0, 3e3])
    zeta = levels.compress(far)
    tail = at(levels, 0.0, 1.0).log_expected_improvement(far)
    np.testing.assert_allclose(tail, np.log(2.4) - 0.5 * zeta**2 - np.log(zeta**2) - 0.919, rtol=1e-2)
    assert tail[-1] < -1e5


def test_other_distributions_are_stretched_in_their_normal_scores() -> None:
    levels = StretchedScores(KNOTS, VALUES, np.array([0.0, 0.5, -1.0]))
    gaussian = Gaussian(MEAN, STD)
    direct, composed = relevel(gaussian, levels), Composed(gaussian, levels)
    assert isinstance(direct, Stretched)
    for u in (0.01, 0.3, 0.5, 0.95):
        np.testing.assert_allclose(composed.icdf(u), direct.icdf(u), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(composed.cdf(direct.icdf(u)), u, rtol=1e-9)
    again = relevel(direct, levels)
    np.testing.assert_allclose(ndtr(again.normal_scores(again.icdf(0.9))), 0.9, rtol=1e-9)


def test_latent_values_know_their_measurement() -> None:
    latent = Stretched(Gaussian(MEAN, STD, noise_std=0.5), StretchedScores(KNOTS, VALUES))
    np.testing.assert_allclose(latent.measurement.base.std, np.hypot(STD, 0.5))  # type: ignore[attr-defined]
    measured = Stretched(Gaussian(MEAN, STD), StretchedScores(KNOTS, VALUES))
    assert measured.measurement is measured


def test_dependence_between_points_is_kept() -> None:
    near = lambda: np.array([[1.0, 0.99, 0.0], [0.99, 1.0, 0.0], [0.0, 0.0, 1.0]])
    joint = Stretched(Gaussian(MEAN, STD, near), StretchedScores(KNOTS, VALUES))
    draws = joint.draws(np.random.default_rng(0).standard_normal((4000, 3)))
    correlation = np.corrcoef(np.argsort(np.argsort(draws, axis=0), axis=0).T)
    assert correlation[0, 1] > 0.97 and abs(correlation[0, 2]) < 0.06


def test_it_is_pickled_with_what_was_computed() -> None:
    distribution = TestStretched().distribution()
    _ = distribution.std
    again = pickle.loads(pickle.dumps(distribution))
    np.testing.assert_array_equal(again.std, distribution.std)


@pytest.mark.parametrize("values", [[0.0, 1.0, 2.0], [1.0, 1.0, 2.0], [-1.0, 1.0, 2.0], [1.0, np.nan, 2.0]])
def test_scores_that_do_not_increase_are_refused(values: list[float]) -> None:
    with pytest.raises(RecipeError, match="increase from knot to knot"):
        StretchedScores(KNOTS, np.array(values))


def test_a_shift_that_is_no_number_is_refused() -> None:
    with pytest.raises(RecipeError, match="shift of stretched scores must be finite, got nan"):
        StretchedScores(KNOTS, KNOTS, np.nan)
