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
#: Whole steps after which a projection is started anew.
_WHOLE_STEPS = 4


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

    @cached_property
    def all_equal(self) -> bool:
        """Whether there are no inequalities."""
        return bool(self.equal.all())

    @cached_property
    def unequal(self) -> np.ndarray:
        """Which rows are inequalities, m."""
        return ~self.equal

    @cached_property
    def open_above(self) -> np.ndarray:
        """Which rows have no upper bound, m."""
        return self.upper == np.inf

    @cached_property
    def open_below(self) -> np.ndarray:
        """Which rows have no lower bound, m."""
        return self.lower == -np.inf

    @cached_property
    def products(self) -> Array:
        """Products of the coefficients of any two rows, m m x c."""
        return (self.A[:, None, :] * self.A[None, :, :]).reshape(len(self.A) ** 2, self.A.shape[1])

    @cached_property
    def largest(self) -> float:
        """Size of the row with the largest terms."""
        return float(self.scale.max(initial=0.0))

    def sums(self, V: Array) -> Array:
        """Return the sums of all rows at points, n x c -> n x m."""
        # Not by a product of matrices, so that a point's result does not depend on the points beside it.
        return np.einsum("nc,mc->nm", V, self.A)

    def excess(self, V: Array) -> Array:
        """Return by how much points exceed the bounds of rows, n x m: negative below the lower one, 0 between."""
        return self.beyond(self.sums(V))

    def beyond(self, sums: Array) -> Array:
        """Return by how much sums, n x m, exceed the bounds: negative below the lower one, 0 between."""
        return sums - between(sums, self.lower, self.upper)

    def holds(self, V: Array, tolerance: float) -> np.ndarray:
        """Return which points meet all rows up to a tolerance relative to their size, n."""
        return np.asarray((np.abs(self.excess(V)) <= tolerance * self.scale).all(axis=1))

    def reachable(self, low: Array, high: Array) -> np.ndarray:
        """Return for which boxes, n x c each, every row by itself can be met, n."""
        small = np.minimum(low[:, None, :] * self.A, high[:, None, :] * self.A).sum(axis=2)
        large = np.maximum(low[:, None, :] * self.A, high[:, None, :] * self.A).sum(axis=2)
        room = 1e-9 * self.scale
        return ((small <= self.upper + room) & (large >= self.lower - room)).all(axis=1)

    def project(
        self, Y: Array, metric: Array, low: Array, high: Array, *, quick: bool = False
    ) -> tuple[Array, Array, np.ndarray]:
        """Return the nearest points of the polytope.

        A Newton method on the dual problem, which is concave and has one variable for each row only; bounds of columns
        cost nothing, however many there are. Points near the polytope arrive after a few whole steps; the others start
        anew with steps that are shortened where they do not gain.

        Args:
            Y: Points, n x c.
            metric: Length of a unit in each column, n x c: distances are those of Y / metric.
            low: Lower corners of the boxes, n x c.
            high: Upper corners, n x c.
            quick: Whether points that do not arrive after a few steps are given up.

        Returns:
            The projections, n x c; the multipliers of the rows, n x m, positive where an upper bound holds a point back
            and negative where a lower one does; and which projections were found, n. Those not found (mostly because
            there is no point) are the last of the iteration.
        """
        V, multipliers, found = _Duals(self, Y, np.square(metric), low, high).run(_WHOLE_STEPS, careful=False)
        left = np.flatnonzero(~found)
        if quick or not len(left):
            return V, multipliers, found
        left = left[self.reachable(low[left], high[left])]
        again = _Duals(self, Y[left], np.square(metric[left]), low[left], high[left]).run(_ITERATIONS, careful=True)
        V[left], multipliers[left], found[left] = again
        return V, multipliers, found

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
        most = int(free.sum(axis=1).max(initial=0))
        length = np.where(free, metric, 0.0)
        if 2 * most > V.shape[1]:
            return self._whole.walk(V, self._whole.random_ways(length, rng), low, high, steps, rng)
        # Few columns move, such as the components of a mixture that are present: only these are looked at.
        moving = (~free).argsort(axis=1, kind="stable")[:, :most]
        still = V.copy()
        np.put_along_axis(still, moving, 0.0, axis=1)
        rows = self._whole.part(moving, still)
        V, length, low, high = (np.take_along_axis(one, moving, axis=1) for one in (V, length, low, high))
        np.put_along_axis(still, moving, rows.walk(V, rows.random_ways(length, rng), low, high, steps, rng), axis=1)
        return still

    def walk_along(
        self, V: Array, sample: Array, low: Array, high: Array, steps: int, rng: np.random.Generator
    ) -> Array:
        """Move points as ``walk`` does, in directions from one point of a sample to another.

        They are at hand, meet the equalities as they are, and suit the form of the set. The sample is fixed, and directions
        are drawn without regard to where the points are, so that the uniform distribution stays as it is.

        Args:
            V: Points of the polytope, n x c.
            sample: Further points of it, N x c.
            low: Lower corners of the boxes, n x c.
            high: Upper corners, n x c.
            steps: Number of steps.
            rng: The only source of randomness.
        """

        def way() -> Array:
            one, other = rng.integers(len(sample), size=(2, len(V)))
            return sample[one] - sample[other]

        return self._whole.walk(V, way, low, high, steps, rng)

    @cached_property
    def _whole(self) -> _Rows:
        """All rows, for points that may move in all columns."""
        E, G = self.A[self.equal], self.A[self.unequal]
        return _Rows(E, G, self.lower[self.unequal], self.upper[self.unequal])

    def chord(self, V: Array, way: Array, low: Array, high: Array, room: float = 0.0) -> tuple[Array, Array]:
        """Return how far points, n x c, may go backwards (not positive) and forwards, n each.

        Args:
            V: Points of the polytope, n x c.
            way: Directions along which the equalities hold, n x c.
            low: Lower corners of the boxes, n x c.
            high: Upper corners, n x c.
            room: By how much inequalities may be broken, relative to their size.
        """
        return self._whole.chord(V, way, low, high, room * self.scale[self.unequal])


@dataclass(frozen=True, eq=False)
class _Rows:
    """What holds points back that move along chords in k columns: equalities and inequalities.

    Attributes:
        E: Coefficients of the equalities, m x k, or n x m x k if every point moves in columns of its own.
        G: Coefficients of the inequalities, in the same form.
        lower: Smallest sums of the inequalities, m or n x m.
        upper: Largest sums.
    """

    E: Array
    G: Array
    lower: Array
    upper: Array

    def part(self, moving: np.ndarray, still: Array) -> _Rows:
        """Return the rows of points that move in some columns only.

        Args:
            moving: Numbers of these columns, n x k.
            still: Values of the other columns, n x c, 0 in those that move.
        """
        E, G = (rows[:, moving].swapaxes(0, 1) for rows in (self.E, self.G))
        sums = _sums(self.G, still)
        return _Rows(E, G, self.lower - sums, self.upper - sums)

    def walk(
        self,
        V: Array,
        way: Callable[[], Array],
        low: Array,
        high: Array,
        steps: int,
        rng: np.random.Generator,
    ) -> Array:
        """Return points, n x k, after steps of hit-and-run in directions, n x k, along which the equalities hold."""
        for _ in range(steps):
            along = way()
            first, last = self.chord(V, along, low, high)
            V = between(V + (first + rng.random(len(V)) * (last - first))[:, None] * along, low, high)
        return V

    def random_ways(self, length: Array, rng: np.random.Generator) -> Callable[[], Array]:
        """Return a function that draws directions, n x k, in columns with a length."""
        tangent = self._tangents(length)
        return lambda: tangent(rng.standard_normal(length.shape) * length)

    def _tangents(self, length: Array) -> Callable[[Array], Array]:
        """Return the map of directions, n x k, to those along which equalities hold, in columns with a length."""
        E = self.E
        if not E.shape[-2]:
            return lambda way: way
        weighted = E * np.square(length)[:, None, :]
        # Equalities among fixed columns only, and those that follow from others, have no part in it.
        inverse = np.linalg.pinv(weighted @ E.swapaxes(-1, -2), rcond=1e-12, hermitian=True)
        back = inverse @ weighted
        return lambda way: way - np.einsum("nmk,nm->nk", back, _sums(E, way))

    def chord(self, V: Array, way: Array, low: Array, high: Array, room: Array | float = 0.0) -> tuple[Array, Array]:
        """Return how far points, n x k, may go backwards and forwards, n each; inequalities may be broken by ``room``."""
        largest = np.abs(way).max(axis=1, keepdims=True, initial=0.0)
        way = np.where(np.abs(way) > _STRAIGHT * largest, way, 0.0)
        first, last = _reach(V, way, low, high)
        if self.G.shape[-2]:
            slopes = _sums(self.G, way)
            sizes = np.abs(self.G).max(axis=-1, initial=0.0)
            slopes = np.where(np.abs(slopes) > _STRAIGHT * largest * sizes, slopes, 0.0)
            more = _reach(_sums(self.G, V), slopes, self.lower - room, self.upper + room)
            first, last = np.maximum(first, more[0]), np.minimum(last, more[1])
        still = ~(np.isfinite(first) & np.isfinite(last))
        return np.where(still, 0.0, np.minimum(first, 0.0)), np.where(still, 0.0, np.maximum(last, 0.0))


def _sums(rows: Array, V: Array) -> Array:
    """Return the sums of rows, m x k or n x m x k, at points, n x k -> n x m."""
    return V @ rows.T if rows.ndim == 2 else np.einsum("nmk,nk->nm", rows, V)


def between(V: Array, low: Array | float, high: Array | float) -> Array:
    """Return values clipped to bounds; several times as fast as ``numpy.clip`` for few values."""
    return np.minimum(np.maximum(V, low), high)


def _reach(at: Array, slope: Array, low: Array, high: Array) -> tuple[Array, Array]:
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = (low - at) / slope, (high - at) / slope
    moving = slope != 0.0
    first = np.where(moving, np.minimum(one, other), -np.inf).max(axis=1, initial=-np.inf)
    return first, np.where(moving, np.maximum(one, other), np.inf).min(axis=1, initial=np.inf)


class _Duals:
    """The state of n projections: multipliers, and the points that follow from them; those that arrive are put aside."""

    def __init__(self, polytope: Polytope, Y: Array, squares: Array, low: Array, high: Array) -> None:
        n, m = len(Y), len(polytope.A)
        self.polytope = polytope
        self.found = between(Y, low, high), np.zeros((n, m)), np.zeros(n, dtype=bool)
        #: Numbers of the points that have not arrived; all that follows is theirs.
        self.rows = np.arange(n)
        self.Y, self.squares, self.low, self.high = Y, squares, low, high
        self.multipliers = np.zeros((n, m))
        self.V = self.found[0]
        self.sums = polytope.sums(self.V)
        self._put_aside()

    def run(self, iterations: int, *, careful: bool) -> tuple[Array, Array, np.ndarray]:
        """Take steps until all points have arrived, or so many.

        Args:
            iterations: Number of steps.
            careful: Whether steps that do not gain are shortened; else they are whole, and multipliers that would get the
                wrong sign are left out of them.

        Returns:
            All points, n x c, multipliers, n x m, and which projections were found, n.
        """
        for _ in range(iterations):
            if not len(self.rows):
                break
            old, V, sums = self.multipliers, self.V, self.sums
            way, new = self._newton(old, sums, pivots=0 if careful else len(self.polytope.A))
            self._go(slice(None), new)
            if careful:
                self._shorten(np.flatnonzero(~self._met()), old, V, sums, way)
            self._put_aside()
        self.found[0][self.rows], self.found[1][self.rows] = self.V, self.multipliers
        return self.found

    def _go(self, rows: np.ndarray | slice, multipliers: Array) -> None:
        """Set multipliers, and the points that follow from them."""
        pull = np.einsum("nm,mc->nc", multipliers, self.polytope.A)
        points = between(self.Y[rows] - self.squares[rows] * pull, self.low[rows], self.high[rows])
        if isinstance(rows, slice):
            self.multipliers, self.V, self.sums = multipliers, points, self.polytope.sums(points)
        else:
            self.multipliers[rows], self.V[rows], self.sums[rows] = multipliers, points, self.polytope.sums(points)

    def _shorten(self, left: np.ndarray, old: Array, V: Array, sums: Array, way: Array) -> None:
        """Halve the steps of some points until the dual function does not fall."""
        share = 1.0
        before = self._dual(left, old[left], V[left], sums[left])
        while len(left) and share > 1e-12:
            gained = self._dual(left, self.multipliers[left], self.V[left], self.sums[left])
            short = gained < before - 1e-13 * (1.0 + np.abs(before))
            left, before, share = left[short], before[short], 0.5 * share
            self._go(left, self._signed(old[left], old[left] + share * way[left]))

    def _put_aside(self) -> None:
        met = self._met()
        if met.any():
            arrived = self.rows[met]
            self.found[0][arrived], self.found[1][arrived], self.found[2][arrived] = (
                self.V[met],
                self.multipliers[met],
                True,
            )
            self._keep(~met)

    def _keep(self, rows: np.ndarray) -> None:
        self.rows, self.multipliers, self.V, self.sums = (
            self.rows[rows],
            self.multipliers[rows],
            self.V[rows],
            self.sums[rows],
        )
        self.Y, self.squares, self.low, self.high = self.Y[rows], self.squares[rows], self.low[rows], self.high[rows]

    def _newton(self, multipliers: Array, sums: Array, pivots: int) -> tuple[Array, Array]:
        """Return Newton steps of the multipliers, n x m, and the multipliers that they lead to.

        Args:
            multipliers: Where the steps start, n x m.
            sums: Sums of the rows there, n x m.
            pivots: How often steps are computed anew without the multipliers that would get the wrong sign.
        """
        polytope = self.polytope
        # The bound that each row is to be at, and which rows are held at one.
        toward = np.where(multipliers == 0.0, polytope.beyond(sums), multipliers)
        active = (toward != 0.0) | polytope.equal
        gap = np.where(active, sums - np.where(toward < 0.0, polytope.lower, polytope.upper), 0.0)
        matrix = self._hessian(gap)
        if len(polytope.A) == 1:
            way = gap / matrix[:, 0]
            return way, self._signed(multipliers, multipliers + way)
        if not active.all():
            matrix *= active[:, :, None] & active[:, None, :]
            np.einsum("nii->ni", matrix)[~active] = 1.0
        way = np.asarray(np.linalg.solve(matrix, gap[:, :, None])[:, :, 0], dtype=np.float64)
        zero = np.zeros_like(active)
        for _ in range(pivots):
            # Multipliers that would get the wrong sign become 0, and the others are found anew with these at 0.
            new = multipliers + way
            signed = self._signed(multipliers, new)
            wrong = (signed != new) & ~zero
            rows = np.flatnonzero(wrong.any(axis=1))
            if not len(rows):
                return way, signed
            zero |= wrong
            way[rows] = _with_zeros(matrix[rows], gap[rows], -multipliers[rows], zero[rows])
        return way, self._signed(multipliers, multipliers + way)

    def _hessian(self, gap: Array) -> Array:
        """Return the matrices of the second derivatives of the dual functions, n x m x m, not quite singular."""
        polytope, m = self.polytope, len(self.polytope.A)
        inside = (self.low < self.V) & (self.high > self.V)
        near = np.maximum.reduce(np.abs(gap), axis=1, initial=0.0) <= 1e-6 * polytope.largest
        damping = np.where(near & np.logical_or.reduce(inside, axis=1), 1e-9, _DAMPING)
        weights = self.squares * np.where(inside, 1.0, damping[:, None] * (self.high > self.low))
        matrix = np.einsum("nc,kc->nk", weights, polytope.products).reshape(len(weights), m, m)
        diagonal = np.einsum("nii->ni", matrix)
        diagonal *= 1.0 + _LEVENBERG
        diagonal[diagonal <= 0.0] = 1.0
        return matrix

    def _signed(self, old: Array, new: Array) -> Array:
        """Return multipliers that do not change their sign in one step, nor have one without a bound to hold it."""
        polytope = self.polytope
        if polytope.all_equal:
            return new
        flipped = polytope.unequal & (old * new < 0.0)
        return np.where(flipped | ((new > 0.0) & polytope.open_above) | ((new < 0.0) & polytope.open_below), 0.0, new)

    def _dual(self, rows: np.ndarray, multipliers: Array, V: Array, sums: Array) -> Array:
        """Return the value of the dual function of some points at multipliers, which V follow from."""
        upper = np.where(np.isfinite(self.polytope.upper), self.polytope.upper, 0.0)
        lower = np.where(np.isfinite(self.polytope.lower), self.polytope.lower, 0.0)
        gaps = sums - np.where(multipliers > 0.0, upper, lower)
        Y = self.Y[rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.where(Y == V, 0.0, np.square(V - Y) / self.squares[rows])
        return 0.5 * squares.sum(axis=1) + (multipliers * gaps).sum(axis=1)

    def _met(self) -> np.ndarray:
        """Return which points meet all rows, with multipliers of the rows at a bound only."""
        polytope, sums = self.polytope, self.sums
        met = np.abs(polytope.beyond(sums)) <= _PRECISION * polytope.scale
        if polytope.all_equal:
            return np.asarray(met.all(axis=1))
        room = 1e3 * _PRECISION * polytope.scale
        held = (self.multipliers > 0.0) & (sums < polytope.upper - room)
        held |= (self.multipliers < 0.0) & (sums > polytope.lower + room)
        return np.asarray((met & ~(held & polytope.unequal)).all(axis=1))


def _with_zeros(matrix: Array, gap: Array, back: Array, zero: np.ndarray) -> Array:
    """Return steps, n x m, that solve the equations of all but some rows, which take the steps ``back``."""
    fixed = np.where(zero, back, 0.0)
    rest = np.where(zero, 0.0, gap - np.einsum("nij,nj->ni", matrix, fixed))
    others = np.where(zero[:, :, None] | zero[:, None, :], 0.0, matrix)
    np.einsum("nii->ni", others)[zero] = 1.0
    return fixed + np.linalg.solve(others, rest[:, :, None])[:, :, 0]
