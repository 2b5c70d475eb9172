"""Where gradient steps from feasible points may lead: what linear constraints leave around each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from calibo.data import Array
from calibo.spaces.polytope import between
from calibo.spaces.region import Region, WorkingSet, cube_reach, leaving

if TYPE_CHECKING:
    from calibo.spaces.feasible import FeasibleSet

#: Length of the step, on the unit cube, by which it is found out what holds a point back.
_PROBE = 1e-4
#: How near to its bound a column or row is at it, on the scale of the unit cube.
_AT_BOUND = 1e-8
#: By how much a gradient step may pass a bound, relative to its size; where a climb ends is repaired.
_PASSED = 1e-13


@dataclass(frozen=True, eq=False)
class FeasibleRegion(Region):
    """Where gradient steps from R feasible points may lead: each in its own slice, finely graded columns relaxed.

    Attributes:
        whole: The feasible set.
        X: The points that the steps start from, R x d.
        columns: Numbers of the columns that move, c.
        used: Places of these among the columns in use, as far as they are.
        places: Places of the same columns among the c.
        others: Places of the other columns among the c.
        start: Values of the columns in use at the start, R x (columns in use).
        low: Smallest values of the slices, same shape.
        high: Largest values, same shape.
    """

    whole: FeasibleSet
    X: Array
    columns: np.ndarray
    used: np.ndarray
    places: np.ndarray
    others: np.ndarray
    start: Array
    low: Array
    high: Array

    @classmethod
    def around(
        cls, whole: FeasibleSet, X: Array, columns: np.ndarray, slices: tuple[Array, Array, Array]
    ) -> FeasibleRegion:
        """Return the region around feasible points.

        Args:
            whole: The feasible set.
            X: The points, R x d.
            columns: Numbers of the columns that gradient steps move.
            slices: Values of the columns in use at the points, and the smallest and largest of their slices.
        """
        moving = {int(j): place for place, j in enumerate(columns)}
        shared = [(i, moving[int(j)]) for i, j in enumerate(whole.used) if int(j) in moving]
        used = np.array([i for i, _ in shared], dtype=np.intp)
        start, low, high = slices
        graded = np.array([v.graded for v in whole.values], dtype=bool)
        fixed = np.ones(len(whole.used), dtype=bool)
        fixed[used] = ~graded[used]
        low, high = np.where(fixed, start, low), np.where(fixed, start, high)
        places = np.array([place for _, place in shared], dtype=np.intp)
        others = np.setdiff1d(np.arange(len(columns)), places)
        return cls(whole, X, columns, used, places, others, start, low, high)

    @property
    def straight(self) -> bool:
        return self.whole.linear_scales is not None

    def part(self, rows: np.ndarray) -> Region:
        if len(rows) == len(self.X):
            return self
        return replace(self, X=self.X[rows], start=self.start[rows], low=self.low[rows], high=self.high[rows])

    @cached_property
    def _held(self) -> tuple[np.ndarray, Array]:
        """Which of the c columns are held, and where."""
        held = self.whole.held
        return np.array([int(j) in held for j in self.columns]), np.array([held.get(int(j), 0.0) for j in self.columns])

    def project(self, x: Array) -> Array:
        near, found = self._projected(x, quick=False)
        # Where rounding keeps a projection from being found, the climb stays where it began.
        return near if found.all() else np.where(found[:, None], near, self.X[:, self.columns])

    def bent(self, x: Array) -> tuple[Array, np.ndarray]:
        return self._projected(x, quick=True)

    def _projected(self, x: Array, *, quick: bool) -> tuple[Array, np.ndarray]:
        inside = between(x, 0.0, 1.0)
        if self.whole.held:
            inside = np.where(*self._held, inside)
        if not len(self.used):
            return inside, np.ones(len(x), dtype=bool)
        V = self._amounts(x)
        near, _, found = self.whole.polytope.project(V, self.whole.slopes(V), self.low, self.high, quick=quick)
        return self._back(near, inside), found

    def reach(self, x: Array, way: Array) -> Array:
        others = self.others
        reach = cube_reach(x[:, others], way[:, others]) if len(others) else np.full(len(x), np.inf)
        if not len(self.used):
            return reach
        V = self._amounts(x)
        moved = np.zeros_like(V)
        moved[:, self.used] = way[:, self.places]
        slopes = self.whole.slopes(V)
        room = _PASSED * slopes
        chord = self.whole.polytope.chord(V, moved * slopes, self.low - room, self.high + room, _PASSED)
        return np.minimum(reach, chord[1])

    def working_set(self, x: Array, uphill: Array) -> WorkingSet:
        at_low, at_high = x <= 0.0, x >= 1.0
        blocked = leaving(at_low, at_high, uphill)
        if self.whole.held:
            blocked |= self._held[0]
        polytope = self.whole.polytope
        V = self._amounts(x)
        slopes = self.whole.slopes(V)
        normals = np.zeros((len(x), len(polytope.A), len(self.columns)))
        normals[:, :, self.places] = (polytope.A * slopes[:, None, :])[:, :, self.used]
        sums, scale, room = polytope.sums(V), _AT_BOUND * polytope.scale, _AT_BOUND * slopes
        at_lower, at_upper = sums <= polytope.lower + scale, sums >= polytope.upper - scale
        low, high = self.low + room >= V, self.high - room <= V
        at_row = np.logical_or.reduce((at_lower | at_upper) & polytope.unequal, axis=1)
        held, stays = self._holding(V, slopes, uphill, low, high, at_row)
        for mask, found in ((blocked, stays), (at_low, low), (at_high, high)):
            mask[:, self.places] = found[:, self.used]
        held = (held > 0.0) & at_upper | (held < 0.0) & at_lower | polytope.equal
        return WorkingSet(blocked, at_low, at_high, normals, held, at_lower, at_upper)

    def _holding(
        self, V: Array, slopes: Array, uphill: Array, low: np.ndarray, high: np.ndarray, at_row: np.ndarray
    ) -> tuple[Array, np.ndarray]:
        """Return multipliers of the rows, R x m, that hold points back, and which columns stay at their bounds.

        A short step uphill, projected, ends at what holds the point back; a point that is at nothing is held by nothing.

        Args:
            V: Values at the points, R x c.
            slopes: How fast these grow with the coordinates, R x c.
            uphill: Directions, R x columns that move.
            low: Which values are at their smallest, R x c.
            high: Which are at their largest, R x c.
            at_row: Which points are at the bound of an inequality, R.
        """
        fixed = self.low == self.high
        multipliers, stays = np.zeros((len(V), len(self.whole.polytope.A))), (low | high) & fixed
        rows = np.flatnonzero(at_row | ((low | high) & ~fixed).any(axis=1))
        if not len(rows):
            return multipliers, stays
        V, slopes, uphill, low, high = (one[rows] for one in (V, slopes, uphill, low, high))
        longest = np.abs(uphill).max(axis=1, keepdims=True)
        way = np.zeros_like(V)
        way[:, self.used] = (uphill * (_PROBE / np.where(longest > 0.0, longest, 1.0)))[:, self.places]
        near, multipliers[rows], _ = self.whole.polytope.project(
            V + slopes * way, slopes, self.low[rows], self.high[rows]
        )
        room = _AT_BOUND * slopes
        stays[rows] = (low & (near <= self.low[rows] + room)) | (high & (near >= self.high[rows] - room))
        return multipliers, stays

    def allows(self, x: Array) -> np.ndarray:
        if self.whole.where is None:
            return super().allows(x)
        X = self.X.copy()
        X[:, self.columns] = x
        return self.whole.met(X)

    def _amounts(self, x: Array) -> Array:
        """Return the values at coordinates, R x c, which may lie outside of the cube."""
        V, whole = self.start.copy(), self.whole
        if whole.linear_scales is not None:
            low, width = whole.linear_scales
            V[:, self.used] = low[self.used] + x[:, self.places] * width[self.used]
            return V
        inside = np.clip(x, 0.0, 1.0)
        for i, place in zip(self.used, self.places, strict=True):
            beyond = whole.values[i].slope(self.start[:, i]) * (x[:, place] - inside[:, place])
            V[:, i] = whole.values[i].of(inside[:, place]) + beyond
        return V

    def _back(self, V: Array, x: Array) -> Array:
        x, whole = x.copy(), self.whole
        if whole.linear_scales is not None:
            low, width = whole.linear_scales
            x[:, self.places] = between((V[:, self.used] - low[self.used]) / width[self.used], 0.0, 1.0)
            return x
        for i, place in zip(self.used, self.places, strict=True):
            x[:, place] = whole.values[i].at(V[:, i])
        return x
