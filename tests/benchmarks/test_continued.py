"""Stored runs continued by variants: from the same data, what the default acts on, and not done twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.peers import continued, problems, store
from benchmarks.peers.hosts import LocalHost
from benchmarks.peers.protocol import Job, Run, perform

PROBLEM = "train_random_features_breast_cancer"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """Return a folder with a short run of the default, and the run."""
    folder, job = tmp_path_factory.mktemp("runs"), Job("auto", PROBLEM, 0, 14)
    run = perform(job, LocalHost("auto"))
    store.add(folder, job, run)
    return folder, run


def test_the_default_continued_is_the_default(stored: tuple[Path, Run]) -> None:
    run = stored[1]
    row = continued.continued(continued.Job("auto", PROBLEM, 0, 12, 1), run)
    # Without the hyperparameters that a running search starts its fits from: the same maximum, not the same digits.
    assert float(row["lowest"]) == pytest.approx(min(run.values[:13]), rel=0.02)
    assert float(row["initial"]) == pytest.approx(np.median(run.values[: problems.get(PROBLEM, 0).n_initial]))
    assert row["evaluations"] == 13 and float(row["answer"]) == float(row["lowest"])


def test_what_is_done_is_not_done_again_and_is_compared_in_pairs(stored: tuple[Path, Run], tmp_path: Path) -> None:
    results = tmp_path / "continued.csv"
    given = ["--runs", str(stored[0]), "--results", str(results), "--problems", PROBLEM, "--seeds", "0,1"]
    given += ["--start", "10", "--count", "1", "--variants", "auto,of_measurements"]
    continued.main(given)
    # There is no run of seed 1.
    assert len(continued.load(results)) == 2
    continued.main(given)
    assert len(continued.load(results)) == 2


def test_differences_are_of_log_regrets_on_the_same_runs() -> None:
    optimum = problems.get(PROBLEM, 0).optimum
    rows = [
        (variant, PROBLEM, seed, 25, 37, optimum + 1.0, optimum + regret, optimum, 0.1)
        for variant, regrets in (("auto", (0.1, 0.1, 0.2)), ("never_noisy", (0.01, 0.1)))
        for seed, regret in enumerate(regrets)
    ]
    frame = pd.DataFrame(rows, columns=continued.COLUMNS)
    assert np.allclose(continued.log_regrets(frame)["never_noisy"].dropna(), [-2.0, -1.0])
    assert "| 25 to 37 | `never_noisy` |  |  |  | -0.50 ± 0.50 (1 : 0) |  | -0.50 ± 0.50 (1 : 0) | 2 |" in (
        continued.markdown(frame)
    )


@pytest.mark.parametrize("name", [name for name in problems.SUITES["further"] if name.startswith("train_")])
def test_further_trainings_are_the_same_again_and_not_below_what_is_known(name: str) -> None:
    problem = problems.get(name, 0)
    points = problem.initial(0)
    values = [problem.value(params) for params in points]
    assert values[:2] == [problem.value(params) for params in points[:2]]
    assert np.isfinite(values).all() and np.ptp(values) > 0.0 and min(values) >= problem.optimum
