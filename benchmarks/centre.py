"""Does it pay to try the centre of the space first: BBOB functions that may be used for choosing, and trainings.

Run with ``python benchmarks/centre.py`` (needs ioh and scikit-learn); ``--seeds`` does fewer, and ``--table`` only prints
what was measured before. A run whose row is there is skipped. The default method has 20 evaluations, with the centre told
before its first suggestion or without; instance and seed change together. The trainings are those of ``peers/trainings.py``
with their choices fixed, as choices have no centre: people chose their ranges, not the makers of BBOB.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import csv
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from benchmarks.peers.spaces import Parameter
from benchmarks.peers.trainings import TRAININGS
from calibo import Float, Int, Optimizer, Ordinal, ProductSpace

FUNCTIONS, DIMENSIONS, TRIALS = (2, 4, 5, 7, 9, 11, 12, 14, 16, 18, 19, 22), (2, 5), 20
CHECKS = (5, 10, 20)
RESULTS = Path(__file__).parent / "results" / "centre.csv"
FIELDS = ("function", "dimension", "seed", "centre", *(f"regret_{t}" for t in CHECKS))


Problem = tuple[ProductSpace, Callable[[Mapping[str, Any]], float]]


def bbob(function: int, dimension: int, seed: int) -> Problem:
    """Return a function of BBOB as its space and its regret."""
    import ioh  # pyright: ignore[reportMissingImports]

    problem: Any = ioh.get_problem(function, 1 + seed, dimension, ioh.ProblemClass.BBOB)
    names = [f"x{i}" for i in range(dimension)]
    space = ProductSpace({name: Float(0, 1) for name in names})
    return space, lambda p: problem([-5.0 + 10.0 * p[name] for name in names]) - problem.optimum.y


def training(name: str) -> Problem:
    """Return the numeric part of a training as its space and its loss above the smallest known."""
    given = TRAININGS[name]
    fixed = {key: one.choices[0] for key, one in given.space.items() if one.kind == "categorical"}
    fixed |= {"kernel": "rbf"} if "kernel" in fixed else {}

    def numeric(one: Parameter) -> Float | Int | Ordinal:
        if one.kind == "ordinal":
            return Ordinal(list(one.choices))
        return (
            Float(one.low, one.high, log=one.log)
            if one.kind == "float"
            else Int(int(one.low), int(one.high), log=one.log)
        )

    space = ProductSpace({key: numeric(one) for key, one in given.space.items() if key not in fixed})
    return space, lambda p: given.loss({**p, **fixed}) - given.optimum


def run(function: str, dimension: int, seed: int, centre: bool) -> dict[str, Any]:
    """Run one search and return the best regret after some numbers of evaluations."""
    warnings.simplefilter("ignore")
    space, regret = bbob(int(function), dimension, seed) if function.isdigit() else training(function)
    optimizer, regrets = Optimizer(space, seed=seed), list[float]()
    for t in range(TRIALS):
        asked: Any = space.decode([[0.5] * space.dimension])[0] if t == 0 and centre else optimizer.ask()
        value = regret(asked if isinstance(asked, dict) else asked.params)
        optimizer.tell(asked, value)
        regrets.append(min([value, *regrets[-1:]]))
    known = {f"regret_{t}": f"{regrets[t - 1]:.6g}" for t in CHECKS}
    return {"function": function, "dimension": space.dimension, "seed": seed, "centre": int(centre), **known}


def table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one line per kind of problem and number of evaluations, of all pairs of runs with and without the centre."""
    runs = {(r["function"], int(r["dimension"]), int(r["seed"]), int(r["centre"])): r for r in rows}
    keys = [(function, d, seed) for function, d, seed, centre in runs if centre and (function, d, seed, 0) in runs]
    pairs = [(runs[f, d, seed, 0], runs[f, d, seed, 1]) for f, d, seed in keys]
    lines = [
        "| problems | evaluations | pairs | mean log10 of the ratio of regrets | better | worse |",
        "|---" * 6 + "|",
    ]
    for kind, t in product(("BBOB", "trainings"), CHECKS):
        own = [pair for pair in pairs if pair[0]["function"].isdigit() == (kind == "BBOB")]
        ends = [[max(float(r[f"regret_{t}"]), 1e-9) for r in pair] for pair in own]
        logs = np.array([np.log10(with_) - np.log10(without) for without, with_ in ends])
        if len(logs) > 1:
            error = logs.std(ddof=1) / len(logs) ** 0.5
            counts = f"{len(logs)} | {logs.mean():+.2f} ({error:.2f}) | {(logs < 0).sum()} | {(logs > 0).sum()}"
            lines.append(f"| {kind} | {t} | {counts} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--table", action="store_true", help="print what was measured before")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    if RESULTS.exists():
        with RESULTS.open() as file:
            rows = list(csv.DictReader(file))
    done = {(r["function"], int(r["dimension"]), int(r["seed"]), bool(int(r["centre"]))) for r in rows}
    seeds = range(0 if arguments.table else arguments.seeds)
    problems = [(name, training(name)[0].dimension) for name in TRAININGS]
    problems += [(str(function), d) for function in FUNCTIONS for d in DIMENSIONS]
    work = [(*problem, s, c) for s in seeds for problem in problems for c in (False, True)]
    for one in tqdm([one for one in work if one not in done]):
        rows.append(run(*one))
        with RESULTS.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    print(*table(rows), sep="\n")


if __name__ == "__main__":
    main()
