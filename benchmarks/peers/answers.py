"""Which point to take after a search of noisy measurements: the best measurement, or one that a model of all of them says.

    python -m benchmarks.peers.run --optimizers auto,botorch,random --problems noisy --seeds 0-9 --runs FOLDER
    python -m benchmarks.peers.answers --runs FOLDER
    python -m benchmarks.peers.answers --table

The results of a stored run, of any optimizer, are told to an ``Optimizer`` with calibo's default. Finished rows are in
``results/answers.csv`` and are not done again; ``--table`` writes the table of docs/noise.md. Columns, by optimizer, problem
and seed: the median noise-free value of the initial points (initial), and the noise-free values at three answers:
    measured      the point with the best measurement, ``best``
    expected      the measured point with the best expected value, ``best_expected``
    recommended   the point with the best expected value, measured or not, ``recommend()``
"""

from __future__ import annotations

import os

from benchmarks.peers.hosts import THREADS

os.environ.update(THREADS)

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from benchmarks.peers import continued, problems, store, summary
from benchmarks.peers.adapters.calibo_methods import own_space
from benchmarks.peers.protocol import Run
from benchmarks.peers.run import names_of
from benchmarks.peers.spaces import clean
from calibo.optimize import Optimizer

PATH, PAGE = Path(__file__).parents[1] / "results" / "answers.csv", summary.ROOT / "docs" / "noise.md"
EVALUATIONS = 60
#: Answers by a model, and what they are called.
MODELLED = {"expected": "`best_expected`", "recommended": "`recommend()`"}
#: Optimizers in the table.
SHOWN = ("auto", "botorch", "optuna_gp", "optuna_tpe", "random")
FAMILIES = {"noisy": "BBOB in 5-D, noisy", "tables": "HPOBench tables"}


def answers(key: store.Key, run: Run) -> dict[str, Any]:
    """Return the row of a run."""
    name, seed = key[1:]
    problem = problems.get(name, seed)
    optimizer = Optimizer(own_space(problem.space), seed=seed)
    for point, outcome in zip(run.points, run.measured, strict=True):
        optimizer.tell(dict(zip(problem.space, point, strict=True)), outcome)
    points = {"expected": optimizer.best_expected[0], "recommended": optimizer.recommend()[0]}
    values = {
        "initial": float(np.median(run.values[: problem.n_initial])),
        "measured": run.values[int(np.argmin(run.measured))],
        **{answer: problem.value(clean(problem.space, dict(point))) for answer, point in points.items()},
    }
    found = dict(zip(("optimizer", "problem", "seed"), key, strict=True))
    return found | {column: f"{value:.10g}" for column, value in values.items()}


def load(path: Path = PATH) -> pd.DataFrame:
    """Return the finished rows."""
    columns = ("optimizer", "problem", "seed", "initial", "measured", *MODELLED)
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=columns)


def log_regrets(frame: pd.DataFrame) -> pd.DataFrame:
    """Return log10 of the relative regrets of the three answers, by optimizer, problem and seed; none below ``FLOOR``."""
    best = np.array([problems.get(p, int(s)).optimum for p, s in zip(frame["problem"], frame["seed"], strict=True)])
    found = frame.set_index(["optimizer", "problem", "seed"])
    initial = np.maximum(found["initial"] - best, 1e-300)
    relative = found[["measured", *MODELLED]].sub(best, axis=0).div(initial, axis=0)
    return np.log10(relative.clip(lower=continued.FLOOR))


def markdown(frame: pd.DataFrame) -> str:
    """Return the table: what an answer by the model is worth against the best measurement, by family and optimizer."""
    logs, rows = log_regrets(frame), []
    families = logs.index.get_level_values("problem").map(problems.family_of)
    for family, words in FAMILIES.items():
        part = logs[families == family]
        for optimizer in SHOWN:
            own = part[part.index.get_level_values("optimizer") == optimizer]
            gaps = [continued.cell(own[answer] - own["measured"]) for answer in MODELLED]
            if len(own):
                rows.append((words, f"`{optimizer}`", f"{own['measured'].mean():.2f}", *gaps, str(len(own))))
    return summary.table(("problems", "results of", "best measurement", *MODELLED.values(), "runs"), rows)


def main(arguments: list[str] | None = None) -> None:
    """Read the runs that were not read yet, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, nargs="+", default=[store.FOLDER], help="folders of finished runs")
    parser.add_argument("--problems", default="noisy,hpobench_australian,hpobench_car,hpobench_kc1")
    parser.add_argument("--results", type=Path, default=PATH)
    parser.add_argument("--table", action="store_true", help="only write the table into docs/noise.md")
    given = parser.parse_args(arguments)
    if given.table:
        summary.write(PAGE, "answers", markdown(load(given.results)))
        return
    known = load(given.results)[["optimizer", "problem", "seed"]].itertuples(index=False, name=None)
    done, wanted = {(str(o), str(p), int(s)) for o, p, s in known}, set(names_of(given.problems))
    runs = {key: run for key, run in store.runs(*given.runs).items() if key[1] in wanted and key not in done}
    found = []
    for key, run in tqdm(runs.items(), mininterval=5.0):
        if len(run.values) == EVALUATIONS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append(answers(key, run))
    table = pd.concat([load(given.results), pd.DataFrame(found)]) if found else load(given.results)
    table.sort_values(["optimizer", "problem", "seed"]).to_csv(given.results, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
