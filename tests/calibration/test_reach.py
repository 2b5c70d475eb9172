"""How far forecasts reach: the scale of the outcomes, ranks, distances from the data, and the kernel between forecasts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.calibration import OutcomeScale, Similarity
from calibo.distributions import Gaussian, LowerTailPower, Stretched, StretchedScores, Transformed
from calibo.distributions.relative_spread import log_spread_before
from calibo.errors import RecipeError

outcomes = st.lists(
    st.one_of(st.floats(-5, 5), st.sampled_from([0.0, 1.0, 1e-300, -1e300, 1e300, 1.7e308, -1.7e308, 1e13])),
    min_size=1,
    max_size=25,
).map(np.array)


@settings(max_examples=100)
@given(y=outcomes, std=st.sampled_from([1e-308, 1e-3, 1.0, 1e300]))
def test_a_forecast_stands_later_where_it_was_made(y: np.ndarray, std: float) -> None:
    """The reach of a forecast by the outcomes so far is the one it has in the evidence once its outcome is known."""
    now = OutcomeScale(y).reach(Gaussian(np.zeros(1), np.full(1, std))).log_spread
    past = Gaussian(np.zeros(len(y) + 1), np.full(len(y) + 1, std))
    then = log_spread_before(past, np.append(y, 3.0))[-1:]
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


def test_ranks_between_outcomes_too_close_for_a_slope_are_finite() -> None:
    """Outcomes that underflow differ by less than the inverse of the largest float."""
    y = 1e-310 * np.arange(5.0)
    scale = OutcomeScale(np.append(y, 1.0))
    ranks = scale.reach(Gaussian(np.append(y, 2.5e-310), np.full(6, 1e-3))).rank
    assert np.isfinite(ranks).all() and np.abs(ranks).max() < 1.5


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


def test_the_distance_from_the_data_counts_where_both_are_known() -> None:
    scale, kernel = OutcomeScale(np.arange(9.0)), Similarity(0.5, 0.4, 0.7)
    at, past = Gaussian(np.full(3, 4.0), np.ones(3)), Gaussian(np.full(2, 4.0), np.ones(2))
    near, far = np.array([-3.0, 0.0, -1.0]), np.array([-1.0, 0.4])
    found = kernel.weights(scale.reach(at, near), scale.reach(past, far))
    np.testing.assert_allclose(found, np.exp(-0.5 * np.square(np.subtract.outer(near, far) / 0.7)))
    for one, other in ((None, far), (near, None), (None, None)):
        np.testing.assert_array_equal(kernel.weights(scale.reach(at, one), scale.reach(past, other)), 1.0)
    with pytest.raises(RecipeError, match="distance"):
        Similarity(distance=0.0)


def test_some_of_the_forecasts_and_all_in_a_row() -> None:
    reach = OutcomeScale(np.arange(9.0)).reach(Gaussian(np.arange(6.0).reshape(2, 3), np.ones((2, 3))), np.zeros(3))
    flat = reach.flat()
    assert flat.log_distance is not None and flat.log_distance.shape == flat.rank.shape == (6,)
    np.testing.assert_array_equal(flat[np.array([4, 1])].rank, reach.rank.ravel()[[4, 1]])
