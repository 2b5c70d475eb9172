"""Jobs that are run once and kept as they finish."""

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

README = "# Title\n<!-- results -->\n| old |\n<!-- end of results -->\nText.\n"


@dataclass(frozen=True)
class Job:
    problem: str
    seed: int
    alpha: float | None = None


def perform(job: Job) -> dict[str, Any]:
    return {"value": job.seed * 10, "seconds": 0.5}


JOBS = tuple(Job("a", seed) for seed in range(3)) + (Job("b", 0, 0.1), Job("a", 0))


@pytest.mark.parametrize("processes", [1, 2])
def test_jobs_are_run_once_and_lost_ones_again(modules: dict[str, ModuleType], tmp_path: Path, processes: int) -> None:
    harness = modules["harness"]
    store = harness.Store(tmp_path, Job)

    def run() -> int:
        return harness.finish(JOBS, perform, store, processes=processes, order=lambda job: job.seed)

    assert (run(), run()) == (4, 0)
    found = store.load()
    assert found[harness.key_of(Job("a", 2))] == {"value": 20, "seconds": 0.5}
    assert harness.seconds_of(JOBS, found) == 2.0
    # As if the program had been stopped while it wrote the last line.
    file = tmp_path / "a.jsonl"
    file.write_text(file.read_text()[:-10])
    assert len(store.load()) == 3
    assert (run(), run()) == (1, 0)
    assert store.load() == found


def test_a_key_tells_jobs_apart(modules: dict[str, ModuleType]) -> None:
    key_of = modules["harness"].key_of
    assert key_of(Job("a", 1)) == "problem=a seed=1"
    assert len({key_of(job) for job in (Job("a", 1), Job("a", 2), Job("b", 1), Job("a", 1, 0.1))}) == 4
    assert modules["harness"].of_seeds(Job("a", 7), 2) == (Job("a", 0), Job("a", 1))


def test_a_readme_takes_tables_between_its_marks(modules: dict[str, ModuleType]) -> None:
    fill = modules["harness"].fill
    once = fill(README, "| new |")
    assert once == README.replace("| old |", "| new |")
    assert fill(once, "| old |") == README


@pytest.mark.parametrize("name", ["chen2025", "deshpande2024", "kim2025", "song2022", "stanton2023"])
def test_every_readme_has_its_marks(modules: dict[str, ModuleType], name: str) -> None:
    text = (Path(__file__).parents[2] / "reproductions" / name / "README.md").read_text()
    head, tail = text.split("<!-- results -->")[0], text.split("<!-- end of results -->")[1]
    assert modules["harness"].fill(text, "| a |") == f"{head}<!-- results -->\n| a |\n<!-- end of results -->{tail}"
