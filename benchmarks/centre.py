"""Does it pay to try the centre of the space first: BBOB functions that may be used for choosing, in 2 and 5 dimensions.

Run with ``python benchmarks/centre.py`` (needs ioh); ``--seeds`` does fewer, and ``--table`` only prints what was measured
before. A run whose row is there already is skipped. The default method has 20 evaluations, with the centre told before its
first suggestion or without; instance and seed change together.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import csv
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from calibo import Float, Optimizer

FUNCTIONS, DIMENSIONS, TRIALS = (2, 4, 5, 7, 9, 11, 12, 14, 16, 18, 19, 22), (2, 5), 20
CHECKS = (5, 10, 20)
RESULTS = Path(__file__).parent / "results" / "centre.csv"
FIELDS = ("function", "dimension", "seed", "centre", *(f"regret_{t}" for t in CHECKS))


def run(function: int, dimension: int, seed: int, centre: bool) -> dict[str, Any]:
    """Run one search and return the best regret after some numbers of evaluations."""
    import ioh  # pyright: ignore[reportMissingImports]

    warnings.simplefilter("ignore")
    problem: Any = ioh.get_problem(function, 1 + seed, dimension, ioh.ProblemClass.BBOB)
    names = [f"x{i}" for i in range(dimension)]
    optimizer, regrets = Optimizer({name: Float(0, 1) for name in names}, seed=seed), list[float]()
    for t in range(TRIALS):
        asked: Any = dict.fromkeys(names, 0.5) if t == 0 and centre else optimizer.ask()
        params = asked if isinstance(asked, dict) else asked.params
        value = problem([-5.0 + 10.0 * params[name] for name in names]) - problem.optimum.y
        optimizer.tell(asked, value)
        regrets.append(min([value, *regrets[-1:]]))
    known = {f"regret_{t}": f"{regrets[t - 1]:.6g}" for t in CHECKS}
    return {"function": function, "dimension": dimension, "seed": seed, "centre": int(centre), **known}


def table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one line per number of evaluations, of all pairs of runs with and without the centre."""
    runs = {(int(r["function"]), int(r["dimension"]), int(r["seed"]), int(r["centre"])): r for r in rows}
    pairs = [(runs[(*key, 0)], runs[(*key, 1)]) for *key, centre in runs if centre and (*key, 0) in runs]
    lines = ["| evaluations | pairs | mean log10 of the ratio of regrets | better | worse |", "|---" * 5 + "|"]
    for t in CHECKS:
        ends = [[max(float(r[f"regret_{t}"]), 1e-9) for r in pair] for pair in pairs]
        logs = np.array([np.log10(with_) - np.log10(without) for without, with_ in ends])
        error = logs.std(ddof=1) / len(logs) ** 0.5
        counts = f"{len(logs)} | {logs.mean():+.2f} ({error:.2f}) | {(logs < 0).sum()} | {(logs > 0).sum()}"
        lines.append(f"| {t} | {counts} |")
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
    done = {(int(r["function"]), int(r["dimension"]), int(r["seed"]), bool(int(r["centre"]))) for r in rows}
    seeds = range(0 if arguments.table else arguments.seeds)
    work = [(f, d, s, c) for s in seeds for f in FUNCTIONS for d in DIMENSIONS for c in (False, True)]
    for one in tqdm([one for one in work if one not in done]):
        rows.append(run(*one))
        with RESULTS.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    print(*table(rows), sep="\n")


if __name__ == "__main__":
    main()
