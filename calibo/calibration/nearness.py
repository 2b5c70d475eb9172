"""How far points are from the data: a feature of a forecast that does not depend on the model."""

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
#: Nearer points count as this near: the same place, in units of the cube.
_NEAREST = 1e-3
#: How far the first point of all is from the data.
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
        """Return the logarithm of the distance of `... x q x d` points from the nearest datum, `... x q`."""
        flat = X.reshape(-1, X.shape[-1])
        return _logarithm(self._squared(flat).min(axis=1)).reshape(X.shape[:-1])

    def of_others(self, X: Array, rows: Rows) -> Array:
        """Return those of data from the nearest *other* one, t, given their points, `t x d`, and rows, t."""
        return self._masked(X, rows[:, None] == self.rows)

    def of_earlier(self, X: Array, rows: Rows) -> Array:
        """Return those of data from the nearest one that came before, t, given their points, `t x d`, and rows, t."""
        return self._masked(X, rows[:, None] <= self.rows)

    def _masked(self, X: Array, unknown: np.ndarray) -> Array:
        squared = np.where(unknown, np.inf, self._squared(X)).min(axis=1, initial=np.inf)
        return _logarithm(np.where(np.isinf(squared), _NONE_BEFORE, squared))

    def _squared(self, X: Array) -> Array:
        return squared_distances(self._features(X), self._known)


def _logarithm(squared: Array) -> Array:
    return 0.5 * np.log(np.maximum(squared, _NEAREST**2))
