"""Polytopes {v : lower <= A v <= upper, low <= v <= high}: projections and random walks, for many points at once.

Every point has a box of its own, so that columns which are fixed for it (an integer, an absent component of a mixture) are
those whose box has no width. Equalities are rows whose two bounds agree.

Notation: n points, c columns, m rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibo.data import Array

#: Iterations of a projection after which it has failed; usual are 3 to 10.
_ITERATIONS = 40
#: Share of the columns at their bounds in the dual Hessian: without any, a step would be infinite where all are.
_DAMPING = 1e-4
#: Share added to the diagonal of the dual Hessian, which is singular where more rows meet than there are columns.
_LEVENBERG = 1e-7
#: Residual, relative to the size of a row, at which a point lies in the polytope.
_PRECISION = 1e-13
#: Components of a direction below this share of the largest do not limit a step.
_STRAIGHT = 1e-14


@dataclass(frozen=True, eq=False)
class Polytope:
    """Rows of linear constraints.

    Attributes:
        A: Coefficients, m x c.
        lower: Smallest allowed sums, m; minus infinity for none.
        upper: Largest allowed sums, m.
        scale: Size of the terms of each row, m, which rounding errors are relative to.
    """

    A: Array
    lower: Array
    upper: Array
    scale: Array

    @cached_property
    def equal(self) -> np.ndarray:
        """Which rows are equalities, m."""
        return self.lower == self.upper

    def sums(self, V: Array) -> Array:
        """Return the sums of all rows at points, n x c -> n x m."""
        # Summed row by row, so that a point's result does not depend on the points beside it.
        return (V[:, None, :] * self.A).sum(axis=2)

    def excess(self, V: Array) -> Array:
        """Return by how much points exceed the bounds of rows, n x m: negative below the lower one, 0 between."""
        sums = self.sums(V)
        return sums - np.clip(sums, self.lower, self.upper)

    def holds(self, V: Array, tolerance: float) -> np.ndarray:
        """Return which points meet all rows up to a tolerance relative to their size, n."""
        return np.asarray((np.abs(self.excess(V)) <= tolerance * self.scale).all(axis=1))

    def reachable(self, low: Array, high: Array) -> np.ndarray:
        """Return for which boxes, n x c each, every row by itself can be met, n."""
        small = np.minimum(low[:, None, :] * self.A, high[:, None, :] * self.A).sum(axis=2)
        large = np.maximum(low[:, None, :] * self.A, high[:, None, :] * self.A).sum(axis=2)
        room = 1e-9 * self.scale
        return ((small <= self.upper + room) & (large >= self.lower - room)).all(axis=1)

    def project(self, Y: Array, metric: Array, low: Array, high: Array) -> tuple[Array, Array, np.ndarray]:
        """Return the nearest points of the polytope.

        A Newton method on the dual problem, which is concave and has one variable for each row only; bounds of columns
        cost nothing, however many there are.

        Args:
            Y: Points, n x c.
            metric: Length of a unit in each column, n x c: distances are those of Y / metric.
            low: Lower corners of the boxes, n x c.
            high: Upper corners, n x c.

        Returns:
            The projections, n x c; the multipliers of the rows, n x m, positive where an upper bound holds a point back
            and negative where a lower one does; and which projections were found, n. Those not found (mostly because
            there is no point) are the last of the iteration.
        """
        state = _Duals(self, Y, np.square(metric), low, high)
        active = np.flatnonzero(self.reachable(low, high)) if len(Y) else np.empty(0, dtype=np.intp)
        for _ in range(_ITERATIONS):
            active = active[~state.arrived[active]]
            if not len(active):
                break
            state.step(active)
        return state.V, state.multipliers, state.arrived

    def walk(self, V: Array, metric: Array, low: Array, high: Array, steps: int, rng: np.random.Generator) -> Array:
        """Move points of the polytope by steps of hit-and-run, which leaves the uniform distribution as it is.

        Args:
            V: Points of the polytope, n x c.
            metric: Typical length of each column, n x c, which directions are scaled by.
            low: Lower corners of the boxes, n x c.
            high: Upper corners, n x c.
            steps: Number of steps.
            rng: The only source of randomness.
        """
        free = high > low
        length = np.where(free, metric, 0.0)
        tangent = self._tangents(length)
        for _ in range(steps):
            way = tangent(rng.standard_normal(V.shape) * length)
            first, last = self.chord(V, way, low, high)
            V = np.clip(V + (first + rng.random(len(V)) * (last - first))[:, None] * way, low, high)
        return V

    def _tangents(self, length: Array) -> Callable[[Array], Array]:
        """Return the map of directions, n x c, to those along which equalities hold, in columns with a length."""
        E = self.A[self.equal]
        if not len(E):
            return lambda way: way
        weighted = E * np.square(length)[:, None, :]
        # Equalities among fixed columns only, and those that follow from others, have no part in it.
        inverse = np.linalg.pinv(weighted @ E.T, rcond=1e-12, hermitian=True)
        back = (inverse @ weighted).swapaxes(1, 2)

        def along(way: Array) -> Array:
            return way - (back @ (E @ way[:, :, None]))[:, :, 0]

        return along

    def chord(self, V: Array, way: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Return how far points, n x c, may go backwards (not positive) and forwards, n each."""
        largest = np.abs(way).max(axis=1, keepdims=True)
        way = np.where(np.abs(way) > _STRAIGHT * largest, way, 0.0)
        first, last = _reach(V, way, low, high)
        unequal = ~self.equal
        if unequal.any():
            G = self.A[unequal]
            sums, slopes = V @ G.T, way @ G.T
            slopes = np.where(np.abs(slopes) > _STRAIGHT * largest * np.abs(G).max(axis=1), slopes, 0.0)
            more = _reach(sums, slopes, self.lower[unequal], self.upper[unequal])
            first, last = np.maximum(first, more[0]), np.minimum(last, more[1])
        still = ~(np.isfinite(first) & np.isfinite(last))
        return np.where(still, 0.0, np.minimum(first, 0.0)), np.where(still, 0.0, np.maximum(last, 0.0))


def _reach(at: Array, slope: Array, low: Array, high: Array) -> tuple[Array, Array]:
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (low - at) / slope, (high - at) / slope
    moving = slope != 0.0
    first = np.where(moving, np.minimum(one, other), -np.inf).max(axis=1)
    return first, np.where(moving, np.maximum(one, other), np.inf).min(axis=1)


class _Duals:
    """The state of n projections: multipliers, and the points that follow from them."""

    def __init__(self, polytope: Polytope, Y: Array, squares: Array, low: Array, high: Array) -> None:
        self.polytope = polytope
        self.Y, self.squares, self.low, self.high = Y, squares, low, high
        n, m = len(Y), len(polytope.A)
        self.multipliers = np.zeros((n, m))
        self.V = np.clip(Y, low, high)
        self.arrived = self._met(self.V, self.multipliers)

    def step(self, rows: np.ndarray) -> None:
        """Take one Newton step with a line search for some of the points."""
        polytope, old, V = self.polytope, self.multipliers[rows], self.V[rows]
        sums = polytope.sums(V)
        goal, active = self._goals(old, sums)
        way = self._newton(rows, V, np.where(active, sums - goal, 0.0), active)
        new, points = self._signed(old, old + way), V.copy()
        points[:] = self._points(rows, new)
        met = self._met(points, new)
        left, share = np.flatnonzero(~met), 1.0
        if len(left):
            # Where the whole step does not arrive, the dual function decides whether it was too long.
            before = self._dual(rows[left], old[left], V[left])
            while len(left) and share > 1e-12:
                gained = self._dual(rows[left], new[left], points[left])
                short = gained < before - 1e-13 * (1.0 + np.abs(before))
                left, before, share = left[short], before[short], 0.5 * share
                new[left] = self._signed(old[left], old[left] + share * way[left])
                points[left] = self._points(rows[left], new[left])
            met = self._met(points, new)
        self.multipliers[rows], self.V[rows], self.arrived[rows] = new, points, met

    def _goals(self, multipliers: Array, sums: Array) -> tuple[Array, np.ndarray]:
        """Return the bound that each row is to be at, n x m, and which rows are held at one."""
        lower, upper = self.polytope.lower, self.polytope.upper
        above = (multipliers > 0.0) | ((multipliers == 0.0) & (sums > upper))
        below = (multipliers < 0.0) | ((multipliers == 0.0) & (sums < lower))
        active = above | below | self.polytope.equal
        return np.where(above, upper, np.where(below, lower, np.where(active, upper, 0.0))), active

    def _newton(self, rows: np.ndarray, V: Array, gap: Array, active: np.ndarray) -> Array:
        A, squares = self.polytope.A, self.squares[rows]
        between = (self.low[rows] < V) & (self.high[rows] > V)
        movable = self.high[rows] > self.low[rows]
        near = np.abs(gap).max(axis=1, initial=0.0) <= 1e-6 * self.polytope.scale.max(initial=0.0)
        damping = np.where(near[:, None] & between.any(axis=1, keepdims=True), 1e-9, _DAMPING)
        weights = squares * np.where(between, 1.0, damping * movable)
        both = active[:, :, None] & active[:, None, :]
        matrix = np.where(both, (A * weights[:, None, :]) @ A.T, 0.0)
        diagonal = np.arange(len(A))
        sizes = matrix[:, diagonal, diagonal]
        matrix[:, diagonal, diagonal] = np.where(sizes > 0.0, sizes * (1.0 + _LEVENBERG), 1.0)
        return np.asarray(np.linalg.solve(matrix, gap[:, :, None])[:, :, 0], dtype=np.float64)

    def _signed(self, old: Array, new: Array) -> Array:
        """Return multipliers that do not change their sign in one step, nor have one without a bound to hold it."""
        lower, upper, equal = self.polytope.lower, self.polytope.upper, self.polytope.equal
        flipped = ~equal & (old * new < 0.0)
        new = np.where(flipped | ((new > 0.0) & ~np.isfinite(upper)) | ((new < 0.0) & ~np.isfinite(lower)), 0.0, new)
        return new

    def _points(self, rows: np.ndarray, multipliers: Array) -> Array:
        pull = (multipliers[:, :, None] * self.polytope.A).sum(axis=1)
        return np.clip(self.Y[rows] - self.squares[rows] * pull, self.low[rows], self.high[rows])

    def _dual(self, rows: np.ndarray, multipliers: Array, V: Array) -> Array:
        """Return the value of the dual function at multipliers, whose points are V."""
        upper = np.where(np.isfinite(self.polytope.upper), self.polytope.upper, 0.0)
        lower = np.where(np.isfinite(self.polytope.lower), self.polytope.lower, 0.0)
        gaps = self.polytope.sums(V) - np.where(multipliers > 0.0, upper, lower)
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.where(self.Y[rows] == V, 0.0, np.square(V - self.Y[rows]) / self.squares[rows])
        return 0.5 * squares.sum(axis=1) + (multipliers * gaps).sum(axis=1)

    def _met(self, V: Array, multipliers: Array) -> np.ndarray:
        """Return which points meet all rows, with multipliers of the rows at a bound only."""
        polytope = self.polytope
        sums, room = polytope.sums(V), _PRECISION * polytope.scale
        inside = (sums <= polytope.upper + room) & (sums >= polytope.lower - room)
        held = (multipliers > 0.0) & (sums < polytope.upper - 1e3 * room)
        held |= (multipliers < 0.0) & (sums > polytope.lower + 1e3 * room)
        return np.asarray((inside & ~(held & ~polytope.equal)).all(axis=1))
