"""The figures drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from claims import least_regret
from figures import CONFIDENCE, Cell, Finished
from harness import key_of
from judging import mean_interval
from settings import (
    BORE,
    COMPOSITE_EI,
    COMPOSITE_LFBO,
    FCNET,
    FOUND,
    GP,
    GP_BOTORCH,
    LFBO,
    LFBO_EI,
    LFBO_PI,
    MEANS_METHODS,
    NAS,
    OURS,
    RANDOM,
    TPE,
)

from calibo.problems import problem

_COLOURS = {"MLP": "#2166ac", "RF": "#2a9d4b", "XGBoost": "#c0392b"}
#: Colour and dashes of each method: a colour for each classifier, LFBO solid and BORE dashed.
STYLES: dict[str, tuple[str, str]] = {
    **{f"{LFBO} {name}": (colour, "-") for name, colour in _COLOURS.items()},
    **{f"{BORE} {name}": (colour, "--") for name, colour in _COLOURS.items()},
    **dict(zip(MEANS_METHODS, [("#7fb8d8", "-"), ("#7fb8d8", "--")], strict=True)),
    OURS: ("#111111", "-"),
    GP: ("#e0b000", "-"),
    GP_BOTORCH: ("#e0b000", "--"),
    TPE: ("#8e44ad", "-."),
    RANDOM: ("#999999", ":"),
    COMPOSITE_LFBO: ("#c0392b", "-"),
    COMPOSITE_EI: ("#e0b000", "--"),
    LFBO: ("#c0392b", "-"),
    BORE: ("#2166ac", "--"),
    LFBO_PI: ("#c0392b", "-"),
    LFBO_EI: ("#c0392b", "-"),
}
#: Where a regret of exactly 0 is drawn, as a share of the least regret that is none.
_NOTHING = 0.25


def draw(done: Finished, path: Path) -> None:
    """Draws a figure into a PNG file."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = done.figure, done.figure.panels
    width = 5.0 * len(panels) if len(panels) > 1 else 6.6
    sheet, axes = plt.subplots(1, len(panels), figsize=(width, 4.4), squeeze=False)
    kinds = {"errors": _points, "curves": _curves, "sweep": _points, "searches": _searches, "times": _points}
    for panel, axis in zip(panels, axes[0], strict=True):
        kinds[figure.kind](done, [cell for cell in figure.cells if cell.panel == panel], axis)
        axis.set(title=panel, xlabel=figure.across)
    axes[0, 0].set_ylabel(figure.up)
    axes[0, -1].legend(fontsize=7)
    repeats = len(figure.cells[0].jobs)
    what = {"errors": "median and range", "searches": "a success and a failure"}
    shown = f"{what.get(figure.kind, 'mean and 80 % interval')}, {repeats} repeats"
    sheet.suptitle(f"{figure.number}: {figure.title} ({shown})", fontsize=10)
    sheet.tight_layout()
    sheet.savefig(path, dpi=100)
    plt.close(sheet)


def _curves(done: Finished, cells: list[Cell], axis: Any) -> None:
    means = np.concatenate([done.of(cell).mean(axis=0) for cell in cells])
    problem = cells[0].jobs[0].problem
    least = _NOTHING * (least_regret(problem) if problem in (*FCNET, *NAS) else means[means > 0.0].min())
    for cell in cells:
        curve, first = done.of(cell), cell.jobs[0]
        evaluations = np.arange(first.initial, first.initial + first.steps + 1)
        colour, dashes = STYLES[cell.method]
        low, high = mean_interval(curve, CONFIDENCE)
        mean = np.maximum(curve.mean(axis=0), least)
        axis.plot(evaluations, mean, color=colour, ls=dashes, lw=1.4, label=cell.method)
        # A mean less its interval may be below 0, which has no place on this axis.
        axis.fill_between(
            evaluations, np.maximum(low, 0.3 * mean), np.maximum(high, mean), color=colour, alpha=0.07, lw=0
        )
    axis.set_yscale("log")


def _points(done: Finished, cells: list[Cell], axis: Any) -> None:
    """Values over numbers: medians and ranges of errors, means and intervals of all else."""
    errors = done.figure.kind == "errors"
    for method in dict.fromkeys(cell.method for cell in cells):
        own = [cell for cell in cells if cell.method == method]
        finals = [done.last(cell)[:, None] for cell in own]
        if errors:
            middle = [float(np.median(values)) for values in finals]
            ends = [(float(values.min()), float(values.max())) for values in finals]
        else:
            middle = [float(values.mean()) for values in finals]
            ends = [tuple(max(float(end[0]), 0.0) for end in mean_interval(values, CONFIDENCE)) for values in finals]
        reach = [[m - low for m, (low, _) in zip(middle, ends, strict=True)]]
        reach.append([high - m for m, (_, high) in zip(middle, ends, strict=True)])
        colour, dashes = STYLES[method]
        across = [cell.x for cell in own]
        axis.errorbar(across, middle, yerr=reach, color=colour, ls=dashes, marker="o", ms=4, capsize=3, label=method)
    if errors:
        axis.set(xscale="log", yscale="log", ylim=(5e-4, 2.0))
        axis.legend(fontsize=7)
    elif done.figure.kind == "times":
        axis.set(yscale="log")
    else:
        axis.set_ylim(bottom=0.0)


def _searches(done: Finished, cells: list[Cell], axis: Any) -> None:
    """Of one method, the first search that found the optimum, below, and the first that did not, above."""
    task = problem("forrester")
    grid = np.linspace(0.0, 1.0, 301)
    (cell,) = cells
    failed = done.last(cell) >= FOUND
    for lift, failing in ((0.0, False), (25.0, True)):
        axis.plot(grid, task(grid[:, None]) + lift, color="black", lw=1)
        at = np.flatnonzero(failed == failing)
        if not len(at):
            continue
        first = cell.jobs[int(at[0])]
        x = np.array(done.found[key_of(first)]["x"])
        y = task(x[:, None]) + lift
        axis.plot(
            x[: first.initial], y[: first.initial], "^", color="#c0392b", ms=7, label="initial" if failing else None
        )
        axis.scatter(x[first.initial :], y[first.initial :], c=np.arange(first.steps), cmap="viridis_r", s=18, zorder=3)
    axis.text(0.02, 8.0, "success", fontsize=8)
    axis.text(0.02, 33.0, "failure (raised by 25)", fontsize=8)
