"""Scoring rules: closed forms against quadrature, and propriety."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtri
from scipy.stats import norm

from calibo.data import STORED_LEVELS, Marginal
from calibo.diagnostics import crps, interval_score, log_score, pinball_loss, sharpness
from calibo.distributions import from_marginals
from calibo.errors import RecipeError

Z = ndtri(np.asarray(STORED_LEVELS))
STEPS = len(STORED_LEVELS) - 1

outcomes = st.floats(-30, 30)
gaussians = st.builds(Marginal, st.floats(-10, 10), st.floats(0.05, 10))
#: Stored distributions of every shape: increasing quantiles with steps that may also vanish, so that there are atoms.
tables = st.builds(
    lambda start, steps: Marginal(start, 1.0, tuple(np.cumsum([start, *steps]).tolist())),
    st.floats(-10, 5),
    st.lists(st.one_of(st.just(0.0), st.floats(0.01, 2)), min_size=STEPS, max_size=STEPS),
)


def gaussian_table(mean: float, std: float) -> Marginal:
    return Marginal(mean, std, tuple((mean + std * Z).tolist()))


def crps_by_pinball(distribution: Marginal, y: float) -> float:
    """Twice the integral of the pinball loss over all levels, in the normal score so that the tails are resolved."""
    stored = from_marginals([distribution])
    # The integrand has kinks at the knots, and where the quantile function meets the outcome: found by bisection.
    low, high = -8.2, 8.2
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stored.icdf(norm.cdf(middle))[0] < y else (low, middle)
    edges = np.unique([-8.2, *Z, low, 8.2])
    nodes, weights = np.polynomial.legendre.leggauss(30)
    half = 0.5 * np.diff(edges)[:, None]
    z = 0.5 * (edges[1:] + edges[:-1])[:, None] + half * nodes
    level = norm.cdf(z)
    q = stored.over_samples().at_levels(level.reshape(-1, 1)).reshape(z.shape)
    return float((half * weights * 2.0 * (level - (y < q)) * (y - q) * norm.pdf(z)).sum())


@given(gaussians, outcomes)
@settings(max_examples=25)
def test_gaussian_crps_is_the_integral_of_the_squared_error(distribution: Marginal, y: float) -> None:
    span = 12 * distribution.std
    low, high = min(y, distribution.mean - span), max(y, distribution.mean + span)
    left = quad(lambda t: distribution.cdf(t) ** 2, low, y, points=[distribution.mean], limit=200)[0]
    right = quad(lambda t: (1 - distribution.cdf(t)) ** 2, y, high, points=[distribution.mean], limit=200)[0]
    assert crps([distribution], [y])[0] == pytest.approx(left + right, rel=1e-6, abs=1e-7)


@given(tables, outcomes)
@settings(max_examples=15)
def test_stored_crps_is_the_integral_of_the_pinball_loss(distribution: Marginal, y: float) -> None:
    assert crps([distribution], [y])[0] == pytest.approx(crps_by_pinball(distribution, y), rel=1e-6, abs=1e-6)


@given(st.floats(-10, 10), st.floats(0.05, 10), st.floats(-200, 200))
def test_a_stored_gaussian_scores_as_the_gaussian(mean: float, std: float, y: float) -> None:
    exact, table = Marginal(mean, std), gaussian_table(mean, std)
    assert crps([table], [y])[0] == pytest.approx(crps([exact], [y])[0], rel=1e-9, abs=1e-12)
    assert log_score([table], [y])[0] == pytest.approx(log_score([exact], [y])[0], rel=1e-6)


@given(st.floats(-10, 10), outcomes)
def test_crps_of_a_point_mass_is_the_absolute_error(at: float, y: float) -> None:
    certain = [Marginal(at, 0.0), Marginal(at, 0.0, (at,) * (STEPS + 1))]
    np.testing.assert_allclose(crps(certain, [y, y]), abs(y - at), atol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("y", [-1e300, 1e300])
def test_crps_of_an_outcome_far_beyond_a_sharp_forecast_is_the_distance(y: float) -> None:
    sharp = Marginal(0.0, 1e-12)
    stored = [Marginal(0.0, 1e-12, tuple(sharp.std * Z)), Marginal(0.0, 0.0, (0.0,) * 33)]
    assert np.array_equal(crps([sharp, *stored], [y] * 3), [1e300] * 3)
    near = [sign * 50 * sharp.std for sign in (-1.0, 1.0)]
    assert np.allclose(crps([stored[0]] * 2, near), crps([sharp] * 2, near), rtol=1e-12, atol=0.0)


@given(gaussians, outcomes, st.floats(0.01, 0.99))
def test_interval_score_is_two_pinball_losses(distribution: Marginal, y: float, level: float) -> None:
    tail = (1 - level) / 2
    pinballs = pinball_loss([distribution], [y], tail)[0] + pinball_loss([distribution], [y], 1 - tail)[0]
    assert interval_score([distribution], [y], level)[0] == pytest.approx(
        2 / (1 - level) * pinballs, rel=1e-9, abs=1e-9
    )


def test_pinball_loss_by_hand() -> None:
    distribution = Marginal(1.0, 2.0)
    assert pinball_loss([distribution] * 2, [3.0, -1.0], 0.5).tolist() == [1.0, 1.0]
    q = distribution.icdf(0.9)
    np.testing.assert_allclose(pinball_loss([distribution] * 2, [q + 1, q - 1], 0.9), [0.9, 0.1])


@given(gaussians, outcomes)
def test_log_score_is_minus_the_log_density(distribution: Marginal, y: float) -> None:
    assert log_score([distribution], [y])[0] == pytest.approx(
        -norm.logpdf(y, distribution.mean, distribution.std), rel=1e-9, abs=1e-9
    )


@settings(max_examples=20)
@given(tables, st.floats(0.001, 0.999))
def test_log_score_of_a_stored_distribution_is_the_slope_of_its_quantiles(distribution: Marginal, level: float) -> None:
    step = 1e-6 * min(level, 1 - level)
    y, rise = distribution.icdf(level), distribution.icdf(level + step) - distribution.icdf(level - step)
    steps = np.diff(distribution.quantiles or ())
    i = int(np.searchsorted(STORED_LEVELS, level)) - 1
    near_a_knot = np.min(np.abs(np.asarray(STORED_LEVELS) - level)) <= step
    assume(not near_a_knot and 0 <= i < STEPS and steps[i] > 0)
    assert log_score([distribution], [y])[0] == pytest.approx(np.log(rise / (2 * step)), abs=1e-3)


def test_log_score_on_and_off_an_atom() -> None:
    certain = [Marginal(1.0, 0.0), Marginal(1.0, 0.0, (1.0,) * (STEPS + 1))]
    assert log_score(certain, [1.0, 1.0]).tolist() == [-np.inf, -np.inf]
    assert log_score(certain, [0.0, 2.0]).tolist() == [np.inf, np.inf]


def test_the_right_distribution_scores_best_on_average() -> None:
    y = np.random.default_rng(1).standard_normal(4000)
    for score in (
        crps,
        log_score,
        lambda distributions, y: interval_score(distributions, y, 0.8),
        lambda distributions, y: pinball_loss(distributions, y, 0.9),
    ):
        right, *wrong = (
            float(np.mean(score([Marginal(m, s)] * y.size, y))) for m, s in [(0, 1), (0, 0.5), (0, 2), (0.5, 1)]
        )
        assert all(right < other for other in wrong)


def test_sharpness_is_the_mean_width() -> None:
    distributions = [Marginal(0.0, 1.0), Marginal(5.0, 3.0)]
    assert sharpness(distributions, 0.95) == pytest.approx(2 * 2 * 1.959963984540054)
    assert sharpness([], 0.95) == 0.0 and crps([], []).shape == (0,)


def test_mistakes_are_explained() -> None:
    with pytest.raises(RecipeError, match="level must lie strictly between"):
        pinball_loss([Marginal(0.0, 1.0)], [0.0], 90)
    with pytest.raises(RecipeError, match="coverage must lie strictly between"):
        interval_score([Marginal(0.0, 1.0)], [0.0], 1.0)
