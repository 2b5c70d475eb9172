"""Distributions of transformed outcomes: improvement against quadrature, everything else through the transform."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from calibo.distributions import (
    Composed,
    Distribution,
    FlatSet,
    Gaussian,
    HalfRank,
    Levels,
    LowerTailPower,
    QuantileTable,
    Relevelled,
    Stretched,
    StretchedScores,
    Tempered,
    Transformed,
    YeoJohnson,
    relevel,
)
from calibo.testing import DistributionSuite

#: Almost a logarithm below -1: the long lower tail of a function that is maximized.
LOWER = LowerTailPower(0.2, -1.0, 2.0, -60.0)
MEAN, STD = np.array([-1.0, 0.3, 1.5]), np.array([0.8, 0.3, 0.5])


def gaussian(*batch: int) -> Gaussian:
    return Gaussian(np.broadcast_to(MEAN, (*batch, 3)), np.broadcast_to(STD, (*batch, 3)))


class TestLongLowerTail(DistributionSuite):
    #: The mean is an integral over levels of a function with kinks.
    tolerance = 2e-5

    def distribution(self, *batch: int) -> Transformed:
        return Transformed(gaussian(*batch), LOWER)


class TestCalibratedAndTransformed(DistributionSuite):
    tolerance = 5e-4

    def distribution(self, *batch: int) -> Transformed:
        levels = StretchedScores(np.array([0.5, 1.5]), np.array([0.4, 2.0]))
        return Transformed(Stretched(gaussian(*batch), levels), LOWER)


#: Ranks of four bad outcomes.
RANKS = HalfRank(-1.0, 2.0, np.array([-9.0, -5.0, -4.0, -2.5, -1.0]), np.array([-1.6, -1.0, -0.6, -0.3, 0.0]))


class TestHalfRanked(DistributionSuite):
    #: The mean is an integral over levels of a function with kinks.
    tolerance = 2e-3

    def distribution(self, *batch: int) -> Transformed:
        return Transformed(gaussian(*batch), RANKS)


class TestBothTails(DistributionSuite):
    #: The mean is an integral over levels of a function with kinks.
    tolerance = 2e-5

    def distribution(self, *batch: int) -> Transformed:
        return Transformed(gaussian(*batch), YeoJohnson(1.6, -1.0, 2.0, -60.0, 9.0))


@settings(max_examples=100)
@given(
    power=st.sampled_from([0.0, 0.3, 1.0, 1.6, 2.0]),
    mean=st.floats(-3.5, 2.5),
    std=st.sampled_from([0.01, 0.05, 0.3, 1.5]),
    place=st.floats(-1.3, 0.5),
)
def test_improvement_under_powers_of_both_tails_equals_quadrature(
    power: float, mean: float, std: float, place: float
) -> None:
    """Below, inside and above the curved part, of the lower tail or of the upper one: to 1 in 100."""
    transform, c = YeoJohnson(power, 1.0, 0.5, -16.0, 4.0), 1.0 + 17.0 * place
    distribution = Transformed(Gaussian(np.array([mean]), np.array([std])), transform)
    reference = brute_force(distribution, c)
    if reference > 1e-250:
        assert float(distribution.log_expected_improvement(c)[0]) == pytest.approx(np.log(reference), abs=1e-2)


@given(c=st.floats(-70.0, 6.0), mean=st.floats(-3.0, 3.0), std=st.floats(0.02, 2.0))
@settings(max_examples=60)
def test_improvement_under_ranks_is_exact(c: float, mean: float, std: float) -> None:
    """Against the integral of P(Y > y) over each linear piece."""
    predicted = Transformed(Gaussian(np.array([mean]), np.array([std])), RANKS)
    edges = [c, *(k for k in RANKS.values if k > c), max(float(RANKS.inverse(mean + 12.0 * std)), c + 1.0)]
    tail = lambda y: float(predicted.probability_of_improvement(y)[0])
    exact = sum(
        quad(tail, low, high, epsabs=0.0, epsrel=1e-10, limit=200)[0] for low, high in itertools.pairwise(edges)
    )
    if exact > 1e-12:
        np.testing.assert_allclose(predicted.expected_improvement(c)[0], exact, rtol=2e-6)


def brute_force(distribution: Transformed, c: float) -> float:
    """E (Y - c)+ by quadrature over the transformed outcome, a Gaussian at one point."""
    base, transform = distribution.base, distribution.transform
    assert isinstance(base, Gaussian)
    mean, std = float(base.mean[0]), float(base.std[0])
    start = max(float(transform.forward(c)), mean - 12.0 * std)
    kinks = [float(transform.forward(k)) for k in (*transform.kinks, transform.linear_above)]
    edges = np.unique([start, start + 0.3 * std, start + 2.0 * std, *kinks, max(start, mean) + 12.0 * std])
    edges = edges[(edges >= start) & (edges <= max(start, mean) + 12.0 * std)]
    density = lambda w: float(np.exp(-0.5 * ((w - mean) / std) ** 2)) / (std * np.sqrt(2.0 * np.pi))
    value = lambda w: (float(transform.inverse(w)) - c) * density(w)
    return sum(quad(value, a, b, epsabs=0.0, epsrel=1e-10)[0] for a, b in itertools.pairwise(edges))


@settings(max_examples=150)
@given(
    power=st.sampled_from([0.0, 0.3, 0.7, 1.0]),
    mean=st.floats(-3.5, 2.5),
    std=st.sampled_from([0.01, 0.05, 0.3, 1.5]),
    place=st.floats(-1.3, 0.3),
)
def test_improvement_equals_quadrature_below_and_above_the_linear_part(
    power: float, mean: float, std: float, place: float
) -> None:
    """However narrow the distribution is beside the curved part, and in the tail: to 3 in 1000."""
    transform, c = LowerTailPower(power, 1.0, 0.5, -16.0), 1.0 + 17.0 * place
    distribution = Transformed(Gaussian(np.array([mean]), np.array([std])), transform)
    reference = brute_force(distribution, c)
    if reference > 1e-250:
        assert float(distribution.log_expected_improvement(c)[0]) == pytest.approx(np.log(reference), abs=3e-3)


@given(mean=st.floats(-3.0, 3.0), std=st.floats(0.01, 2.0), above=st.floats(0.0, 50.0))
def test_improvement_is_exact_where_it_is_linear(mean: float, std: float, above: float) -> None:
    gaussian, c = Gaussian(np.array([mean]), np.array([std])), LOWER.location + above
    found = Transformed(gaussian, LOWER).log_expected_improvement(c)
    np.testing.assert_allclose(
        found, gaussian.log_expected_improvement(above / 2.0) + np.log(2.0), rtol=1e-12, atol=1e-12
    )


def test_improvement_over_an_incumbent_for_each_point() -> None:
    distribution = Transformed(gaussian(4), LOWER)
    c = np.linspace(-80.0, 30.0, 12).reshape(4, 3)
    found = distribution.log_expected_improvement(c)
    for i, j in np.ndindex(4, 3):
        single = Transformed(Gaussian(MEAN[[j]], STD[[j]]), LOWER)
        assert found[i, j] == pytest.approx(float(single.log_expected_improvement(c[i, j])[0]), rel=1e-9)


def test_log_improvement_is_continuous_and_falls() -> None:
    distribution = Transformed(Gaussian(np.array([-1.0]), np.array([0.3])), LOWER)
    values = distribution.log_expected_improvement(np.linspace(-120.0, 400.0, 4001))
    assert np.isfinite(values).all() and (np.diff(values) < 0.0).all()
    for edge in (LOWER.low, LOWER.location):
        below, above = distribution.log_expected_improvement(np.array([edge - 1e-9, edge + 1e-9]))
        assert above == pytest.approx(below, abs=1e-6)


def test_everything_else_goes_through_the_transform() -> None:
    inside = gaussian()
    outside = Transformed(inside, LOWER)
    y = LOWER.inverse(inside.icdf(0.2))
    np.testing.assert_allclose(outside.icdf(0.2), y)
    np.testing.assert_allclose(outside.probability_of_improvement(y), 0.8)
    np.testing.assert_allclose(outside.normal_scores(y - 1e5), inside.normal_scores(LOWER.forward(y - 1e5)))
    base = np.random.default_rng(0).standard_normal((6, 3))
    np.testing.assert_allclose(outside.draws(base), LOWER.inverse(inside.draws(base)))
    assert outside.copula_samples(base) is base


def test_joint_draws_keep_the_dependence() -> None:
    near = lambda: np.array([[1.0, 0.99, 0.0], [0.99, 1.0, 0.0], [0.0, 0.0, 1.0]])
    joint = Transformed(Gaussian(MEAN, STD, near), LOWER)
    draws = joint.draws(np.random.default_rng(0).standard_normal((4000, 3)))
    ranks = np.argsort(np.argsort(draws, axis=0), axis=0)
    correlation = np.corrcoef(ranks.T)
    assert correlation[0, 1] > 0.97 and abs(correlation[0, 2]) < 0.06


def test_levels_without_data_stay_without() -> None:
    table = QuantileTable(np.array([0.1, 0.5, 0.9]), np.array([[-1.0, 0.0, 1.0]]))
    limited = relevel(table, Levels(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.5, 1.0]), (0.2, 0.8)))
    outside = Transformed(limited, LOWER)
    assert outside.backed == (0.2, 0.8)
    assert np.isinf(outside.icdf(0.05)).all() and np.isfinite(outside.at_levels(0.05)).all()
    assert np.isinf(outside.negated().icdf(0.95)).all()


def test_a_measurement_of_a_latent_value_has_the_noise_inside() -> None:
    latent = Transformed(Gaussian(MEAN, STD, noise_std=0.4), LOWER)
    measured = latent.measurement
    assert isinstance(measured, Transformed) and isinstance(measured.base, Gaussian)
    np.testing.assert_allclose(measured.base.std, np.hypot(STD, 0.4))
    assert measured.measurement is measured


def test_it_is_pickled() -> None:
    distribution = Transformed(gaussian(), LOWER)
    _ = distribution.mean
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(distribution)).icdf(0.3), distribution.icdf(0.3))


# --- levels of transformed outcomes (relevelling) ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("levels", "kind"),
    [
        (Tempered(np.array([0.5, 1.0, 3.0])), Gaussian),
        (StretchedScores(np.array([1.0]), np.array([2.0])), Stretched),
        (Levels(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.3, 1.0])), Relevelled),
    ],
)
def test_a_transform_leaves_levels_as_they_are(levels: object, kind: type[Distribution]) -> None:
    """Mapping the levels of transformed outcomes is mapping those inside, in the form with the best closed forms."""
    distribution = Transformed(gaussian(), LOWER)
    found, direct = relevel(distribution, levels), Composed(distribution, levels)  # type: ignore[arg-type]
    assert isinstance(found, Transformed) and isinstance(found.base, kind)
    for u in (0.02, 0.4, 0.5, 0.97):
        np.testing.assert_allclose(found.icdf(u), direct.icdf(u), rtol=1e-9, atol=1e-9)


def mean_by_cells(distribution: Transformed) -> np.ndarray:
    """E Y by the probabilities of many small cells of W, q."""
    base = distribution.base
    reach = 14.0 * np.hypot(base.std, np.max(STD))
    grid = base.mean + reach * np.linspace(-1.0, 1.0, 20_001)[:, None]
    below = base.over_samples().cdf(grid)
    y = distribution.transform.inverse(grid)
    return (0.5 * (y[1:] + y[:-1]) * np.diff(below, axis=0)).sum(axis=0) / (below[-1] - below[0])


@pytest.mark.parametrize(
    ("power", "noise", "threshold"),
    # Any two of them in all combinations.
    [
        (power, noise, (0.02, 0.3, 0.95)[(i + k) % 3])
        for i, power in enumerate((0.0, 0.2, 0.9))
        for k, noise in enumerate((1e-3, 0.1, 1.0))
    ],
)
def test_the_mean_without_quick_quantiles_is_that_of_many_cells(power: float, noise: float, threshold: float) -> None:
    flat = FlatSet.central(
        Gaussian(np.array([-4.0, -0.5, 0.2, 6.0]), np.array([2.0, 0.1, 1.0, 0.5]), noise_std=noise),
        np.full(4, threshold),
        0.2,
    )
    distribution = Transformed(flat, LowerTailPower(power, 1.0, 1.5, -12.0))
    assert not distribution.quantiles_are_quick
    assert (np.abs(distribution.mean - mean_by_cells(distribution)) < 2e-4 * distribution.std).all()
    np.testing.assert_allclose(distribution.negated().mean, -distribution.mean, rtol=1e-10)
    np.testing.assert_allclose(distribution.over_samples().mean[0], distribution.mean, rtol=1e-12)


def test_the_mean_by_shortfalls_of_a_gaussian_is_that_of_many_cells() -> None:
    distribution = Transformed(gaussian(), LOWER)
    np.testing.assert_allclose(distribution._mean_by_shortfall(), mean_by_cells(distribution), rtol=1e-6)
    linear = Transformed(Gaussian(MEAN + 30.0, STD), LOWER)
    np.testing.assert_allclose(linear._mean_by_shortfall(), LOWER.inverse(MEAN + 30.0), rtol=1e-12)
