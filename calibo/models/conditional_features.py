"""Features of points with conditional columns, so that a kernel is defined between branches.

A kernel of the Euclidean distance of features is positive definite whatever the features are, so the features alone say how
far apart two points are in a conditional column:

- both active: a number x lies on an arc of radius r = 1/2 as long as its range, at the angle (x - 1/2) / r, and the distance
  is the chord sin |x - x'|, which is the usual distance but for up to a sixth at the far ends; two choices are as far apart
  as in any other column;
- one inactive: it lies in the middle, as far from all values: r, or for a choice the radius of the choices;
- both inactive: 0.

The line itself will not do: no point is equally far from all of its points, and with a constant instead of a distance the
matrix of correlations is not positive definite (Swersky et al. 2013 have the arc). Each distance is divided by the length
scale of its column. Columns that are active together add one more distance if one point has them and the other has
not, with a length scale of its own that all such groups share: the constant between branches is learned even where all
columns matter much.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibo.data import Activity, Array
from calibo.models.gp_posterior import APART, Features

#: Radius of the arc of a number.
_RADIUS = 0.5


@dataclass(frozen=True, eq=False)
class ConditionalFeatures(Features):
    """Features of points with conditional columns: those of each column, and an indicator for each group of columns.

    Attributes:
        activity: Which columns are active.
    """

    activity: Activity

    @property
    def lengths(self) -> int:
        return len(self.categories) + 1

    @property
    def usual(self) -> float:
        return self.activity.usual

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Of which features consist: other columns' numbers, choices, sines (each before its cosine), and indicators."""
        conditional, k = np.asarray(self.activity.conditional), np.asarray(self.categories)
        sizes = np.where(k > 0, k, np.where(conditional, 2, 1))
        starts = np.cumsum(sizes) - sizes
        column = np.repeat(np.arange(len(k)), sizes)
        groups = int(sizes.sum()) + np.arange(len(self.activity.groups))
        return starts[(k == 0) & ~conditional], np.flatnonzero(k[column] > 0), starts[(k == 0) & conditional], groups

    @cached_property
    def column(self) -> np.ndarray:
        """The length scale that each feature is divided by, D: that of its column, or the last one for an indicator."""
        conditional, k = np.asarray(self.activity.conditional), np.asarray(self.categories)
        sizes = np.where(k > 0, k, np.where(conditional, 2, 1))
        return np.concatenate([np.repeat(np.arange(len(k)), sizes), np.full(len(self.activity.groups), len(k))])

    @cached_property
    def _kinds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which columns are numbers that are always active, choices, and conditional numbers."""
        conditional, k = np.asarray(self.activity.conditional), np.asarray(self.categories)
        return np.flatnonzero((k == 0) & ~conditional), np.flatnonzero(k), np.flatnonzero((k == 0) & conditional)

    def embedded(self, X: Array, coordinates: Array) -> Array:
        active = self.activity(X)
        numbers, choices, arcs, groups = self._places
        plain, nominal, bent = self._kinds
        found = np.zeros((len(X), len(self.column)))
        found[:, numbers] = coordinates[:, plain]
        if len(nominal):
            k = np.asarray(self.categories)[nominal]
            chosen = np.clip(np.floor(X[:, nominal] * k), 0, k - 1).astype(np.intp)
            first = choices[np.cumsum(k) - k]
            rows = np.broadcast_to(np.arange(len(X))[:, None], chosen.shape)
            found[rows, first + chosen] = APART * np.sqrt(0.5) * active[:, nominal]
        angle = self._angle(coordinates)
        found[:, arcs] = _RADIUS * np.sin(angle) * active[:, bent]
        found[:, arcs + 1] = _RADIUS * np.cos(angle) * active[:, bent]
        found[:, groups] = APART * active[:, [group[0] for group in self.activity.groups]]
        return found

    def pulled(self, X: Array, coordinates: Array, pull: Array) -> Array:
        numbers, _, arcs, _ = self._places
        plain, _, bent = self._kinds
        angle, own = self._angle(coordinates), np.zeros((len(X), len(self.categories)))
        own[:, plain] = pull[:, numbers]
        along = pull[:, arcs] * np.cos(angle) - pull[:, arcs + 1] * np.sin(angle)
        own[:, bent] = along * self.activity(X)[:, bent]
        return own[:, np.asarray(self.categories) == 0]

    def _angle(self, coordinates: Array) -> Array:
        return (coordinates[:, self._kinds[2]] - 0.5) / _RADIUS
