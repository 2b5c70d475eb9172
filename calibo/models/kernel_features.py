"""The features of points for a kernel: of plain and conditional columns, and of descriptors of choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibo.data import Activity, Array
from calibo.models.conditional_features import ConditionalFeatures
from calibo.models.gp_posterior import Features
from calibo.spaces.encoding import choice_numbers

#: Distance between the descriptors of two choices on average (root mean square). Of those tried on a table of reactions (.2,
#: that of a uniform column, .7, 1) it predicted best, both choices that were tried and those that were not.
_DESCRIBED_APART = 1.0


@dataclass(frozen=True, eq=False)
class DescribedFeatures(Features):
    """Features of points with descriptors of choices after them, which have length scales of their own.

    The outcomes tell how far choices that are alike behave alike, and how far each is different all the same. A choice that
    is inactive has descriptors of 0, the middle of all choices.

    Attributes:
        base: The features without descriptors.
        described: Columns whose choices have descriptors, each with these, `k x D`.
        activity: Which columns are active; ``None`` if all always are.
    """

    base: Features
    described: tuple[tuple[int, Array], ...]
    activity: Activity | None

    @cached_property
    def column(self) -> np.ndarray:
        further = [np.full(rows.shape[1], self.base.lengths + i) for i, (_, rows) in enumerate(self.described)]
        return np.concatenate([self.base.column, *further])

    @property
    def lengths(self) -> int:
        return self.base.lengths + len(self.described)

    @property
    def usual(self) -> float:
        return self.base.usual

    def embedded(self, X: Array, coordinates: Array) -> Array:
        active = np.ones(X.shape, dtype=bool) if self.activity is None else self.activity(X)
        further = [
            _DESCRIBED_APART * rows[choice_numbers(X[:, j], len(rows))] * active[:, [j]] for j, rows in self.described
        ]
        return np.hstack([self.base.embedded(X, coordinates), *further])

    def pulled(self, X: Array, coordinates: Array, pull: Array) -> Array:
        return self.base.pulled(X, coordinates, pull[:, : len(self.base.column)])


def kernel_features(
    categories: tuple[int, ...], activity: Activity | None = None, descriptors: Sequence[Array | None] = ()
) -> Features:
    """Return the features of points for a kernel.

    Args:
        categories: Number of choices of each categorical column, 0 for a numeric one, d.
        activity: Which columns are active; ``None`` if all always are.
        descriptors: Descriptors of the choices of each column, `k x D`, ``None`` where there are none; ``()`` for none.
    """
    base = Features(categories) if activity is None else ConditionalFeatures(categories, activity)
    described = tuple((j, rows) for j, rows in enumerate(descriptors) if rows is not None)
    return DescribedFeatures(categories, base, described, activity) if described else base
