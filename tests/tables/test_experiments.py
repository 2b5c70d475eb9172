"""Rounds of experiments: what is told, what is matched, and what is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from calibo.data import Forecast, Marginal
from calibo.errors import DataError, RecipeError, StudyError
from calibo.spaces import Categorical, Float, Int, Mixture, ProductSpace, Space
from calibo.tables.experiments import Batch, Experiment, next_experiments, rounded
from calibo.tables.sheets import Dialect, write_sheet
from calibo.tables.study_file import EXPERIMENTS, StudyFile
from calibo.trials import Direction

SPACE = ProductSpace(
    {
        "heat": Float(20.0, 100.0),
        "dose": Float(0.01, 1.0, log=True),
        "base": Categorical(["KOH", "-none"]),
        "k": Int(1, 5),
    }
)
GERMAN = Dialect(";", ",", "cp1252")


def yielded(params: Mapping[str, Any]) -> float:
    return 80.0 - ((params["heat"] - 70.0) / 10.0) ** 2 + 5.0 * math.log10(params["dose"]) + (params["base"] == "KOH")


def filled(batch: Batch, change: Callable[[int, dict[str, Any]], None] | None = None) -> list[dict[str, Any]]:
    """The table of a batch with its results, which ``change`` may change row by row."""
    rows = batch.rows()
    for i, row in enumerate(rows):
        row["yield"] = round(yielded(row), 3)
        if change is not None:
            change(i, row)
    return rows


def asked(n: int = 4, **settings: Any) -> Batch:
    return next_experiments(SPACE, {"yield": "max"}, n, **{"method": "gp_ei", **settings})


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
@pytest.mark.parametrize("dialect", [Dialect(), GERMAN], ids=["plain", "german"])
def test_three_rounds(tmp_path: Path, ending: str, dialect: Dialect) -> None:
    kept, tables = tmp_path / "study.json", list[Path]()
    first = asked(8, study=kept)
    assert first.round == 1 and all(one.forecasts is None for one in first.experiments)
    assert {one.reason for one in first.experiments} == {"start: spread over the space"}
    batch = first
    for number in (2, 3):
        tables.append(tmp_path / f"round{number - 1}.{ending}")
        write_sheet(tables[-1], filled(batch), dialect)
        batch = asked(4, study=kept, results=tables)
        assert batch.round == number and batch.measured == 4 + 4 * (number - 1) and not batch.notes
        assert all(one.forecasts is not None and 0.0 <= one.chance <= 1.0 for one in batch.experiments)
    assert batch.calibration["yield"][0] == 4
    assert batch.dialect.separator == (dialect.separator if ending == "csv" else ",")
    assert len({one.name for one in batch.experiments} | {one.name for one in first.experiments}) == 12
    # Asked again, nothing has changed.
    again = asked(4, study=kept, results=tables)
    assert again.rows() == batch.rows() and again.round == 3
    assert len(StudyFile.open(kept, EXPERIMENTS).rows) == 16


def test_rounds_of_equal_results_spread_further(tmp_path: Path) -> None:
    kept, tables = tmp_path / "study.json", list[Path]()
    batch = asked(10, study=kept, method="auto")
    for number in (1, 2):
        tables.append(tmp_path / f"round{number}.csv")
        write_sheet(tables[-1], filled(batch, lambda _, row: row.update({"yield": 0.0})), Dialect())
        batch = asked(4, study=kept, results=tables, method="auto")
        assert {one.reason for one in batch.experiments} == {"start: spread over the space"}


def test_all_results_may_be_appended_to_one_table_without_names(tmp_path: Path) -> None:
    kept, table = tmp_path / "study.json", tmp_path / "results.csv"
    own = [{"heat": 30.0 + 10 * i, "dose": 0.1, "base": "KOH", "k": 1 + i % 3, "yield": 50.0 + i} for i in range(6)]
    write_sheet(table, own)
    first = asked(results=[table], study=kept)
    assert all(one.forecasts for one in first.experiments)
    named = [{name: row[name] for name in own[0]} for row in filled(first)]
    write_sheet(table, [*named, *own])
    second = asked(results=[table], study=kept)
    # Whatever the order of the rows, results find their forecasts.
    assert second.measured == 10 and second.calibration["yield"][0] == 4


def test_names_in_tables_are_not_given_again_when_the_study_file_is_lost(tmp_path: Path) -> None:
    kept, table = tmp_path / "study.json", tmp_path / "results.csv"
    write_sheet(table, filled(asked(6, study=kept)))
    kept.unlink()
    again = asked(2, study=kept, results=[table])
    assert [one.name for one in again.experiments] == ["E007", "E008"] and not again.notes
    assert asked(2, study=kept, results=[table]).rows() == again.rows()


def test_rows_still_to_be_measured_keep_their_numbers_without_a_study_file(tmp_path: Path) -> None:
    def unmeasured(i: int, row: dict[str, Any]) -> None:
        if i >= 4:
            row["yield"] = None

    table = tmp_path / "results.csv"
    rows = filled(asked(6), unmeasured)
    # Twice in the tables, and one of somebody else's: these have no number of their own.
    write_sheet(table, [*rows, {**rows[5], "heat": 25.0}, {**rows[5], "heat": 35.0, "experiment": "mine"}])
    after = asked(2, results=[table])
    assert (after.measured, after.pending) == (4, 4)
    assert [one.name for one in after.experiments] == ["E009", "E010"]
    write_sheet(table, rows)
    assert [one.name for one in asked(2, results=[table]).experiments] == ["E007", "E008"]


def test_failures_blanks_replicates_and_changes(tmp_path: Path) -> None:
    kept, table = tmp_path / "study.json", tmp_path / "results.csv"
    write_sheet(table, filled(asked(8, study=kept)))
    second = asked(4, results=[table], study=kept)

    def change(i: int, row: dict[str, Any]) -> None:
        if i == 0:
            row["yield"] = "failed"
        if i == 1:
            row["yield"] = None
        if i == 2:
            row["heat"] = 33.3

    rows = filled(second, change)
    later = tmp_path / "later.csv"
    write_sheet(later, [*rows, {**rows[3], "yield": rows[3]["yield"] + 0.1}])
    third = asked(4, results=[table, later], study=kept)
    assert (third.measured, third.failed, third.pending) == (11, 1, 1)
    # The forecast is compared with the first of two results; the changed experiment has none.
    assert third.calibration["yield"][0] == 1
    assert [note for note in third.notes if "other parameters than suggested" in note] == [
        f"later.csv, row 4: {rows[2]['experiment']} was made with other parameters than suggested; they count as measured"
    ]
    assert rows[1]["heat"] not in [one.params["heat"] for one in third.experiments]
    lost = asked(4, results=[later], study=kept)
    assert any("8 results of earlier rounds (E001" in note for note in lost.notes)


@pytest.mark.parametrize(
    ("left", "said"),
    [(3, "1 result of an earlier round (E004) is not in"), (2, "2 results of earlier rounds (E003, E004) are not in")],
)
def test_results_that_are_missing_are_named(tmp_path: Path, left: int, said: str) -> None:
    kept, table = tmp_path / "study.json", tmp_path / "results.csv"
    rows = [{**row, "yield": 1.0} for row in asked(n=4, study=kept).rows()]
    write_sheet(table, rows)
    asked(n=2, results=[table], study=kept)
    write_sheet(table, rows[:left])
    assert any(said in note for note in asked(n=2, results=[table], study=kept).notes)


def test_several_outcomes(tmp_path: Path) -> None:
    table = tmp_path / "results.csv"
    targets = {"yield": "max", "cost": "min"}
    first = next_experiments(SPACE, targets, 8, method="gp_ei")
    rows = [{**row, "yield": yielded(row), "cost": row["heat"] + row["k"]} for row in first.rows()]
    rows[0]["cost"] = None
    write_sheet(table, rows)
    second = next_experiments(SPACE, targets, 2, method="gp_ei", results=[table])
    assert second.measured == 7 and second.pending == 1 and "some of the outcomes" in second.notes[0]
    assert [len(one.forecasts or ()) for one in second.experiments] == [2, 2]
    added = ["yield_mean", "yield_low_80", "yield_high_80", "cost_mean", "cost_low_80", "cost_high_80"]
    assert list(second.rows()[0])[7:] == [*added, "probability_of_improvement", "reason"]


def test_forecasts_in_the_table_have_the_digits_that_their_intervals_need() -> None:
    near = Forecast((Marginal(-13245.6775, 1e-4),))
    made = (Experiment(0, {"x": 0.5}, "why", (near,), 0.5),)
    row = Batch(2, made, ("x",), ("energy",), (Direction.MINIMIZE,), measured=9, failed=0, pending=0).rows()[0]
    assert row["low_80"] == -13245.67763 and row["high_80"] == -13245.67737


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"yield": "good"}, "results.csv, row 2, outcome yield: expected a finite number"),
        ({"yield": "1,200"}, "row 2, outcome yield: '1,200' could have thousands or decimals: write 1200 or 1.200"),
        ({"heat": "1,200"}, "row 2, parameter 'heat': '1,200' could have thousands or decimals"),
        ({"heat": "hot"}, None),
        ({"heat": 120.0}, None),
        ({"base": "milk"}, None),
        ({"k": None}, None),
    ],
)
def test_cells_that_cannot_be_used(tmp_path: Path, cells: dict[str, Any], said: str | None) -> None:
    table = tmp_path / "results.csv"
    row = {"heat": 50.0, "dose": 0.1, "base": "KOH", "k": 1, "yield": 3.0}
    write_sheet(table, [{**row, **cells}, row])
    if said is not None:
        with pytest.raises(DataError, match=said):
            asked(results=[table])
        return
    batch = asked(results=[table])
    assert batch.measured == 1 and "results.csv, row 2 is left out, as it is not in the space" in batch.notes[0]


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    table, kept = tmp_path / "results.csv", tmp_path / "study.json"
    write_sheet(table, [{"heat": 50.0, "Yield ": 3.0}])
    with pytest.raises(DataError, match="has no column 'dose', 'base', 'k'"):
        asked(results=[table])
    with pytest.raises(RecipeError, match="makes no forecasts"):
        asked(method="lfbo")
    asked(study=kept)
    other: Space = ProductSpace({"x": Float(0.0, 1.0)})
    with pytest.raises(StudyError, match="is of experiments with heat, dose, base, k, and the space has x"):
        next_experiments(other, {"y": "min"}, 1, study=kept)
    with pytest.raises(StudyError, match="its format is not"):
        StudyFile.open(kept)


def test_at_the_border_of_a_constraint_numbers_are_rounded_to_the_inside() -> None:
    space = ProductSpace(
        {"m": Mixture({"water": (0.2, 1.0), "salt": (0.0, 0.5), "sugar": (0.0, 0.5)}), "heat": Float(40.0, 90.0)},
        constraints=["heat + 100 * salt <= 95"],
    )
    params = {"water": 0.355006322457897, "salt": 0.4722475476811654, "sugar": 0.1727461298609374}
    found = rounded({**params, "heat": 47.77524523188353}, space, {})
    assert found["heat"] + 100.0 * found["salt"] <= 95.0
    assert all(len(str(value)) <= 7 for value in found.values())
    assert (
        all(abs(found[name] - value) <= 2e-4 for name, value in params.items()) and abs(found["heat"] - 47.775) <= 0.02
    )


def test_numbers_are_rounded_within_their_range() -> None:
    edge = ProductSpace({"x": Float(0.123456, 0.123499), "y": Float(1e-7, 1.0, log=True), "z": Float(0.0, 30000.0)})
    for one in next_experiments(edge, {"v": "min"}, 6).experiments:
        assert edge.columns[0].encode(one.params["x"]) >= 0.0
        assert len(f"{one.params['y']:.10g}".strip("0.").split("e")[0].replace(".", "")) <= 4
        assert one.params["z"] == round(one.params["z"], 0)
