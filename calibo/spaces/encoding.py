"""Arrays of encoded points: checks, categorical columns as indicators (one-hot) or whole numbers, the scale of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from calibo.arguments import checked
from calibo.checks import as_floats
from calibo.data import Activity, Array
from calibo.errors import DataError

#: Numbers whose largest is at least so many times their smallest may be spaced by ratios.
_MAGNITUDES = 100.0
#: Distances on the unit interval that may be rounding.
_ROUNDING = 1e-10


def as_points(X: npt.ArrayLike, d: int) -> Array:
    """Convert encoded points to a float64 array, n x d.

    Raises:
        DataError: If they have another shape or contain NaN.
    """
    points = as_floats("encoded points", X)
    if points.ndim != 2 or points.shape[1] != d:
        raise DataError(f"encoded points must have shape (points, {d}), got {points.shape}; make one point (1, {d})")
    if np.isnan(points).any():
        raise DataError(f"encoded points must be numbers, got NaN in row {int(np.isnan(points).any(axis=1).argmax())}")
    return points


def choice_numbers(X: Array, k: int | np.ndarray) -> np.ndarray:
    """Return the numbers of the choices, counted from 0, at coordinates on the unit interval (any shape), same shape.

    Args:
        X: Coordinates; those outside of the interval belong to the outer choices.
        k: Number of choices, at least 1: one for all, or one for each of the last axis.
    """
    return np.clip(np.floor(X * k), 0, k - 1).astype(np.int64)


def spaced_by_ratios(values: Array) -> bool:
    """Return whether numbers of a table are to be compared by their logarithms, as batch sizes and learning rates are.

    They are positive, span two orders of magnitude or more, and lie more evenly between the smallest and the largest by
    their logarithms than as they are. Numbers that only rounding would tell apart by their logarithms are not.

    Args:
        values: Finite numbers, n.
    """
    different = np.unique(values)
    if len(different) < 2 or not different[0] > 0.0 or different[-1] < _MAGNITUDES * different[0]:
        return False
    plain, logs = (scaled - scaled[0] for scaled in (different, np.log(different)))
    even = np.linspace(0.0, 1.0, len(different))
    uneven, uneven_logs = (float(np.abs(scaled / scaled[-1] - even).max()) for scaled in (plain, logs))
    return uneven_logs < uneven and bool(np.diff(logs).min() > _ROUNDING * logs[-1])


def log_places(values: Array, low: float, high: float) -> Array:
    """Return the places of positive numbers, any shape, between two bounds on a logarithmic scale, in [0, 1]."""
    start, end = np.log(low), np.log(high)
    return np.clip((np.log(values) - start) / (end - start), 0.0, 1.0)


@checked
def one_hot(X: npt.ArrayLike, categories: Sequence[int], activity: Activity | None = None) -> Array:
    """Encode categorical columns as indicators, for models of numbers only.

    Args:
        X: Encoded points, n x d.
        categories: Number of choices of each categorical column, 0 for a numeric one, d; ``()`` means all numeric.
        activity: Which columns are active; ``None`` for all. Indicators of inactive columns are 0, and numbers 0.5.

    Returns:
        n x D, D = ``width(categories, activity)``: numeric columns as they are, categorical ones as indicators, in order;
        then one indicator of being active for each group of columns that are active together.
    """
    points = as_floats("encoded points", X)
    if len(categories) == 0 and points.ndim == 2:
        categories = (0,) * points.shape[1]
    points = as_points(points, len(categories))
    blocks = [np.eye(k)[choice_numbers(points[:, j], k)] if k else points[:, [j]] for j, k in enumerate(categories)]
    if activity is None:
        return np.hstack(blocks)
    active = activity(points)
    for j, k in enumerate(categories):
        blocks[j] = np.where(active[:, [j]], blocks[j], 0.0 if k else 0.5)
    return np.hstack([*blocks, *(active[:, [group[0]]].astype(np.float64) for group in activity.groups)])


def width(categories: Sequence[int], activity: Activity | None = None) -> int:
    """Return how many numbers ``one_hot`` makes of a point."""
    return sum(max(1, k) for k in categories) + (0 if activity is None else len(activity.groups))


def codes(X: Array, categories: Sequence[int], activity: Activity | None = None) -> Array:
    """Encode categorical columns of points, m x d, as whole numbers from 0 on, m x d: one column each, for trees.

    Columns that are not active are NaN, which trees take for a missing value.
    """
    k = np.asarray(categories)
    coded = np.where(k > 0, choice_numbers(X, np.maximum(k, 1)), X)
    return coded if activity is None else np.where(activity(X), coded, np.nan)


def described_features(
    X: Array, categories: Sequence[int], descriptors: Sequence[Array | None], activity: Activity | None = None
) -> Array:
    """Encode categorical columns of points, m x d, as indicators followed by the descriptors of their choices, m x D.

    Args:
        X: Encoded points.
        categories: Number of choices of each categorical column, 0 for a numeric one, d.
        descriptors: Descriptors of the choices of each column, k x D_j, ``None`` where there are none, d of them.
        activity: Which columns are active; descriptors of inactive ones are 0. ``None`` if all always are.
    """
    blocks = [one_hot(X, categories, activity)]
    active = np.ones(X.shape, dtype=bool) if activity is None else activity(X)
    for j, (k, rows) in enumerate(zip(categories, descriptors, strict=True)):
        if rows is not None:
            blocks.append(rows[choice_numbers(X[:, j], k)] * active[:, [j]])
    return np.hstack(blocks)
