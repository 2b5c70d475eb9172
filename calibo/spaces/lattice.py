"""Whole numbers in linear constraints: rounding that keeps sums, and moves from one feasible combination to others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibo.data import Array
from calibo.spaces.polytope import Polytope
from calibo.spaces.values import Values

#: With more finite columns than this, two are not changed at once.
_MOST_PAIRED = 24


@dataclass(frozen=True, eq=False)
class Lattice:
    """The finite columns of constraints, beside the continuous ones that can make up for them.

    Attributes:
        polytope: The constraints on c columns.
        values: The columns, c.
        finite: Which of them have finitely many values, c.
        held: Which of them are held at a value, c.
    """

    polytope: Polytope
    values: tuple[Values, ...]
    finite: np.ndarray
    held: np.ndarray

    @cached_property
    def _where(self) -> np.ndarray:
        return np.flatnonzero(self.finite)

    @cached_property
    def _movable(self) -> list[int]:
        """The finite columns that are not held."""
        return [int(i) for i in np.flatnonzero(self.finite & ~self.held)]

    def rounded(self, V: Array, low: Array, high: Array) -> Array:
        """Return values, n x c, with finite columns rounded, within boxes whose ends they have."""
        V = V.copy()
        for i in self._where:
            V[:, i] = np.clip(self.values[i].rounded(V[:, i]), low[:, i], high[:, i])
        return V

    def fitted(self, V: Array, low: Array, high: Array) -> Array:
        """Return values, n x c, whose finite columns were changed, one or two by a step at a time, until sums can be met.

        Args:
            V: Values whose finite columns are rounded, n x c.
            low: Lower ends of boxes that all columns stay in, n x c; of a component that is absent the box is 0.
            high: Upper ends.
        """
        current, goal = V.copy(), V
        left = np.arange(len(V))
        for _ in range(2 * len(self._where) + 8):
            now = self._lack(current[left], low[left], high[left])
            left, now = left[now > 1e-12], now[now > 1e-12]
            if not len(left):
                break
            tried, lack = self._better(current[left], goal[left], low[left], high[left], self._single, now)
            stuck = ~(lack < now - 1e-12)
            if stuck.any() and len(self._where) <= _MOST_PAIRED:
                rows = left[stuck]
                again = self._better(current[rows], goal[rows], low[rows], high[rows], self._double, now[stuck])
                tried[stuck], lack[stuck] = again
            improved = lack < now - 1e-12
            current[left[improved]] = tried[improved]
            left = left[improved]
        return current

    def _better(
        self, V: Array, goal: Array, low: Array, high: Array, changes: list[tuple[tuple[int, int], ...]], now: Array
    ) -> tuple[Array, Array]:
        """Return the best of the changed values, n x c, and what they lack, n."""
        best, lack, rank = V.copy(), now.copy(), np.full(len(V), np.inf)
        for change in changes:
            tried, inside = V.copy(), np.ones(len(V), dtype=bool)
            for i, step in change:
                tried[:, i] = self.values[i].next(tried[:, i], step)
                room = 1e-9 * self._unit[i]
                inside &= (low[:, i] - room <= tried[:, i]) & (tried[:, i] <= high[:, i] + room)
            lacking = np.where(inside, self._lack(tried, low, high), np.inf)
            moved = np.abs((tried - goal) / self._unit).sum(axis=1)
            order = np.where(lacking < now - 1e-12, lacking * 1e6 + moved, np.inf)
            better = order < rank
            best[better], lack[better], rank[better] = tried[better], lacking[better], order[better]
        return best, lack

    def _lack(self, V: Array, low: Array, high: Array) -> Array:
        """Return by how much rows miss their bounds whatever the continuous columns do, relative to their size, n."""
        A, finite = self.polytope.A, self.finite
        fixed = self.polytope.sums(np.where(finite, V, 0.0))
        free = np.where(finite, 0.0, A)
        small = np.minimum(low[:, None, :] * free, high[:, None, :] * free).sum(axis=2)
        large = np.maximum(low[:, None, :] * free, high[:, None, :] * free).sum(axis=2)
        over = np.maximum(fixed + small - self.polytope.upper, 0.0)
        under = np.maximum(self.polytope.lower - fixed - large, 0.0)
        return ((over + under) / self.polytope.scale).sum(axis=1)

    @cached_property
    def _unit(self) -> Array:
        units = [abs(float(v.next(np.array(v.low), 1)) - v.low) or 1.0 if v.finite else 1.0 for v in self.values]
        return np.array(units)

    @cached_property
    def _single(self) -> list[tuple[tuple[int, int], ...]]:
        return [((i, step),) for i in self._movable for step in (1, -1)]

    @cached_property
    def _double(self) -> list[tuple[tuple[int, int], ...]]:
        pairs = [(i, j) for a, i in enumerate(self._movable) for j in self._movable[a + 1 :]]
        return [((i, s), (j, t)) for i, j in pairs for s in (1, -1, 2, -2) for t in (1, -1, 2, -2)]

    def moves(self, v: Array, low: Array, high: Array, least: Array, most: Array) -> tuple[Array, Array, Array]:
        """Return values, k x c, and their slices, with one finite column changed or two that make up for each other.

        Args:
            v: Feasible values, c.
            low: Lower end of their slice, c.
            high: Upper end, c.
            least: Smallest values of the columns, c.
            most: Largest values, c.
        """
        movable = [int(i) for i in self._where if most[i] > least[i]]
        found = [np.empty((0, len(v)))] + [self._others(v, i) for i in movable]
        if len(movable) <= _MOST_PAIRED:
            found += [self._exchanged(v, i, j) for i in movable for j in movable if i != j and self._share_a_row(i, j)]
        V = np.vstack(found)
        V = V[((least <= V) & (most >= V)).all(axis=1) & (v != V).any(axis=1)]
        low, high = np.repeat(low[None, :], len(V), axis=0), np.repeat(high[None, :], len(V), axis=0)
        low[:, self.finite] = high[:, self.finite] = V[:, self.finite]
        return V, low, high

    def _share_a_row(self, i: int, j: int) -> bool:
        return bool(((self.polytope.A[:, i] != 0.0) & (self.polytope.A[:, j] != 0.0)).any())

    def _others(self, v: Array, i: int) -> Array:
        """Return copies of values, c, with another value of one column, k x c."""
        here = v[i : i + 1]
        steps = [s for e in range(7) for s in (2**e, -(2**e))]
        near = np.concatenate([self.values[i].next(here, step) for step in steps])
        others = np.unique(near)
        copies = np.repeat(v[None, :], len(others), axis=0)
        copies[:, i] = others
        return copies

    def _exchanged(self, v: Array, i: int, j: int) -> Array:
        """Return copies with a step of one column, made up for by the other in the first equality that has both, k x c."""
        copies = np.repeat(v[None, :], 4, axis=0)
        copies[:, i] = [float(self.values[i].next(v[i : i + 1], step)[0]) for step in (1, -1, 2, -2)]
        both = (self.polytope.A[:, i] != 0.0) & (self.polytope.A[:, j] != 0.0)
        row = self.polytope.A[
            int(np.argmax(both & self.polytope.equal) if (both & self.polytope.equal).any() else np.argmax(both))
        ]
        copies[:, j] = self.values[j].rounded(v[j] - (copies[:, i] - v[i]) * row[i] / row[j])
        return copies
