"""The figures drawn, in the paper's colours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from figures import CONFIDENCE, Finished
from harness import key_of
from judging import mean_interval
from problems import locbo_1d
from runs import GRID, curve_step
from settings import BO, CBO, LOCBO, LOCBO_INF, OCBO, OCBO_L, OURS, RANDOM

#: Colour and dashes of each method.
STYLES: dict[str, tuple[str, str]] = {
    BO: ("#2a9d4b", "-"),
    CBO: ("#e0b000", "-"),
    OCBO: ("#2166ac", "--"),
    LOCBO_INF: ("#2166ac", "-"),
    OCBO_L: ("#c0392b", "--"),
    LOCBO: ("#c0392b", "-"),
    OURS: ("#111111", "-"),
    RANDOM: ("#999999", ":"),
}


def draw(done: Finished, path: Path) -> None:
    """Draws a figure into a PNG file."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = done.figure
    columns = len(figure.cells) if figure.kind == "intervals" else 1
    sheet, axes = plt.subplots(1, columns, figsize=(5.2 * columns if columns > 1 else 6.4, 4.4), squeeze=False)
    kinds = {"intervals": _intervals, "curves": _curves, "sweep": _sweep}
    kinds[figure.kind](done, axes[0])
    axes[0, 0].set_ylabel(figure.up)
    for panel in axes[0]:
        panel.set_xlabel(figure.across)
    repeats = len(figure.cells[0].jobs)
    shown = "seed 0" if figure.kind == "intervals" else f"mean and 70 % interval, {repeats} repeats"
    sheet.suptitle(f"{figure.number}: {figure.title} ({shown})", fontsize=10)
    sheet.tight_layout()
    sheet.savefig(path, dpi=110)
    plt.close(sheet)


def _curves(done: Finished, axes: Any) -> None:
    for cell in done.figure.cells:
        curve, first = done.of(cell), cell.jobs[0]
        every = curve_step(first.steps) if first.problem == "radio" else 1
        steps = range(0, first.steps + 1, every)
        colour, dashes = STYLES[cell.method]
        low, high = mean_interval(curve, CONFIDENCE)
        axes[0].plot(steps, curve.mean(axis=0), color=colour, ls=dashes, label=cell.method)
        axes[0].fill_between(steps, low, high, color=colour, alpha=0.1, lw=0)
    axes[0].legend(fontsize=8)


def _sweep(done: Finished, axes: Any) -> None:
    for method in dict.fromkeys(cell.method for cell in done.figure.cells):
        cells = [cell for cell in done.figure.cells if cell.method == method]
        finals = [done.of(cell)[:, -1:] for cell in cells]
        means = [float(values.mean()) for values in finals]
        ends = [tuple(float(end[0]) for end in mean_interval(values, CONFIDENCE)) for values in finals]
        colour, dashes = STYLES[method]
        if cells[0].x is None:
            # A method without the setting that is varied: the same everywhere.
            axes[0].axhline(means[0], color=colour, ls=dashes, label=method)
            axes[0].axhspan(*ends[0], color=colour, alpha=0.08, lw=0)
            continue
        reach = [[m - low for m, (low, _) in zip(means, ends, strict=True)]]
        reach.append([high - m for m, (_, high) in zip(means, ends, strict=True)])
        across = [cell.x for cell in cells]
        axes[0].errorbar(across, means, yerr=reach, color=colour, ls=dashes, marker="o", ms=4, capsize=3, label=method)
    axes[0].legend(fontsize=8)


def _intervals(done: Finished, axes: Any) -> None:
    truth = locbo_1d().problem
    for panel, cell in zip(axes, done.figure.cells, strict=True):
        run = done.found[key_of(cell.jobs[0])]
        panel.fill_between(GRID, run["lower"], run["upper"], color="#88aadd", alpha=0.5, lw=0, label="80 % interval")
        panel.plot(GRID, truth(GRID[:, None]), color="black", lw=1.2, label="f")
        panel.plot(GRID, run["mean"], color="#2166ac", lw=1.2, label="mean")
        panel.plot(run["x"], run["y"], ".", color="#c0392b", ms=4, label="measured")
        panel.set(title=cell.method, ylim=(-9, 9))
    axes[0].legend(fontsize=8)
