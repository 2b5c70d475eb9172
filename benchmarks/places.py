"""Coverage wherever forecasts are shown: at the next query, at fresh points, and near the best point.

Run with ``python -m benchmarks.places`` (all methods with intervals, 5 seeds); ``--methods``, ``--half`` and ``--seeds`` do a
part, and ``--quick`` a small one of which nothing is written. Settings were chosen on the problems of the half "chosen", and
on those called "further"; those of the half "reported" are others (``place_problems.py``), and those called "later" were
set up when everything had been chosen (``later_place_problems.py``), and those called "latest" when it had been chosen anew
(``latest_place_problems.py``). For each problem, method and n = 15, 30, 60 evaluations:

* next: the forecasts of ten queries around n, as stored before they were measured;
* fresh: 200 uniform points, as ``Optimizer.predict`` forecasts them;
* near: 60 points within .05 of the best point, in every coordinate of the unit cube.

Shown are the shares of measurements inside the 50, 80 and 95 % intervals, and the mean CRPS of a run over that of a plain
Gaussian process fitted to the same data: the geometric mean of these ratios over seeds and then over problems, since outcomes
of different runs differ by orders of magnitude. ``--page`` writes the tables of ``places.md`` from the stored results only.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import csv
import warnings
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from benchmarks import page_tables
from benchmarks.later_place_problems import LATER
from benchmarks.latest_place_problems import LATEST
from benchmarks.place_problems import TASKS as EARLIER
from benchmarks.place_problems import Task
from calibo import Optimizer
from calibo.data import Array, Marginal
from calibo.diagnostics import coverage, crps
from calibo.models import GaussianProcess
from calibo.optimize import Strategy, fitted_plan

TASKS = {**EARLIER, "later": LATER, "latest": LATEST}
SIZES = (15, 30, 60)
PLACES = ("next", "fresh", "near")
COVERAGES = (0.5, 0.8, 0.95)
_FIELDS = ("task", "method", "n", "place", "seeds", "cover50", "cover80", "cover95", "crps", "raw_crps", "ratio")
FRESH, NEAR, RADIUS = 200, 60, 0.05
#: Queries before and after n that count as the next query.
WINDOW = 5
METHODS = ("auto", "gp_ei", "ocbo", "locbo", "ocbo_local", "cbo", "cqr", "conformal_ensemble")
RESULTS = Path(__file__).parent / "results" / "places.csv"


@dataclass(frozen=True)
class Row:
    """Forecasts of one problem, method, seed and size at one place.

    Attributes:
        coverage: Share of measurements inside the 50, 80 and 95 % intervals.
        crps: Mean CRPS.
        raw_crps: Mean CRPS of a plain Gaussian process of the same data.
        ratio: The first over the second, of several seeds the geometric mean.
    """

    task: str
    method: str
    seed: int
    n: int
    place: str
    coverage: tuple[float, ...]
    crps: float
    raw_crps: float
    ratio: float


def judged(key: tuple[str, str, int, int, str], shown: list[Marginal], raw: list[Marginal], y: Array) -> Row:
    """Compare forecasts, and those of a plain Gaussian process, with measurements."""
    inside = tuple(float(coverage(shown, y, p)) for p in COVERAGES)
    own, plain = float(np.mean(crps(shown, y))), float(np.mean(crps(raw, y)))
    return Row(*key, inside, own, plain, own / plain)


def run(task: str, method: str | tuple[str, Strategy], seed: int) -> list[Row]:
    """Run one study and judge its forecasts at all sizes and places, in the internal sign."""
    warnings.simplefilter("ignore")
    name, strategy = (method, method) if isinstance(method, str) else method
    truth = next(half[task] for half in TASKS.values() if task in half)()
    optimizer, rng = Optimizer(truth.space, strategy, seed=seed), np.random.default_rng([seed, 1])
    rows, stored = [], {n: ([], [], []) for n in SIZES}
    for t in range(max(SIZES) + WINDOW):
        if t in SIZES:
            rows += elsewhere((task, name, seed, t), optimizer, truth)
        suggestion = optimizer.ask()
        data = optimizer.data()
        value = float(truth.values([suggestion.params])[0]) + truth.noise * rng.standard_normal()
        optimizer.tell(suggestion, value)
        for n in SIZES:
            if n - WINDOW <= t < n + WINDOW:
                shown, raw, y = stored[n]
                shown.append(suggestion.forecasts[0].calibrated.negated())  # pyright: ignore[reportOptionalSubscript]
                raw += plain_forecasts(data, suggestion.x[None, :])
                y.append(-value)
    for n, (shown, raw, y) in stored.items():
        rows.append(judged((task, name, seed, n, "next"), shown, raw, np.array(y)))
    return rows


def plain_forecasts(data: Any, X: Array) -> list[Marginal]:
    """Return the forecasts of a plain Gaussian process."""
    model = GaussianProcess().fit(data, rng=np.random.default_rng(0))
    return list(model.predict(X, latent=False).marginals())


def elsewhere(key: tuple[str, str, int, int], optimizer: Optimizer, truth: Task) -> list[Row]:
    """Judge forecasts at fresh points and near the best one."""
    rng = np.random.default_rng([key[2], key[3], 2])
    data, space = optimizer.data(), optimizer.space
    d, best = space.dimension, data.X[np.argmax(data.Y[:, 0])]
    model = fitted_plan(data, optimizer.strategy, rng=np.random.default_rng(0)).models[0]
    rows = []
    for place, points in (
        ("fresh", rng.random((FRESH, d))),
        ("near", np.clip(best + rng.uniform(-RADIUS, RADIUS, (NEAR, d)), 0.0, 1.0)),
    ):
        X = space.repair(points)
        y = -(truth.values(space.decode(X)) + truth.noise * rng.standard_normal(len(X)))
        shown = list(model.predict(X, latent=False).marginals())
        rows.append(judged((*key, place), shown, plain_forecasts(data, X), y))
    return rows


def by_task(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with all seeds of a task pooled; the seed is their number."""
    groups: dict[tuple[str, str, int, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.task, row.method, row.n, row.place].append(row)
    return [
        Row(
            task,
            method,
            len(group),
            n,
            place,
            tuple(np.mean([row.coverage for row in group], axis=0).tolist()),
            float(np.mean([row.crps for row in group])),
            float(np.mean([row.raw_crps for row in group])),
            _geometric_mean([row.ratio for row in group]),
        )
        for (task, method, n, place), group in groups.items()
    ]


def summary(pooled: Sequence[Row]) -> list[str]:
    """Return one line per method, size and place, over problems."""
    heads = ["method", "seeds", "n", "place", "50 %", "80 %", "mean deviation", "lowest", "95 %", "CRPS / raw"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for method in dict.fromkeys(row.method for row in pooled):
        for n in SIZES:
            for place in PLACES:
                here = [row for row in pooled if (row.method, row.n, row.place) == (method, n, place)]
                c50, c80, c95 = np.array([row.coverage for row in here]).T
                ratio = _geometric_mean([row.ratio for row in here])
                cells = [c50.mean(), c80.mean(), np.abs(c80 - 0.8).mean(), c80.min(), c95.mean(), ratio]
                numbers = " | ".join(f"{cell:.2f}" for cell in cells)
                lines.append(f"| `{method}` | {min(row.seed for row in here)} | {n} | {place} | {numbers} |")
    return lines


def _geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def per_task(pooled: Sequence[Row], method: str) -> list[str]:
    """Return one line per problem with the coverage of 80 % intervals of a method at each size and place."""
    heads = [f"{place} {n}" for place in PLACES for n in SIZES]
    lines = [f"| problem ({method}) | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    inside = {(row.task, row.n, row.place): row.coverage[1] for row in pooled if row.method == method}
    for task in dict.fromkeys(task for task, _, _ in inside):
        cells = [f"{inside[task, n, place]:.2f}" for place in PLACES for n in SIZES]
        lines.append(f"| {task} | " + " | ".join(cells) + " |")
    return lines


def measure(tasks: Sequence[str], methods: Sequence[Any], seeds: int, jobs: int) -> list[Row]:
    """Run all studies."""
    work = [(task, method, seed) for seed in range(seeds) for task in tasks for method in methods]
    with ProcessPoolExecutor(jobs) as pool:
        done = list(tqdm(pool.map(run, *zip(*work, strict=True)), total=len(work)))
    return [row for rows in done for row in rows]


def write(pooled: Sequence[Row], path: Path) -> None:
    """Write pooled rows; those of other methods and problems that were measured before are kept."""
    new = {(row.task, row.method) for row in pooled}
    kept = [row for row in stored(path) if (row.task, row.method) not in new]
    table = sorted([*pooled, *kept], key=lambda row: (row.task, row.method, row.n, row.place))
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_FIELDS)
        for r in table:
            sizes = (f"{value:.6g}" for value in (r.crps, r.raw_crps, r.ratio))
            writer.writerow([r.task, r.method, r.n, r.place, r.seed, *(f"{c:.4f}" for c in r.coverage), *sizes])


def stored(path: Path = RESULTS) -> list[Row]:
    """Return the pooled rows of the results."""
    if not path.exists():
        return []
    with path.open() as file:
        return [
            Row(
                r["task"],
                r["method"],
                int(r["seeds"]),
                int(r["n"]),
                r["place"],
                (float(r["cover50"]), float(r["cover80"]), float(r["cover95"])),
                float(r["crps"]),
                float(r["raw_crps"]),
                float(r["ratio"]),
            )
            for r in csv.DictReader(file)
        ]


def tables() -> dict[str, str]:
    """Return the tables of the page, by name, from the stored results."""
    found = {}
    for half in ("reported", "later", "latest", "chosen"):
        order = {name: place for place, name in enumerate(TASKS[half])}
        known = [row for row in stored() if row.task in order and row.method in METHODS]
        rows = sorted(known, key=lambda row: order[row.task])
        rows.sort(key=lambda row: METHODS.index(row.method))
        found[f"places {half}"] = "\n".join(summary(rows))
        if half != "chosen":
            found[f"places {half} problems"] = "\n".join(per_task(rows, METHODS[0]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--half", choices=[*TASKS, "both"], default="both")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="three problems, one seed; nothing is written")
    parser.add_argument("--page", action="store_true", help="write the tables of the page from the stored results")
    arguments = parser.parse_args()
    if arguments.page:
        for name, table in tables().items():
            page_tables.write("places", name, table)
        return
    halves = ["chosen", "reported"] if arguments.half == "both" else [arguments.half]
    for half in halves:
        tasks = list(TASKS[half])[: 3 if arguments.quick else None]
        rows = by_task(measure(tasks, arguments.methods, 1 if arguments.quick else arguments.seeds, arguments.jobs))
        print(
            "\nOther problems"
            if half in ("reported", "later", "latest")
            else f"\nProblems that settings were chosen on ({half})",
            *summary(rows),
            sep="\n",
        )
        for method in arguments.methods:
            print("", *per_task(rows, method), sep="\n")
        if not arguments.quick:
            write(rows, RESULTS)


if __name__ == "__main__":
    main()
