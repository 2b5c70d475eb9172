"""The figures: which runs each needs, and what is shown of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from harness import FinishedFigure, of_seeds
from judging import mean_interval
from settings import (
    BORE,
    COMPOSITE_EI,
    COMPOSITE_LFBO,
    FOUND,
    GAMMAS,
    GP,
    GP_BOTORCH,
    LFBO,
    LFBO_EI,
    LFBO_PI,
    MEANS_METHODS,
    OURS,
    PAPERS,
    POWERS,
    TABLE_METHODS,
    Job,
    Size,
    table_job,
    trees_of,
)

from calibo.data import Array

#: What bars and intervals hold, in this reproduction.
CONFIDENCE = 0.8
NUMBERS = ("3", "4", "5", "6", "7", "9", "11", "C2")
Kind = Literal["errors", "curves", "sweep", "searches", "times"]


@dataclass(frozen=True)
class Cell:
    """The repeats of one method in one setting.

    Attributes:
        panel: Title of the panel it belongs to.
        method: As the legend calls it.
        x: Value on the horizontal axis of a sweep; ``None`` for a whole curve.
        jobs: One for each seed.
        what: Which of the stored results is shown.
    """

    panel: str
    method: str
    x: float | None
    jobs: tuple[Job, ...]
    what: str = "curve"


@dataclass(frozen=True)
class Figure:
    """A figure of one or several panels.

    Attributes:
        number: As the paper counts; C2 is its appendix C.2.
        kind: What is drawn.
        title: What is shown.
        across: The horizontal axis.
        up: The vertical axis.
        cells: What is needed.
    """

    number: str
    kind: Kind
    title: str
    across: str
    up: str
    cells: tuple[Cell, ...]

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All its runs."""
        return tuple(job for cell in self.cells for job in cell.jobs)

    @property
    def panels(self) -> tuple[str, ...]:
        """Titles of the panels."""
        return tuple(dict.fromkeys(cell.panel for cell in self.cells))


#: Panel, method, horizontal value, job of seed 0 and what is shown of it.
Row = tuple[str, str, float | None, Job, str]


def figure(number: str, size: Size) -> Figure:
    """Return the figure of that number."""
    kind, title, across, up = _HEADS[number]
    cells = tuple(
        Cell(panel, method, x, of_seeds(job, size.seeds(number, job.method)), what)
        for panel, method, x, job, what in _rows(number, size)
    )
    return Figure(number, kind, title, across, up, cells)


_REGRET, _EVALUATIONS = "regret of the best measured", "evaluations"
_HEADS: dict[str, tuple[Kind, str, str, str]] = {
    "3": ("errors", "error of the learned acquisition function", "observations n", "mean absolute error"),
    "4": ("curves", "FCNet tables", _EVALUATIONS, _REGRET),
    "5": ("curves", "NAS-Bench-201", _EVALUATIONS, f"{_REGRET}, % accuracy"),
    "6": ("sweep", "exponent of the utility, XGBoost", "lambda", _REGRET),
    "7": ("curves", "composite objective", _EVALUATIONS, "least sum of squared errors"),
    "9": ("sweep", "threshold, XGBoost", "gamma", _REGRET),
    "11": ("searches", "searches of the Forrester function", "x", "y"),
    "C2": ("times", "time of one suggestion, NAS-Bench-201", "results", "CPU seconds"),
}


def _rows(number: str, size: Size) -> list[Row]:
    if number == "3":
        pairs = (("PI", BORE), ("PI", LFBO_PI), ("EI", BORE), ("EI", LFBO_EI))
        return [
            (f"error to {what}", m, float(n), Job("curve", m, 0, 0, n), what)
            for what, m in pairs
            for n in size.observations
        ]
    if number in ("4", "5"):
        tables = size.fcnet if number == "4" else size.nas
        methods = (*TABLE_METHODS, *MEANS_METHODS) if number == "4" else TABLE_METHODS
        return [(problem, m, None, table_job(problem, m, size), "curve") for problem in tables for m in methods]
    if number == "6":
        method = f"{LFBO} XGBoost"
        return [
            (problem, LFBO, power, table_job(problem, method, size, power=power), "curve")
            for problem in size.ablated
            for power in POWERS
        ]
    if number == "9":
        return [
            (problem, way, gamma, table_job(problem, f"{way} XGBoost", size, gamma=gamma), "curve")
            for problem in size.ablated
            for way in (LFBO, BORE)
            for gamma in GAMMAS
        ]
    if number == "7":
        methods = (COMPOSITE_LFBO, f"{LFBO} MLP", GP, COMPOSITE_EI)
        steps = size.composite_steps
        return [("environmental model", m, None, Job("environmental", m, 0, 10, steps), "curve") for m in methods]
    if number == "11":
        methods = (f"{LFBO} MLP", OURS, GP)
        return [
            (m, m, None, Job("forrester", m, 0, size.forrester_initial, size.forrester_steps), "regret")
            for m in methods
        ]
    methods = (*(f"{LFBO} {name}" for name in PAPERS), OURS, GP, GP_BOTORCH)
    return [
        ("CIFAR-10", m, float(n), Job("timing", m, 0, n, size.timings, trees=trees_of(m, size)), "curve")
        for m in methods
        for n in size.timed
    ]


@dataclass(frozen=True, eq=False)
class Finished(FinishedFigure):
    """A figure whose runs are there."""

    def of(self, cell: Cell, what: str | None = None) -> Array:
        return super().of(cell, what or cell.what)

    def cell(self, panel: str, method: str, x: float | None = None) -> Cell:
        """Return the cell of a method in a panel; at ``x`` of a sweep."""
        (found,) = [c for c in self.figure.cells if (c.panel, c.method, c.x) == (panel, method, x)]
        return found

    def finals(self, panel: str, method: str, x: float | None = None) -> Array:
        """Return the last numbers of a method's runs, one for each seed."""
        return self.last(self.cell(panel, method, x))

    def last(self, cell: Cell) -> Array:
        """Return the last numbers of a cell's runs, one for each seed."""
        values = self.of(cell)
        return values if values.ndim == 1 else values[:, -1]

    def summary(self) -> list[dict[str, Any]]:
        """Return the table that is stored: mean, its 80 % interval and the median of each cell."""
        rows = []
        for cell in self.figure.cells:
            row: dict[str, Any] = {"panel": cell.panel, "method": cell.method, "repeats": len(cell.jobs)}
            if cell.x is not None:
                row["at"] = round(cell.x, 4)
            values = self.of(cell) if self.figure.kind == "curves" else self.last(cell)[:, None]
            if self.figure.kind == "searches":
                rows.append({**row, "found": float((values < FOUND).mean())})
                continue
            if self.figure.kind == "curves":
                first = cell.jobs[0]
                row["evaluations"] = list(range(first.initial, first.initial + first.steps + 1))
            low, high = mean_interval(values, CONFIDENCE)
            shown = {"mean": values.mean(axis=0), "low": low, "high": high, "median": np.median(values, axis=0)}
            rows.append({**row, **{name: [float(f"{v:.4g}") for v in line] for name, line in shown.items()}})
        return rows
