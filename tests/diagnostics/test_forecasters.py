"""Tables of several forecasters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from calibo.data import STORED_LEVELS, Marginal
from calibo.diagnostics import Verdict, crps, forecaster_table, interval_score
from calibo.diagnostics.forecasters import percent_change, shown_ratio
from calibo.errors import DataError

N = 150
Y = np.random.default_rng(1).standard_normal(N)
FORECASTS = {
    "narrow": [Marginal(0.0, 0.4)] * N,
    "wide": [Marginal(0.0, 2.5)] * N,
    "right": [Marginal(0.0, 1.0)] * N,
}


def test_the_right_one_is_honest_and_first() -> None:
    table = forecaster_table(FORECASTS, Y, reference="wide")
    verdicts = {row.name: row.verdict for row in table.rows}
    assert verdicts == {"right": Verdict.COMPATIBLE, "wide": Verdict.TOO_WIDE, "narrow": Verdict.TOO_NARROW}
    assert [row.name for row in table.rows] == ["right", "wide", "narrow"]
    change = percent_change(table.rows[0].crps_ratio)
    said = f"Of 3 forecasters judged on 150 results, 1 was honest: right, with a CRPS {change} that of wide, better by more "
    assert table.headline() == f"{said}than chance. Too wide: wide. Too narrow: narrow."


def test_scores_are_means_over_those_of_the_reference() -> None:
    table = forecaster_table(FORECASTS, Y, reference="narrow")
    row = next(row for row in table.rows if row.name == "right")
    ours, theirs = (crps(FORECASTS[name], Y).mean() for name in ("right", "narrow"))
    assert row.crps == pytest.approx(ours) and row.crps_ratio == pytest.approx(ours / theirs)
    scores = [interval_score(FORECASTS[name], Y, 0.8).mean() for name in ("right", "narrow")]
    assert row.score_ratio == pytest.approx(scores[0] / scores[1])
    reference = next(row for row in table.rows if row.is_reference)
    assert reference.crps_ratio == reference.score_ratio == 1.0 and reference.compared == ""


def test_a_forecaster_is_compared_where_it_made_forecasts() -> None:
    part = [None] * 100 + FORECASTS["right"][100:]
    table = forecaster_table({**FORECASTS, "part": part}, Y, reference="right")
    row = next(row for row in table.rows if row.name == "part")
    assert row.calibration.rows[0].of == 50 and row.crps_ratio == pytest.approx(1.0)
    assert table.to_frame().set_index("forecaster").loc["part", "results"] == 50
    assert table.partial() == [
        "part made 50 of 150 forecasts: its coverage and mean CRPS are of these, its ratios compare it with right on the "
        "same results."
    ]
    assert forecaster_table(FORECASTS, Y, reference="right").partial() == []


def test_infinite_intervals_are_neither_judged_nor_scored() -> None:
    levels = tuple(float(v) for v in ndtri(np.asarray(STORED_LEVELS)))
    unbacked = [Marginal(0.0, 1.0, levels, (0.2, 0.8))] * N
    table = forecaster_table({"right": FORECASTS["right"], "short": unbacked}, Y, reference="right")
    row = next(row for row in table.rows if row.name == "short")
    assert [one.of for one in row.calibration.rows] == [N, 0, 0] and np.isnan(row.score_ratio)
    assert row.verdict is Verdict.NOT_YET and np.isfinite(row.crps_ratio)
    assert table.lines()[-1].endswith("-") or table.lines()[-2].endswith("-")


def test_a_mean_that_contradicts_the_comparison_is_mixed() -> None:
    y = Y.copy()
    y[::50] = 1e4
    cautious, daring = [Marginal(0.0, 3.0)] * N, [Marginal(0.0, 1.0)] * N
    for i in range(0, N, 50):
        cautious[i] = Marginal(0.0, 5e3)
    table = forecaster_table({"cautious": cautious, "daring": daring}, y, reference="cautious")
    row = next(row for row in table.rows if row.name == "daring")
    assert row.crps_ratio > 1.0 and row.compared == "mixed"
    assert "the other way round if large misses count no more than others" in row.sentence()


def test_it_prints_in_80_columns_whatever_the_names() -> None:
    table = forecaster_table(
        {"GaussianProcess+Temperature": FORECASTS["right"], **FORECASTS}, 1e-9 * Y, reference="wide"
    )
    assert max(map(len, table.lines())) <= 80
    assert "GaussianProcess…" in repr(table)


def test_a_reference_of_zero_gives_no_ratio() -> None:
    perfect = [Marginal(float(v), 0.0) for v in Y]
    table = forecaster_table({"perfect": perfect, "right": FORECASTS["right"]}, Y, reference="perfect")
    row = next(row for row in table.rows if row.name == "right")
    assert np.isnan(row.crps_ratio) and ";" not in row.sentence()


def test_the_reference_must_have_forecast_everything() -> None:
    with pytest.raises(DataError, match="'raw', which the others are compared with"):
        forecaster_table(FORECASTS, Y, reference="raw")
    with pytest.raises(DataError, match="expected 149 outcomes"):
        forecaster_table({**FORECASTS, "short": FORECASTS["right"][1:]}, Y, reference="right")


def test_changes_in_words() -> None:
    assert [percent_change(r) for r in (0.004, 0.88, 1.0, 1.081, 3.17)] == [
        *("0.004 times", "12 % below", "about the same as", "8 % above", "3.2 times"),
    ]


def test_one_forecaster_is_spoken_of_in_the_singular() -> None:
    said = {name: forecaster_table({name: made}, Y, reference=name).headline() for name, made in FORECASTS.items()}
    assert said["right"] == "On 150 results right was honest."
    assert said["narrow"] == "On 150 results narrow was not honest: its intervals are too narrow."
    assert said["wide"] == "On 150 results wide was not honest: its intervals are too wide."


def test_too_few_results_accuse_and_praise_nobody() -> None:
    few = {name: made[:6] for name, made in FORECASTS.items() if name != "narrow"}
    said = "It is too early to tell whether any of 2 forecasters were honest: 6 results are too few."
    assert forecaster_table(few, Y[:6], reference="right").headline() == said
    alone = forecaster_table({"right": FORECASTS["right"][:6]}, Y[:6], reference="right")
    assert alone.headline().startswith("It is too early to tell whether this forecaster was honest")


def test_ratios_of_any_size_fit() -> None:
    ratios = (0.0, 0.0041, 0.844, 99.4, 131.2, 1e290, float("nan"))
    assert [shown_ratio(v) for v in ratios] == ["0.00", "4e-03", "0.84", "99.40", "131", "1e+290", "-"]
