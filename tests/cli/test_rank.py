"""``calibo rank``: what it prints and writes, and what it never writes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from calibo.cli.app import FAILED, app


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of 60 rows, 12 of them measured, in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"heat": rng.integers(20, 100, 60), "dose": rng.random(60).round(3), "lab": "north"})
    value = -((frame["heat"] - 60) ** 2) / 400 - frame["dose"]
    frame["yield"] = np.where(np.arange(60) < 12, value.round(4), np.nan)
    frame["cost"] = np.where(np.arange(60) < 12, frame["heat"] * 2, np.nan)
    frame.to_csv("candidates.csv", index=False)
    return Path("candidates.csv")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["rank", *words])


COMMON = ("--target", "yield", "--feature", "heat", "--feature", "dose", "--n", "4", "--method", "gp_ei")


@pytest.mark.parametrize(
    "words",
    [
        ("--error-budget", ".1", "--threshold", "0", "--at-random"),
        ("--error-budget", ".1", "--threshold", "0", "--method", "gp_ei"),
        ("--threshold", "0"),
        ("--drawn-at-random",),
    ],
)
def test_options_that_do_not_go_together_are_refused(table: Path, words: tuple[str, ...]) -> None:
    done = run(str(table), "--target", "yield", *words)
    assert done.exit_code == FAILED and "--error-budget" in done.stderr


def test_the_rows_are_shown_and_written(table: Path) -> None:
    before = table.read_bytes()
    done = run(str(table), *COMMON, "-o", "next.csv")
    assert done.exit_code == 0, done.output
    assert "12 rows are measured, 48 are candidates. Round 1." in done.stdout
    assert "yield: mean (80 %)" in done.stdout and "Wrote next.csv" in done.stdout
    assert "no forecast has met its result yet" in done.stdout
    written = pd.read_csv("next.csv")
    assert list(written)[:4] == ["row", "heat", "dose", "lab"] and len(written) == 4
    assert list(written)[-5:] == ["mean", "low_80", "high_80", "probability_of_improvement", "reason"]
    whole = pd.read_csv(table)
    pd.testing.assert_series_equal(written["dose"], whole.loc[written["row"], "dose"].reset_index(drop=True))
    assert all(str(row) in done.stdout for row in written["row"])
    assert table.read_bytes() == before
    assert sorted(os.listdir()) == ["candidates.csv", "candidates.csv.calibo.json", "next.csv"]


def test_the_next_round_shows_how_the_last_came_out(table: Path) -> None:
    run(str(table), *COMMON, "-o", "next.csv")
    whole, asked = pd.read_csv(table), pd.read_csv("next.csv").set_index("row")
    whole.loc[asked.index, "yield"] = asked["mean"]
    whole.to_csv(table, index=False)
    done = run(str(table), *COMMON)
    assert "16 rows are measured" in done.stdout and "Round 2" in done.stdout
    assert "yield: of 4 results 4 fell inside their 80 % intervals." in done.stdout


def test_the_identifier_comes_first_and_lines_fit(table: Path) -> None:
    whole = pd.read_csv(table)
    whole.insert(2, "sample", [f"S-{i:02d}" for i in range(len(whole))])
    whole.to_csv(table, index=False)
    done = run(str(table), *COMMON)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80, max(lines, key=len)
    heading = next(line for line in lines if "mean (80 %)" in line)
    assert heading.split()[0] == "sample" and any(
        line.split()[:1] and line.split()[0].startswith("S-") for line in lines
    )


def test_rows_are_accepted_within_a_budget(table: Path) -> None:
    drawn = run(str(table), *COMMON[:6], "--n", "30", "--at-random", "-o", "drawn.csv")
    assert drawn.exit_code == 0, drawn.output
    words = ("--target", "yield", "--feature", "heat", "--feature", "dose", "--error-budget", ".2", "--threshold", "-1")
    early = run(str(table), *words)
    assert early.exit_code == FAILED and "30 of the 30 rows drawn at random are not measured yet" in early.stderr
    whole, rows = pd.read_csv(table), pd.read_csv("drawn.csv")["row"]
    whole.loc[rows, "yield"] = 0.0
    whole.to_csv(table, index=False)
    done = run(str(table), *words, "-o", "accepted.csv")
    assert done.exit_code == 0, done.output
    assert (
        "18 of 18 candidates are accepted" in done.stdout.replace("\n ", "") and len(pd.read_csv("accepted.csv")) == 18
    )
    for missing in (words[:-2], (*words, "--report", "page.html"), (*words, "--target", "cost")):
        assert run(str(table), *missing).exit_code == FAILED


def test_a_page_about_the_rows(table: Path) -> None:
    done = run(str(table), *COMMON, "--report", "page.html")
    assert done.exit_code == 0 and "Wrote page.html" in done.stdout
    assert "4 rows to measure next." in Path("page.html").read_text(encoding="utf-8")


def test_notes_and_warnings(table: Path) -> None:
    words = "--target yield --target cost --direction max --direction min --n 99 --method gp_ei"
    done = run(str(table), *words.split())
    assert done.exit_code == 0, done.output
    assert "note: column lab is the same in every row and left out" in done.stdout
    assert "cost: mean (80 %)" in done.stdout
    assert "warning: 99 rows were asked for, but there are only 48" in done.stderr


def test_other_formats(table: Path) -> None:
    for name, read in (("next.parquet", pd.read_parquet), ("next.xlsx", pd.read_excel)):
        assert run(str(table), *COMMON, "-o", name).exit_code == 0
        assert len(read(name)) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-o", "candidates.csv", "--force"), "is the table itself"),
        (("-o", "link.csv", "--force"), "is the table itself"),
        (("-o", "kept.csv"), "kept.csv exists; give another file, or replace it with --force"),
        (("-o", "study.csv", "--study", "study.csv"), "is the study file"),
        (("-o", "next.txt"), "ends in .csv, .parquet, .xlsx"),
        (("-o", "nowhere/next.csv"), "a folder you may write to"),
        (("--target", "purity"), "no target column 'purity'; the columns are 'heat', 'dose', 'lab', 'yield', 'cost'"),
    ],
)
def test_what_is_refused_changes_nothing(table: Path, words: tuple[str, ...], message: str) -> None:
    Path("kept.csv").write_text("mine\n")
    Path("link.csv").symlink_to("candidates.csv")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    done = run(str(table), *COMMON, *words)
    assert done.exit_code == FAILED and message in done.stderr.replace("\n", " "), done.stderr
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_force_replaces_and_no_study_keeps_nothing(table: Path) -> None:
    Path("next.csv").write_text("old\n")
    done = run(str(table), *COMMON, "-o", "next.csv", "--force", "--no-study")
    assert done.exit_code == 0 and len(pd.read_csv("next.csv")) == 4
    assert sorted(os.listdir()) == ["candidates.csv", "next.csv"] and "kept in" not in done.stdout


def test_columns_of_our_names(table: Path) -> None:
    pd.read_csv(table).rename(columns={"heat": "mean", "dose": "row"}).to_csv(table, index=False)
    words = "--target yield --feature mean --feature row --method gp_ei --n 2 -o next.csv"
    done = run(str(table), *words.split())
    assert done.exit_code == 0, done.output
    written = pd.read_csv("next.csv")
    assert {"calibo_row", "row", "mean", "calibo_mean"} <= set(written)
