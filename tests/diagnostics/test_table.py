"""The calibration table: verdicts, sentences and the states a report must tell apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.data import Forecast, Marginal
from calibo.diagnostics import (
    CalibrationTable,
    Verdict,
    binomial_band,
    calibration_table,
    forecast_table,
    points_needed,
)
from calibo.errors import RecipeError

STANDARD = Marginal(0.0, 1.0)


def outcomes(inside: int, outside: int) -> list[float]:
    """Results of which some fall at the centre and the others far outside every interval."""
    return [0.0] * inside + [9.0] * outside


def table(inside: int, outside: int, *coverages: float) -> CalibrationTable:
    return calibration_table([STANDARD] * (inside + outside), outcomes(inside, outside), coverages=coverages or (0.8,))


def test_compatible() -> None:
    found = table(31, 7)
    assert found.rows[0].verdict is Verdict.COMPATIBLE
    assert found.sentences() == ["80 % intervals have contained 31 of 38 results; compatible with 80 %"]
    assert found.headline() == "The intervals can be believed so far: 80 % intervals are compatible with 38 results."


def test_too_narrow() -> None:
    found = table(12, 26)
    assert found.rows[0].verdict is Verdict.TOO_NARROW
    assert found.sentences() == [
        "80 % intervals have contained 12 of 38 results; too narrow for 80 %: 25 to 35 were to be expected"
    ]
    assert found.headline() == "The intervals cannot be believed: after 38 results, 80 % intervals are too narrow."


def test_too_wide() -> None:
    found = table(38, 0, 0.5, 0.8, 0.95)
    assert [row.verdict for row in found.rows] == [Verdict.TOO_WIDE, Verdict.TOO_WIDE, Verdict.COMPATIBLE]
    assert found.sentences()[0] == (
        "50 % intervals have contained 38 of 38 results; too wide for 50 %: 13 to 25 were to be expected"
    )
    assert found.headline() == (
        "The intervals err on the safe side: after 38 results, 50 % and 80 % intervals are too wide."
    )


def test_not_yet_is_a_state_of_its_own() -> None:
    found = table(4, 3, 0.5, 0.8, 0.95)
    assert [row.verdict for row in found.rows] == [Verdict.COMPATIBLE, Verdict.COMPATIBLE, Verdict.NOT_YET]
    assert found.sentences()[2] == "not yet calibrated: 95 % intervals need at least 19 results, 7 so far"
    assert found.headline() == (
        "It is too early to believe the intervals: 95 % intervals need at least 19 results, 7 so far."
    )


def test_nothing_yet() -> None:
    found = calibration_table([], [])
    assert {row.verdict for row in found.rows} == {Verdict.NOT_YET}
    assert found.sentences()[0] == "not yet calibrated: 50 % intervals need at least 6 results, 0 so far"
    assert found.headline() == "The intervals cannot be judged yet: no forecast has met its result."


def test_wrong_shape() -> None:
    # All inside the 50 % intervals but for a tenth far out: too wide in the middle, too narrow in the tails.
    found = table(90, 10, 0.5, 0.99)
    assert [row.verdict for row in found.rows] == [Verdict.TOO_WIDE, Verdict.TOO_NARROW]
    assert found.headline() == (
        "The intervals cannot be believed: after 100 results, 99 % intervals are too narrow and 50 % intervals too wide."
    )


def test_raw_counts_stand_beside() -> None:
    y = np.random.default_rng(0).standard_normal(40)
    raw = [Marginal(0.0, 0.2)] * 40
    found = calibration_table([STANDARD] * 40, y, raw=raw)
    assert [row.raw_contained for row in found.rows] == [row.contained for row in calibration_table(raw, y).rows]
    row = found.rows[1]
    assert f"{row.contained} of 40 results ({row.raw_contained} before calibration);" in found.sentences()[1]
    assert found.to_frame()["raw_contained"].tolist() == [row.raw_contained for row in found.rows]


@pytest.mark.parametrize("count", [0, 1, 7, 40])
def test_frames_have_no_holes(count: int) -> None:
    found = table(count, 0, 0.95, 0.5)
    frame = found.to_frame()
    assert list(frame.columns) == ["nominal", "contained", "of", "expected_low", "expected_high", "verdict", "sentence"]
    assert frame["nominal"].tolist() == [0.5, 0.95]
    assert not frame.isna().to_numpy().any()
    assert frame["contained"].dtype.kind == "i"


@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.999]))
def test_verdicts_follow_from_the_counts(inside: int, outside: int, nominal: float) -> None:
    row = table(inside, outside, nominal).rows[0]
    low, high = binomial_band(inside + outside, nominal)
    assert (row.contained, row.of, row.low, row.high) == (inside, inside + outside, low, high)
    if row.of < points_needed(nominal):
        assert row.verdict is Verdict.NOT_YET
    else:
        assert (row.verdict is Verdict.TOO_NARROW) == (inside < low)
        assert (row.verdict is Verdict.TOO_WIDE) == (inside > high)
    assert "nan" not in row.sentence()


def test_percentages_are_free_of_float_dust() -> None:
    assert table(0, 1, 0.55, 0.999).sentences()[1].startswith("not yet calibrated: 99.9 % intervals need")
    assert table(5, 2, 0.55).sentences()[0].startswith("55 % intervals")


def test_mistakes_are_explained() -> None:
    with pytest.raises(RecipeError, match="at least one coverage"):
        calibration_table([], [], coverages=())
    with pytest.raises(RecipeError, match="95 % as 0.95"):
        calibration_table([], [], coverages=(95,))


def test_a_method_without_forecasts_is_not_waited_for() -> None:
    waiting, never = forecast_table([], []), forecast_table([], [], forecasting=False)
    assert "cannot be judged yet" in waiting.headline() and len(waiting.sentences()) == 3
    assert "makes no forecasts" in never.headline() and never.sentences() == []
    judged = forecast_table([Forecast((Marginal(0.0, 1.0),))] * 5, [0.0] * 5, forecasting=False)
    assert "no forecasts" not in judged.headline() and len(judged.sentences()) == 3


def test_intervals_without_an_end_are_not_judged() -> None:
    """They contain anything, so counting them as successes would praise whoever promises nothing."""
    endless = Marginal(0.0, 1.0, backed=(0.2, 0.8))
    found = calibration_table([endless] * 30 + [Marginal(0.0, 1.0)] * 40, np.zeros(70), coverages=(0.5, 0.8))
    half, most = found.rows
    assert (half.of, half.contained, half.endless) == (70, 70, 0)
    assert (most.of, most.contained, most.endless) == (40, 40, 30)
    assert most.sentence().endswith("; 30 results came while too little was held out for an interval with an end")
    assert found.to_frame()["endless"].tolist() == [0, 30]
    nothing = calibration_table([endless] * 3, np.zeros(3), coverages=(0.8,))
    assert "cannot be judged yet; 3 results" in nothing.headline() and nothing.rows[0].of == 0
