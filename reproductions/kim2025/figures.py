"""The figures: which runs each needs, and what is shown of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from harness import FinishedFigure, of_seeds
from judging import mean_interval
from runs import GRID, curve_step
from settings import LOCBO, LOCBO_INF, METHODS, OURS, RANDOM, WITH_ALPHA, Job, Size, job

from calibo.data import Array

#: What the figures' bars hold: the paper's 70 % confidence intervals of the mean.
CONFIDENCE = 0.7
LENGTH_SCALES = (1.0, 3.0, 5.0, 7.0, 10.0)
ALPHAS = {"6b": (0.1, 0.2, 0.3, 0.4), "8c": (0.15, 0.25, 0.35, 0.45)}
CHANNELS = (1, 2, 3, 4)
NUMBERS = ("4", "5a", "5b", "6a", "6b", "8a", "8b", "8c")


@dataclass(frozen=True)
class Cell:
    """The repeats of one method in one setting.

    Attributes:
        method: As the legend calls it.
        x: Value on the horizontal axis of a sweep; ``None`` for a whole curve.
        jobs: One for each seed.
    """

    method: str
    x: float | None
    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class Figure:
    """One panel.

    Attributes:
        number: As the paper counts.
        kind: What is drawn.
        title: What is shown.
        across: The horizontal axis.
        up: The vertical axis.
        cells: What is needed.
    """

    number: str
    kind: Literal["intervals", "curves", "sweep"]
    title: str
    across: str
    up: str
    cells: tuple[Cell, ...]

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All its runs."""
        return tuple(job for cell in self.cells for job in cell.jobs)


def figure(number: str, size: Size) -> Figure:
    """Return the panel of that number."""
    regret, capacity = "simple regret", "capacity, bit/s/Hz"
    rows: list[tuple[str, float | None, Job]]
    if number == "4":
        rows = [(f"LOCBO, kappa = {k:g}", None, job("locbo_1d", LOCBO, size, kappa=k)) for k in (0.0, 2.0)]
        rows.append((OURS, None, job("locbo_1d", OURS, size)))
        return _figure(number, "intervals", "intervals at the end, x sin 2x + cos pi x", "x", "y", rows, size)
    if number in ("5a", "5b"):
        problem = "ackley" if number == "5a" else "ackley_noisy"
        rows = [(method, None, job(problem, method, size)) for method in METHODS]
        title = "Ackley 2-D, " + ("no noise" if number == "5a" else "heteroscedastic noise")
        return _figure(number, "curves", title, "step", regret, rows, size)
    if number == "6a":
        rows = [(LOCBO, length, job("ackley_noisy", LOCBO, size, length_scale=length)) for length in LENGTH_SCALES]
        rows += [(method, None, job("ackley_noisy", method, size)) for method in (LOCBO_INF, OURS)]
        return _figure(number, "sweep", "Ackley 2-D, noise: length scale", "length scale l", regret, rows, size)
    if number == "8a":
        rows = [(method, None, job("radio", method, size)) for method in (RANDOM, *METHODS)]
        return _figure(number, "curves", "radio, one channel draw", "step", capacity, rows, size)
    if number == "8b":
        rows = [(m, float(n), job("radio", m, size, channels=n)) for m in (RANDOM, *METHODS) for n in CHANNELS]
        return _figure(number, "sweep", "radio: channel draws", "channel draws n_ch", capacity, rows, size)
    problem, methods = ("ackley_noisy", METHODS) if number == "6b" else ("radio", (RANDOM, *METHODS))
    rows = [
        (method, alpha, job(problem, method, size, alpha=alpha))
        for method in methods
        for alpha in (ALPHAS[number] if method in WITH_ALPHA else (None,))
    ]
    title = "Ackley 2-D, noise: miscoverage" if number == "6b" else "radio: miscoverage"
    up = regret if number == "6b" else capacity
    return _figure(number, "sweep", title, "miscoverage alpha", up, rows, size)


def _figure(
    number: str,
    kind: Literal["intervals", "curves", "sweep"],
    title: str,
    across: str,
    up: str,
    rows: list[tuple[str, float | None, Job]],
    size: Size,
) -> Figure:
    cells = tuple(Cell(method, x, of_seeds(one, size.repeats[number])) for method, x, one in rows)
    return Figure(number, kind, title, across, up, cells)


@dataclass(frozen=True, eq=False)
class Finished(FinishedFigure):
    """A figure whose runs are there."""

    def finals(self, method: str, x: float | None = None) -> Array:
        """Return the final regrets or capacities of a method, one for each seed; at ``x`` of a sweep, where it has one."""
        fitting = [cell for cell in self.figure.cells if cell.method == method and cell.x in (x, None)]
        if len(fitting) != 1:
            raise KeyError(f"figure {self.figure.number} has {len(fitting)} cells of {method} at {x}")
        return self.of(fitting[0])[:, -1]

    def summary(self) -> list[dict[str, Any]]:
        """Return the table that is stored: mean, its 70 % interval and the median of each cell."""
        rows = []
        for cell in self.figure.cells:
            row: dict[str, Any] = {"method": cell.method, "repeats": len(cell.jobs)}
            if self.figure.kind == "intervals":
                rows.append({**row, **self._intervals(cell)})
                continue
            curve = self.of(cell)
            curve = curve if self.figure.kind == "curves" else curve[:, -1:]
            low, high = mean_interval(curve, CONFIDENCE)
            if self.figure.kind == "curves":
                every = curve_step(cell.jobs[0].steps) if cell.jobs[0].problem == "radio" else 1
                row["steps"] = list(range(0, cell.jobs[0].steps + 1, every))
            elif cell.x is not None:
                row["at"] = cell.x
            shown = {"mean": curve.mean(axis=0), "low": low, "high": high, "median": np.median(curve, axis=0)}
            rows.append({**row, **{name: values.round(4).tolist() for name, values in shown.items()}})
        return rows

    def _intervals(self, cell: Cell) -> dict[str, float]:
        near, visits, regret = self.width_near(cell), self.visits_near(cell), self.of(cell, "regret")
        names = ("width near the optimum / mean width", "share of measurements near the optimum", "regret")
        return {name: round(float(v.mean()), 4) for name, v in zip(names, (near, visits, regret), strict=True)}

    def width_near(self, cell: Cell) -> Array:
        """Mean width of the intervals within 0.5 of an optimum, over that on the whole domain, one for each seed."""
        widths = self.of(cell, "upper") - self.of(cell, "lower")
        return widths[:, near_optimum(GRID)].mean(axis=1) / widths.mean(axis=1)

    def visits_near(self, cell: Cell) -> Array:
        """Share of the chosen measurements within 0.5 of an optimum, one for each seed."""
        return near_optimum(self.of(cell, "x")[:, cell.jobs[0].initial :]).mean(axis=1)


def near_optimum(x: Array) -> np.ndarray:
    """Whether points lie within 0.5 of one of the two best points of the problem of Figure 4."""
    return np.abs(np.abs(x) - 3.993) <= 0.5
