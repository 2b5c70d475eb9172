"""Calibration error: the reference values, and the distributions every variant obeys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.diagnostics import calibration_error, observed_frequencies
from calibo.errors import DataError, RecipeError

PITS = [0.97, 0.03, 0.55, 0.99, 0.4, 0.01, 0.88, 0.97, 0.2, 0.62, 0.05, 0.93]
LEVELS = [0.1, 0.3, 0.5, 0.7, 0.9]

pit_lists = st.lists(st.floats(0, 1), min_size=1, max_size=40)


def test_reference_values_worked_out_by_hand() -> None:
    np.testing.assert_allclose(observed_frequencies(PITS, LEVELS), [3 / 12, 4 / 12, 5 / 12, 7 / 12, 8 / 12], rtol=1e-15)
    assert calibration_error(PITS, levels=LEVELS, summary="sum") == pytest.approx(0.09861111111111112, abs=1e-12)
    assert calibration_error(PITS, levels=LEVELS, summary="mean") == pytest.approx(0.019722222222222224, abs=1e-12)
    assert calibration_error(PITS, levels=LEVELS) == pytest.approx(0.14043582955293932, abs=1e-12)
    assert calibration_error(PITS) == pytest.approx(0.13343642878934076, abs=1e-12)


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


@given(pit_lists, st.sampled_from(["quantile", "central"]))
def test_the_summaries_are_one_score(pits: list[float], kind: Any) -> None:
    total = calibration_error(pits, levels=LEVELS, summary="sum", kind=kind)
    assert calibration_error(pits, levels=LEVELS, summary="mean", kind=kind) == pytest.approx(total / 5)
    assert calibration_error(pits, levels=LEVELS, summary="root_mean", kind=kind) == pytest.approx(np.sqrt(total / 5))
    assert 0 <= total <= 5


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


def test_uniform_pits_have_almost_no_error() -> None:
    even = (np.arange(1000) + 0.5) / 1000
    assert calibration_error(even) < 1e-3
    assert calibration_error(even, kind="central") < 2e-3


def test_a_biased_forecaster_differs_in_quantiles_and_an_overconfident_one_in_both() -> None:
    even = (np.arange(1000) + 0.5) / 1000
    biased = np.where(even < 0.5, 1 - even, even)  # every outcome above the median, central intervals still right
    assert calibration_error(biased, kind="central") < 2e-3
    assert calibration_error(biased) > 0.2
    overconfident = np.where(even < 0.5, even / 4, 1 - (1 - even) / 4)
    assert calibration_error(overconfident, kind="central") > 0.2
    assert calibration_error(overconfident) > 0.1


def test_mistakes_are_explained() -> None:
    with pytest.raises(DataError, match="at least one PIT"):
        calibration_error([])
    with pytest.raises(DataError, match=r"PITs in \[0, 1\]"):
        calibration_error([0.5, 1.5])
    with pytest.raises(DataError, match=r"PITs in \[0, 1\]"):
        calibration_error([0.5, float("nan")])
    with pytest.raises(RecipeError, match="levels"):
        calibration_error(PITS, levels=[95])
    with pytest.raises(RecipeError, match="5 weights"):
        calibration_error(PITS, levels=LEVELS, weights=[1.0])
    with pytest.raises(RecipeError, match="'root_mean'"):
        calibration_error(PITS, summary=cast(Any, "rms"))
    with pytest.raises(RecipeError, match="'central'"):
        calibration_error(PITS, kind=cast(Any, "interval"))
