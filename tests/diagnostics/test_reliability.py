"""The reliability curve with its band, and the calibration error against reference values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.diagnostics import calibration_error, count_band, observed_frequencies, reliability_curve
from calibo.diagnostics.reliability import BAND_LEVELS
from calibo.errors import DataError, RecipeError


@settings(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_the_curve_is_the_empirical_distribution_and_its_band_that_of_the_counts(pits: list[float]) -> None:
    curve, n = reliability_curve(pits), len(pits)
    assert curve.levels.tolist() == sorted(pits) and curve.observed[-1] == 1.0
    counts = [sum(u <= level for u in pits) for level in BAND_LEVELS]
    np.testing.assert_allclose(curve.at_levels * n, counts)
    bands = [count_band([n], level, tests=len(BAND_LEVELS)) for level in BAND_LEVELS]
    np.testing.assert_allclose(curve.low * n, [low[0] for low, _ in bands])
    np.testing.assert_allclose(curve.high * n, [high[0] for _, high in bands])
    np.testing.assert_array_equal(curve.band(BAND_LEVELS), np.stack([curve.low, curve.high], axis=1))


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_inside_means_inside_the_band_at_every_level(pits: list[float]) -> None:
    """Between the levels that are judged the curve cannot leave the band, since it never falls."""
    curve = reliability_curve(pits)
    levels = np.linspace(0, 1, 501)
    observed = np.searchsorted(curve.levels, levels, side="right") / len(pits)
    low, high = curve.band(levels).T
    assert curve.inside == bool(np.all((low <= observed + 1e-12) & (observed <= high + 1e-12)))


def test_right_forecasts_stay_inside_after_every_result() -> None:
    """300 studies of 60 results, looked at after each: more than 9 % leave with probability 2e-3 if 5 % do (2 % measured)."""
    rng = np.random.default_rng(5)
    u = rng.random((300, 60))
    n = np.arange(1, 61)
    left = np.zeros(300, dtype=bool)
    for level in BAND_LEVELS:
        low, high = count_band(n, level, tests=len(BAND_LEVELS))
        counts = np.cumsum(u <= level, axis=1)
        left |= ((counts < low) | (counts > high)).any(axis=1)
    assert left.mean() <= 0.09
    assert not reliability_curve(rng.beta(0.4, 0.4, size=80)).inside


def test_no_pits_give_an_empty_curve_and_the_widest_band() -> None:
    curve = reliability_curve([])
    assert curve.levels.shape == curve.observed.shape == (0,) and curve.inside
    assert curve.band([0.0, 0.5, 1.0]).tolist() == [[0.0, 1.0]] * 3


def test_mistakes_are_explained() -> None:
    with pytest.raises(DataError, match=r"PITs in \[0, 1\]"):
        reliability_curve([2.0])
    with pytest.raises(RecipeError, match="confidence"):
        reliability_curve([0.5], confidence=95)


# --- calibration error --------------------------------------------------------------------------------------------------

PITS = [0.97, 0.03, 0.55, 0.99, 0.4, 0.01, 0.88, 0.97, 0.2, 0.62, 0.05, 0.93]
LEVELS = [0.1, 0.3, 0.5, 0.7, 0.9]

pit_lists = st.lists(st.floats(0, 1), min_size=1, max_size=40)


def test_reference_file(golden: Callable[[str], Any]) -> None:
    case = golden("rmsce")
    pits, levels = case["pits"], case["levels"]
    np.testing.assert_allclose(observed_frequencies(pits, levels), case["observed"], atol=1e-12)
    expected = {
        "sum": case["sum_of_squares_thesis_and_kuleshov"],
        "mean": case["mean_square"],
        "root_mean": case["root_mean_square"],
    }
    for summary, value in expected.items():
        assert calibration_error(pits, levels=levels, summary=cast(Any, summary)) == pytest.approx(value, abs=1e-12)
    grid = np.linspace(0, 1, 101)
    assert calibration_error(pits, levels=grid) == pytest.approx(case["root_mean_square_grid_0_to_1_101"], abs=1e-12)


@given(pit_lists)
def test_observed_frequencies_are_plain_counts(pits: list[float]) -> None:
    u, p = np.array(pits), np.array(LEVELS)
    np.testing.assert_allclose(observed_frequencies(u, p), (u[:, None] <= p).mean(axis=0), atol=1e-15)
    inside = np.abs(2 * u[:, None] - 1) <= p
    np.testing.assert_allclose(observed_frequencies(u, p, kind="central"), inside.mean(axis=0), atol=1e-15)


@given(pit_lists)
def test_order_does_not_matter_and_doubled_weights_change_only_the_sum(pits: list[float]) -> None:
    once = calibration_error(pits, levels=LEVELS, summary="sum")
    assert calibration_error(pits[::-1], levels=LEVELS, summary="sum") == once
    twice = calibration_error(pits, levels=LEVELS, weights=[2.0] * 5, summary="sum")
    assert twice == pytest.approx(2 * once)
    mean = calibration_error(pits, levels=LEVELS, weights=[2.0] * 5, summary="mean")
    assert mean == pytest.approx(once / 5)


def test_weights_choose_levels() -> None:
    only_third = calibration_error(PITS, levels=LEVELS, weights=[0, 0, 1, 0, 0], summary="sum")
    assert only_third == pytest.approx((0.5 - 5 / 12) ** 2)


def test_a_biased_forecaster_differs_in_quantiles_and_an_overconfident_one_in_both() -> None:
    even = (np.arange(1000) + 0.5) / 1000
    assert calibration_error(even) < 1e-3 and calibration_error(even, kind="central") < 2e-3
    biased = np.where(even < 0.5, 1 - even, even)  # every outcome above the median, central intervals still right
    assert calibration_error(biased, kind="central") < 2e-3
    assert calibration_error(biased) > 0.2
    overconfident = np.where(even < 0.5, even / 4, 1 - (1 - even) / 4)
    assert calibration_error(overconfident, kind="central") > 0.2
    assert calibration_error(overconfident) > 0.1


def test_mistakes_in_calibration_errors_are_explained() -> None:
    with pytest.raises(DataError, match="at least one PIT"):
        calibration_error([])
    with pytest.raises(DataError, match=r"PITs in \[0, 1\]"):
        calibration_error([0.5, float("nan")])
    with pytest.raises(RecipeError, match="levels"):
        calibration_error(PITS, levels=[95])
    with pytest.raises(RecipeError, match="5 weights"):
        calibration_error(PITS, levels=LEVELS, weights=[1.0])
    with pytest.raises(RecipeError, match="summary must be one of .*'root_mean'"):
        calibration_error(PITS, summary=cast(Any, "rms"))
    with pytest.raises(RecipeError, match="kind must be one of .*'central'"):
        calibration_error(PITS, kind=cast(Any, "interval"))
