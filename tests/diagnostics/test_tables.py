"""Tables of how forecasts came out: verdicts, sentences, frames and HTML."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from calibo.data import Forecast, Marginal
from calibo.diagnostics import (
    CalibrationTable,
    Verdict,
    calibration_table,
    count_band,
    feasibility_table,
    forecast_table,
    log_evidence,
    mean_chance_limit,
    points_needed,
    stated_feasibility,
)
from calibo.diagnostics.anytime import log_threshold
from calibo.diagnostics.tables import BANDS
from calibo.errors import DataError, RecipeError

STANDARD = Marginal(0.0, 1.0)


def outcomes(inside: int, outside: int) -> list[float]:
    """Results of which some fall at the centre and the others far outside every interval, evenly spread over time."""
    total = inside + outside
    return [0.0 if (i + 1) * inside // total > i * inside // total else 9.0 for i in range(total)]


def table(inside: int, outside: int, *coverages: float) -> CalibrationTable:
    return calibration_table([STANDARD] * (inside + outside), outcomes(inside, outside), coverages=coverages or (0.8,))


NARROW, WIDE, FINE, NOT_YET = Verdict.TOO_NARROW, Verdict.TOO_WIDE, Verdict.COMPATIBLE, Verdict.NOT_YET


@pytest.mark.parametrize(
    ("found", "verdicts", "sentence", "headline"),
    [
        (
            table(31, 7),
            [FINE],
            "80 % intervals have contained 31 of 38 results; compatible with 80 %",
            "The intervals can be trusted so far: 80 % intervals are compatible with 38 results.",
        ),
        (
            table(12, 26),
            [NARROW],
            "80 % intervals have contained 12 of 38 results; too narrow for 80 %, 23 to 36 expected",
            "The intervals cannot be trusted: after 38 results, 80 % intervals are too narrow.",
        ),
        (
            table(38, 0, 0.5, 0.8, 0.95),
            [WIDE, WIDE, FINE],
            "50 % intervals have contained 38 of 38 results; too wide for 50 %, 9 to 29 expected",
            "The intervals err on the safe side: after 38 results, 50 % and 80 % intervals are too wide.",
        ),
        (
            table(9, 3, 0.95, 0.5, 0.8),
            [FINE, FINE, NOT_YET],
            "50 % intervals have contained 9 of 12 results; compatible with 50 %",
            "It is too early to trust the intervals: 95 % intervals need at least 19 results, 12 so far.",
        ),
        (
            table(0, 0, 0.999, 0.5),
            [NOT_YET, NOT_YET],
            "not yet calibrated: 50 % intervals need at least 10 results, 0 so far",
            "The intervals cannot be judged yet: there is no result with a forecast.",
        ),
        # All inside the 50 % intervals but for a tenth far out: too wide in the middle, too narrow in the tails.
        (
            table(90, 10, 0.5, 0.99),
            [WIDE, NARROW],
            "50 % intervals have contained 90 of 100 results; too wide for 50 %, 34 to 66 expected",
            "The intervals cannot be trusted: after 100 results, 99 % intervals are too narrow and 50 % intervals too wide.",
        ),
    ],
    ids=["compatible", "narrow", "wide", "early", "nothing", "wrong shape"],
)
def test_verdicts_in_words(found: CalibrationTable, verdicts: list[Verdict], sentence: str, headline: str) -> None:
    assert [row.verdict for row in found.rows] == verdicts
    assert found.sentences()[0] == sentence and found.headline() == headline


def test_coverages_can_be_refuted_together_before_any_by_itself() -> None:
    """Too narrow at 50 % and at 80 %, neither by more than its share of the confidence allows."""
    y = [0.0] * 10 + [1.0] * 14 + [9.0] * 16
    found = calibration_table([STANDARD] * 40, np.random.default_rng(1).permutation(y), coverages=(0.5, 0.8))
    shares = [float(log_evidence(row.contained, row.of, row.nominal)) for row in found.rows]
    assert max(shares) < log_threshold(0.95, tests=2) and np.logaddexp(*shares) >= log_threshold(0.95, tests=2)
    assert [row.verdict for row in found.rows] == [FINE, FINE] and found.verdict is NARROW
    assert found.headline() == (
        "The intervals cannot be trusted: after 40 results, 50 % and 80 % intervals taken together (none by itself yet) "
        "are too narrow."
    )


def test_intervals_that_were_wrong_at_first_say_so() -> None:
    y = [9.0] * 8 + [0.0, 0.0, 0.0, 0.0, 9.0] * 30
    row = calibration_table([STANDARD] * len(y), y, coverages=(0.8,)).rows[0]
    last = max(n for n in range(len(y)) if calibration_table([STANDARD] * n, y[:n], coverages=(0.8,)).verdict.accuses)
    assert (row.verdict, row.earlier, row.until) == (FINE, NARROW, last)
    assert row.sentence() == (
        f"80 % intervals have contained 120 of 158 results; compatible with 80 % (but too narrow up to result {last})"
    )


def test_a_few_results_can_refute_but_not_confirm() -> None:
    """Six of six outside their 95 % intervals are evidence enough, although 19 results are needed for "compatible"."""
    row = table(0, 6, 0.95).rows[0]
    assert row.verdict is NARROW and row.of < row.needed
    assert table(6, 0, 0.95).verdict is NOT_YET


@pytest.mark.parametrize(
    ("raw", "words"),
    [(Marginal(0.0, 0.2), "calibration helps"), (STANDARD, "cannot be told yet"), (None, "")],
)
def test_whether_calibration_helps(raw: Marginal | None, words: str) -> None:
    y = np.random.default_rng(0).standard_normal(80)
    found = calibration_table([STANDARD] * 80, y, raw=None if raw is None else [raw] * 80)
    assert words in found.help_sentence() and found.sentences()[3:] == [found.help_sentence()] * bool(words)
    if raw is not None and raw is not STANDARD:
        assert "hurts" in calibration_table([raw] * 80, y, raw=[STANDARD] * 80).help_sentence()


def test_what_is_said_of_calibration_does_not_contradict_the_means_beside_it() -> None:
    """Narrow forecasts are nearly right 300 times and miss twice by far; the raw ones are vague and never miss."""
    y = np.append(0.05 * np.random.default_rng(0).standard_normal(300), [400.0, -400.0])
    narrow, vague = [Marginal(0.0, 0.05)] * 302, [Marginal(0.0, 1.0)] * 300 + [Marginal(0.0, 400.0)] * 2
    helps, hurts = calibration_table(narrow, y, raw=vague), calibration_table(vague, y, raw=narrow)
    assert helps.comparison is not None and helps.comparison.mixed
    assert helps.help_sentence().startswith("calibration helps if large misses count no more than others")
    assert "but is worse on average" in helps.help_sentence()
    assert "but is better on average" in hurts.help_sentence()


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
    assert frame["nominal"].tolist() == [0.5, 0.95] and list(frame.columns)[-2:] == ["verdict", "sentence"]
    assert not frame.isna().to_numpy().any()
    assert frame["contained"].dtype.kind == "i"


@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.999]))
def test_verdicts_follow_from_the_counts(inside: int, outside: int, nominal: float) -> None:
    row = table(inside, outside, nominal).rows[0]
    (low,), (high,) = (ends.tolist() for ends in count_band([inside + outside], nominal))
    assert (row.contained, row.of, row.low, row.high) == (inside, inside + outside, low, high)
    assert (row.verdict is Verdict.TOO_NARROW) == (inside < low)
    assert (row.verdict is Verdict.TOO_WIDE) == (inside > high)
    assert (row.verdict is Verdict.NOT_YET) == (row.of < row.needed and low <= inside <= high)
    assert row.needed >= points_needed(nominal)
    assert "nan" not in row.sentence()


def test_mistakes_are_explained() -> None:
    with pytest.raises(RecipeError, match="at least one coverage"):
        calibration_table([], [], coverages=())
    with pytest.raises(RecipeError, match="95 % as 0.95"):
        calibration_table([], [], coverages=(95,))
    with pytest.raises(DataError, match="2 forecasts for 1 outcomes"):
        feasibility_table([stating(0.5)] * 2, [True])


def test_a_method_without_forecasts_is_not_waited_for() -> None:
    waiting, never = forecast_table([], []), forecast_table([], [], forecasting=False)
    assert "cannot be judged yet" in waiting.headline() and len(waiting.sentences()) == 3
    assert "makes no forecasts" in never.headline() and never.sentences() == []
    judged = forecast_table([Forecast((Marginal(0.0, 1.0),))] * 5, [0.0] * 5, forecasting=False)
    assert "no forecasts" not in judged.headline() and len(judged.sentences()) == 3


def test_infinite_intervals_are_not_judged() -> None:
    """They contain anything, so counting them would reward forecasts that say nothing."""
    unbounded = Marginal(0.0, 1.0, backed=(0.2, 0.8))
    found = calibration_table([unbounded] * 30 + [Marginal(0.0, 1.0)] * 40, np.zeros(70), coverages=(0.5, 0.8))
    half, most = found.rows
    assert (half.of, half.contained, half.unbounded) == (70, 70, 0)
    assert (most.of, most.contained, most.unbounded) == (40, 40, 30)
    assert most.sentence().endswith("; for 30 results there was too little held-out data for a finite interval")
    assert found.to_frame()["unbounded"].tolist() == [0, 30]
    nothing = calibration_table([unbounded] * 3, np.zeros(3), coverages=(0.8,))
    assert "cannot be judged yet; for 3 results" in nothing.headline() and nothing.rows[0].of == 0


def test_a_table_prints_its_sentences_and_shows_as_html() -> None:
    found = table(12, 26)
    assert repr(found) == f"{found.headline()}\n- {found.sentences()[0]}"
    html = found._repr_html_()
    assert html.startswith(f"<p>{found.headline()}</p>") and "<td>too narrow</td>" in html
    assert "<td>0</td>" in feasibility_table([], [])._repr_html_()
    assert "makes no forecasts" in forecast_table([], [], forecasting=False)._repr_html_()


# --- feasibility ------------------------------------------------------------------------------------------------------


def stating(*chances: float) -> tuple[Forecast, ...]:
    """Forecasts of constraints, each met with the given probability."""
    return tuple(Forecast((Marginal(0.0, 1.0), Marginal(-2.0 * float(ndtri(chance)), 2.0))) for chance in chances)


def test_the_stated_probability_is_of_all_constraints_after_calibration() -> None:
    assert stated_feasibility(stating(0.9)) == pytest.approx(0.9)
    assert stated_feasibility(stating(0.9, 0.5, 0.8)) == pytest.approx(0.36)
    for mean, stated in ((-0.1, 1.0), (0.0, 1.0), (0.1, 0.0)):
        assert stated_feasibility((Forecast((Marginal(mean, 0.0),)),)) == stated


def test_every_point_is_in_one_band() -> None:
    stated = [0.0001, 0.0999, 0.1001, 0.4999, 0.5001, 0.8999, 0.9001, 1.0]
    table = feasibility_table([stating(p) for p in stated], [False, True] * 4)
    assert [(row.low, row.high) for row in table.rows] == list(itertools.pairwise(BANDS))
    assert [row.of for row in table.rows] == [2] * 4
    assert [row.met for row in table.rows] == [1] * 4
    assert table.rows[3].stated == pytest.approx(0.95, abs=1e-4)


def test_verdicts_on_feasibility() -> None:
    for met, verdict in ((30, "as stated"), (27, "as stated"), (21, "too optimistic")):
        table = feasibility_table([stating(0.95)] * 30, [True] * met + [False] * (30 - met))
        assert table.rows[-1].verdict == verdict
    row = feasibility_table([stating(0.2)] * 40, [True] * 40).rows[1]
    assert row.verdict == "too pessimistic"
    assert row.sentence() == (
        "of 40 points predicted to be feasible with 10 to 50 %, 40 met all constraints (too pessimistic: 1 to 18 expected)"
    )


def test_feasibility_in_words() -> None:
    table = feasibility_table([stating(0.95)] * 23 + [stating(0.05)], [True] * 22 + [False] * 2)
    assert table.headline() == (
        "Of 23 points predicted to be feasible with at least 90 %, 22 met all constraints (as stated)."
    )
    sentences = table.sentences()
    assert (
        sentences[0]
        == "of 1 point predicted to be feasible with less than 10 %, 0 met all constraints (too few to judge)"
    )
    assert sentences[1] == "no point was predicted to be feasible with 10 to 50 %"
    assert feasibility_table([], []).headline() == "No point was predicted to be feasible with at least 90 %."


def test_the_frame_has_a_row_per_band() -> None:
    table = feasibility_table([stating(0.95, 0.99)] * 8, [True] * 8)
    frame = table.to_frame().to_dict("list")
    assert list(frame["of"]) == [0, 0, 0, 8] and list(frame["met"]) == [0, 0, 0, 8]
    assert np.isnan(frame["stated"][0]) and frame["verdict"][3] == "as stated"
    assert frame["expected_high"][3] == 8


def test_right_probabilities_pass() -> None:
    """Each of 160 bands is off with probability 0.05 at most, so that more than 16 are with less than 0.5 %."""
    rng, wrong = np.random.default_rng(5), 0
    for _ in range(40):
        chances = rng.random(120)
        table = feasibility_table([stating(p) for p in chances], (rng.random(120) < chances).tolist())
        wrong += sum(row.verdict != "as stated" for row in table.rows)
    assert wrong <= 16


def test_what_is_certain_of_mean_values() -> None:
    found = table(190, 10, 0.95)
    (row,) = found.rows
    assert row.mean_values_inside() == pytest.approx(1.0 - 2.0 * mean_chance_limit(10, 200))
    assert row.mean_values_inside(0.25) == pytest.approx(max(1.0 - 4.0 * mean_chance_limit(10, 200), 0.0))
    said = found.mean_value_sentence()
    assert said.startswith("With noise that is positive as often as negative, at least 6")
    assert "of the mean values were inside 95 % intervals of measurements so far" in said
    assert table(3, 1, 0.95).mean_value_sentence().startswith("Nothing can be said of mean values yet")
    said = found.mean_value_sentence(0.4)
    assert said.startswith(
        "With noise that is positive at least 40 % of the time and negative at least 40 % of the time, "
    )
    with pytest.raises(RecipeError, match="symmetry"):
        row.mean_values_inside(0.6)


def test_mean_values_are_inside_as_often_as_is_certain() -> None:
    """Mean values outside every fifth time, with symmetric noise: half of the misses are hidden."""
    rng = np.random.default_rng(0)
    mean = np.where(np.arange(1000) % 5 == 0, 1.001, 0.0)
    measured = mean + np.where(mean > 1.0, rng.choice([-0.5, 0.5], 1000), 0.0)
    (row,) = table(int((np.abs(measured) <= 1.0).sum()), int((np.abs(measured) > 1.0).sum()), 0.95).rows
    assert row.contained > 880, "measurements alone look better than mean values are"
    assert 0.6 < row.mean_values_inside() <= 0.8
