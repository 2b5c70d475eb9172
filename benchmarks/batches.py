"""The cost of parallelism: simple regret on Hartmann-6 against evaluations, one by one, in batches and with eight workers.

Run with ``python benchmarks/batches.py``; it goes on where it was stopped. For each method: batches of q = 1, 4 and 8
points, observed together (rounds, as a laboratory works), and 8 workers that are always busy (each result arrives when the
eighth next point has been asked for). Points are counted, not rounds: q = 8 has an eighth of the rounds of q = 1.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import json
import time
import warnings
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
from scipy.spatial.distance import pdist
from tqdm import tqdm

from calibo.optimize import Optimizer
from calibo.problems import problem

STEPS = 80
MILESTONES = (24, 40, 64, 80)
#: Name -> (points asked for at a time, points that are always pending).
MODES = {"q = 1": (1, 0), "q = 4": (4, 0), "q = 8": (8, 0), "8 workers": (1, 7)}
RESULTS = Path(__file__).parent / "results"


def run(method: str, mode: str, seed: int) -> dict[str, object]:
    """One study: regret after each milestone, the smallest distance within a batch, and CPU seconds a point."""
    warnings.simplefilter("ignore")
    truth = problem("hartmann6")
    q, busy = MODES[mode]
    optimizer = Optimizer(truth.space(), method, seed=seed)
    waiting: deque = deque()
    values: list[float] = []
    nearest, cpu = np.inf, 0.0
    while len(values) < STEPS:
        start = time.process_time()
        asked = optimizer.ask(q) if q > 1 else [optimizer.ask()]
        cpu += time.process_time() - start
        waiting.extend(asked)
        beside = np.stack([suggestion.x for suggestion in waiting])
        nearest = min(nearest, pdist(beside).min(initial=np.inf))
        while len(waiting) > busy and len(values) < STEPS:
            suggestion = waiting.popleft()
            values.append(truth.objective(suggestion.params))
            optimizer.tell(suggestion, values[-1])
    best = np.minimum.accumulate(values) - truth.optimum
    return {
        "method": method,
        "mode": mode,
        "seed": seed,
        "regret": [float(best[step - 1]) for step in MILESTONES],
        "nearest": float(nearest) if np.isfinite(nearest) else None,
        "cpu": cpu / STEPS,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--methods", nargs="+", default=["gp_ei", "ocbo", "locbo", "cbo"])
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "batches.jsonl"
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = {(row["method"], row["mode"], row["seed"]) for row in done}
    all_runs = list(product(range(arguments.seeds), arguments.methods, MODES))
    jobs = [(method, mode, seed) for seed, method, mode in all_runs if (method, mode, seed) not in known]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for row in tqdm(pool.map(run, *zip(*jobs, strict=True)) if jobs else [], total=len(jobs)):
            with path.open("a") as file:
                file.write(json.dumps(row) + "\n")
            done.append(row)
    print(
        "| method | | seeds | " + " | ".join(f"regret {step}" for step in MILESTONES) + " | nearest | CPU s / point |"
    )
    print("|---|---|---|" + "---|" * (len(MILESTONES) + 2))
    for method, mode in product(arguments.methods, MODES):
        rows = [row for row in done if (row["method"], row["mode"]) == (method, mode)]
        if rows:
            regret = np.median([row["regret"] for row in rows], axis=0)
            distances = [row["nearest"] for row in rows if row["nearest"] is not None]
            nearest = f"{min(distances):.2g}" if distances else ""
            shown = " | ".join(f"{value:.2g}" for value in regret)
            cpu = np.median([row["cpu"] for row in rows])
            print(f"| `{method}` | {mode} | {len(rows)} | {shown} | {nearest} | {cpu:.3f} |")


if __name__ == "__main__":
    main()
