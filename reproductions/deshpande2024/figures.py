"""The figures and Table 2: which runs each needs, and the paper's metrics (A.1) of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import FinishedFigure, of_seeds
from settings import BASELINES, METHODS, ONLINE, OURS, PANELS, PAPERS, TABLE_1, TABLE_2, Job, Size

from calibo.data import Array

PARTS = ("1", "2", "3", "table1", "table2")
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


def figure(number: str, size: Size) -> Figure:
    """Return the figure or table of that number."""
    if number == "1":
        part, initial, title = "example", 3, "Forrester, three points that miss the basin"
        panels: tuple[tuple[str, str], ...] = (("forrester", "UCB"),)
    elif number == "table1":
        part, initial, title, panels = "curves", 5, "baselines, the paper's model", tuple(TABLE_1)
    elif number == "table2":
        part, initial, title = "table2", 3, "seven functions, Matern kernel, PI"
        panels = tuple((name, "PI") for name in TABLE_2)
    else:
        part, initial, title, panels = "curves", 5, "calibration error and best value", PANELS[number]
    cells = [
        Cell(f"{problem} {rule}", model, method, of_seeds(job, size.repeats[number]))
        for problem, rule in panels
        for model in ((PAPERS,) if number == "table1" else MODELS)
        for method in ((*BASELINES, ONLINE) if number == "table1" else METHODS)
        for job in [Job(part, problem, rule, method, model, 0, initial, size.steps)]
    ]
    return Figure(number, title, tuple(cells))


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
