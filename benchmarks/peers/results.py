"""Small tables out of the finished runs, one CSV for each optimizer: what is committed.

    python -m benchmarks.peers.results

Columns, by optimizer, problem and seed:
    evaluations      length of the run
    initial          median regret of the initial points' noise-free values: the unit of relative regret
    regret_<n>       regret of the noise-free value of the point with the best measurement among the first n
    area_<n>         mean over the evaluations from the first suggestion to n of log10 of the relative regret, at least 1e-4
    hit_<t>          first evaluation at which the relative regret was at most t
    cpu_median, cpu_mean   CPU seconds of a suggestion
    coverage, crps   share of measurements inside the 80 % interval forecast; CRPS in units of random points' spread
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers import problems, store
from benchmarks.peers.problems import PeerProblem
from benchmarks.peers.protocol import Run
from benchmarks.peers.store import Key

FOLDER = Path(__file__).parent / "results"
#: Evaluations at which regret is shown; the last for long runs.
CHECKPOINTS = (20, 30, 40, 60, 200)
#: Evaluations up to which the area under the regret is taken.
AREAS = (30, 60, 200)
#: Relative regrets of the targets.
TARGETS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001)
#: Smallest relative regret that is told apart.
FLOOR = 1e-4
Array = npt.NDArray[np.float64]
COLUMNS = (
    *("optimizer", "problem", "seed", "evaluations", "initial"),
    *(f"regret_{n}" for n in CHECKPOINTS),
    *(f"area_{n}" for n in AREAS),
    *(f"hit_{t:g}" for t in TARGETS),
    *("cpu_median", "cpu_mean", "coverage", "crps"),
)


def incumbent_values(run: Run) -> Array:
    """Return the noise-free values of the points with the best measurement so far, n."""
    best = np.minimum.accumulate(run.measured)
    first = [int(np.flatnonzero(np.asarray(run.measured) == value)[0]) for value in best]
    return np.asarray(run.values, dtype=np.float64)[first]


def row_of(key: Key, run: Run, problem: PeerProblem, optimum: float) -> dict[str, Any]:
    """Return the row of a run, cells rounded; cells beyond its end are left out."""
    optimizer, name, seed = key
    n0 = problem.n_initial
    regret = incumbent_values(run) - optimum
    initial = float(np.median(run.values[:n0])) - optimum
    relative = np.maximum(regret / initial, FLOOR) if initial > 0 else np.full(len(regret), FLOOR)
    row: dict[str, Any] = {"optimizer": optimizer, "problem": name, "seed": seed, "evaluations": len(regret)}
    row["initial"] = _short(initial)
    row |= {f"regret_{n}": _short(regret[n - 1]) for n in CHECKPOINTS if n <= len(regret)}
    row |= {f"area_{n}": round(float(np.log10(relative[n0:n]).mean()), 4) for n in AREAS if n0 < n <= len(regret)}
    for t in TARGETS:
        if len(reached := np.flatnonzero(relative <= t)):
            row[f"hit_{t:g}"] = int(reached[0]) + 1
    row |= {"cpu_median": _short(np.median(run.seconds)), "cpu_mean": _short(np.mean(run.seconds))}
    return row | _forecast_cells(run, n0, problem.scale)


def _forecast_cells(run: Run, n0: int, scale: float) -> dict[str, float]:
    pairs = zip(run.forecasts, run.measured[n0:], strict=True)
    made = [(*forecast, outcome) for forecast, outcome in pairs if forecast is not None]
    if not made:
        return {}
    low, high, crps, outcome = np.asarray(made, dtype=np.float64).T
    return {
        "coverage": round(float(((low <= outcome) & (outcome <= high)).mean()), 4),
        "crps": _short(crps.mean() / scale),
    }


def _short(value: Any) -> float:
    return float(f"{float(value):.5g}")


def optima(runs: Mapping[Key, Run]) -> dict[str, float]:
    """Return the smallest value that any run saw of each training, whose optimum is not known."""
    found: dict[str, float] = {}
    for (_, problem, _), run in runs.items():
        if problems.family_of(problem) == "trainings":
            found[problem] = min(found.get(problem, np.inf), *run.values)
    return found


def with_auto(runs: Mapping[Key, Run]) -> dict[Key, Run]:
    """Add the runs of AutoSampler's rule: those of the sampler that it takes, with the same seed, which are not run twice."""
    from benchmarks.peers.adapters.optuna_samplers import AUTO_LIMIT, auto_takes_tpe

    added: dict[Key, Run] = {}
    for (optimizer, problem, seed), run in runs.items():
        if optimizer in ("optuna_gp", "optuna_tpe") and len(run.values) <= AUTO_LIMIT:
            taken = "optuna_tpe" if auto_takes_tpe(problems.get(problem, 0).space) else "optuna_gp"
            if optimizer == taken:
                added["optuna_auto", problem, seed] = run
    return {**added, **runs}


def rows(runs: Mapping[Key, Run]) -> list[dict[str, Any]]:
    """Return the rows of all runs, by optimizer, problem and seed."""
    seen, found = optima(runs), []
    known: dict[tuple[str, int], PeerProblem] = {}
    for key in sorted(runs):
        _, name, seed = key
        problem = known.setdefault((name, seed), problems.get(name, seed))
        found.append(row_of(key, runs[key], problem, min(problem.optimum, seen.get(name, problem.optimum))))
    return found


def write(found: list[dict[str, Any]], folder: Path) -> None:
    """Write one CSV for each optimizer."""
    folder.mkdir(parents=True, exist_ok=True)
    for optimizer in dict.fromkeys(row["optimizer"] for row in found):
        with (folder / f"{optimizer}.csv").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(row for row in found if row["optimizer"] == optimizer)


def merged(fresh: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """Return fresh rows and those that a folder has of other runs, or of longer ones: raw runs may no longer be there."""
    found = {_key(row): row for row in fresh}
    for file in (file for file in sorted(folder.glob("*.csv")) if file.stem != "footprint"):
        with file.open(newline="") as stream:
            for row in csv.DictReader(stream):
                if (key := _key(row)) not in found or int(found[key]["evaluations"]) < int(row["evaluations"]):
                    found[key] = row
    return [found[key] for key in sorted(found)]


def _key(row: Mapping[str, Any]) -> Key:
    return row["optimizer"], row["problem"], int(row["seed"])


def main(arguments: list[str] | None = None) -> None:
    """Write the tables of all finished runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, nargs="+", default=[store.FOLDER], help="folders of the finished runs")
    parser.add_argument("--results", type=Path, default=FOLDER, help="where to write the tables")
    parser.add_argument("--optimizers", help="only these, separated by commas")
    parser.add_argument(
        "--keep", action="store_true", help="keep the rows of the tables whose runs are not there, or longer"
    )
    given = parser.parse_args(arguments)
    found = rows(with_auto(store.runs(*given.runs)))
    if given.keep:
        found = merged(found, given.results)
    kept = set(given.optimizers.split(",")) if given.optimizers else {row["optimizer"] for row in found}
    write([row for row in found if row["optimizer"] in kept], given.results)
    for key, error in store.failures(*given.runs).items():
        print("failed:", *key, error)


if __name__ == "__main__":
    main()
