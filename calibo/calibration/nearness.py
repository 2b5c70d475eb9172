"""How far points are from the data: a feature of a forecast that does not depend on the model.

It is the distance of the second nearest datum. Once a search has converged, the data have copies of each other beside them
that predict them far better than a model dares to say; a point beside a single datum has none, and is predicted as well as
any other in the gap between two data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from calibo.data import Array, Dataset, Rows
from calibo.models.gp_posterior import Features
from calibo.models.kernels import squared_distances
from calibo.models.standardization import single_outcome
from calibo.models.subsets import representative

#: Of more data, so many stand for all of them.
_MOST = 1000
#: Nearer points count as this near, in units of the cube: copies of one another, between which only rounding is left.
_NEAREST = 1e-5
#: How far points are from fewer than two data.
_NONE_BEFORE = 1.0


@dataclass(frozen=True, eq=False)
class Nearness:
    """The data that distances are measured from, on the unit cube, choices a quarter of it apart.

    Attributes:
        X: `n x d` points.
        rows: Their rows among all data, n, increasing.
        categories: Number of choices of each categorical column, 0 for a numeric one, d.
    """

    X: Array
    rows: Rows
    categories: tuple[int, ...]

    @classmethod
    def of(cls, data: Dataset) -> Self:
        """Return the nearness to data of one outcome, or to some that stand for all of them."""
        rows = representative(data.X, single_outcome(data.Y), _MOST)
        return cls(data.X[rows], rows, data.categories)

    @cached_property
    def _features(self) -> Features:
        return Features(self.categories)

    @cached_property
    def _known(self) -> Array:
        return self._features(self.X)

    def __call__(self, X: Array) -> Array:
        """Return the logarithm of the distance of `... x q x d` points from the second nearest datum, `... x q`."""
        return _second(self._squared(X.reshape(-1, X.shape[-1]))).reshape(X.shape[:-1])

    def of_others(self, X: Array, rows: Rows) -> Array:
        """Return those of data from the second nearest *other* one, t, given their points, `t x d`, and rows, t."""
        return _second(np.where(rows[:, None] == self.rows, np.inf, self._squared(X)))

    def of_earlier(self, X: Array, rows: Rows) -> Array:
        """Return those of data from the second nearest of those before, t, given their points, `t x d`, and rows, t."""
        return _second(np.where(rows[:, None] <= self.rows, np.inf, self._squared(X)))

    def _squared(self, X: Array) -> Array:
        return squared_distances(self._features(X), self._known)


def _second(squared: Array) -> Array:
    """Return the logarithm of the second smallest distance in each row, m, given squares of distances, `m x n`.

    Infinite ones are not known; where fewer than two are, it is that of a point without data.
    """
    if squared.shape[1] < 2:
        return np.full(len(squared), np.log(_NONE_BEFORE))
    second = np.partition(squared, 1, axis=1)[:, 1]
    return 0.5 * np.log(np.maximum(np.where(np.isinf(second), _NONE_BEFORE**2, second), _NEAREST**2))
