"""How far forecasts reach: the scale of the outcomes before each, ranks, and that nothing depends on what comes later."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.calibration import Evidence, OutcomeScale, Similarity
from calibo.calibration.reach import log_spread_before, running_std
from calibo.distributions import Gaussian, LowerTailPower, Stretched, StretchedScores, Transformed
from calibo.errors import RecipeError

outcomes = st.lists(
    st.one_of(st.floats(-5, 5), st.sampled_from([0.0, 1.0, 1e-300, -1e300, 1e300, 1.7e308, -1.7e308, 1e13])),
    min_size=1,
    max_size=25,
).map(np.array)


def forecasts(y: np.ndarray, std: float | np.ndarray = 1.0) -> Evidence:
    return Evidence(np.zeros((len(y), 1)), y, Gaussian(np.zeros(len(y)), np.broadcast_to(std, len(y))))


@given(y=st.lists(st.floats(-1e6, 1e6), max_size=30).map(np.array), factor=st.sampled_from([1.0, 1e-250, 1e250]))
def test_standard_deviations_of_the_first_outcomes(y: np.ndarray, factor: float) -> None:
    expected = [0.0, *(float(np.std(y[: i + 1])) for i in range(len(y)))]
    size = float(np.max(np.abs(y), initial=0.0))
    np.testing.assert_allclose(running_std(factor * y) / factor, expected, rtol=1e-7, atol=1e-9 * size)


def test_a_small_spread_on_a_large_mean_is_not_lost() -> None:
    y = 1e8 + np.array([0.0, 1.0, 2.0, 3.0])
    assert running_std(y)[-1] == pytest.approx(np.std([0.0, 1.0, 2.0, 3.0]), rel=1e-6)
    np.testing.assert_array_equal(running_std(np.full(7, 0.1)), 0.0)


@settings(max_examples=200)
@given(y=outcomes, later=outcomes, cut=st.integers(0, 25))
def test_later_outcomes_do_not_change_earlier_reaches(y: np.ndarray, later: np.ndarray, cut: int) -> None:
    """Not even outcomes of another order of magnitude, and not by a last bit."""
    whole = np.concatenate([y[:cut], later])
    first = min(cut, len(y)) + 1
    changed = np.concatenate([y[:cut], -3.0 - 0.5 * later[::-1]])
    one, other = (log_spread_before(forecasts(v))[:first] for v in (whole, changed))
    np.testing.assert_array_equal(one, other)
    assert np.isfinite(log_spread_before(forecasts(whole))).all()


@settings(max_examples=100)
@given(y=outcomes, std=st.sampled_from([1e-308, 1e-3, 1.0, 1e300]))
def test_a_forecast_stands_later_where_it_was_made(y: np.ndarray, std: float) -> None:
    """The reach of a forecast by the outcomes so far is the one it has in the evidence once its outcome is known."""
    now = OutcomeScale(y).reach(Gaussian(np.zeros(1), np.full(1, std))).log_spread
    then = log_spread_before(forecasts(np.append(y, 3.0), std))[-1:]
    np.testing.assert_array_equal(now, then)


def test_the_spread_is_relative_to_the_outcomes() -> None:
    rng = np.random.default_rng(0)
    y, std = rng.normal(5.0, 2.0, 60), np.array([0.02, 0.5, 3.0])
    reach = OutcomeScale(y).reach(Gaussian(np.array([5.0, 5.0, 9.0]), std))
    np.testing.assert_allclose(reach.log_spread, np.log(std / y.std()))
    for factor in (1e-290, 1e-3, 1e290):
        scaled = OutcomeScale(factor * y).reach(Gaussian(factor * np.array([5.0, 5.0, 9.0]), factor * std))
        np.testing.assert_allclose(scaled.log_spread, reach.log_spread, rtol=1e-9)
        np.testing.assert_allclose(scaled.rank, reach.rank, rtol=1e-6)


def test_other_distributions_reach_as_far_as_their_middle_two_thirds() -> None:
    y, gaussian = np.array([-1.0, 0.0, 1.0]), Gaussian(np.zeros(2), np.array([0.3, 2.0]))
    scale = OutcomeScale(y)
    wide = Stretched(gaussian, StretchedScores(np.array([1.0]), np.array([3.0])))
    np.testing.assert_allclose(scale.reach(wide).log_spread, scale.reach(gaussian.scaled(3.0)).log_spread)
    linear = Transformed(gaussian, LowerTailPower(1.0, 0.0, 2.0, -9.0))
    np.testing.assert_allclose(scale.reach(linear).log_spread, scale.reach(gaussian.scaled(2.0)).log_spread)


def test_a_latent_value_counts_with_its_noise() -> None:
    scale = OutcomeScale(np.array([-1.0, 0.0, 1.0]))
    latent, measured = Gaussian(np.zeros(1), np.full(1, 3.0), noise_std=4.0), Gaussian(np.zeros(1), np.full(1, 5.0))
    np.testing.assert_allclose(scale.reach(latent).log_spread, scale.reach(measured).log_spread)


def test_ranks_are_normal_scores_of_medians_among_the_outcomes() -> None:
    scale = OutcomeScale(np.array([3.0, 1.0, 1.0, 2.0, 2.0, 1.0]))
    medians = np.array([-50.0, 1.0, 1.5, 2.0, 3.0, 50.0])
    rank = scale.reach(Gaussian(medians, np.ones(6))).rank
    assert rank[0] == rank[1] and rank[-1] == rank[-2], "beyond all outcomes it stays that of the last"
    assert (np.diff(rank) >= 0.0).all() and rank[2] == pytest.approx(0.5 * (rank[1] + rank[3]))
    assert rank @ np.array([0.0, 3.0, 0.0, 2.0, 1.0, 0.0]) == pytest.approx(0.0, abs=1e-12), "ties share their scores"


@pytest.mark.parametrize("y", [np.array([4.0]), np.full(6, -2.0), np.zeros(3), np.array([1.0, 1.0 + 1e-16, 1.0])])
def test_outcomes_that_are_all_alike_say_nothing_of_the_scale(y: np.ndarray) -> None:
    reach = OutcomeScale(y).reach(Gaussian(np.zeros(3), np.array([1e-12, 1.0, 1e6])))
    assert np.isfinite(reach.log_spread).all() and np.ptp(reach.log_spread) == 0.0
    assert np.isfinite(reach.rank).all()


def test_similarity_falls_with_either_distance() -> None:
    scale, kernel = OutcomeScale(np.arange(9.0)), Similarity(0.5, 0.4)
    past = scale.reach(Gaussian(np.array([4.0, 4.0, 8.0]), np.array([1.0, 2.0, 1.0])))
    at = scale.reach(Gaussian(np.full((2, 1), 4.0), np.ones((2, 1))))
    weights = kernel.weights(at, past)
    assert weights.shape == (2, 1, 3)
    np.testing.assert_allclose(weights[0, 0, :2], [1.0, np.exp(-0.5 * (np.log(2.0) / 0.5) ** 2)])
    assert 0.0 < weights[0, 0, 2] < 1e-2


@pytest.mark.parametrize("wrong", [{"spread": 0.0}, {"rank": -1.0}, {"rank": np.inf}, {"spread": np.nan}])
def test_wrong_bandwidths_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(RecipeError, match=f"the bandwidth {next(iter(wrong))}"):
        Similarity(**wrong)
