"""Arrays of encoded points: checks, and categorical columns as indicators (one-hot) or whole numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from calibo.data import Array
from calibo.errors import DataError


def as_points(X: npt.ArrayLike, d: int) -> Array:
    """Convert encoded points to a float64 array, n x d.

    Raises:
        DataError: If they have another shape or contain NaN.
    """
    points = np.asarray(X, dtype=np.float64)
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


def one_hot(X: npt.ArrayLike, categories: Sequence[int]) -> Array:
    """Encode categorical columns as indicators, for models of numbers only.

    Args:
        X: Encoded points, n x d.
        categories: Number of choices of each categorical column, 0 for a numeric one, d; ``()`` means all numeric.

    Returns:
        n x D, D = sum of max(1, choices): numeric columns as they are, categorical ones as indicators, in order.
    """
    points = np.asarray(X, dtype=np.float64)
    if len(categories) == 0 and points.ndim == 2:
        return as_points(points, points.shape[1])
    points = as_points(points, len(categories))
    blocks = [np.eye(k)[choice_numbers(points[:, j], k)] if k else points[:, [j]] for j, k in enumerate(categories)]
    return np.hstack(blocks)


def codes(X: Array, categories: Sequence[int]) -> Array:
    """Encode categorical columns of points, m x d, as whole numbers from 0 on, m x d: one column each, for trees."""
    k = np.asarray(categories)
    return np.where(k > 0, choice_numbers(X, np.maximum(k, 1)), X)
