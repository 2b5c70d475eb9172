"""Regret in each context, where the optimum moves with the context: against treating it as noise.

Run with ``python benchmarks/contexts.py`` (10 seeds); ``--seeds`` does fewer, ``--quick`` a small part of which nothing is
written, and ``--table`` only prints what was measured before. A run whose row is there already is skipped.

In every trial a context is drawn at random, a point is asked for and its value told. After 20 and 40 trials the point that
is recommended for each of 15 contexts, evenly spaced, is compared with the best point of that context: the regret, as a
share of the distance between the median of random values and the optimum there, averaged over the contexts, and the
largest. "trials" is the average regret of the trials 21 to 40 in their own contexts.

- context: the default method with the column declared as a ``Context``
- half-ranked: the same, acting on half-ranked outcomes, as without contexts
- gp_ei: the method of that name with a ``Context``
- gp_ei, best of any: the same, with improvement over the best expected value of any context
- noise: the default method over the other columns only
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import csv
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from calibo import Context, Float, Optimizer
from calibo.acquisition import ExpectedImprovement
from calibo.data import Array, Dataset
from calibo.methods import auto, gp_ei
from calibo.optimize import ModelBased
from calibo.optimize.strategy import Strategy
from calibo.problems import problem
from calibo.search import Plan

TRIALS, CHECKS, CONTEXTS = 40, (20, 40), 15
RESULTS = Path(__file__).parent / "results" / "contexts.csv"
FIELDS = ("problem", "variant", "seed", "trial", "mean", "worst", "trials")


class AnyContext(ModelBased):
    """A strategy that compares with the best expected value of any context."""

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        return super().plan(replace(data, held=None), rng=rng)


@dataclass(frozen=True)
class Task:
    """A function of points on the unit cube, the last column of which is the context; smaller is better."""

    d: int
    values: Callable[[Array], Array]

    def best(self, context: float) -> tuple[float, float]:
        """Return the smallest and the median value in a context."""
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.random((20_000, self.d - 1)), np.full(20_000, context)])
        y = self.values(X)
        near = X[np.argsort(y)[:20]]
        for width in (0.03, 0.01, 0.003, 0.001, 0.0003):
            moved = np.repeat(near, 200, axis=0)
            moved[:, :-1] += width * rng.standard_normal((len(moved), self.d - 1))
            moved = np.vstack([near, np.clip(moved, 0.0, 1.0)])
            near = moved[np.argsort(self.values(moved))[:20]]
        return float(self.values(near).min()), float(np.median(y))


def known(name: str) -> Task:
    """Return a test function whose last variable is the context."""
    found = problem(name)
    low, high = np.array(found.box, dtype=float).T
    return Task(len(low), lambda X: found(low + X * (high - low)))


def sliding() -> Task:
    """Return a bowl in two columns whose centre moves on an arc, and whose level rises with the context."""

    def values(X: Array) -> Array:
        c = X[:, 2]
        centre = np.column_stack([0.15 + 0.7 * c, 0.5 + 0.35 * np.sin(np.pi * c)])
        return 4.0 * ((X[:, :2] - centre) ** 2).sum(axis=1) + 5.0 * c

    return Task(3, values)


TASKS: dict[str, Callable[[], Task]] = {
    "sliding bowl": sliding,
    "branin": lambda: known("branin"),
    "hartmann3": lambda: known("hartmann3"),
    "rosenbrock3": lambda: known("rosenbrock3"),
}


def variants() -> dict[str, Strategy]:
    plain, default = gp_ei(), auto()
    assert isinstance(plain, ModelBased)
    anywhere = AnyContext(plain.surrogate, ExpectedImprovement(), name="any context")
    return {
        "context": default,
        "half-ranked": default.method,
        "gp_ei": plain,
        "gp_ei, best of any": anywhere,
        "noise": default,
    }


def run(name: str, variant: str, seed: int) -> list[dict[str, Any]]:
    """Run one search and return a row for each number of trials."""
    warnings.simplefilter("ignore")
    task = TASKS[name]()
    names = [f"x{i}" for i in range(task.d - 1)]
    space: dict[str, Any] = {one: Float(0, 1) for one in names}
    space |= {} if variant == "noise" else {"c": Context(Float(0, 1))}
    optimizer, rng = Optimizer(space, variants()[variant], seed=seed), np.random.default_rng([seed, 3])
    grid = {float(c): task.best(float(c)) for c in np.linspace(0.0, 1.0, CONTEXTS)}
    rows, own = list[dict[str, Any]](), list[float]()

    def share(params: Mapping[str, Any], c: float, ends: tuple[float, float]) -> float:
        value = task.values(np.array([[*(params[one] for one in names), c]]))[0]
        return max(float(value) - ends[0], 0.0) / (ends[1] - ends[0])

    for t in range(1, TRIALS + 1):
        c = float(rng.random())
        suggestion = optimizer.ask(context=None if variant == "noise" else {"c": c})
        point = np.array([[*(suggestion.params[one] for one in names), c]])
        optimizer.tell(suggestion, float(task.values(point)[0]))
        if t > CHECKS[0]:
            own.append(share(suggestion.params, c, task.best(c)))
        if t in CHECKS:
            regrets = [
                share(optimizer.recommend(context=None if variant == "noise" else {"c": g})[0], g, ends)
                for g, ends in grid.items()
            ]
            rows.append({"problem": name, "variant": variant, "seed": seed, "trial": t})
            rows[-1] |= {"mean": f"{np.mean(regrets):.6f}", "worst": f"{np.max(regrets):.6f}"}
            rows[-1] |= {"trials": f"{np.mean(own):.6f}" if own else ""}
    return rows


def table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one line per problem and variant: medians over seeds."""
    lines = ["| problem | variant | runs | mean, 20 | mean, 40 | worst, 40 | trials 21 to 40 |", "|---" * 7 + "|"]
    for name in TASKS:
        for variant in variants():
            own = [r for r in rows if (r["problem"], r["variant"]) == (name, variant)]
            if not own:
                continue
            first, last = ([r for r in own if int(r["trial"]) == t] for t in CHECKS)
            cells = [f"{np.median([float(r['mean']) for r in first]):.4f}"]
            cells += [f"{np.median([float(r[key]) for r in last]):.4f}" for key in ("mean", "worst", "trials")]
            lines.append(f"| {name} | {variant} | {len(last)} | " + " | ".join(cells) + " |")
    return lines


def read() -> list[dict[str, Any]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open() as file:
        return list(csv.DictReader(file))


def write(rows: Sequence[Mapping[str, Any]]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([FIELDS, *([row[field] for field in FIELDS] for row in rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="one problem, one seed; nothing is written")
    parser.add_argument("--table", action="store_true", help="print what was measured before")
    arguments = parser.parse_args()
    rows = [] if arguments.quick else read()
    done = {(r["problem"], r["variant"], int(r["seed"])) for r in rows}
    seeds = 0 if arguments.table else 1 if arguments.quick else arguments.seeds
    names = ["branin"] if arguments.quick else list(TASKS)
    work = [(name, variant, seed) for seed in range(seeds) for name in names for variant in variants()]
    for one in tqdm([one for one in work if one not in done]):
        rows += run(*one)
        if not arguments.quick:
            write(rows)
    print(*table(rows), sep="\n")


if __name__ == "__main__":
    main()
