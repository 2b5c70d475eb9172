"""Exact moves on the finite columns of a space."""

from __future__ import annotations

import numpy as np

from calibo.data import Array
from calibo.search.plan import Acquisition
from calibo.spaces import Space

#: A finite column with more values than this is also moved by gradient steps, then rounded.
LARGEST_ENUMERATED = 16


def finite_columns(space: Space) -> list[int]:
    """Return the columns with finitely many (and more than one) values."""
    return [j for j, column in enumerate(space.columns) if column.cells is not None and column.cells > 1]


def climbed_columns(space: Space) -> np.ndarray:
    """Return the columns moved by gradient steps: continuous ones, and finely graded ones that are rounded afterwards."""
    fine = [
        column.cells is None or (column.cells > LARGEST_ENUMERATED and not column.categories)
        for column in space.columns
    ]
    return np.flatnonzero(fine)


def filled(points: Array, moved: Array, space: Space, rng: np.random.Generator) -> Array:
    """Draw values of the columns that a move has made active, which the points, `m x d`, say nothing about.

    Args:
        points: Points before the move, `m x d`.
        moved: The same points after it, `m x d`, not yet repaired.
        space: The search space.
        rng: The only source of randomness; not used if all columns are always active.
    """
    if space.activity is None:
        return moved
    new = ~space.active(points)
    return np.where(new, rng.random(moved.shape), moved)


def hill_climb(acquisition: Acquisition, X: Array, space: Space, sweeps: int) -> Array:
    """Move `R x d` points to their best neighbour until none is better, at most ``sweeps`` times; one call a sweep."""
    if not len(X):
        return X
    current, active = X.copy(), np.arange(len(X))
    values = acquisition(current)
    for _ in range(sweeps):
        tried = [space.neighbours(x) for x in current[active]]
        if not sum(map(len, tried)):
            break
        found = np.nan_to_num(acquisition(np.concatenate(tried)), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        scores = np.split(found, np.cumsum([len(t) for t in tried])[:-1])
        moved = []
        for i, points, score in zip(active, tried, scores, strict=True):
            best = int(np.argmax(score)) if len(score) else 0
            if len(score) and score[best] > values[i]:
                current[i], values[i] = points[best], score[best]
                moved.append(i)
        if not moved:
            break
        active = np.array(moved)
    return current
