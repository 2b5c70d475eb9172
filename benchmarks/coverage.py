"""Coverage of the 80 % intervals recorded with each suggestion, and its cost in regret, of calibo's methods on four problems.

Run with ``python benchmarks/coverage.py``. For each problem and method: the share of outcomes inside the 80 % intervals
forecast when the point was suggested (raw model and calibrated) over the second half of 100 suggestions, pooled over the
seeds, and the median simple regret (of the noise-free value) after 25, 50 and 100 suggestions. Rows of other methods that
were measured before are kept.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import json
import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
from tqdm import tqdm

from calibo.diagnostics import covered
from calibo.optimize import Optimizer
from calibo.problems import problem

#: Name -> (problem, standard deviation of the noise).
TASKS = {
    "hartmann6": ("hartmann6", 0.0),
    "levy20": ("levy20", 0.0),
    "alpine10": ("alpine1_10", 0.0),
    "noisy ackley2": ("ackley2", 0.5),
}
STEPS = 100
MILESTONES = (25, 50, 100)


def run(task: str, method: str, seed: int) -> dict[str, list[float]]:
    """One study: hits of the raw and calibrated intervals in the second half, and regret at the milestones."""
    name, noise = TASKS[task]
    truth = problem(name)
    rng = np.random.default_rng([seed, 1])
    optimizer = Optimizer(truth.space(), method, seed=seed)
    values, distributions, outcomes = [], [], []
    for _ in range(STEPS):
        suggestion = optimizer.ask()
        values.append(truth.objective(suggestion.params))
        outcomes.append(values[-1] + noise * rng.standard_normal())
        optimizer.tell(suggestion, outcomes[-1])
        distributions.append(suggestion.forecasts[0] if suggestion.forecasts else None)
    half = range(STEPS // 2, STEPS)
    second = np.array([outcomes[i] for i in half])
    best = np.minimum.accumulate(values) - truth.optimum
    return {
        "raw": covered([distributions[i].raw for i in half], second, 0.8).astype(float).tolist(),
        "calibrated": covered([distributions[i].calibrated for i in half], second, 0.8).astype(float).tolist(),
        "regret": [float(best[step - 1]) for step in MILESTONES],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--methods", nargs="+", default=["gp_ei", "ocbo", "locbo", "ocbo_local", "cbo"])
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    jobs = list(product(TASKS, arguments.methods, range(arguments.seeds)))
    with ProcessPoolExecutor(arguments.jobs) as pool:
        done = list(tqdm(pool.map(run, *zip(*jobs, strict=True)), total=len(jobs)))
    rows = []
    for task, method in product(TASKS, arguments.methods):
        runs = [result for job, result in zip(jobs, done, strict=True) if job[:2] == (task, method)]
        row = {"task": task, "method": method, "seeds": arguments.seeds}
        row |= {f"{kind} coverage": float(np.mean([r[kind] for r in runs])) for kind in ("raw", "calibrated")}
        regret = np.median([r["regret"] for r in runs], axis=0)
        row |= {f"regret {step}": float(value) for step, value in zip(MILESTONES, regret, strict=True)}
        rows.append(row)
        print(", ".join(f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()))
    path = Path(__file__).parent / "results" / "coverage.json"
    path.parent.mkdir(exist_ok=True)
    known = json.loads(path.read_text()) if path.exists() else []
    measured = {(row["task"], row["method"]) for row in rows}
    rows += [row for row in known if (row["task"], row["method"]) not in measured]
    rows.sort(key=lambda row: list(TASKS).index(row["task"]))
    path.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
