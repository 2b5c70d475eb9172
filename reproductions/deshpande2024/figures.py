"""The figures and tables: which runs each needs, and the paper's metrics (A.1) of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import FinishedFigure, of_seeds
from settings import (
    ADAPTIVE,
    BASELINES,
    CONFORMAL,
    FIGURE_4,
    METHODS,
    ONLINE,
    OURS,
    PANELS,
    PAPERS,
    TABLE_1,
    TABLE_2,
    TABLE_4,
    UNCALIBRATED,
    Job,
    Sensitivity,
    Size,
)
from tasks import available

from calibo.data import Array

PARTS = ("1", "2", "3", "table1", "4", "table2", "table4", "A4", "5")
MODELS = (PAPERS, OURS)
#: Best values closer than this share of the range that all methods went through are the same.
_SAME = 1e-3


@dataclass(frozen=True)
class Cell:
    """The repeats of one method with one model on one panel."""

    panel: str
    model: str
    method: str
    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class Figure:
    """One figure or table.

    Attributes:
        number: As the paper counts.
        title: What is shown.
        cells: What is needed.
    """

    number: str
    title: str
    cells: tuple[Cell, ...]

    @property
    def panels(self) -> tuple[str, ...]:
        """Its panels, each a problem with an acquisition function."""
        return tuple(dict.fromkeys(cell.panel for cell in self.cells))

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All its runs."""
        return tuple(job for cell in self.cells for job in cell.jobs)


#: Title of each part, the initial points of its searches, and the part that its jobs say.
_HEADS = {
    "1": ("Forrester, three points that miss the basin", 3, "example"),
    "2": ("calibration error and best value", 5, "curves"),
    "3": ("calibration error and best value", 5, "curves"),
    "table1": ("baselines, the paper's model", 5, "curves"),
    "4": ("conformal and adaptive UCB, the paper's model", 5, "curves"),
    "table2": ("seven functions, Matern kernel, PI", 3, "table2"),
    "table4": ("Forrester, one setting changed, the paper's model", 3, "table2"),
    "A4": ("Alpine in 10 dimensions, 100 steps", 5, "curves"),
    "5": ("models that are trained, the paper's model", 5, "tasks"),
}


def figure(number: str, size: Size) -> Figure:
    """Return the figure or table of that number."""
    title, initial, part = _HEADS[number]
    if number == "table4":
        rows = [
            (
                named(row),
                PAPERS,
                method,
                Job(part, "forrester", row.rule, method, PAPERS, 0, row.initial, size.steps, row.variant),
            )
            for row in TABLE_4
            for method in (UNCALIBRATED, ONLINE)
        ]
    else:
        rows = [
            (
                f"{problem} {rule}",
                model,
                method,
                Job(part, problem, rule, method, model, 0, initial, _steps(number, size)),
            )
            for problem, rule in _panels(number)
            for model in (MODELS if number in ("1", "2", "3", "table2", "A4") else (PAPERS,))
            for method in _methods(number)
        ]
    repeats = size.repeats[number]
    return Figure(number, title, tuple(Cell(panel, model, m, of_seeds(job, repeats)) for panel, model, m, job in rows))


def named(row: Sensitivity) -> str:
    """Return what a row of Table 4 is called."""
    return f"{row.group}: {row.name}"


def _steps(number: str, size: Size) -> int:
    return {"A4": size.many_steps, "5": size.task_steps}.get(number, size.steps)


def _panels(number: str) -> tuple[tuple[str, str], ...]:
    """Return the problems of a part, each with its acquisition function."""
    others = {
        "1": (("forrester", "UCB"),),
        "table1": tuple(TABLE_1),
        "table2": tuple((name, "PI") for name in TABLE_2),
        "4": tuple((name, "UCB") for name in FIGURE_4),
        "A4": (("alpine1_10", "EI"),),
        "5": tuple((name, "EI") for name in available()),
    }
    return PANELS[number] if number in PANELS else others[number]


def _methods(number: str) -> tuple[str, ...]:
    others = {
        "table1": (*BASELINES, ONLINE),
        "4": (UNCALIBRATED, CONFORMAL, ADAPTIVE, ONLINE),
        "A4": (UNCALIBRATED, ONLINE),
        "5": (UNCALIBRATED, ONLINE),
    }
    return others.get(number, METHODS)


@dataclass(frozen=True, eq=False)
class Finished(FinishedFigure):
    """A figure whose runs are there."""

    def cell(self, panel: str, model: str, method: str) -> Cell:
        """Return the repeats of one method with one model on one panel."""
        (found,) = (c for c in self.figure.cells if (c.panel, c.model, c.method) == (panel, model, method))
        return found

    def best(self, panel: str, model: str, method: str) -> Array:
        """Return best values, repeats x (steps + 1)."""
        return self.of(self.cell(panel, model, method), "best")

    def error(self, panel: str, model: str, method: str) -> Array:
        """Return the calibration scores after the last step, one for each seed."""
        return self.of(self.cell(panel, model, method), "error")[:, -1]

    def surprises(self, panel: str, model: str, method: str) -> Array:
        """Return shares of steps that gained many times what was expected, repeats x multiples."""
        return self.of(self.cell(panel, model, method), "surprises")

    def ends(self, panel: str) -> tuple[float, float]:
        """Return the lowest and highest best value of any method with any model: the rectangle of A.1."""
        values = np.concatenate([self.of(c, "best").ravel() for c in self.figure.cells if c.panel == panel])
        return float(values.min()), float(values.max())

    def area(self, panel: str, model: str, method: str) -> Array:
        """Return the normalized area under the optimization curve (A.1), one for each seed."""
        low, high = self.ends(panel)
        return ((self.best(panel, model, method) - low) / ((high - low) or 1.0)).mean(axis=1)

    def won(self, panel: str, model: str, method: str, against: str) -> Array:
        """Return where a method beats another (A.1), 1 or 0 for each seed.

        A baseline is worse if it finds no lower minimum: a higher one, or the same one not sooner.
        """
        ours, other = self.best(panel, model, method), self.best(panel, model, against)
        low, high = self.ends(panel)
        same = _SAME * (high - low)
        step = [np.argmax(curves <= curves[:, -1:] + same, axis=1) for curves in (ours, other)]
        equal = np.abs(ours[:, -1] - other[:, -1]) <= same
        return np.where(equal, step[0] <= step[1], ours[:, -1] < other[:, -1]).astype(np.float64)

    def summary(self) -> list[dict[str, Any]]:
        """Return the table that is stored: means of each cell."""
        rows = []
        for c in self.figure.cells:
            best, error = self.of(c, "best"), self.of(c, "error")
            row: dict[str, Any] = {"panel": c.panel, "model": c.model, "method": c.method, "repeats": len(c.jobs)}
            row |= {"area": round(float(self.area(c.panel, c.model, c.method).mean()), 4)}
            rows.append(
                {**row, "best": best.mean(axis=0).round(4).tolist(), "error": error.mean(axis=0).round(4).tolist()}
            )
        return rows
