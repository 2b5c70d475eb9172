"""The interface of search spaces.

A space says which parameters may be tried and encodes them as points of the unit cube. Searches, models and studies use
nothing but this interface, so a space of your own works wherever one of calibo's does. Four members are needed:

    >>> import math
    >>> from calibo.spaces import Float, Space
    >>> class Circle(Space):
    ...     '''Points on the unit circle: one column, the angle.'''
    ...     names = ("angle",)
    ...     columns = (Float(0.0, 2.0 * math.pi),)
    ...     def encode(self, params):
    ...         return self.from_values([{"angle": math.atan2(p["y"], p["x"]) % (2.0 * math.pi)} for p in params])
    ...     def decode(self, X):
    ...         return [{"x": math.cos(v["angle"]), "y": math.sin(v["angle"])} for v in self.values(X)]
    >>> Circle().decode([[0.5]])[0]["x"]
    -1.0

*Validity.* ``sample``, ``repair``, ``neighbours`` and ``enumerate`` return valid points only, and a search suggests only
what one of them returned. A space with constraints among its columns overrides ``valid``, and ``repair`` where it knows
better than to look for a valid point nearby.

Notation: n or m points, d columns, N points of a finite space.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calibo.checks import check_whole, read_items, read_mapping, shown
from calibo.data import Activity, Array, Params
from calibo.errors import SpaceError, SpaceWarning, warn
from calibo.spaces.encoding import as_points
from calibo.spaces.parameters import NO_DEFAULT, Parameter
from calibo.spaces.region import Cube, Region

#: Rounds of drawing before it is concluded that there are no valid points.
_ATTEMPTS = 1000
#: Random valid points from which invalid ones are repaired, and steps on the way between the two, each half as long.
_KNOWN, _HALVINGS = 512, 5
#: A finite column with more values than this has near and far values as neighbours instead of all.
_ALL_NEIGHBOURS = 64
#: More points than this are not enumerated.
_MOST_POINTS = 10_000_000
#: Constrained spaces of up to so many combinations are counted exactly.
COUNTED = 10_000
#: In more columns than this a random point of a part differs from the centre in about so many of them only.
_PERTURBED = 20
#: Rounding error of a coordinate on the border of a box.
_ROUNDING = 1e-12


class Space(ABC):
    """A search space: what may be tried, encoded as points of the unit cube."""

    # What a space of your own must have.

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the columns of encoded points, d."""

    @property
    @abstractmethod
    def columns(self) -> tuple[Parameter, ...]:
        """Kinds of the columns of encoded points, d: numeric or categorical, continuous or with finitely many values."""

    @abstractmethod
    def encode(self, params: Sequence[Mapping[str, Any]]) -> Array:
        """Encode sets of parameters.

        Args:
            params: n sets of parameters, by name.

        Returns:
            n x d points of the unit cube.

        Raises:
            SpaceError: If one does not belong to the space.
        """

    @abstractmethod
    def decode(self, X: npt.ArrayLike) -> list[Params]:
        """Decode points, n x d, to the nearest sets of parameters, n, in plain Python values."""

    # What follows from these four, unless a space knows better.

    @property
    def dimension(self) -> int:
        """Number of columns, d."""
        return len(self.columns)

    @property
    def categories(self) -> tuple[int, ...]:
        """Number of choices of each categorical column, 0 for a numeric one, d."""
        return tuple(column.categories for column in self.columns)

    @property
    def size(self) -> int | None:
        """Number of points, counting invalid ones too if there are constraints; ``None`` if infinite."""
        counts = [column.cells for column in self.columns]
        return None if None in counts else math.prod(count for count in counts if count is not None)

    @property
    def is_pool(self) -> bool:
        """Whether the space is a list of points, so that searches evaluate all of them instead of moving in the cube."""
        return False

    @property
    def constrained(self) -> bool:
        """Whether some combinations of values are invalid: those of a class with its own ``valid`` may be."""
        return type(self).valid is not Space.valid

    @property
    def curved(self) -> bool:
        """Whether gradient steps may end at conditions that are no linear constraints, along which they cannot slide."""
        return False

    @property
    def has_neighbours(self) -> bool:
        """Whether there are exact moves from one point to others beside gradient steps (``neighbours``)."""
        return any((column.cells or 1) > 1 for column in self.columns)

    @property
    def features(self) -> Callable[[Array], Array] | None:
        """What models of features see of points, m x d -> m x D; ``None`` if that is the points themselves."""
        return None

    @property
    def descriptors(self) -> tuple[Array | None, ...]:
        """Descriptors of the choices of each column, k x D, 1 apart on average, ``None`` where there are none; d of them."""
        return (None,) * self.dimension

    @property
    def contexts(self) -> tuple[str, ...]:
        """Names of the columns that are observed, not chosen."""
        return ()

    @property
    def context_columns(self) -> tuple[int, ...]:
        """The columns that are observed, not chosen."""
        return tuple(self.names.index(name) for name in self.contexts)

    @property
    def default_point(self) -> Array | None:
        """The point that is tried first, d: that of the defaults, if all columns have one and it is valid."""
        point = self._defaults
        return point if point is not None and self.valid(point[None, :])[0] else None

    @property
    def broken_by_defaults(self) -> tuple[str, ...]:
        """The constraints, in words, that keep the point of the defaults from being tried first."""
        point = self._defaults
        return () if point is None else self.broken(point)

    @property
    def _defaults(self) -> Array | None:
        """The point of the defaults, d, valid or not, if all columns have one."""
        if any(column.default is NO_DEFAULT for column in self.columns):
            return None
        return self._round(np.array([[column.encode(column.default) for column in self.columns]]))[0]

    @property
    def activity(self) -> Activity | None:
        """Which columns are active at a point, for models and searches; ``None`` if all always are."""
        return None

    def active(self, X: Array) -> np.ndarray:
        """Return which columns of points, m x d, are active, m x d; others mean nothing and are left out when decoded."""
        return np.ones(X.shape, dtype=bool) if self.activity is None else self.activity(X)

    @property
    def totals(self) -> tuple[tuple[tuple[str, ...], float], ...]:
        """Names of columns whose values add up to a total, each set with its total: those of mixtures."""
        return ()

    def valid(self, X: Array) -> np.ndarray:
        """Return which points, m x d, meet the constraints among columns once each column is rounded, m."""
        return np.ones(len(as_points(X, self.dimension)), dtype=bool)

    def broken(self, x: Array) -> tuple[str, ...]:
        """Return the constraints that a point, d, breaks, in words; empty for a valid point."""
        return () if self.valid(x[None, :])[0] else ("the constraints of the space",)

    def admitted(self, X: Array) -> Array:
        """Return valid points, at most n x d, that edited copies of points, n x d, stand for: by default the valid ones."""
        return self.repair(X[self.valid(X)])

    def region(self, X: Array, columns: np.ndarray) -> Region:
        """Return where gradient steps from valid points, R x d, may lead in some columns, given by number."""
        return Cube()

    def spread(self, U: Array, numbers: range, *, seed: int) -> Array:
        """Return valid points that fill the space evenly, k x d, each determined by its number.

        Args:
            U: Points that fill the unit cube evenly, k x d, which are repaired unless the space knows better.
            numbers: Numbers of the points in their sequence, k.
            seed: Determines the sequence.
        """
        return self.repair(U)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw valid points, n x d, uniformly on the unit cube (so that log scales are log-uniform)."""
        n = check_whole("the number of points to draw", n, least=0, most=10**9, error=SpaceError)
        if not self.constrained:
            return self._round(rng.random((n, self.dimension)))
        return sample_valid(n, lambda count: self._round(rng.random((count, self.dimension))), self.valid)

    def repair(self, U: npt.ArrayLike) -> Array:
        """Return the valid points nearest to points of the cube, n x d; valid points are returned as they are."""
        points = self._round(np.clip(as_points(U, self.dimension), 0.0, 1.0))
        if self.constrained:
            invalid = np.flatnonzero(~self.valid(points))
            points[invalid] = self._valid_near(points[invalid])
        return points

    def enumerate(self) -> Array | None:
        """List all valid points, N x d, each at least once; ``None`` if the space is not finite."""
        if self.size is None or None in (column.cells for column in self.columns):
            return None
        if self.size > _MOST_POINTS:
            raise SpaceError(
                f"{self.size} points are too many to enumerate (at most {_MOST_POINTS}); look at size first"
            )
        every = combinations(self.columns)
        return every[self.valid(every)]

    def neighbours(self, x: Array) -> Array:
        """List the valid points that differ from x, d, in one finite column, k x d; k may be 0.

        They have every other value of a column with up to 64 values, and values 1, 2, 4, 8, ... steps away of a finer one.
        """
        points = self._round(changed_in(x, list(enumerate(self.columns))))
        return points[self.valid(points) & (points != x).any(axis=1)]

    def values(self, X: npt.ArrayLike) -> list[Params]:
        """Return the values of the active columns of points, n x d, by name, n: what studies store."""
        points = as_points(X, self.dimension)
        if self.activity is None:
            return [
                {name: c.decode(u) for name, c, u in zip(self.names, self.columns, x, strict=True)}
                for x in points.tolist()
            ]
        rows = zip(points.tolist(), self.active(points).tolist(), strict=True)
        named = list(zip(self.names, self.columns, strict=True))
        return [
            {name: c.decode(u) for (name, c), u, active in zip(named, x, own, strict=True) if active} for x, own in rows
        ]

    def from_values(self, values: Sequence[Mapping[str, Any]]) -> Array:
        """Encode the values of the columns, n mappings by name, as points, n x d.

        Raises:
            SpaceError: If a name is unknown or missing, or a value is not one of its column's.
        """
        if isinstance(values, Mapping):
            raise SpaceError("expected a list of sets of parameters, got a single one; write [params]")
        rows = [self._from_values(i, point) for i, point in enumerate(listed(values))]
        return np.array(rows, dtype=np.float64).reshape(-1, self.dimension)

    def subspace(self, names: Collection[str]) -> Space:
        """Return the space of some of the columns only, the others being fixed elsewhere.

        Raises:
            SpaceError: If the columns of the space cannot be chosen one by one.
        """
        raise SpaceError(
            f"the columns of a {type(self).__name__} cannot be fixed one by one: leave all of {list(self.names)} free, "
            f"instead of {sorted(names)} only"
        )

    def holding(self, values: Mapping[str, Any]) -> Space:
        """Return the same columns and coordinates with some columns held at values.

            >>> from calibo.spaces import Float, Int, ProductSpace
            >>> held = ProductSpace({"x": Float(0, 1), "k": Int(1, 4)}).holding({"k": 2})
            >>> held.decode(held.repair([[0.5, 0.99]]))
            [{'x': 0.5, 'k': 2}]

        Args:
            values: Values by the names of columns.

        Raises:
            SpaceError: If a name is unknown, a value is not one of its column's, or no valid point has these values.
        """
        from calibo.spaces.holding import HeldSpace

        return HeldSpace.of(self, values)

    def within(self, lower: Array, upper: Array, *, centre: Array) -> Part:
        """Return the part of the space within a box.

        Args:
            lower: Lower corner of the box, d. A finite column keeps the value whose cell holds the corner.
            upper: Upper corner, d.
            centre: A point of the box, d. In more than 20 columns a random point of the part differs from it in each
                column with probability 20 / d only, and in one at least (Eriksson et al. 2019, on candidates).
        """
        low, high = np.array([column_ends(*ends) for ends in zip(self.columns, lower, upper, strict=True)]).T
        whole = bool((lower <= 0.0).all() and (upper >= 1.0).all())
        inside = _InBox(self, low, high, self.repair(centre[None, :])[0])
        return Part(inside, low, high, start=np.zeros_like(low), width=np.ones_like(low), is_everything=whole)

    def _round(self, U: Array) -> Array:
        """Return points, n x d, with each column at one of its values, valid or not."""
        return self.encode(self.decode(U))

    @cached_property
    def _known(self) -> Array:
        """Some valid points, always the same, for repairing invalid ones."""
        return self.sample(_KNOWN, np.random.default_rng(0))

    def _valid_near(self, X: Array) -> Array:
        """Return valid points near invalid ones, m x d: between each and the nearest known valid point."""
        if not len(X):
            return X
        squares = ((X[:, None, :] - self._known[None, :, :]) ** 2).sum(axis=2)
        near = self._known[squares.argmin(axis=1)]
        for step in 0.5 ** np.arange(1, _HALVINGS + 1):
            further = self._round(near + step * (X - near))
            near = np.where(self.valid(further)[:, None], further, near)
        return near

    def _from_values(self, i: int, point: Mapping[str, Any]) -> list[float]:
        point = mapped(f"parameters {i}", point)
        if point.keys() != set(self.names):
            wrong = wrong_names(point, self.names, self.names)
            raise SpaceError(f"parameters {i}: {wrong}; give exactly {list(self.names)}")
        row: list[float] = []
        for name, column in zip(self.names, self.columns, strict=True):
            try:
                row.append(column.encode(point[name]))
            except SpaceError as error:
                raise SpaceError(f"parameters {i}, {name!r}: {error}") from None
        return row


@dataclass(frozen=True, eq=False)
class Part:
    """The part of a space within a box, as a space of its own, for local searches.

    Attributes:
        space: The points of the part; its cube may be the box stretched to the unit cube.
        lower: Smallest coordinate of the part in each column of the whole space, d.
        upper: Largest coordinate, d.
        start: Coordinate of the whole space at 0 of the part, d.
        width: Length of the part's unit interval in the whole space, d; 0 for a column with one value left.
        is_everything: Whether the part is the whole space.
    """

    space: Space
    lower: Array
    upper: Array
    start: Array
    width: Array
    is_everything: bool

    def outward(self, X: Array) -> Array:
        """Return points of the part, ... x d, in coordinates of the whole space."""
        return self.start + X * self.width

    def inward(self, X: Array) -> Array:
        """Return those points of the whole space, m x d, that lie in the box, in coordinates of the part, k x d."""
        X = X.reshape(-1, len(self.lower))
        inside = between(X, self.lower, self.upper, self.space.activity)
        return self.space.repair(stretched(X[inside], self.start, self.width))

    def remaining(self, avoid: Array) -> float:
        """Return how many points of the part are not among ``avoid``, t x d; infinite if it is continuous."""
        if self.space.size is None:
            return math.inf
        return self.space.size - len(np.unique(self.inward(avoid).round(9), axis=0))


@dataclass(frozen=True, eq=False)
class _InBox(Space):
    """The points of a space between two corners, in its own coordinates; random ones differ little from the centre.

    Repaired points may lie outside of the box where no valid point near them does.
    """

    whole: Space
    low: Array
    high: Array
    centre: Array

    @property
    def names(self) -> tuple[str, ...]:
        return self.whole.names

    @property
    def columns(self) -> tuple[Parameter, ...]:
        return self.whole.columns

    @property
    def size(self) -> int | None:
        if self.whole.size is None:
            return None
        if self.is_pool or self.whole.size <= COUNTED:
            every = self.enumerate()
            return None if every is None else len(np.unique(every, axis=0))
        ends = zip(self.columns, self.low, self.high, strict=True)
        return math.prod(int(c.cell(high) - c.cell(low)) + 1 for c, low, high in ends if c.cells is not None)

    @property
    def is_pool(self) -> bool:
        return self.whole.is_pool

    @property
    def constrained(self) -> bool:
        return self.whole.constrained

    @property
    def features(self) -> Callable[[Array], Array] | None:
        return self.whole.features

    @property
    def descriptors(self) -> tuple[Array | None, ...]:
        return self.whole.descriptors

    @property
    def contexts(self) -> tuple[str, ...]:
        return self.whole.contexts

    @property
    def activity(self) -> Activity | None:
        return self.whole.activity

    @property
    def default_point(self) -> Array | None:
        point = self.whole.default_point
        inside = point is not None and between(point[None, :], self.low, self.high, self.activity)[0]
        return point if inside else None

    def encode(self, params: Sequence[Mapping[str, Any]]) -> Array:
        return self.whole.encode(params)

    def decode(self, X: npt.ArrayLike) -> list[Params]:
        return self.whole.decode(X)

    def valid(self, X: Array) -> np.ndarray:
        return self.whole.valid(X)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        if self.is_pool:
            points = self.enumerate()
            assert points is not None
            return points[rng.integers(len(points), size=n)]
        drawn = self.low + rng.random((n, self.dimension)) * (self.high - self.low)
        return self.repair(perturbed(drawn, self.centre, rng))

    def repair(self, U: npt.ArrayLike) -> Array:
        return self.whole.repair(np.clip(as_points(U, self.dimension), self.low, self.high))

    def enumerate(self) -> Array | None:
        every = self.whole.enumerate()
        return None if every is None else every[between(every, self.low, self.high, self.activity)]

    def neighbours(self, x: Array) -> Array:
        points = self.whole.neighbours(x)
        return points[between(points, self.low, self.high, self.activity)]


def announce_broken(space: Space, x: Array, what: str) -> None:
    """Warn that a point, d, which somebody else has chosen, breaks constraints of its space, and is kept."""
    if broken := space.broken(x):
        warn(
            f"{what} broke {' and '.join(map(repr, broken))}; the outcome is kept, and models learn from it, but no such "
            "point is suggested",
            SpaceWarning,
        )


def listed(points: object) -> list[Any]:
    """Return several sets of parameters as a list.

    Raises:
        SpaceError: If it is no sequence.
    """
    found = read_items(points)
    if found is None:
        raise SpaceError(f"expected a list of sets of parameters, got {shown(points)}; write [params]")
    return found


def mapped(what: str, point: object) -> dict[str, Any]:
    """Return parameters by name as a dict.

    Raises:
        SpaceError: If it is no mapping.
    """
    found = read_mapping(point)
    if found is None:
        raise SpaceError(f"{what}: expected a mapping of names to values, got {shown(point)}")
    return found


def wrong_names(given: Collection[Any], allowed: Collection[str], needed: Iterable[str]) -> str:
    """Say which of the given names are unknown and which needed ones are missing; ``""`` if none are."""
    unknown = [name for name in given if name not in allowed]
    missing = [name for name in needed if name not in given]
    return " and ".join(
        f"{what} {shown(names)}" for what, names in (("unknown", unknown), ("missing", missing)) if names
    )


def combinations(columns: Sequence[Parameter]) -> Array:
    """Return all combinations of the values of finite columns, N x d."""
    grids = [column.position(np.arange(column.cells or 0)) for column in columns]
    return np.stack([grid.ravel() for grid in np.meshgrid(*grids, indexing="ij")], axis=1)


def sample_valid(n: int, draw: Callable[[int], Array], valid: Callable[[Array], np.ndarray]) -> Array:
    """Draw valid points, n x d, by rejection: uniformly if ``draw`` (count -> count x d) draws uniformly."""
    found = [draw(0)]
    for _ in range(_ATTEMPTS):
        if sum(map(len, found)) >= n:
            return np.vstack(found)[:n]
        drawn = draw(2 * n + 8)
        found.append(drawn[valid(drawn)])
    raise SpaceError(
        f"fewer than {n} valid points were found in {_ATTEMPTS} rounds of drawing: the constraints of the space leave "
        "hardly any, or none; for a cell, is there an operation besides the zero one?"
    )


def perturbed(points: Array, centre: Array, rng: np.random.Generator) -> Array:
    """Return points, n x d, with most of more than 20 columns put back to the centre's, d."""
    n, d = points.shape
    if d <= _PERTURBED:
        return points
    moved = rng.random((n, d)) < _PERTURBED / d
    moved[np.arange(n), rng.integers(d, size=n)] = True
    return np.where(moved, points, centre)


def between(X: Array, low: Array, high: Array, activity: Activity | None = None) -> np.ndarray:
    """Return which points, m x d, lie between two corners, m; columns that are inactive at a point do not count."""
    inside = (low - _ROUNDING <= X) & (high + _ROUNDING >= X)
    return np.asarray((inside if activity is None else inside | ~activity(X)).all(axis=1))


def stretched(X: Array, start: Array, width: Array) -> Array:
    """Return points, m x d, in coordinates that begin at ``start`` and are ``width`` wide; 0.5 where that is 0."""
    return np.where(width > 0.0, (X - start) / np.where(width > 0.0, width, 1.0), 0.5)


def column_ends(column: Parameter, lower: float, upper: float) -> tuple[float, float]:
    """Return the smallest and largest coordinate of a column between two coordinates, cells that hold them included."""
    low, high = (lower, upper) if column.cells is None else column.round([lower, upper])
    return float(low), float(high)


def changed_in(x: Array, columns: Sequence[tuple[int, Parameter]]) -> Array:
    """Return copies of a point, d, with another value in one of some columns, given by number, k x d."""
    changed = [_changed(x, j, column) for j, column in columns if (column.cells or 1) > 1]
    return np.vstack([np.empty((0, len(x))), *changed])


def _changed(x: Array, j: int, column: Parameter) -> Array:
    """Return copies of x, d, with other values of column j, k x d."""
    cells = column.cells or 1
    here = int(column.cell(x[[j]])[0])
    if cells <= _ALL_NEIGHBOURS:
        others = np.delete(np.arange(cells), here)
    else:
        steps = 2 ** np.arange(int(np.log2(cells)) + 1)
        others = np.unique(np.concatenate([here - steps, here + steps]))
        others = others[(others >= 0) & (others < cells)]
    points = np.repeat(x[None, :], len(others), axis=0)
    points[:, j] = column.position(others)
    return points
