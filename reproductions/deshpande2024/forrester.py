"""Figures 1 and 6: three starting points miss the basin; uncalibrated UCB stays stuck, calibrated finds the optimum.

Run with ``python reproductions/deshpande2024/forrester.py``; writes ``results/forrester.png`` and ``.json``.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from settings import CALIBRATED, UNCALIBRATED, Run, optimize

from calibo.problems import problem

RESULTS = Path(__file__).parent / "results"
#: Sets of three points, none of them in [0.6, 0.9] where the optimum lies.
STARTS = ((0.05, 0.25, 0.45), (0.1, 0.3, 0.5), (0.05, 0.3, 0.55), (0.1, 0.25, 0.55), (0.15, 0.35, 0.5))
OPTIMUM = -6.0207


def both(starts: tuple[float, ...], seed: int = 0) -> dict[str, Run]:
    """Return the uncalibrated and the calibrated run from the same three points."""
    points = np.asarray(starts)[:, None]
    return {kind: optimize("forrester", kind, "UCB", points, seed) for kind in (UNCALIBRATED, CALIBRATED)}


def picture(runs: dict[str, Run], path: Path) -> None:
    """Draw where each method looked, its forecasts of its own next values, and the best it found."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    truth = problem("forrester")
    grid = np.linspace(0.0, 1.0, 400)
    figure, axes = plt.subplots(2, 2, figsize=(11, 7), width_ratios=(1.2, 1))
    for (left, right), (kind, run) in zip(axes, runs.items(), strict=True):
        left.plot(grid, truth(grid[:, None]), color="#2a9d4b", label="Forrester function")
        order = np.arange(len(run.y))
        dots = left.scatter(run.x[:, 0], run.y, c=order, cmap="viridis", zorder=3, label="evaluated")
        figure.colorbar(dots, ax=left, label="order")
        left.set(title=f"{kind}: best {run.y.min():.2f}", xlabel="x", ylabel="f(x)")
        steps = np.arange(1, len(run.forecasts) + 1)
        for step, forecast, y in zip(steps, run.forecasts, run.y[3:], strict=True):
            low, high = forecast.calibrated.interval(0.8)
            inside = low <= y <= high
            right.vlines(step, max(low, -20), min(high, 30), color="#4477aa" if inside else "#cc6677", lw=3, alpha=0.6)
        right.plot(steps, run.y[3:], "k.", label="outcome")
        right.set(title="80 % intervals forecast before each outcome", xlabel="step", ylim=(-20, 30))
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    rows = []
    for starts in STARTS:
        runs = both(starts)
        rows.append({"starts": starts, **{kind: round(float(run.y.min()), 4) for kind, run in runs.items()}})
        print(rows[-1])
        if starts == STARTS[0]:
            picture(runs, RESULTS / "forrester.png")
    (RESULTS / "forrester.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
