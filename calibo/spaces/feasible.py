"""The feasible set of a product of parameters: linear constraints, mixtures with few components, and a predicate.

Linear constraints are met by construction, never by rejection or penalties. Points move in the values that the user sees,
in which the constraints are linear:

1. *Discrete part.* Finite columns and the set of components that are present are chosen first: each choice leaves a slice,
   a polytope in the other columns.
2. *Continuous part.* Points of a slice are drawn by hit-and-run and repaired by projection (``polytope.py``).

Where no choice near a point leaves anything, that of the nearest known feasible point is taken.

Notation: n points, d columns, of which c are in constraints; m constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from calibo.data import Activity, Array, Params
from calibo.errors import SpaceError
from calibo.spaces.constraints import LinearConstraint
from calibo.spaces.feasible_region import FeasibleRegion
from calibo.spaces.lattice import Lattice
from calibo.spaces.mixture import Support
from calibo.spaces.parameters import Parameter, rounded_columns
from calibo.spaces.polytope import Polytope, between
from calibo.spaces.predicates import Predicate
from calibo.spaces.region import Region
from calibo.spaces.values import Values, values_of

#: How far a suggestion may be off a constraint, relative to the size of its terms.
_TOLERANCE = 1e-12
#: How far a point that a user reports may be off before it breaks a constraint: amounts are rounded when they are weighed.
_REPORTED = 1e-6
#: Points from which random ones start, and steps of the walk that draws them first and from them later.
_POOL, _FIRST_STEPS, _STEPS = 1024, 60, 10
#: Share of random supports with fewer components than allowed.
_FEWER = 0.15
#: Rounds of drawing before it is concluded that nothing more is found.
_ROUNDS = 60
#: Halvings of the way between a feasible point and one that breaks the predicate.
_HALVINGS = 10


@dataclass(frozen=True, eq=False)
class FeasibleSet:
    """What the constraints of a product leave of the unit cube.

    Attributes:
        names: Names of the columns, d.
        columns: The columns, d.
        decode: Decodes points, n x d, for the predicate.
        constraints: Linear constraints.
        supports: Rules on how many columns may differ from 0.
        where: What else must hold; ``None`` for nothing.
        held: Coordinates of columns that are held fixed, by number.
        activity: Which columns are active at points; ``None`` if all always are.
    """

    names: tuple[str, ...]
    columns: tuple[Parameter, ...]
    decode: Callable[[Array], list[Params]]
    constraints: tuple[LinearConstraint, ...] = ()
    supports: tuple[Support, ...] = ()
    where: Predicate | None = None
    held: Mapping[int, float] = field(default_factory=dict)
    activity: Activity | None = None

    def __post_init__(self) -> None:
        _ = self.values, self._active_sums  # refuse constraints that name other things than numbers

    # What the constraints say.

    @cached_property
    def used(self) -> np.ndarray:
        """Numbers of the columns that linear constraints and supports name, c."""
        named = {name for one in (*self.constraints, *self.supports) for name in one.names}
        if unknown := sorted(named - set(self.names)):
            text = next(str(one) for one in (*self.constraints, *self.supports) if set(one.names) & set(unknown))
            raise SpaceError(f"constraint {text!r} names {unknown}, but the parameters are {list(self.names)}")
        return np.array([j for j, name in enumerate(self.names) if name in named], dtype=np.intp)

    @cached_property
    def values(self) -> tuple[Values, ...]:
        """Values of the columns in constraints, c."""
        said = {name: str(one) for one in (*self.supports, *self.constraints) for name in one.names}
        return tuple(values_of(self.names[j], self.columns[j], said[self.names[j]]) for j in self.used)

    @cached_property
    def polytope(self) -> Polytope:
        """The linear constraints on the columns in use."""
        place = {self.names[j]: i for i, j in enumerate(self.used)}
        A = np.zeros((len(self.constraints), len(self.used)))
        for row, constraint in enumerate(self.constraints):
            for name, value in constraint.terms:
                A[row, place[name]] += value
        lower = np.array([one.lower for one in self.constraints])
        upper = np.array([one.upper for one in self.constraints])
        bounds = np.array([abs(one.bound) for one in self.constraints])
        sizes = np.maximum(np.abs(self.low), np.abs(self.high))
        return Polytope(A, lower, upper, np.maximum(bounds, (np.abs(A) * sizes).max(axis=1, initial=0.0)))

    @cached_property
    def low(self) -> Array:
        """Smallest values of the columns in use, c."""
        return np.array([self._held_value(i, v.low) for i, v in enumerate(self.values)])

    @cached_property
    def high(self) -> Array:
        """Largest values of the columns in use, c."""
        return np.array([self._held_value(i, v.high) for i, v in enumerate(self.values)])

    def _held_value(self, i: int, otherwise: float) -> float:
        j = int(self.used[i])
        if j not in self.held:
            return otherwise
        return float(self._exact(np.array([[self.held[j]]]), (i,))[0, 0])

    @cached_property
    def finite(self) -> np.ndarray:
        """Which columns in use have finitely many values, c."""
        return np.array([v.finite for v in self.values], dtype=bool)

    @cached_property
    def width(self) -> Array:
        """Length of each column in use that the constraints leave at most, c: the scale of random steps."""
        low, high = self.tightened
        return np.where(high > low, high - low, 0.0)

    @cached_property
    def span(self) -> Array:
        """Length of the whole range of each column in use, c; 1 for one that is held."""
        return np.where(self.high > self.low, self.high - self.low, 1.0)

    @cached_property
    def tightened(self) -> tuple[Array, Array]:
        """Bounds of the columns in use that follow from each constraint and the bounds of its other columns, c each."""
        low, high, A = self.low.copy(), self.high.copy(), self.polytope.A
        for _ in range(3):
            for row, lower, upper in zip(A, self.polytope.lower, self.polytope.upper, strict=True):
                small, large = np.minimum(row * low, row * high), np.maximum(row * low, row * high)
                # What the other columns leave of the row's sum.
                rest_small, rest_large = small.sum() - small, large.sum() - large
                on = row != 0.0
                with np.errstate(divide="ignore", invalid="ignore"):
                    one, other = (lower - rest_large) / row, (upper - rest_small) / row
                low = np.where(on, np.maximum(low, np.fmin(one, other)), low)
                high = np.where(on, np.minimum(high, np.fmax(one, other)), high)
        fixed = low > high
        return np.where(fixed, self.low, low), np.where(fixed, self.high, high)

    # Coordinates and values.

    def amounts(self, X: Array) -> Array:
        """Return the values of the columns in use at points, n x d -> n x c, as they are decoded."""
        U = X[:, self.used]
        if self.linear_scales is None:
            return self._exact(U, range(len(self.values)))
        low, width = self.linear_scales
        high = self.linear_ends
        return np.where(U >= 1.0, high, between(low + between(U, 0.0, 1.0) * width, low, high))

    def _exact(self, U: Array, which: Sequence[int]) -> Array:
        exact = np.empty(U.shape)
        for place, i in enumerate(which):
            values, column = self.values[i], self.columns[int(self.used[i])]
            exact[:, place] = values.rounded(values.of(column.round(U[:, place])))
        return exact

    def placed(self, X: Array, V: Array) -> Array:
        """Return points, n x d, with the columns in use at values, n x c."""
        moved = X.copy()
        if self.linear_scales is not None:
            low, width = self.linear_scales
            moved[:, self.used] = np.clip((V - low) / width, 0.0, 1.0)
            return moved
        for i, values in enumerate(self.values):
            j = int(self.used[i])
            coordinates = values.at(V[:, i])
            moved[:, j] = self.columns[j].round(coordinates) if values.finite else coordinates
        return moved

    @cached_property
    def linear_scales(self) -> tuple[Array, Array] | None:
        """Start and width of the columns in use, c each, if all are continuous on linear scales; else ``None``."""
        if any(v.finite or v.slope(np.array(v.low)) != v.slope(np.array(v.high)) for v in self.values):
            return None
        low = np.array([v.low for v in self.values])
        return low, self.linear_ends - low

    @cached_property
    def linear_ends(self) -> Array:
        """Largest values of the columns in use, c, whether they are held or not."""
        return np.array([v.high for v in self.values])

    def slopes(self, V: Array) -> Array:
        """Return how fast the values grow with the coordinates, n x c."""
        if self.linear_scales is not None:
            return np.broadcast_to(self.linear_scales[1], V.shape)
        slopes = np.empty_like(V)
        for i, values in enumerate(self.values):
            slopes[:, i] = values.slope(V[:, i])
        return slopes

    # Which points are feasible.

    def valid(self, X: Array) -> np.ndarray:
        """Return which points, n x d, are feasible, n."""
        good = self.linear(X)
        for j, u in self.held.items():
            good &= np.abs(X[:, j] - u) <= 1e-9
        if self.where is not None:
            good[good] = self.met(X[good])
        return good

    def linear(self, X: Array, tolerance: float = _TOLERANCE) -> np.ndarray:
        """Return which points, n x d, meet the linear constraints and supports, n."""
        V = self.amounts(X)
        good = self.polytope.holds(V, tolerance)
        for rule in self._rules:
            good &= rule.met(V)
        return good

    def met(self, X: Array) -> np.ndarray:
        """Return at which points, n x d, the predicate holds, n.

        Raises:
            SpaceError: If it fails.
        """
        if self.where is None:
            return np.ones(len(X), dtype=bool)
        found = self._active_sums_hold(X)
        if self.where.where is not None:
            found[found] = [self.where(params) for params in self.decode(X[found])]
        return found

    def _active_sums_hold(self, X: Array) -> np.ndarray:
        """Return at which points, n x d, the inequalities hold whose parameters are all active there, n."""
        good = np.ones(len(X), dtype=bool)
        active = None if self.activity is None or not self._active_sums else self.activity(X)
        for one, columns, values in self._active_sums:
            V = [v.rounded(v.of(self.columns[j].round(X[:, j]))) for j, v in zip(columns, values, strict=True)]
            terms = np.column_stack(V) * np.array([coefficient for _, coefficient in one.terms])
            room = _TOLERANCE * np.maximum(abs(one.bound), np.abs(terms).max(axis=1))
            holds = (terms.sum(axis=1) >= one.lower - room) & (terms.sum(axis=1) <= one.upper + room)
            good &= holds if active is None else holds | ~active[:, columns].all(axis=1)
        return good

    @cached_property
    def _active_sums(self) -> tuple[tuple[LinearConstraint, list[int], list[Values]], ...]:
        """The inequalities of the predicate, with their columns and the values of these."""
        found: list[tuple[LinearConstraint, list[int], list[Values]]] = []
        for one in () if self.where is None else self.where.inequalities:
            columns = [self.names.index(name) for name, _ in one.terms]
            found.append((one, columns, [values_of(self.names[j], self.columns[j], str(one)) for j in columns]))
        return tuple(found)

    def broken(self, x: Array) -> tuple[str, ...]:
        """Return the constraints that a point, d, breaks, in words."""
        V = self.amounts(x[None, :])
        off = np.abs(self.polytope.excess(V))[0] > _REPORTED * self.polytope.scale
        said = [str(one) for one, wrong in zip(self.constraints, off, strict=True) if wrong]
        said += [str(rule.rule) for rule in self._rules if not rule.met(V, _REPORTED)[0]]
        return (*said, *(() if self.where is None else self.where.broken(self.decode(x[None, :])[0], _REPORTED)))

    # Random points.

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw feasible points, n x d, about uniformly; log scales and finite columns as far as the constraints let them.

        Raises:
            SpaceError: If hardly any are found.
        """
        if self.where is None:
            return self.drawn(n, rng)
        found, tried = np.empty((0, len(self.columns))), 0
        for _ in range(_ROUNDS):
            if len(found) >= n:
                return found[:n]
            more = self.drawn(2 * n + 32, rng)
            found = np.vstack([found, more[self.met(more)]])
            tried += len(more)
            if len(found) < 0.02 * tried:
                break
        return self._walked(found, n, rng)

    def _walked(self, found: Array, n: int, rng: np.random.Generator) -> Array:
        """Return n points near ones that meet a predicate which hardly any do: random steps that are taken if allowed."""
        start = np.vstack([found, self._rare]) if len(found) < 16 else found
        X = start[rng.integers(len(start), size=n)]
        for _ in range(3 * _STEPS):
            step = rng.standard_normal(X.shape) * 10.0 ** rng.uniform(-3.0, -0.3, size=(n, 1))
            moved = self.settled(self.rounded(np.clip(X + step * (rng.random(X.shape) < 0.5), 0.0, 1.0)))
            X = np.where(self.valid(moved)[:, None], moved, X)
        return X

    @cached_property
    def _rare(self) -> Array:
        """Points, always the same, that meet a predicate which few do."""
        return self.sought(20_000)[0]

    def sought(self, most: int) -> tuple[Array, int]:
        """Return points that meet the predicate among at most so many random ones, and how many were looked at.

        Raises:
            SpaceError: If there are none.
        """
        rng, tried, found = np.random.default_rng(0), 0, np.empty((0, len(self.columns)))
        while tried < most and len(found) < 8:
            drawn = self.drawn(512 if tried else 256, rng)
            found, tried = np.vstack([found, drawn[self.met(drawn)]]), tried + len(drawn)
        if not len(found):
            said = "" if self.where is None else self.where.said
            raise SpaceError(
                f"none of {tried} random points{' that meet the other constraints' if self.constraints else ''} meets "
                f"{said}: it must return True for the parameters to be tried, and leave more "
                "than a point or a line; write equalities and linear conditions as constraints=[...], which are met exactly"
            )
        return found, tried

    def drawn(self, n: int, rng: np.random.Generator) -> Array:
        """Draw points, n x d, that meet all but the predicate."""
        X = self.rounded(rng.random((n, len(self.columns))))
        if not n or not len(self.used):
            return self._with_held(X)
        found = np.empty((0, len(self.used)))
        for _ in range(_ROUNDS):
            if len(found) >= n:
                break
            # More than are missing, since some are not found, and a round costs the same for few as for many.
            missing = n - len(found)
            found = np.vstack([found, self._some(missing + (16 + missing // 8 if self._mixed else 0), rng)])[:n]
        if len(found) < n:
            found = np.vstack([found, self._known[rng.integers(len(self._known), size=n - len(found))]])
        return self._with_held(self.placed(X, found))

    def _some(self, n: int, rng: np.random.Generator) -> Array:
        """Draw values of the columns in use, at most n x c."""
        if self._mixed and not self.finite.any():
            # The walk within the slices makes them random.
            V = self._pool[rng.integers(len(self._pool), size=n)]
        else:
            V = self._relaxed(n, rng)
        if not self._mixed:
            return V
        low, high = self._boxes(V, rng)
        box = low.copy(), high.copy()
        for i in np.flatnonzero(self._logarithmic):
            # Uniform on the log scale, as far as the other columns allow it; a projection would prefer large values.
            ends = self.values[i].at(np.stack([self.tightened[0][i], self.tightened[1][i]]))
            V[:, i] = self.values[i].of(ends[0] + rng.random(n) * (ends[1] - ends[0]))
            low[:, i] = high[:, i] = V[:, i]
        V, low, high, found = self._sliced(V, low, high)
        if self._logarithmic.any() and not found.all():
            # Where the others cannot make up for them, columns on a log scale give way.
            off = ~found
            V[off], low[off], high[off], found[off] = self._sliced(V[off], box[0][off], box[1][off])
        V, low, high = V[found], low[found], high[found]
        if (high > low).any():
            V = self.polytope.walk(V, np.broadcast_to(self.width, V.shape), low, high, 2 * _STEPS, rng)
            V, _, found = self.polytope.project(V, np.broadcast_to(self.span, V.shape), low, high)
            V = V[found]
        return V

    @cached_property
    def _mixed(self) -> bool:
        """Whether there is a discrete part, or a log scale, among the columns in use."""
        return bool(self.finite.any() or self._rules or self._logarithmic.any())

    @cached_property
    def _logarithmic(self) -> np.ndarray:
        log = [not v.finite and v.slope(np.array(v.low)) != v.slope(np.array(v.high)) for v in self.values]
        return np.array(log, dtype=bool) & (self.high > self.low)

    def _relaxed(self, n: int, rng: np.random.Generator) -> Array:
        """Draw values, n x c, of the convex set that remains when whole numbers and supports are given up."""
        low, high = self._relaxed_box
        start = self._pool[rng.integers(len(self._pool), size=n)]
        box = np.broadcast_to(low, start.shape), np.broadcast_to(high, start.shape)
        V = self.polytope.walk_along(start, self._pool, *box, _STEPS, rng)
        # Rounding errors of the walk add up, and are taken out again.
        return self.polytope.project(V, np.broadcast_to(self.span, V.shape), *box)[0]

    @cached_property
    def _relaxed_box(self) -> tuple[Array, Array]:
        """Bounds of the columns in use, c each; half a step wider for whole numbers, so that the ends get their share."""
        low, high = self.low.copy(), self.high.copy()
        for i in np.flatnonzero(self.finite & (self.high > self.low)):
            values = self.values[i]
            low[i] -= 0.499 * (values.next(np.array(values.low), 1) - values.low)
            high[i] += 0.499 * (values.high - values.next(np.array(values.high), -1))
        if self.polytope.reachable(low[None], high[None])[0]:
            return low, high
        return self.low, self.high

    @cached_property
    def _pool(self) -> Array:
        """Random values of the relaxed set, always the same, _POOL x c: where random walks start."""
        rng, (low, high) = np.random.default_rng(0), self._relaxed_box
        exact = simplex_points(self.polytope, low, high, _POOL, rng)
        if exact is not None:
            return exact
        box = np.broadcast_to(low, (_POOL, len(low))), np.broadcast_to(high, (_POOL, len(high)))
        metric, width = (np.broadcast_to(one, box[0].shape) for one in (self.span, self.width))
        corners = low + rng.random(box[0].shape) * (high - low)
        V, _, found = self.polytope.project(corners, metric, *box)
        V = V[found] if found.any() else self._solved(4)
        # Averages of feasible points are feasible, and inside where the points are on the surface.
        weights = rng.dirichlet(np.ones(4), size=_POOL)
        V = (V[rng.integers(len(V), size=(_POOL, 4))] * weights[:, :, None]).sum(axis=1)
        V = self.polytope.walk(V, width, *box, _FIRST_STEPS + 4 * len(low), rng)
        return self.polytope.project(V, metric, *box)[0]

    @cached_property
    def _known(self) -> Array:
        """Feasible values of the columns in use, always the same, N x c: repaired points fall back on their slices."""
        rng, found = np.random.default_rng(0), np.empty((0, len(self.used)))
        for _ in range(8):
            found = np.vstack([found, self._some(256, rng)])
            if len(found) >= 256:
                return found
        return np.vstack([found, self._solved(16)])

    def _solved(self, count: int) -> Array:
        """Return feasible values, at most count x c, that are extreme in random directions."""
        from calibo.spaces.feasibility import Program

        program, rng = Program.of(self), np.random.default_rng(0)
        solved = [program.solve(rng.standard_normal(len(self.used)) / self.span) for _ in range(count)]
        found = [v for v in solved if v is not None]
        if not found:
            raise SpaceError(f"no feasible point was found for {', '.join(map(str, self.constraints))}")
        return np.stack(found)

    # Repairing points.

    def repair(self, X: Array) -> Array:
        """Return feasible points near points of the cube whose columns are at their values, n x d."""
        points = self.settled(self._with_held(X))
        if self.where is None:
            return points
        bad = np.flatnonzero(~self.met(points))
        if len(bad):
            points[bad] = self._toward_known(points[bad])
        return points

    def settled(self, X: Array) -> Array:
        """Return points near those given, n x d, that meet all but the predicate."""
        X = self._with_held(X)
        off = np.flatnonzero(~self.linear(X)) if len(self.used) else np.empty(0, dtype=np.intp)
        if not len(off):
            return X
        moved = X.copy()
        moved[off] = self.placed(X[off], self._settled(self.amounts(X[off])))
        return moved

    def _settled(self, V: Array) -> Array:
        low, high = self._boxes(V)
        settled, _, _, found = self._sliced(V, low, high)
        if not found.all():
            settled[~found] = self._in_known_slices(V[~found])
        return settled

    def _sliced(self, V: Array, low: Array, high: Array) -> tuple[Array, Array, Array, np.ndarray]:
        """Return the nearest values, n x c, of slices within boxes, those slices as boxes, and which were found, n."""
        near, _, found = self.polytope.project(V, self.slopes(V), low, high)
        if not self.finite.any():
            return near, low, high, found
        lattice = self._lattice
        whole, box = lattice.rounded(near, low, high), (low, high)
        low, high = low.copy(), high.copy()
        low[:, self.finite] = high[:, self.finite] = whole[:, self.finite]
        settled, _, found = self.polytope.project(near, self.slopes(near), low, high)
        off = np.flatnonzero(~found)
        if len(off):
            fitted = lattice.fitted(whole[off], box[0][off], box[1][off])
            low[np.ix_(off, self.finite)] = high[np.ix_(off, self.finite)] = fitted[:, self.finite]
            settled[off], _, found[off] = self.polytope.project(near[off], self.slopes(near[off]), low[off], high[off])
        return settled, low, high, found

    def _in_known_slices(self, V: Array) -> Array:
        """Return values, n x c, in the slices of the nearest known points, between these and those given if need be."""
        known, metric = self._known, self.span
        nearest = known[(np.square((V[:, None, :] - known) / metric)).sum(axis=2).argmin(axis=1)]
        low, high = self._slice_of(nearest)
        near, _, found = self.polytope.project(V, self.slopes(V), low, high)
        return np.where(found[:, None], near, nearest)

    def _slice_of(self, V: Array) -> tuple[Array, Array]:
        """Return the boxes, n x c each, of the slices that feasible values lie in."""
        low, high = self._boxes(V)
        low[:, self.finite] = high[:, self.finite] = V[:, self.finite]
        return low, high

    def _boxes(self, V: Array, rng: np.random.Generator | None = None) -> tuple[Array, Array]:
        """Return boxes, n x c each, with the components absent that few are present of: of V the largest, or random ones."""
        low = np.broadcast_to(self.low, V.shape).copy()
        high = np.broadcast_to(self.high, V.shape).copy()
        for rule in self._rules:
            if rng is None:
                rule.restrict(V, low, high, self.polytope)
            else:
                rule.restrict_randomly(low, high, rng)
        return low, high

    def _toward_known(self, X: Array) -> Array:
        """Return feasible points on the way from known ones to points that break the predicate, n x d."""
        known = self._known_points
        near = known[np.square(X[:, None, :] - known).sum(axis=2).argmin(axis=1)]
        goal = X
        for step in 0.5 ** np.arange(1, _HALVINGS + 1):
            further = self.settled(self.rounded(near + step * (goal - near)))
            near = np.where(self.met(further)[:, None], further, near)
        return near

    @cached_property
    def _known_points(self) -> Array:
        """Feasible points, always the same, N x d."""
        return self.sample(256, np.random.default_rng(0))

    def rounded(self, U: Array) -> Array:
        """Return points, n x d, with each column at one of its values."""
        return rounded_columns(self.columns, U)

    def _with_held(self, X: Array) -> Array:
        if not self.held:
            return X
        held = X.copy()
        held[:, list(self.held)] = list(self.held.values())
        return held

    @cached_property
    def _rules(self) -> tuple[_SupportRule, ...]:
        place = {self.names[j]: i for i, j in enumerate(self.used)}
        return tuple(
            _SupportRule(
                rule, np.array([place[name] for name in rule.names]), np.array(rule.least), self.low, self.high
            )
            for rule in self.supports
        )

    @cached_property
    def _lattice(self) -> Lattice:
        return Lattice(self.polytope, self.values, self.finite, np.isin(self.used, list(self.held)))

    @cached_property
    def designs(self) -> dict[tuple[int, int], Array]:
        """Sequences that fill the set, by seed and block, as far as they have been asked for."""
        return {}

    # Moves of searches.

    def neighbours(self, x: Array) -> Array:
        """List feasible points with another discrete part in the columns in use, k x d; k may be 0.

        One finite column changed, or two of them at once so that a sum is kept; a component exchanged for another one,
        added or left out. The continuous columns in use follow by projection.
        """
        if not len(self.used):
            return np.empty((0, len(x)))
        v = self.amounts(x[None, :])[0]
        low, high = self._slice_of(v[None, :])
        moves = [self._lattice.moves(v, low[0], high[0], self.low, self.high)] if self.finite.any() else []
        moves += [rule.moves(v, low[0], high[0]) for rule in self._rules]
        if not moves:
            return np.empty((0, len(x)))
        V, low, high = (np.vstack(parts) for parts in zip(*moves, strict=True))
        fits = self.polytope.reachable(low, high)
        V, low, high = V[fits], low[fits], high[fits]
        moved, _, found = self.polytope.project(V, self.slopes(V), low, high)
        for rule in self._rules:
            rule.clear(moved)
        points = self.placed(np.repeat(x[None, :], len(moved), axis=0), moved)[found]
        points = points[(np.abs(points - x) > 1e-9).any(axis=1)]
        return points[self.valid(points)]

    def region(self, X: Array, columns: np.ndarray) -> Region:
        """Return where gradient steps from feasible points, R x d, may lead in some columns, c of d."""
        start = self.amounts(X)
        low, high = self._boxes(start) if len(X) else (start, start)
        return FeasibleRegion.around(self, X, columns, (start, low, high))

    def holding(self, held: Mapping[int, float]) -> FeasibleSet:
        """Return the set with some columns held at coordinates."""
        return replace(self, held={**self.held, **held})


@dataclass(frozen=True, eq=False)
class _SupportRule:
    """A rule on how many columns may differ from 0, on the columns in use.

    Attributes:
        rule: The rule.
        where: Its columns among those in use, k.
        least: Smallest values of these where they are not 0, k.
        low: Smallest values of the columns in use, c.
        high: Largest values, c.
    """

    rule: Support
    where: np.ndarray
    least: Array
    low: Array
    high: Array

    def met(self, V: Array, tolerance: float = 1e-12) -> np.ndarray:
        """Return which values, n x c, follow the rule, n."""
        V = V[:, self.where]
        room = self._room(tolerance)
        present = np.abs(V) > room
        enough = ~present | (self.least - room <= V)
        return (present.sum(axis=1) <= self.rule.at_most) & enough.all(axis=1)

    def clear(self, V: Array) -> None:
        """Set amounts that are rounding errors of values, n x c, to 0, in place: who counts components counts them, too."""
        amounts = V[:, self.where]
        V[:, self.where] = np.where(np.abs(amounts) <= self._room(), 0.0, amounts)

    def _room(self, tolerance: float = 1e-12) -> Array:
        """Return up to which amounts the components count as absent, k."""
        return tolerance * np.maximum(np.abs(self.high[self.where]), 1.0)

    def restrict(self, V: Array, low: Array, high: Array, polytope: Polytope) -> None:
        """Restrict boxes, n x c each, in place, to the components of which values, n x c, have most."""
        amounts = V[:, self.where]
        score = amounts / np.maximum(self.high[self.where], 1e-300)
        wanted = amounts > np.maximum(0.5 * self.least, 1e-12 * self.high[self.where])
        before = low.copy(), high.copy()
        self._apply(self._chosen(score, wanted), low, high)
        short = ~polytope.reachable(low, high)
        for more in (score, score + 2.0 * self.high[self.where] / self.high[self.where].max()):
            # Too few components for the sum: as many as are allowed, and in the end the largest.
            if short.any():
                low[short], high[short] = before[0][short], before[1][short]
                box = low[short], high[short]
                self._apply(self._chosen(more[short], np.ones_like(wanted[short])), *box)
                low[short], high[short] = box
                short = ~polytope.reachable(low, high)

    def restrict_randomly(self, low: Array, high: Array, rng: np.random.Generator) -> None:
        """Restrict boxes, n x c each, in place, to random components."""
        n, k = len(low), min(self.rule.at_most, len(self.where))
        count = np.where(rng.random(n) < _FEWER, rng.integers(1, k + 1, size=n), k)
        score = rng.random((n, len(self.where)))
        rank = (-score).argsort(axis=1).argsort(axis=1)
        self._apply(self._chosen(score, rank < count[:, None]), low, high)

    def _chosen(self, score: Array, wanted: np.ndarray) -> np.ndarray:
        """Return which components are present, n x k: those wanted with the largest scores, and those that must be."""
        must, never = self.low[self.where] > 0.0, self.high[self.where] <= 0.0
        score = np.where(must, np.inf, np.where(wanted & ~never, score, -np.inf))
        rank = (-score).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
        return (rank < self.rule.at_most) & (score > -np.inf)

    def _apply(self, present: np.ndarray, low: Array, high: Array) -> None:
        floor = np.maximum(self.low[self.where], self.least)
        low[:, self.where] = np.where(present, np.minimum(floor, self.high[self.where]), 0.0)
        high[:, self.where] = np.where(present, self.high[self.where], 0.0)

    def moves(self, v: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
        """Return values, k x c, and boxes with a component exchanged, added or left out."""
        room = self._room()
        must, never = self.low[self.where] > 0.0, self.high[self.where] <= 0.0
        here = v[self.where] > room
        inside, outside = np.flatnonzero(here & ~must), np.flatnonzero(~here & ~never)
        gone, new = np.repeat(inside, len(outside)), np.tile(outside, len(inside))
        if here.sum() < self.rule.at_most:
            gone, new = np.append(gone, np.full(len(outside), -1)), np.append(new, outside)
        if here.sum() > 1:
            gone, new = np.append(gone, inside), np.append(new, np.full(len(inside), -1))
        V, present = np.repeat(v[None, :], len(gone), axis=0), np.repeat(here[None, :], len(gone), axis=0)
        amounts = np.where(gone < 0, 0.1 * self.high[self.where].mean(), v[self.where[gone]])
        left, came = np.flatnonzero(gone >= 0), np.flatnonzero(new >= 0)
        V[left, self.where[gone[left]]], present[left, gone[left]] = 0.0, False
        V[came, self.where[new[came]]], present[came, new[came]] = amounts[came], True
        low, high = (np.repeat(end[None, :], len(gone), axis=0) for end in (low, high))
        self._apply(present, low, high)
        return V, low, high


def simplex_points(polytope: Polytope, low: Array, high: Array, n: int, rng: np.random.Generator) -> Array | None:
    """Draw uniformly from a simplex, n x c: a single equality whose terms all grow with the columns, and large upper bounds.

    Returns:
        The points, or ``None`` if the set is another one or upper bounds leave too little of the simplex.
    """
    if len(polytope.A) != 1 or not polytope.equal[0]:
        return None
    row, total = polytope.A[0] * np.sign(polytope.A[0, 0]), polytope.upper[0] * np.sign(polytope.A[0, 0])
    rest = total - float(row @ low)
    if (row <= 0.0).any() or rest <= 0.0:
        return None
    found = np.empty((0, len(low)))
    for _ in range(8):
        shares = rng.standard_exponential((2 * n, len(low)))
        points = low + rest * shares / shares.sum(axis=1, keepdims=True) / row
        found = np.vstack([found, points[(points <= high).all(axis=1)]])
        if len(found) >= n:
            return found[:n]
    return None
