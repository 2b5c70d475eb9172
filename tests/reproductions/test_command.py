"""The command line of a reproduction, with one that adds numbers."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@dataclass(frozen=True)
class Job:
    problem: str
    seed: int
    method: str = "adds"


@dataclass(frozen=True)
class Size:
    repeats: dict[str, int]


@dataclass(frozen=True)
class Figure:
    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class Finished:
    figure: Figure
    found: Any


def figure(name: str, size: Size) -> Figure:
    return Figure(tuple(Job(name, seed) for seed in range(size.repeats[name])))


def perform(job: Job) -> dict[str, Any]:
    return {"value": job.seed, "seconds": 60.0 if job.problem == "a" else 20.0}


@pytest.fixture
def adding(modules: dict[str, ModuleType], tmp_path: Path) -> Any:
    (tmp_path / "README.md").write_text("<!-- results -->\n<!-- end of results -->\n")

    def claims(done: Any, size: Size) -> list[Any]:
        return [modules["judging"].counted(name, "all there", [True]) for name in done]

    def write(done: Any, size: Size, results: Path) -> None:
        (results / "sums.json").write_text(json.dumps({name: len(one.found) for name, one in done.items()}))

    return modules["command"].Reproduction(
        folder=tmp_path,
        about="Adds.",
        parts=("a", "b"),
        called="figures",
        full=Size({"a": 3, "b": 2}),
        smoke=Size({"a": 1, "b": 0}),
        figure=figure,
        finished=Finished,
        job=Job,
        filed_by="problem",
        perform=perform,
        order=lambda job: job.seed,
        budget=lambda job: f"{job.problem} once",
        claims=claims,
        tables=lambda done, size: f"| {' '.join(done)} |",
        write=write,
    )


def test_what_is_missing_is_run_and_written(adding: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert adding.main(["--figures", "a", "--processes", "1"]) == 3
    assert json.loads((tmp_path / "results" / "sums.json").read_text()) == {"a": 3}
    (claim,) = json.loads((tmp_path / "results" / "claims.json").read_text())
    assert (claim["part"], claim["seeds"], claim["budget"]) == ("a", 3, "a once")
    assert re.fullmatch(r"[0-9a-f]{10}\+?", claim["commit"])
    capsys.readouterr()
    assert adding.main(["--table"]) == 0
    assert capsys.readouterr().out == "b: 2 runs are missing\n| a |\n"
    assert adding.main(["--processes", "1"]) == 2
    assert "220 s of computing" in capsys.readouterr().out


def test_claims_of_other_parts_stay(adding: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for part in ("b", "a", "b"):
        adding.main(["--figures", part, "--processes", "1"])
    assert [row["part"] for row in json.loads((tmp_path / "results" / "claims.json").read_text())] == ["a", "b"]
    capsys.readouterr()
    adding.main(["--left", "--repeats", "4"])
    # Four runs of a minute and four of a third of one, on two cores.
    said = "; all take about 3 minutes on two cores, by those stored"
    assert capsys.readouterr().out == f"{tmp_path.name}: 3 of 8 runs are left{said}\n"


def test_few_seeds_of_the_present_code_give_way_to_more_of_earlier_code(adding: Any, tmp_path: Path) -> None:
    adding.main(["--repeats", "6", "--processes", "1"])
    runs = tmp_path / "results" / "runs"
    (runs / "older").mkdir()
    for name in ("a", "b"):
        lines = (runs / f"{name}.jsonl").read_text().splitlines(keepends=True)
        earlier = [json.dumps({**json.loads(line), "commit": "earlier"}) + "\n" for line in lines]
        (runs / "older" / f"{name}.jsonl").write_text("".join(earlier))
        (runs / f"{name}.jsonl").write_text("".join(lines[: 5 if name == "a" else 4]))
    (tmp_path / "results" / "sums.json").unlink()
    adding.main(["--claims", "--repeats", "5"])
    a, b = json.loads((tmp_path / "results" / "claims.json").read_text())
    assert (a["seeds"], b["seeds"]) == (5, 6) and b["commit"] == "earlier" != a["commit"]
    assert (a["earlier"], b["earlier"]) == (False, True)
    adding.main(["--readme", "--repeats", "5"])
    assert (
        "By runs of earlier code (`results/runs/older`): figures b.\n\n| a b |" in (tmp_path / "README.md").read_text()
    )
    # Runs of both parts in the store that a part was taken from.
    assert json.loads((tmp_path / "results" / "sums.json").read_text()) == {"a": 9, "b": 12}


def test_claims_whose_runs_are_gone_are_of_earlier_code(adding: Any, tmp_path: Path) -> None:
    adding.main(["--processes", "1"])
    (tmp_path / "results" / "runs" / "b.jsonl").unlink()
    adding.main(["--claims", "--figures", "a"])
    claims = tmp_path / "results" / "claims.json"
    assert [row["earlier"] for row in json.loads(claims.read_text())] == [False, False]
    adding.main(["--claims"])
    assert [row["earlier"] for row in json.loads(claims.read_text())] == [False, True]


def test_tables_go_into_the_readme(adding: Any, tmp_path: Path) -> None:
    adding.main(["--processes", "1"])
    adding.main(["--readme"])
    assert (tmp_path / "README.md").read_text() == "<!-- results -->\n| a b |\n<!-- end of results -->\n"


def test_repeats_can_be_chosen_but_not_of_parts_that_have_none(adding: Any, tmp_path: Path) -> None:
    assert adding.main(["--repeats", "1", "--processes", "1"]) == 2
    assert adding.main(["--smoke", "--repeats", "4", "--processes", "1", "--results", str(tmp_path / "s")]) == 4


def test_a_smoke_run_leaves_the_results_alone(adding: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert adding.main(["--smoke", "--processes", "1"]) == 1
    assert not (tmp_path / "results").exists()
    with pytest.raises(SystemExit):
        adding.main(["--smoke", "--readme"])
    assert "does not go into the README" in capsys.readouterr().err


def test_stored_jobs_are_run_again_and_compared(
    adding: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    adding.main(["--processes", "1"])
    capsys.readouterr()
    assert adding.main(["--verify", "3"]) == 0
    assert capsys.readouterr().out.count("the same: problem=") == 3
    again = json.loads((tmp_path / "results" / "verified.json").read_text())
    assert [row["same"] for row in again["rows"]] == [True] * 3 and len({row["job"] for row in again["rows"]}) == 3
    file = tmp_path / "results" / "runs" / "a.jsonl"
    file.write_text(file.read_text().replace('"value":2', '"value":7'))
    with pytest.raises(SystemExit, match="1 stored run gave something else"):
        adding.main(["--verify", "9"])
    assert "DIFFERENT: problem=a seed=2 method=adds (commit " in capsys.readouterr().out
