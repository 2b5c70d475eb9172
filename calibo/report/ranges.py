"""Which stretch of an axis to show, and whether it is logarithmic: pictures that one extreme value cannot flatten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibo.data import Array

#: From this ratio of everything to most results, a closer look is offered; from the second on, it is the first view.
_ZOOM_WORTH, _ZOOM_NEEDED = 4.0, 40.0
#: Largest magnitude a browser still draws; beyond it a value is treated as not to be shown.
_DRAWABLE = 1e304
#: Up to so many values of a parameter are drawn one by one.
_FEW = 12
#: A logarithmic axis is worth it from this ratio of largest to smallest.
_LOG_WORTH = 1e3


def drawable(values: npt.ArrayLike) -> list[float | None]:
    """Numbers as a figure takes them, with ``None`` for what cannot be drawn (infinite, NaN, beyond 1e304)."""
    array = np.asarray(values, dtype=np.float64)
    return [float(v) if abs(v) <= _DRAWABLE else None for v in array]


def undrawable_note(values: npt.ArrayLike) -> str:
    """A sentence (with a blank before it) on results no browser can draw, or nothing if there are none."""
    count = int(np.sum(np.abs(np.asarray(values, dtype=np.float64)) > _DRAWABLE))
    said = "1 result is" if count == 1 else f"{count} results are"
    return f" {said} beyond {_DRAWABLE:g} and cannot be drawn." if count else ""


@dataclass(frozen=True)
class Zoom:
    """A range that shows most results.

    Attributes:
        low: Lower end.
        high: Upper end.
        needed: Whether most results would be flattened beyond recognition if everything were shown.
    """

    low: float
    high: float
    needed: bool


def zoom(results: npt.ArrayLike, others: npt.ArrayLike = ()) -> Zoom | None:
    """A range that shows most results well, or ``None`` if showing everything shows them well enough.

    Args:
        results: The results drawn, n; what cannot be drawn is ignored.
        others: Whatever else is drawn (ends of intervals), any number.
    """
    inner, everything = _drawn(results), np.concatenate([_drawn(results), _drawn(others)])
    scale = float(np.abs(everything).max(initial=0.0))
    if inner.size < 2 or scale == 0.0:
        return None
    inner, everything = inner / scale, everything / scale  # differences of values near 1e304 would overflow
    low, high = np.quantile(inner, [0.1, 0.9])
    spread = float(high - low)
    if spread == 0.0:
        return None
    bottom, top = max(float(everything.min()), low - spread), min(float(everything.max()), high + spread)
    ratio = (everything.max() - everything.min()) / (top - bottom)
    if ratio < _ZOOM_WORTH:
        return None
    pad = 0.05 * (top - bottom)
    return Zoom(low=float((bottom - pad) * scale), high=float((top + pad) * scale), needed=bool(ratio > _ZOOM_NEEDED))


def around(core: npt.ArrayLike, others: npt.ArrayLike) -> list[float] | None:
    """Range of what matters where other values would flatten it to a third of the picture, else ``None`` for all.

    Args:
        core: What must be seen, n.
        others: What else is drawn, any number.
    """
    inner, everything = _drawn(core), np.concatenate([_drawn(core), _drawn(others)])
    if not inner.size:
        return None
    low, high = float(inner.min()), float(inner.max())
    if low == high or float(np.ptp(everything)) <= 3.0 * (high - low):
        return None
    return [low - 0.05 * (high - low), high + 0.05 * (high - low)]


def upper_part(values: npt.ArrayLike) -> list[float] | None:
    """Range that shows the upper part of a curve, or ``None`` for all of it: a logarithm dives towards minus infinity.

    Args:
        values: Of the curve, g; what cannot be drawn is ignored.
    """
    curve = _drawn(values)
    if not curve.size:
        return None
    top, middle = float(curve.max()), float(np.median(curve))
    height = top - middle
    bottom = top - 2.5 * height
    if height <= 0.0 or not np.isfinite(height) or curve.min() >= bottom:
        return None
    return [bottom, top + 0.15 * height]


def log_worthwhile(values: npt.ArrayLike) -> bool:
    """Whether values are all positive and spread over so many orders of magnitude that a log axis is easier to read."""
    array = _drawn(values)
    return bool(array.size and array.min() > 0 and array.max() > _LOG_WORTH * array.min())


def numeric(values: Iterable[Any]) -> bool:
    """Whether all values of a parameter are numbers (a bool is a choice, not a number)."""
    kinds = (int, float, np.integer, np.floating)
    return all(isinstance(v, kinds) and not isinstance(v, (bool, np.bool_)) for v in values)


def few_choices(values: Sequence[Any]) -> bool:
    """Whether a grid is of separate choices, with nothing in between worth drawing, rather than of a continuum."""
    return len(values) <= _FEW or not numeric(values)


def log_spaced(values: Sequence[Any]) -> bool:
    """Whether a grid of numbers in rising order is spaced by ratios rather than by differences."""
    if len(values) < 3 or not numeric(values):
        return False
    grid = np.asarray(values, dtype=np.float64)
    if not np.isfinite(grid).all() or grid.min() <= 0 or grid.max() < 4.0 * grid.min():
        return False
    return _unevenness(np.log(grid)) < _unevenness(grid)


def log_ticks(values: npt.ArrayLike) -> float | None:
    """Decades between the labels of a log axis: powers of ten only, unless there are hardly any (then ``None``)."""
    array = _drawn(values)
    decades = float(np.log10(array.max()) - np.log10(array.min())) if array.size else 0.0
    return float(np.ceil(decades / 8.0)) if decades > 2.0 else None


def _unevenness(grid: Array) -> float:
    """Greatest distance of a grid from an even one, as a fraction of its length."""
    unit = (grid - grid[0]) / (grid[-1] - grid[0])
    return float(np.abs(unit - np.linspace(0.0, 1.0, grid.size)).max())


def _drawn(values: npt.ArrayLike) -> Array:
    array = np.asarray(values, dtype=np.float64).ravel()
    return array[np.abs(array) <= _DRAWABLE]
