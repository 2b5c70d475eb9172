"""The reliability curve against SciPy's Kolmogorov test, and the calibration error against reference values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, kstwo

from calibo.diagnostics import calibration_error, observed_frequencies, reliability_curve, simultaneous_half_width
from calibo.errors import DataError, RecipeError


@pytest.mark.parametrize(("n", "confidence"), [(1, 0.8), (2, 0.95), (5, 0.99), (38, 0.95), (300, 0.8), (1000, 0.95)])
def test_half_width_is_kolmogorovs(n: int, confidence: float) -> None:
    exact = float(kstwo.ppf(confidence, n))
    width = simultaneous_half_width(n, confidence=confidence)
    assert width == pytest.approx(exact, rel=1e-3)
    assert width >= exact * (1 - 1e-5)  # kstwo itself is approximate from a few hundred on


@pytest.mark.parametrize("n", [1001, 100_000])
def test_half_width_of_many_is_safe_and_close(n: int) -> None:
    exact = float(kstwo.ppf(0.95, n))
    assert exact <= simultaneous_half_width(n) <= 1.01 * exact


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_distance_is_kolmogorovs_statistic(pits: list[float]) -> None:
    curve = reliability_curve(pits)
    assert curve.distance == pytest.approx(kstest(pits, "uniform").statistic, abs=1e-12)
    assert curve.levels.tolist() == sorted(pits) and curve.observed[-1] == 1.0
    assert curve.inside == (curve.distance <= curve.half_width)


def test_band_lies_around_the_diagonal() -> None:
    curve = reliability_curve(np.linspace(0, 1, 30))
    band = curve.band([0.0, 0.5, 1.0])
    h = curve.half_width
    np.testing.assert_allclose(band, [[0, h], [0.5 - h, 0.5 + h], [1 - h, 1]])
    assert curve.inside


def test_band_is_left_as_rarely_as_it_says() -> None:
    rng = np.random.default_rng(5)
    left = sum(not reliability_curve(rng.uniform(size=25), confidence=0.8).inside for _ in range(1000))
    assert 150 < left < 250


def test_no_pits_give_an_empty_curve_and_the_widest_band() -> None:
    curve = reliability_curve([])
    assert curve.levels.shape == curve.observed.shape == (0,)
    assert (curve.half_width, curve.distance, curve.inside) == (1.0, 0.0, True)


def test_mistakes_are_explained() -> None:
    with pytest.raises(DataError, match=r"PITs in \[0, 1\]"):
        reliability_curve([2.0])
    with pytest.raises(RecipeError, match="confidence"):
        reliability_curve([0.5], confidence=95)
    with pytest.raises(DataError, match="0 or more"):
        simultaneous_half_width(-1)


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
