"""A little of every figure of Stanton et al. 2023, through the reproduction's own command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIGURES = (5, 6, 7, 14, 15)


def command(*arguments: str) -> str:
    program = [sys.executable, str(ROOT / "reproductions" / "stanton2023" / "run.py"), "--smoke", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("matplotlib")
    out = tmp_path_factory.mktemp("stanton2023")
    printed = command("--out", str(out))
    assert printed.startswith("0 of ")
    return out


def test_every_figure_has_a_table_and_a_picture(results: Path) -> None:
    for figure in FIGURES:
        rows = json.loads((results / f"figure{figure}.json").read_text())
        assert rows and all(row["figure"].startswith(str(figure)) for row in rows)
        assert (results / f"figure{figure}.png").stat().st_size > 10_000


def test_coverages_are_shares_and_the_target_is_that_of_the_schedule(results: Path) -> None:
    rows = json.loads((results / "figure7.json").read_text())
    queries = [row["values"] for row in rows if "query coverage" in row["what"]]
    assert len(queries) == 2 * (1 + 1 + 4)  # two problems; UCB, TuRBO, and four kinds of sets for conformal UCB
    # Batches of 3 chosen from 6 and 9 data.
    assert {round(row["target"], 6) for row in queries} == {round(1 - (6**-0.5 + 9**-0.5) / 2, 6)}
    assert all(0.0 <= row["mean"] <= 1.0 for row in queries)


def test_known_shift_and_relaxation_act_as_the_paper_says(results: Path) -> None:
    rows = {row["what"]: row["values"] for row in json.loads((results / "figure14.json").read_text())}
    # Where data are sparse the paper's conformal sets are wider than the credible ones, where they are many alike.
    assert rows["conformal sets, data sparse"]["width"] > 1.5 * rows["credible sets, data sparse"]["width"]
    assert rows["conformal sets, data dense"]["width"] < 1.5 * rows["credible sets, data dense"]["width"]
    (relaxed,) = (row["values"] for row in json.loads((results / "figure5.json").read_text()) if row["figure"] == "5d")
    assert relaxed["0.3"] >= relaxed["0"]


def test_finished_runs_are_not_done_again(results: Path) -> None:
    runs = results / "runs.jsonl"
    before, lines = runs.read_text(), runs.read_text().splitlines(keepends=True)
    done_again = [line for line in lines if '"figure": 14' in line][:1]
    kept = [line for line in lines if line not in done_again]
    # One run is missing, and the file ends in the middle of a line, as after a crash.
    runs.write_text("".join(kept) + done_again[0][:40])
    printed = command("--out", str(results), "--figures", "14")
    assert printed.startswith("1 of 2 ")
    assert sorted(line for line in runs.read_text().splitlines() if line.endswith("}")) == sorted(before.splitlines())
    assert command("--out", str(results), "--table", "--figures", "14").startswith("| figure |")
