"""Coverage wherever forecasts are shown: at the next query, at fresh points, and near the best point.

Run with ``python benchmarks/places.py`` (all methods with intervals, 5 seeds); ``--methods``, ``--half`` and ``--seeds`` do a
part, and ``--quick`` a small one of which nothing is written. Settings were chosen on the problems of the half "chosen";
those of the half "reported" are others. For each problem, method and n = 15, 30, 60 evaluations:

* next: the forecasts of ten queries around n, as stored before they were measured;
* fresh: 200 uniform points, as ``Optimizer.predict`` forecasts them;
* near: 60 points within .05 of the best point, in every coordinate of the unit cube.

Shown are the shares of measurements inside the 50, 80 and 95 % intervals, and the mean CRPS of a run over that of a plain
Gaussian process fitted to the same data: the geometric mean of these ratios over runs, since outcomes of different runs
differ by orders of magnitude.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import csv
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from calibo import Categorical, Float, Int, Optimizer
from calibo.data import Array, Marginal
from calibo.diagnostics import coverage, crps
from calibo.models import GaussianProcess
from calibo.optimize import Strategy, fitted_plan
from calibo.problems import problem

SIZES = (15, 30, 60)
PLACES = ("next", "fresh", "near")
COVERAGES = (0.5, 0.8, 0.95)
FRESH, NEAR, RADIUS = 200, 60, 0.05
#: Queries before and after n that count as the next query.
WINDOW = 5
METHODS = ("auto", "gp_ei", "ocbo", "locbo", "ocbo_local", "cbo", "cqr", "conformal_ensemble")
RESULTS = Path(__file__).parent / "results" / "places.csv"
Points = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Task:
    """An objective: its space, its values without noise at points, and the standard deviation of the noise."""

    space: Mapping[str, Any]
    values: Callable[[Points], Array]
    noise: float = 0.0


def standard(name: str, noise: float = 0.0) -> Task:
    """Return a problem of ``calibo.problems``."""
    known = problem(name)
    space = known.space()
    return Task(space, lambda points: known(np.array([[p[key] for key in space] for p in points])), noise)


def mixed_hartmann() -> Task:
    """Return Hartmann's function of three numbers, a whole number, a choice and a number on a logarithmic scale."""
    place, shift = {"u": 0.3, "v": 0.6, "w": 0.1}, {"u": 0.0, "v": 0.3, "w": -0.2}

    def values(points: Points) -> Array:
        rows = [[p["a"], p["b"], p["c"], p["k"] / 10, place[p["m"]], (np.log10(p["r"]) + 4) / 4] for p in points]
        return problem("hartmann6")(np.array(rows)) + np.array([shift[p["m"]] for p in points])

    unit = {name: Float(0, 1) for name in "abc"}
    return Task({**unit, "k": Int(0, 10), "m": Categorical(list("uvw")), "r": Float(1e-4, 1, log=True)}, values)


def mixed_valley() -> Task:
    """Return Branin's function or the square root of Rosenbrock's, by a choice, plus a whole number and a further number."""

    def value(p: Mapping[str, Any]) -> float:
        if p["kind"] == "branin":
            base = problem("branin")(np.array([[15 * p["x"] - 5, 15 * p["y"]]]))[0]
        else:
            base = 10 + np.sqrt(problem("rosenbrock2")(np.array([[4 * p["x"] - 2, 4 * p["y"] - 1]]))[0])
        return float(base + 1.5 * (p["n"] - 5) ** 2 + 8 * (p["t"] - 0.3) ** 2)

    unit = {name: Float(0, 1) for name in "xyt"}
    space = {**unit, "n": Int(1, 8), "kind": Categorical(["branin", "rosenbrock"])}
    return Task(space, lambda points: np.array([value(p) for p in points]))


def kernel_ridge() -> Task:
    """Return the cross-validated error of kernel ridge regression on scikit-learn's diabetes data: a real training."""
    from sklearn.datasets import load_diabetes
    from sklearn.kernel_ridge import KernelRidge

    X, y = load_diabetes(return_X_y=True)
    X, y = 20.0 * X[:150], (y[:150] - y[:150].mean()) / y[:150].std()
    fold = np.arange(len(y)) % 3

    def value(p: Mapping[str, Any]) -> float:
        model = KernelRidge(alpha=p["alpha"], gamma=p["gamma"], kernel=p["kernel"])
        kept = X[:, : p["columns"]] * (1.0, p["weight"])[1 if p["weighted"] == "yes" else 0]
        errors = [
            np.mean((model.fit(kept[fold != k], y[fold != k]).predict(kept[fold == k]) - y[fold == k]) ** 2)
            for k in range(3)
        ]
        return float(np.log(np.mean(errors)))

    space = {
        "alpha": Float(1e-4, 1e2, log=True),
        "gamma": Float(1e-4, 1.0, log=True),
        "weight": Float(0.1, 3.0),
        "weighted": Categorical(["yes", "no"]),
        "kernel": Categorical(["rbf", "laplacian"]),
        "columns": Int(2, 10),
    }
    return Task(space, lambda points: np.array([value(p) for p in points]))


def gramacy_lee() -> Task:
    """Return the one-dimensional function of Gramacy and Lee (2012)."""

    def values(points: Points) -> Array:
        x = np.array([p["x"] for p in points])
        return np.sin(10 * np.pi * x) / (2 * x) + (x - 1) ** 4

    return Task({"x": Float(0.5, 2.5)}, values)


TASKS: dict[str, dict[str, Callable[[], Task]]] = {
    "chosen": {
        "forrester": partial(standard, "forrester"),
        "branin": partial(standard, "branin"),
        "six-hump camel": partial(standard, "six_hump_camel"),
        "beale": partial(standard, "beale"),
        "rosenbrock4": partial(standard, "rosenbrock4"),
        "rosenbrock6": partial(standard, "rosenbrock6"),
        "rastrigin4": partial(standard, "rastrigin4"),
        "levy5": partial(standard, "levy5"),
        "levy10": partial(standard, "levy10"),
        "hartmann6": partial(standard, "hartmann6"),
        "alpine5": partial(standard, "alpine1_5"),
        "ackley5": partial(standard, "ackley5"),
        "noisy ackley2": partial(standard, "ackley2", 0.5),
        "noisy hartmann3": partial(standard, "hartmann3", 0.2),
        "noisy levy3": partial(standard, "levy3", 2.0),
        "mixed hartmann": mixed_hartmann,
    },
    "reported": {
        "gramacy-lee": gramacy_lee,
        "mccormick": partial(standard, "mccormick"),
        "cosines": partial(standard, "cosines"),
        "cross-in-tray": partial(standard, "cross_in_tray"),
        "rosenbrock3": partial(standard, "rosenbrock3"),
        "ackley3": partial(standard, "ackley3"),
        "powers4": partial(standard, "powers4"),
        "rastrigin5": partial(standard, "rastrigin5"),
        "levy7": partial(standard, "levy7"),
        "alpine8": partial(standard, "alpine1_8"),
        "ackley10": partial(standard, "ackley10"),
        "noisy branin": partial(standard, "branin", 10.0),
        "noisy hartmann6": partial(standard, "hartmann6", 0.1),
        "mixed valley": mixed_valley,
        "kernel ridge": kernel_ridge,
    },
}


@dataclass(frozen=True)
class Row:
    """Forecasts of one problem, method, seed and size at one place.

    Attributes:
        coverage: Share of measurements inside the 50, 80 and 95 % intervals.
        crps: Mean CRPS.
        raw_crps: Mean CRPS of a plain Gaussian process of the same data.
    """

    task: str
    method: str
    seed: int
    n: int
    place: str
    coverage: tuple[float, ...]
    crps: float
    raw_crps: float


def judged(key: tuple[str, str, int, int, str], shown: list[Marginal], raw: list[Marginal], y: Array) -> Row:
    """Compare forecasts, and those of a plain Gaussian process, with measurements."""
    inside = tuple(float(coverage(shown, y, p)) for p in COVERAGES)
    return Row(*key, inside, float(np.mean(crps(shown, y))), float(np.mean(crps(raw, y))))


def run(task: str, method: str | tuple[str, Strategy], seed: int) -> list[Row]:
    """Run one study and judge its forecasts at all sizes and places, in the internal sign."""
    warnings.simplefilter("ignore")
    name, strategy = (method, method) if isinstance(method, str) else method
    truth = (TASKS["chosen"] | TASKS["reported"])[task]()
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
    """Return the rows with all seeds of a task pooled."""
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
        )
        for (task, method, n, place), group in groups.items()
    ]


def summary(rows: Sequence[Row]) -> list[str]:
    """Return one line per method, size and place, over problems: the table of the README."""
    lines = ["| method | n | place | 50 % | 80 % | mean deviation | lowest | 95 % | CRPS / raw |", "|---" * 9 + "|"]
    pooled = by_task(rows)
    for method in dict.fromkeys(row.method for row in pooled):
        for n in SIZES:
            for place in PLACES:
                here = [row for row in pooled if (row.method, row.n, row.place) == (method, n, place)]
                c50, c80, c95 = np.array([row.coverage for row in here]).T
                ratio = relative_crps([row for row in rows if (row.method, row.n, row.place) == (method, n, place)])
                cells = [c50.mean(), c80.mean(), np.abs(c80 - 0.8).mean(), c80.min(), c95.mean(), ratio]
                lines.append(f"| `{method}` | {n} | {place} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    return lines


def relative_crps(rows: Sequence[Row]) -> float:
    """Return the geometric mean over runs of the CRPS relative to that of a plain Gaussian process."""
    return float(np.exp(np.mean([np.log(row.crps / row.raw_crps) for row in rows])))


def per_task(rows: Sequence[Row], method: str) -> list[str]:
    """Return one line per problem with the coverage of 80 % intervals of a method at each size and place."""
    heads = [f"{place} {n}" for place in PLACES for n in SIZES]
    lines = [f"| problem ({method}) | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    pooled = {(row.task, row.n, row.place): row.coverage[1] for row in by_task(rows) if row.method == method}
    for task in dict.fromkeys(task for task, _, _ in pooled):
        cells = [f"{pooled[task, n, place]:.2f}" for place in PLACES for n in SIZES]
        lines.append(f"| {task} | " + " | ".join(cells) + " |")
    return lines


def measure(tasks: Sequence[str], methods: Sequence[Any], seeds: int, jobs: int) -> list[Row]:
    """Run all studies."""
    work = [(task, method, seed) for seed in range(seeds) for task in tasks for method in methods]
    with ProcessPoolExecutor(jobs) as pool:
        done = list(tqdm(pool.map(run, *zip(*work, strict=True)), total=len(work)))
    return [row for rows in done for row in rows]


def write(rows: Sequence[Row], path: Path) -> None:
    """Write pooled rows; those of other methods and problems that were measured before are kept."""
    fields = ["task", "method", "n", "place", "seeds", "cover50", "cover80", "cover95", "crps", "raw_crps"]
    table = [
        [
            r.task,
            r.method,
            r.n,
            r.place,
            r.seed,
            *(f"{c:.4f}" for c in r.coverage),
            f"{r.crps:.6g}",
            f"{r.raw_crps:.6g}",
        ]
        for r in by_task(rows)
    ]
    new = {(row[0], row[1]) for row in table}
    path.parent.mkdir(exist_ok=True)
    if path.exists():
        with path.open() as file:
            table += [row for row in list(csv.reader(file))[1:] if (row[0], row[1]) not in new]
    table.sort(key=lambda row: (row[0], row[1], int(row[2]), row[3]))
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([fields, *table])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--half", choices=[*TASKS, "both"], default="both")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="three problems, one seed; nothing is written")
    arguments = parser.parse_args()
    halves = list(TASKS) if arguments.half == "both" else [arguments.half]
    for half in halves:
        tasks = list(TASKS[half])[: 3 if arguments.quick else None]
        rows = measure(tasks, arguments.methods, 1 if arguments.quick else arguments.seeds, arguments.jobs)
        print(
            f"\nProblems that settings were {half} on" if half == "chosen" else "\nOther problems",
            *summary(rows),
            sep="\n",
        )
        for method in arguments.methods:
            print("", *per_task(rows, method), sep="\n")
        if not arguments.quick:
            write(rows, RESULTS)


if __name__ == "__main__":
    main()
