"""The parts drawn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from claims import THESIS_ACCURACY, THESIS_SCORE
from distributions import ESTIMATORS, SD, SIZES, estimated, log_density, log_truth, sample
from figures import TITLES, Finished, standard_error
from runs import BATCH, COVERAGE, CURVE_LEVELS
from settings import (
    AGACI,
    BANANAS,
    BANANAS_FOUR,
    BOOTSTRAP_ENSEMBLE,
    DATASETS,
    DTACI,
    EVOLUTION,
    FOLDS_ENSEMBLE,
    FOLDS_QUANTILE,
    FOLDS_QUANTILE_EI,
    HELD_OUT,
    METHODS,
    MODEL_FREE,
    ONLINE,
    ONLINE_FOUR,
    ONLINE_TEN,
    RANDOM,
    SIDE,
    SPLIT_ENSEMBLE,
    SPLIT_QUANTILE,
)

#: Colour and dashes of each method.
STYLES: dict[str, tuple[str, str]] = {
    RANDOM: ("#aaaaaa", ":"),
    EVOLUTION: ("#777777", "--"),
    BANANAS: ("#111111", "-"),
    BANANAS_FOUR: ("#111111", "--"),
    SPLIT_ENSEMBLE: ("#2166ac", "-"),
    FOLDS_ENSEMBLE: ("#2a9d4b", "-"),
    BOOTSTRAP_ENSEMBLE: ("#8b5fbf", "-"),
    SPLIT_QUANTILE: ("#2166ac", "--"),
    FOLDS_QUANTILE: ("#2a9d4b", "--"),
    FOLDS_QUANTILE_EI: ("#e08a00", "--"),
    HELD_OUT: ("#c0392b", "--"),
    DTACI: ("#c0392b", "-"),
    AGACI: ("#e0559b", "-"),
    ONLINE: ("#00a0b0", "-"),
    ONLINE_TEN: ("#006070", "-"),
    ONLINE_FOUR: ("#00a0b0", "--"),
}
_SIDES = ("candidates", "levels", "acquisition")


def draw(table: list[dict[str, Any]], finished: Mapping[str, Finished], results: Path) -> None:
    """Draws all that is there into PNG files."""
    import matplotlib

    matplotlib.use("Agg")
    _save(_table(table), results / "table31.png")
    if "search" in finished:
        done = finished["search"]
        _save(_accuracy(done), results / "accuracy.png")
        _save(_curves(done), results / "calibration.png")
        _save(_scores(done), results / "scores.png")
    if all(side in finished for side in _SIDES):
        _save(_sweeps(finished), results / "sweeps.png")


def _save(sheet: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    sheet.savefig(path, dpi=100)
    plt.close(sheet)


def _legend(sheet: Any, panel: Any) -> None:
    """All methods beside the panels, where they cover nothing."""
    handles, labels = panel.get_legend_handles_labels()
    sheet.legend(handles, labels, loc="outside right center", fontsize=7)


def _panels(count: int, width: float, height: float) -> tuple[Any, Any]:
    import matplotlib.pyplot as plt

    return plt.subplots(1, count, figsize=(width, height), layout="constrained")


def _table(rows: list[dict[str, Any]]) -> Any:
    """KL and sd against the sample size, the thesis's as dots, and an example of the distributions."""
    sheet, (left, middle, right) = _panels(3, 15.0, 4.2)
    for estimator, colour in zip(ESTIMATORS, ("#2a9d4b", "#c0392b", "#2166ac"), strict=True):
        own = [row for row in rows if row["estimator"] == estimator]
        for panel, name, place in ((left, "kl", 2), (middle, "sd", 1)):
            panel.plot(SIZES, [row[name] for row in own], color=colour, label=f"{estimator}, ours")
            panel.plot(SIZES, [row["thesis"][place] for row in own], "o", color=colour, ms=4, label="thesis")
    middle.axhline(SD, color="black", lw=0.8, ls=":", label="truth")
    left.set(yscale="log", ylabel="KL(estimate, truth)", xlabel="sample size")
    middle.set(ylabel="standard deviation", xlabel="sample size")
    x = np.linspace(-3.5, 1.0, 901)
    right.plot(x, np.exp(log_truth(x)), color="black", label="truth")
    for q, colour in ((10, "#c0392b"), (20, "#2166ac")):
        right.plot(
            x, np.exp(log_density(estimated(sample(150, 0), q), x)), color=colour, lw=1, label=f"q = {q}, n = 150"
        )
    right.set(xlabel="x", ylabel="density")
    for panel in (left, middle, right):
        panel.legend(fontsize=7)
    sheet.suptitle("Table 3.1: distributions between quantiles of a left-skewed sample", fontsize=10)
    return sheet


def _accuracy(done: Finished) -> Any:
    """Best accuracy found against evaluations."""
    sheet, panels = _panels(3, 16.5, 4.6)
    for panel, dataset in zip(panels, DATASETS, strict=True):
        for method in METHODS:
            cell = done.cell(method, dataset)
            curve, (colour, dashes) = done.of(cell, "curve"), STYLES[method]
            steps = BATCH * np.arange(1, curve.shape[1] + 1)
            mean = curve.mean(axis=0)
            panel.plot(steps, mean, color=colour, ls=dashes, lw=1.3, label=method)
        regret = done.of(done.cell(BANANAS, dataset), "regret")[0]
        best = done.accuracy(done.cell(BANANAS, dataset))[0] + regret
        panel.axhline(best, color="black", lw=0.6)
        low = done.of(done.cell(RANDOM, dataset), "curve").mean(axis=0)
        panel.set(title=dataset, xlabel="evaluations", ylim=(low[min(1, len(low) - 1)], best + 0.05 * (best - low[0])))
    panels[0].set_ylabel("validation accuracy of the best found, %")
    _legend(sheet, panels[0])
    seeds = len(done.figure.cells[0].jobs)
    sheet.suptitle(f"{TITLES['search']}: means of {seeds} seeds (line above: the optimum)", fontsize=10)
    return sheet


def _curves(done: Finished) -> Any:
    """Observed shares of outcomes below the forecast quantiles."""
    sheet, panels = _panels(3, 16.5, 4.8)
    for panel, dataset in zip(panels, DATASETS, strict=True):
        panel.plot([0, 1], [0, 1], color="#cccccc", lw=3)
        for method in METHODS:
            if method in MODEL_FREE:
                continue
            observed = done.of(done.cell(method, dataset), "observed").mean(axis=0)
            colour, dashes = STYLES[method]
            panel.plot(CURVE_LEVELS, observed, color=colour, ls=dashes, lw=1.3, label=method)
        panel.set(title=dataset, xlabel="level", aspect="equal")
    panels[0].set_ylabel("outcomes below the quantile")
    _legend(sheet, panels[0])
    sheet.suptitle("Calibration of the forecasts of the queried architectures (grey: ideal)", fontsize=10)
    return sheet


def _scores(done: Finished) -> Any:
    """Coverage and score as bars, the thesis's as diamonds."""
    import matplotlib.pyplot as plt

    methods = [method for method in METHODS if method not in MODEL_FREE]
    sheet, grid = plt.subplots(3, 3, figsize=(15.0, 8.4), layout="constrained", sharey="row")
    where = np.arange(len(methods))
    colours = [STYLES[method][0] for method in methods]
    hatches = ["//" if STYLES[method][1] == "--" else "" for method in methods]
    for i, dataset in enumerate(DATASETS):
        cells = [done.cell(method, dataset) for method in methods]
        held = [done.coverage(cell) for cell in cells]
        scores = [done.of(cell, "sum_score") for cell in cells]
        regrets = [done.of(cell, "regret") for cell in cells]
        for panel, values in zip(grid[:, i], (held, scores, regrets), strict=True):
            errors = [standard_error(one) for one in values]
            panel.bar(where, [one.mean() for one in values], yerr=errors, color=colours, hatch=hatches, alpha=0.75)
            panel.set_xticks(where, [""] * len(methods))
        grid[0, i].axhspan(COVERAGE - 0.05, COVERAGE + 0.05, color="#cccccc", alpha=0.6, zorder=0)
        grid[0, i].set(title=dataset, ylim=(0.3, 1.0))
        for j, method in enumerate(methods):
            if method in THESIS_SCORE:
                grid[1, i].plot(j, THESIS_SCORE[method][i], "D", color="white", mec="black", ms=6)
        grid[2, i].set_xticks(where, methods, rotation=35, ha="right", fontsize=7)
    grid[0, 0].set_ylabel("held by 80 % intervals")
    grid[1, 0].set_ylabel("calibration score (sum)")
    grid[2, 0].set_ylabel("regret, % points")
    sheet.suptitle("Means and standard errors; diamonds: the thesis; grey: .80 +- .05", fontsize=10)
    return sheet


def _sweeps(finished: Mapping[str, Finished]) -> Any:
    """Draw the final accuracies by setting."""
    sheet, panels = _panels(3, 15.0, 4.2)
    for panel, side in zip(panels, _SIDES, strict=True):
        done = finished[side]
        values = [done.accuracy(cell) for cell in done.figure.cells]
        labels = [cell.label for cell in done.figure.cells]
        where = np.arange(len(labels))
        errors = [standard_error(one) for one in values]
        panel.errorbar(where, [one.mean() for one in values], yerr=errors, fmt="o", color="#2166ac", capsize=4)
        panel.set_xticks(where, labels, rotation=20, ha="right", fontsize=8)
        panel.set_title(TITLES[side], fontsize=9)
    thesis = THESIS_ACCURACY[SPLIT_ENSEMBLE][DATASETS.index(SIDE)]
    panels[0].set_ylabel("validation accuracy of the best found, %")
    sheet.suptitle(f"Means and standard errors of the seeds (the thesis's best setting: {thesis})", fontsize=10)
    return sheet
