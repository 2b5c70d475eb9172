"""The parts of the reproduction: which runs each needs, and what is shown of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import FinishedFigure, key_of, of_seeds
from runs import BATCH, COVERAGE
from settings import (
    BANANAS,
    CANDIDATES,
    DATASETS,
    FOLDS_ENSEMBLE,
    METHODS,
    RULES,
    SIDE,
    SPLIT_ENSEMBLE,
    SPLIT_QUANTILE,
    Job,
    Size,
)

from calibo.data import Array

PARTS = ("search", "candidates", "levels", "acquisition", "fractions", "folds", "networks")
TITLES = {
    "search": "NAS-Bench-201",
    "candidates": f"candidates, {SPLIT_ENSEMBLE}, {SIDE}",
    "levels": f"number of levels, {SPLIT_ENSEMBLE}, {SIDE}",
    "acquisition": f"acquisition, {SPLIT_ENSEMBLE}, {SIDE}",
    "fractions": f"share of the points to calibrate with, {SPLIT_ENSEMBLE}, {SIDE}",
    "folds": f"number of folds, {FOLDS_ENSEMBLE}, {SIDE}",
    "networks": "the networks of the published code",
}
LEVELS = (5, 10, 20)
FRACTIONS, FOLDS = (0.25, 0.5, 0.75), (2, 3, 5, 10)
DEFAULT_LEVELS = "the library's 25"
#: Who is run with the published networks.
PUBLISHED = (BANANAS, SPLIT_ENSEMBLE, SPLIT_QUANTILE)


@dataclass(frozen=True)
class Cell:
    """The repeats of one method in one setting.

    Attributes:
        dataset: Which.
        label: The method, or the setting that is varied.
        jobs: One for each seed.
    """

    dataset: str
    label: str
    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class Figure:
    """One part.

    Attributes:
        name: One of ``PARTS``.
        cells: What is needed.
    """

    name: str
    cells: tuple[Cell, ...]

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All its runs."""
        return tuple(job for cell in self.cells for job in cell.jobs)


def figure(name: str, size: Size) -> Figure:
    """Return the part of that name."""

    def job(dataset: str, method: str, **settings: Any) -> Job:
        return Job(dataset, method, 0, size.evaluations, **{"network": size.network, **settings})

    rows: list[tuple[str, Job]]
    if name == "search":
        rows = [(method, job(dataset, method)) for dataset in DATASETS for method in METHODS]
    elif name == "candidates":
        rows = [(c, job(SIDE, SPLIT_ENSEMBLE, candidates=None if c == "mutation" else c)) for c in CANDIDATES]
    elif name == "levels":
        rows = [(f"q = {q}", job(SIDE, SPLIT_ENSEMBLE, levels=q)) for q in LEVELS]
        rows.append((DEFAULT_LEVELS, job(SIDE, SPLIT_ENSEMBLE)))
    elif name == "acquisition":
        rows = [(r, job(SIDE, SPLIT_ENSEMBLE, rule=None if r == "ITS" else r)) for r in RULES]
    elif name == "fractions":
        rows = [(f"{f:g}", job(SIDE, SPLIT_ENSEMBLE, fraction=None if f == 0.5 else f)) for f in FRACTIONS]
    elif name == "folds":
        rows = [(f"{k} folds", job(SIDE, FOLDS_ENSEMBLE, folds=None if k == 3 else k)) for k in FOLDS]
    else:
        rows = [(method, job(dataset, method, network="published")) for dataset in DATASETS for method in PUBLISHED]
    return Figure(name, tuple(Cell(one.dataset, label, of_seeds(one, size.repeats[name])) for label, one in rows))


@dataclass(frozen=True, eq=False)
class Finished(FinishedFigure):
    """A figure whose runs are there."""

    def cell(self, label: str, dataset: str = SIDE) -> Cell:
        """Return the cell of that label."""
        return next(cell for cell in self.figure.cells if (cell.label, cell.dataset) == (label, dataset))

    def forecasts(self, cell: Cell) -> bool:
        """Whether its method makes any."""
        return "held" in self.found[key_of(cell.jobs[0])]

    def accuracy(self, cell: Cell) -> Array:
        """Return the validation accuracies of the best cells found, one for each seed."""
        return self.of(cell, "curve")[:, -1]

    def coverage(self, cell: Cell) -> Array:
        """Shares of the queried architectures that their 80 % intervals held, one for each seed."""
        held = self.of(cell, "held")
        return held.sum(axis=1) / (BATCH * held.shape[1])

    def by_stage(self, cell: Cell) -> Array:
        """Return the same of the first and the second half of the rounds, 2."""
        held = self.of(cell, "held")
        half = max(held.shape[1] // 2, 1)
        return np.array([part.mean() / BATCH for part in (held[:, :half], held[:, -half:])])

    def summary(self) -> list[dict[str, Any]]:
        """Return the table that is stored: means over the seeds, and standard errors."""
        rows = []
        for cell in self.figure.cells:
            row: dict[str, Any] = {"dataset": cell.dataset, "label": cell.label, "seeds": len(cell.jobs)}
            row["curve"] = self.of(cell, "curve").mean(axis=0).round(3).tolist()
            numbers = {"accuracy": self.accuracy(cell)}
            numbers |= {name: self.of(cell, name) for name in ("regret", "mean_regret", "seconds")}
            if self.forecasts(cell):
                numbers |= {"coverage": self.coverage(cell)}
                numbers |= {name: self.of(cell, name) for name in ("sum_score", "root_score", "infinite")}
                row["observed"] = self.of(cell, "observed").mean(axis=0).round(4).tolist()
                row["coverage_of_halves"] = self.by_stage(cell).round(4).tolist()
                widths = [width for width in self.of(cell, "width").tolist() if width is not None]
                row["width"] = round(float(np.median(widths)), 3) if widths else None
            for name, values in numbers.items():
                row[name], row[f"{name}_se"] = round(float(values.mean()), 4), round(standard_error(values), 4)
            rows.append(row)
        return rows


def standard_error(values: Array) -> float:
    """Of a mean over seeds; 0 for a single one."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def near_nominal(coverage: float) -> bool:
    """Whether a coverage is within .05 of what it should be."""
    return abs(coverage - COVERAGE) <= 0.05
