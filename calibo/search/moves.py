"""Exact moves on the finite columns of a space: every other value of a small one, near and far values of a large one."""

from __future__ import annotations

import numpy as np

from calibo.data import Array
from calibo.search.base import Acquisition
from calibo.spaces import ProductSpace

#: A finite column with more values than this is also climbed as if it were continuous, then rounded.
LARGEST_ENUMERATED = 16


def finite_columns(space: ProductSpace) -> list[int]:
    """Columns with finitely many (and more than one) values."""
    return [j for j, column in enumerate(space.columns) if column.cells is not None and column.cells > 1]


def climbed_columns(space: ProductSpace) -> np.ndarray:
    """Columns that gradient steps may move: continuous ones, and finely graded ones that are rounded afterwards."""
    fine = [
        column.cells is None or (column.cells > LARGEST_ENUMERATED and not column.categories)
        for column in space.columns
    ]
    return np.flatnonzero(fine)


def neighbours(x: Array, column: int, space: ProductSpace) -> Array:
    """The points that differ from ``x``, d, in one finite column only, k x d: valid ones if there are any."""
    parameter = space.columns[column]
    cells = parameter.cells or 0
    here = int(parameter.cell(x[[column]])[0])
    if cells <= 4 * LARGEST_ENUMERATED:
        others = np.delete(np.arange(cells), here)
    else:
        steps = 2 ** np.arange(int(np.log2(cells)) + 1)
        others = np.unique(np.concatenate([here - steps, here + steps]))
        others = others[(others >= 0) & (others < cells)]
    points = np.repeat(x[None, :], len(others), axis=0)
    points[:, column] = parameter.position(others)
    sensible = points[space.valid(points)]
    return sensible if len(sensible) else points


def hill_climb(acquisition: Acquisition, X: Array, space: ProductSpace, sweeps: int) -> Array:
    """Points, R x d, moved to their best neighbour until none is better, at most ``sweeps`` times; one call a sweep."""
    columns = finite_columns(space)
    if not columns or not len(X):
        return X
    current, active = X.copy(), np.arange(len(X))
    values = acquisition(current)
    for _ in range(sweeps):
        tried = [np.concatenate([neighbours(x, j, space) for j in columns]) for x in current[active]]
        found = np.nan_to_num(acquisition(np.concatenate(tried)), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        scores = np.split(found, np.cumsum([len(t) for t in tried])[:-1])
        moved = []
        for i, points, score in zip(active, tried, scores, strict=True):
            best = int(np.argmax(score))
            if score[best] > values[i]:
                current[i], values[i] = points[best], score[best]
                moved.append(i)
        if not moved:
            break
        active = np.array(moved)
    return current
