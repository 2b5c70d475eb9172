"""Figures 2 and 3: calibration error and best value found, on Forrester, Ackley 2-D, Alpine 10-D and six-hump camel.

Run with ``python reproductions/deshpande2024/curves.py``; writes ``results/curves.png`` and ``.json``.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
from settings import CALIBRATED, ONLINE, STEPS, UNCALIBRATED, optimize
from tqdm import tqdm

from calibo.diagnostics import best_so_far, calibration_error, pit
from calibo.problems import problem

RESULTS = Path(__file__).parent / "results"
#: (problem, acquisition) of Figures 2 (a - c) and 3.
PANELS = (
    ("forrester", "UCB"),
    ("ackley2", "EI"),
    ("alpine1_10", "EI"),
    ("six_hump_camel", "UCB"),
    ("six_hump_camel", "EI"),
    ("six_hump_camel", "PI"),
)
KINDS = (UNCALIBRATED, ONLINE, CALIBRATED)
INITIAL = 5
LEVELS = np.linspace(0.05, 0.95, 19)


def curves(name: str, rule: str, kind: str, repeat: int) -> dict[str, list[float]]:
    """Best value after each step, and the calibration score sum_j (p_j - p^_j)^2 of the forecasts up to it."""
    task = problem(name)
    starts = task.from_unit(np.random.default_rng([repeat, 2024]).random((INITIAL, task.dimension)))
    run = optimize(name, kind, rule, starts, seed=repeat)
    pits = pit([forecast.calibrated for forecast in run.forecasts], run.y[INITIAL:])
    scores = [calibration_error(pits[:t], levels=LEVELS, summary="sum") for t in range(1, STEPS + 1)]
    return {"best": best_so_far(run.y)[INITIAL - 1 :].tolist(), "error": scores}


def picture(table: dict[str, dict[str, dict[str, list[float]]]], path: Path) -> None:
    """One column per panel: calibration error above, best value below, means over the repeats."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours: dict[str, str] = dict(zip(KINDS, ("#777777", "#ddaa33", "#004488"), strict=True))
    figure, axes = plt.subplots(2, len(table), figsize=(3.1 * len(table), 6))
    for (above, below), (panel, kinds) in zip(axes.T, table.items(), strict=True):
        for kind, lines in kinds.items():
            style = {"color": colours[kind], "ls": "--" if kind == UNCALIBRATED else "-", "label": kind}
            above.plot(range(1, STEPS + 1), lines["error"], **style)
            below.plot(range(STEPS + 1), lines["best"], **style)
        above.set(title=panel, ylim=(0, None))
        below.set(xlabel="step")
    axes[0, 0].set_ylabel("calibration error")
    axes[1, 0].set_ylabel("best value")
    axes[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20, help="the paper has 5")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    jobs = [(*panel, kind, r) for panel, kind, r in product(PANELS, KINDS, range(arguments.repeats))]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        done = list(tqdm(pool.map(curves, *zip(*jobs, strict=True)), total=len(jobs)))
    table: dict[str, dict[str, dict[str, list[float]]]] = {}
    for panel, kind in product(PANELS, KINDS):
        runs = [result for job, result in zip(jobs, done, strict=True) if job[:3] == (*panel, kind)]
        means = {what: np.mean([run[what] for run in runs], axis=0).round(5).tolist() for what in ("best", "error")}
        table.setdefault(f"{panel[0]} {panel[1]}", {})[kind] = means
        print(f"{panel[0]:15s} {panel[1]:4s} {kind:24s} best {means['best'][-1]:9.3f}  error {means['error'][-1]:.3f}")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "curves.json").write_text(json.dumps(table) + "\n")
    picture(table, RESULTS / "curves.png")


if __name__ == "__main__":
    main()
