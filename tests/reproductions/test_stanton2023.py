"""A little of every figure of Stanton et al. 2023, through the reproduction's own command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.extras

ROOT = Path(__file__).parents[2]
FIGURES = (5, 6, 7, 10, 13, 14, 15)


def command(*arguments: str) -> str:
    program = [sys.executable, str(ROOT / "reproductions" / "stanton2023" / "run.py"), "--smoke", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "CALIBO_DATA"} | {
        "PYTHONPATH": str(ROOT)
    }
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables in the form of those of Figure 13: targets that depend on the first features."""
    import pandas

    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)
    X = rng.random((48, 3))
    targets = {"penalized_logP": X[:, 0], "qed": -((X[:, 1] - 0.5) ** 2), "3pbl_docking": X.sum(axis=1)}
    features = {"exact_mol_wt": X[:, 0], "mol_weight": X[:, 1], "num_radical_electrons": 0, "charge": X[:, 2]}
    pandas.DataFrame({"smiles": "C", **targets, **features}).to_parquet(folder / "zinc512_drd3_logp_qed.parquet")
    antibodies = {"sequence": "A", "tm_mean": X[:, 0] + X[:, 2], "length": X[:, 0], "gravy": X[:, 1], "frac_A": X[:, 2]}
    pandas.DataFrame(antibodies).to_parquet(folder / "antibody_nbthermo_tm.parquet")
    return folder


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, tables: Path) -> Path:
    out = tmp_path_factory.mktemp("stanton2023")
    printed = command("--out", str(out), "--data", str(tables))
    assert any(line.startswith("0 of ") for line in printed.splitlines())
    return out


def test_every_figure_has_a_table_and_a_picture(results: Path) -> None:
    for figure in FIGURES:
        rows = json.loads((results / f"figure{figure}.json").read_text())
        # Figure 11 is made from the runs of Figure 10.
        assert rows and all(row["figure"].startswith(("10", "11") if figure == 10 else str(figure)) for row in rows)
        assert (results / f"figure{figure}.png").stat().st_size > 10_000


def test_claims_say_what_they_rest_on(results: Path) -> None:
    """Of a few trials no verdict is given, and none where the paper claims nothing of a mean or a ratio."""
    claims = json.loads((results / "claims.json").read_text())
    assert set(FIGURES) <= {claim["figure"] for claim in claims if claim["verdict"] == "cannot tell"}
    for claim in claims:
        unjudged = claim["claimed"] in ("-", "varies") or claim["claimed"].endswith("rising")
        assert claim["verdict"] == ("-" if unjudged else "cannot tell"), claim
        assert claim["seeds"] in (1, 2, 3) and claim["budget"] and claim["commit"]


def test_coverages_are_shares_and_the_target_is_that_of_the_schedule(results: Path) -> None:
    rows = json.loads((results / "figure7.json").read_text())
    queries = [row["values"] for row in rows if "query coverage" in row["what"]]
    # Two problems; UCB, TuRBO, and four kinds of sets for conformal UCB, of Ackley's function with both ratios.
    assert len(queries) == 2 * (1 + 1 + 4) + 4
    # Batches of 3 chosen from 6 and 9 data.
    assert {round(row["target"], 6) for row in queries} == {round(1 - (6**-0.5 + 9**-0.5) / 2, 6)}
    assert all(0.0 <= row["mean"] <= 1.0 for row in queries)


def test_trade_offs_have_a_hypervolume_that_never_falls_and_the_coverage_of_every_objective(results: Path) -> None:
    entries = [json.loads(line) for line in (results / "runs.jsonl").read_text().splitlines()]
    runs = [(entry["job"], entry["record"]) for entry in entries if entry["job"]["figure"] == 12]
    assert len(runs) == 2 * 4 + 2  # problems, methods; ParEGO with and without conformal sets on one
    for job, record in runs:
        volumes, objectives = record["hypervolume"], {"branin_currin": 2, "penicillin": 3}[job["problem"]]
        assert record["n"] == [6, 7] and len(volumes) == 3
        assert volumes == sorted(volumes) and volumes[0] >= 0.0 and volumes[-1] < 1.0
        assert [len(column) for column in record["credible"]] == [2] * objectives
        assert {value is None for column in record["conformal"] for value in column} == {
            not job["method"].startswith("conformal")
        }
    rows = json.loads((results / "figure12.json").read_text())
    queries = [row["values"] for row in rows if "query coverage" in row["what"]]
    # Credible sets, and four kinds of sets for the conformal methods.
    assert len(queries) == 2 * (1 + 1 + 4 + 4) + 1 + 4
    compared = {row["what"]: row for row in rows if "ratio" in row["values"]}
    assert "branin_currin, noisy ParEGO: hypervolume" in compared
    assert "mean / that of NEHVI" in compared["branin_currin, noisy ParEGO: hypervolume"]["ours"]
    assert {round(row["target"], 6) for row in queries} == {round(1 - (6**-0.5 + 7**-0.5) / 2, 6)}
    assert (results / "figure12.png").stat().st_size > 10_000


def test_rankings_start_from_the_worst_rows_and_have_regret_and_coverage(results: Path) -> None:
    rows = {row["what"]: row["values"] for row in json.loads((results / "figure13.json").read_text())}
    assert len(rows) == 8 * (3 + 6)  # four tasks, drawn rows and whole tables; UCB and conformal UCB
    for values in (values for what, values in rows.items() if "regret" not in what):
        # Queries are chosen from 8 to 11 data.
        assert values["target"] == pytest.approx(1 - np.mean([n**-0.5 for n in (8, 9, 10, 11)]))
        assert 0.0 <= values["mean"] <= 1.0
    assert all(values["median"] >= 0.0 for what, values in rows.items() if "regret" in what)


def test_without_its_tables_figure_13_is_left_out(results: Path) -> None:
    printed = command("--out", str(results), "--figures", "13", "14")
    assert printed.startswith("Figure 13 is left out")


def test_known_shift_and_relaxation_act_as_the_paper_says(results: Path) -> None:
    rows = {row["what"]: row["values"] for row in json.loads((results / "figure14.json").read_text())}
    # Where data are sparse the paper's conformal sets are wider than the credible ones, where they are many alike.
    assert rows["conformal sets, data sparse"]["width"] > 1.5 * rows["credible sets, data sparse"]["width"]
    assert rows["conformal sets, data dense"]["width"] < 1.5 * rows["credible sets, data dense"]["width"]
    (relaxed,) = (row["values"] for row in json.loads((results / "figure5.json").read_text()) if row["figure"] == "5d")
    assert relaxed["0.3"] >= relaxed["0"]


def _without_times(text: str) -> list[str]:
    entries = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
    return sorted(json.dumps({**entry, "seconds": 0}) for entry in entries)


def test_finished_runs_are_not_done_again(results: Path) -> None:
    runs = results / "runs.jsonl"
    before, lines = runs.read_text(), runs.read_text().splitlines(keepends=True)
    done_again = [line for line in lines if '"figure": 14' in line][:1]
    kept = [line for line in lines if line not in done_again]
    # One run is missing, and the file ends in the middle of a line, as after a crash.
    runs.write_text("".join(kept) + done_again[0][:40])
    printed = command("--out", str(results), "--figures", "14")
    assert printed.startswith("1 of 2 ")
    assert _without_times(runs.read_text()) == _without_times(before)
    assert command("--out", str(results), "--table", "--figures", "14").startswith("| figure |")


def test_stored_runs_are_run_again_and_compared(results: Path) -> None:
    printed = command("--out", str(results), "--figures", "14", "--verify", "2")
    assert printed.count("the same: ") == 2
    again = json.loads((results / "verified.json").read_text())
    assert [row["same"] for row in again["rows"]] == [True, True]


def test_claims_rest_on_the_trials_that_are_there(results: Path, tmp_path: Path) -> None:
    """Of a figure with rows for each panel, what was said of the others stays."""
    lines = [json.loads(line) for line in (results / "runs.jsonl").read_text().splitlines() if line.endswith("}")]
    kept = [line for line in lines if line["job"]["figure"] == 14 and line["job"]["seed"] == 0]
    kept += [line for line in lines if line["job"]["figure"] == 15 and line["job"]["method"] == "UCB"]
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in kept))
    told = {"another panel": 9, "rkhs5, UCB: simple regret": 1}
    before = [{"figure": 15, "text": text, "seeds": seeds} for text, seeds in told.items()]
    (tmp_path / "claims.json").write_text(json.dumps(before))
    command("--out", str(tmp_path), "--figures", "6", "14", "15", "--claims")
    claims = json.loads((tmp_path / "claims.json").read_text())
    assert {(claim["figure"], claim["seeds"]) for claim in claims} == {(14, 1), (15, 1), (15, 9)}
    assert [claim["text"] for claim in claims if "ours" not in claim] == ["another panel"]


def test_some_problems_and_methods_of_a_figure_can_be_run_alone(tmp_path: Path) -> None:
    command("--out", str(tmp_path), "--figures", "7", "--problems", "ackley", "--methods", "UCB", "conformal UCB")
    jobs = [json.loads(line)["job"] for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    assert sorted((job["problem"], job["method"]) for job in jobs) == [("ackley", "UCB"), ("ackley", "conformal UCB")]
    assert not (tmp_path / "figure7.png").exists()
    said = command("--out", str(tmp_path), "--figures", "7", "--left")
    assert "runs are left; all take about 0 minutes on two cores, by those stored, 5 aside" in said


def test_few_trials_do_not_replace_a_table_of_more(results: Path, tmp_path: Path) -> None:
    claims = json.loads((results / "claims.json").read_text())
    for seeds, stays in ((9, True), (1, False)):
        earlier = [{**claim, "seeds": seeds, "ours": "earlier"} for claim in claims if claim["figure"] == 14]
        (tmp_path / "claims.json").write_text(json.dumps(earlier))
        (tmp_path / "runs.jsonl").write_text((results / "runs.jsonl").read_text())
        said = command("--out", str(tmp_path), "--figures", "14", "--claims")
        assert said.startswith("Figure 14: 2 trials are there, and the stored table") == stays
        assert all((c["ours"] == "earlier") == stays for c in json.loads((tmp_path / "claims.json").read_text()))
