"""Maximize an acquisition function from many starts at once: BFGS within the feasible set, by central differences.

Every start has its own Hessian and step length, and all take their next step in one vectorized call, because the overhead
of a call dominates the cost of a suggestion with a small model. L-BFGS-B on the sum of all starts needs about twice as many
calls: it shares one step length and waits for the slowest start. The values of the first central differences also give the
second derivatives in each column, with which Hessians begin, so that the first step is a Newton step already unless a point
lies at a bound or a column is flat. The last step of a climb is taken without looking: it may lose a little of what it
should gain, so that ends are to be compared with each other, as searches do.

Constraints hold at every step. A direction is a Newton step along the equalities and along the inequalities and bounds that
hold a point back; the point that it leads to is projected back to the feasible set, so that one step may meet many bounds
at once, and climbs slide along the surface of the set instead of ending there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibo.arguments import check_fields
from calibo.data import Array
from calibo.search.plan import Acquisition
from calibo.spaces.region import Cube, Region, WorkingSet

#: Step of the central differences: truncation and rounding errors are both about 1e-10 for smooth acquisitions.
_STEP = 1e-5
#: A start has converged when a step gains less than this, in units of its initial slope.
_LEAST_GAIN = 1e-4
#: Maximum length of a first step along the gradient and of any step, as shares of the side of the cube.
_FIRST, _LONGEST = 0.1, 0.5
#: Share of the predicted gain that a step must reach (Armijo), and bounds of the factor that shortens a rejected step.
_ARMIJO, _SHORTEN = 1e-4, (0.1, 0.5)
#: Steps shorter than this end a climb.
_SHORTEST = 1e-9
#: Under constraints, steps that had to be shortened to less than this share do.
_SMALLEST_SHARE = 2e-3
#: A start is dropped if this many times its predicted remaining gain, by its own Hessian, leaves it behind another one.
_OPTIMISM = 4.0
#: Updates after which a Hessian is trusted, second derivatives in each column being the first.
_LEARNED = 2
#: Without constraints, a step that promises less than this many times the gain that ends a climb is the last, taken unseen.
_PROMISE = 3.0
#: First Newton steps go at most this far in a column.
_FAR = 0.25
#: Share of the gain along a straight step that the projected step must promise.
_BENT = 0.1
#: A step that would end at a bound after less than this share of its length is bent instead.
_ALMOST = 0.5
#: Steps in a row, cut short at bounds, that may gain little before a climb ends.
_IDLE = 3
#: How often a working set is extended for a Newton step.
_EXTENSIONS = 8
#: Replaces values that are not finite, so that one bad start cannot stop the others.
_WORST = -1e10


def central_differences(acquisition: Acquisition, X: Array, columns: np.ndarray) -> tuple[Array, Array]:
    """Return the values, `R`, and gradients in some columns, `R x c`, at `R x d` points, by one call of R (1 + 2c) points."""
    found = _Differences.of(acquisition, X, columns)
    return found.values, found.gradient


@dataclass(frozen=True, eq=False)
class _Differences:
    """Values at R points and beside them in c columns; those that are not finite are replaced by very small or large ones.

    Attributes:
        values: At the points, `R`.
        up: At points a little above in each column, `R x c`.
        down: At points a little below, `R x c`.
        above: How far above, `R x c`; 0 at the upper bound.
        below: How far below, `R x c`; 0 at the lower bound.
        finite: Which of the values were finite, `R`.
    """

    values: Array
    up: Array
    down: Array
    above: Array
    below: Array
    finite: np.ndarray

    @classmethod
    def of(cls, acquisition: Acquisition, X: Array, columns: np.ndarray) -> _Differences:
        """Evaluate `R x d` points and those beside them by one call."""
        count, d = X.shape
        c, at = len(columns), X[:, columns]
        high, low = np.minimum(at + _STEP, 1.0), np.maximum(at - _STEP, 0.0)
        shifted = np.repeat(X[:, None, :], 2 * c + 1, axis=1)
        index = np.arange(1, c + 1)
        shifted[:, index, columns] = high
        shifted[:, index + c, columns] = low
        values = acquisition(shifted.reshape(-1, d)).reshape(count, 2 * c + 1)
        finite = np.isfinite(values)
        if not finite.all():
            values = np.nan_to_num(values, nan=_WORST, posinf=-_WORST, neginf=_WORST)
        return cls(values[:, 0], values[:, 1 : 1 + c], values[:, 1 + c :], high - at, at - low, finite[:, 0])

    @property
    def gradient(self) -> Array:
        return (self.up - self.down) / (self.above + self.below)

    @property
    def curvature(self) -> Array:
        """Second derivatives in each column, `R x c`; not finite at bounds."""
        middle = self.values[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            change = (self.up - middle) / self.above - (middle - self.down) / self.below
        return 2.0 * change / (self.above + self.below)


def ascend(
    acquisition: Acquisition,
    X: Array,
    columns: np.ndarray,
    iterations: int,
    within: Callable[[Array, np.ndarray], Region] | None = None,
) -> Array:
    """Move `R x d` points uphill in some columns by at most ``iterations`` steps; starts that cannot win are dropped.

    Args:
        acquisition: What to maximize.
        X: Feasible points, `R x d`.
        columns: Numbers of the columns that move, `c`.
        iterations: Maximum number of steps.
        within: Returns where points may move in some columns (``Space.region``); by default the unit cube.
    """
    if not len(columns) or not len(X):
        return X
    found = _Differences.of(acquisition, X, columns)
    if not found.finite.all():
        moved = X.copy()
        moved[found.finite] = ascend(acquisition, X[found.finite], columns, iterations, within)
        return moved
    # In units of its own slope the search does not depend on the scale of the outcomes.
    gradient = found.gradient
    scale = float(np.median(np.abs(gradient).max(axis=1))) or 1.0
    region = Cube() if within is None else within(X, columns)
    climbing = _Climbs(X[:, columns], found.values / scale, gradient / scale, found.curvature / scale, region)
    for _ in range(iterations):
        rows = climbing.alive.nonzero()[0]
        if not len(rows):
            break
        trial = climbing.trial(rows)
        points = X[rows]
        points[:, columns] = trial
        found = _Differences.of(acquisition, points, columns)
        climbing.take(rows, trial, found.values / scale, found.gradient / scale)
    moved = X.copy()
    moved[:, columns] = climbing.x
    return moved


@dataclass
class _Climbs:
    """The state of R climbs in c columns; larger values are better."""

    #: Current points, `R x c`, their values, `R`, and gradients, `R x c`; second derivatives at the start, `R x c`.
    x: Array
    values: Array
    gradient: Array
    curvature: Array
    #: Where they may go.
    region: Region

    def __post_init__(self) -> None:
        check_fields(self)
        count = len(self.x)
        #: Estimates of the inverse Hessians of minus the values, and the number of updates of each.
        self.inverse, self.learned = self._initial_hessians()
        #: Steps being tried, and the share of them.
        self.direction = np.zeros_like(self.x)
        self.share = np.ones(count)
        #: Gains that the steps promise, and which Hessians have learned enough for that to be believed.
        self.slope = np.zeros(count)
        self.trusted = np.zeros(count, dtype=bool)
        #: Factors of the length of steps beyond what Hessians say.
        self.stretch = np.ones(count)
        #: Which steps end at a bound before their time.
        self.cut = np.zeros(count, dtype=bool)
        #: Steps in a row that gained little.
        self.idle = np.zeros(count, dtype=np.intp)
        #: Which climbs have not ended, and the gain that ends them. It is in units of the climb's own slope: a start far
        #: down, where slopes are steep, must not make others stop early.
        self.alive = np.ones(count, dtype=bool)
        self.enough = _LEAST_GAIN * _longest(self.gradient)
        with np.errstate(over="ignore", invalid="ignore"):
            self._turn(self.alive)

    def _initial_hessians(self) -> tuple[Array, np.ndarray]:
        """Return inverse Hessians of the second derivatives, `R x c x c`, and where these are known, as numbers 0 and 1.

        Along a column in which a function bends upwards a Newton step would lead to a minimum: it goes uphill instead, as
        far as it would have gone.
        """
        bend = np.maximum(np.abs(self.curvature), np.abs(self.gradient) / _FAR)
        usable = np.isfinite(bend) & (bend > np.finfo(np.float64).tiny)
        known = np.all(usable, axis=1, keepdims=True)
        inverse = 1.0 / np.where(known, bend, 1.0)
        return inverse[:, :, None] * np.eye(bend.shape[1]), known[:, 0].astype(np.intp)

    def trial(self, rows: np.ndarray) -> Array:
        """Return the points that the next steps of some climbs lead to, `len(rows) x c`."""
        x, step = self.x[rows], self.share[rows, None] * self.direction[rows]
        region = self.region.part(rows)
        if not region.constrained:
            return region.project(x + step)
        # A straight step that meets nothing on its way needs no projection.
        reach = np.minimum(region.reach(x, step), 1.0)
        trial = np.clip(x + reach[:, None] * step, 0.0, 1.0)
        self.cut[rows] = reach < 1.0
        if not region.straight:
            trial = region.project(trial)
        early = np.flatnonzero(reach < _ALMOST)
        if len(early):
            trial[early], self.cut[rows[early]] = self._bent(rows[early], step[early], trial[early])
        return trial

    def _bent(self, rows: np.ndarray, step: Array, straight: Array) -> tuple[Array, np.ndarray]:
        """Return better ends of steps that end early, `k x c`, and which of these are cut short at a bound, `k`.

        A whole step is bent: projected. A Newton step may lead downhill then, as its metric is another one; a gradient step
        of the same length never does. Where that promises less than the straight step, or a projection takes too long, the
        straight one is kept; it meets one bound only.

        Args:
            rows: Numbers of the climbs, `k`.
            step: Their steps, `k x c`.
            straight: Where straight steps end, `k x c`.
        """
        x, gradient, region = self.x[rows], self.gradient[rows], self.region.part(rows)
        promised = _products(gradient, step)
        ends, bent = region.bent(x + step)
        bent &= _products(gradient, ends - x) >= _BENT * promised
        left = np.flatnonzero(~bent)
        if len(left):
            uphill = gradient[left] * (_longest(step[left]) / _longest(gradient[left]))[:, None]
            slid, found = region.part(left).bent(x[left] + uphill)
            kept = straight[left]
            found &= _products(gradient[left], slid - kept) > 0.0
            ends[left] = np.where(found[:, None], slid, kept)
        return ends, ~bent

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def take(self, rows: np.ndarray, trial: Array, values: Array, gradient: Array) -> None:
        """Accept the trial points of some climbs, shorten their steps, or end their climbs, by the values found there."""
        tried = self.values.copy(), self.gradient.copy()
        tried[0][rows], tried[1][rows] = values, gradient
        moved = self.x.copy()
        moved[rows] = trial
        step = moved - self.x
        predicted = _products(self.gradient, step)
        gain = tried[0] - self.values
        better = self.alive & (gain >= _ARMIJO * predicted) & self.region.allows(moved)
        bend = self.gradient - tried[1]
        self._learn(better, step, bend)
        whole = better & (self.share == 1.0)
        arrived = whole & (gain <= self.enough)
        if self.region.constrained:
            # Where slopes do not fall along a whole step, the Hessian says nothing of how far to go.
            self.stretch = np.where(whole & (_products(step, bend) <= 0.0), 2.0 * self.stretch, 1.0)
            self.idle = np.where(arrived, self.idle + 1, np.where(better, 0, self.idle))
            # A step that was cut short may gain little though the next one, along the bound that cut it, gains more.
            arrived &= ~self.cut | (self.idle >= _IDLE)
        # The maximum of the parabola through the known values and slope of a rejected step.
        lost = predicted - gain
        short = (predicted / np.where(lost > 0.5 * predicted, 2.0 * lost, 1.0)).clip(*_SHORTEN)
        self.share = np.where(better, 1.0, self.share * short)
        self.x = np.where(better[:, None], moved, self.x)
        self.values = np.where(better, tried[0], self.values)
        self.gradient = np.where(better[:, None], tried[1], self.gradient)
        stuck = self.share * _longest(self.direction) < _SHORTEST
        if self.region.constrained:
            # Beside bounds a step that is rejected this often is rejected because of rounding.
            stuck |= self.share < _SMALLEST_SHARE
        self.alive &= ~(arrived | stuck)
        self._turn(better)

    def _learn(self, rows: np.ndarray, step: Array, bend: Array) -> None:
        """Update the inverse Hessians (BFGS) where the curvature along the step has the right sign."""
        along, square = _products(step, bend), _products(bend, bend)
        rows = rows & (along > 1e-10 * np.sqrt(_products(step, step) * square))
        along, square = np.where(rows, along, 1.0), np.where(rows, square, 1.0)
        first = rows & (self.learned == 0)
        if first.any():
            self.inverse *= np.where(first, along / np.where(square > 0.0, square, 1.0), 1.0)[:, None, None]
        turned = (self.inverse @ bend[:, :, None])[:, :, 0]
        outer = step[:, :, None] * turned[:, None, :]
        factor = (1.0 + _products(bend, turned) / along) / along
        change = factor[:, None, None] * (step[:, :, None] * step[:, None, :])
        change -= (outer + outer.swapaxes(1, 2)) / along[:, None, None]
        # Curvature too small to be inverted is ignored.
        rows = rows & np.isfinite(change).all(axis=(1, 2))
        self.inverse += np.where(rows[:, None, None], change, 0.0)
        self.learned = self.learned + rows

    def _turn(self, turned: np.ndarray) -> None:
        """Set new directions for some climbs: Newton steps along the working set, else gradient steps."""
        rows = np.flatnonzero(turned & self.alive)
        if len(rows):
            self._set_directions(rows)
        hopeless = self.values + _OPTIMISM * self.slope < self.values.max()
        self.alive &= ~(self.trusted & hopeless)
        if not self.region.constrained:
            # By a parabola half of the slope along a whole Newton step is gained.
            last = rows[self.alive[rows] & self.trusted[rows] & (0.5 * self.slope[rows] < _PROMISE * self.enough[rows])]
            if len(last):
                self.x[last] = self.trial(last)
                self.alive[last] = False

    def _set_directions(self, rows: np.ndarray) -> None:
        working = self.region.part(rows).working_set(self.x[rows], self.gradient[rows])
        gradient, inverse = self.gradient[rows], self.inverse[rows]
        uphill, newton = _directions(gradient, inverse, working)
        if self.region.constrained:
            # A Newton step may leave through bounds that the gradient points away from.
            for _ in range(_EXTENSIONS):
                if not working.extended(newton):
                    break
                newton = _directions(gradient, inverse, working)[1]
        slope = _products(newton, uphill)
        plain = (self.learned[rows] == 0) | ~(slope > 0.0) | ~np.isfinite(slope)
        if self.region.constrained:
            newton *= self.stretch[rows, None]
        length = _longest(newton)
        if plain.any():
            newton = np.where(plain[:, None], uphill, newton)
            length = np.where(plain, _longest(uphill), length)
        usable = length > _SHORTEST * np.finfo(np.float64).tiny ** 0.5
        shorter = np.where(plain, _FIRST, np.minimum(length, _LONGEST)) / np.where(usable, length, 1.0)
        self.direction[rows] = newton * shorter[:, None]
        self.slope[rows], self.trusted[rows] = slope, (self.learned[rows] >= _LEARNED) & ~plain
        self.alive[rows] &= usable


def _products(a: Array, b: Array) -> Array:
    """Return the scalar products of R rows with R others, R x c each."""
    return np.add.reduce(a * b, axis=1)


def _longest(a: Array) -> Array:
    """Return the largest size of an entry in each of R rows, R x c."""
    return np.maximum.reduce(np.abs(a), axis=1)


def _directions(gradient: Array, inverse: Array, working: WorkingSet) -> tuple[Array, Array]:
    """Return the gradients and Newton steps along a working set, `R x c` each."""
    blocked = working.blocked
    uphill = np.where(blocked, 0.0, gradient)
    newton = np.where(blocked, 0.0, (inverse @ uphill[:, :, None])[:, :, 0])
    if not working.normals.shape[1]:
        return uphill, newton
    normals = np.where(blocked[:, None, :] | ~working.held[:, :, None], 0.0, working.normals)
    weighted = np.where(blocked[:, None, :], 0.0, normals @ inverse)
    return _along(normals, uphill, normals), _along(normals, newton, weighted)


def _along(normals: Array, direction: Array, weighted: Array) -> Array:
    """Return the part of directions, `R x c`, along which rows with some normals, `R x m x c`, stay as they are.

    Args:
        normals: Normals of the rows, zero for rows that do not count.
        direction: Directions H g, with H the inverse Hessians.
        weighted: Normals times H, `R x m x c`: the part is the Newton step among those along the rows.
    """
    sizes, axes = np.linalg.eigh(weighted @ normals.swapaxes(1, 2))
    # Rows that do not count, or follow from others, are left out.
    kept = np.abs(sizes) > 1e-10 * np.abs(sizes).max(axis=1, keepdims=True)
    shares = (axes.swapaxes(1, 2) @ (normals @ direction[:, :, None]))[:, :, 0]
    multipliers = axes @ np.where(kept, shares / np.where(kept, sizes, 1.0), 0.0)[:, :, None]
    return direction - (weighted.swapaxes(1, 2) @ multipliers)[:, :, 0]
