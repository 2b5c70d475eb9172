"""Spaces with some columns held at given values, in the same coordinates: what is fixed or observed for a suggestion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calibo.data import Array, Params
from calibo.errors import SpaceError
from calibo.spaces.base import Part, Space, sample_valid, stretched
from calibo.spaces.parameters import Cells, Parameter

#: Rounding error of a coordinate that is held.
_ROUNDING = 1e-9


@dataclass(frozen=True, repr=False)
class HeldColumn(Parameter):
    """A column with one value left, at the coordinate that this value has among all of the column's.

    Attributes:
        column: The column.
        place: The coordinate of the value.
    """

    column: Parameter
    place: float

    @property
    def cells(self) -> int:
        return 1

    @property
    def categories(self) -> int:
        return self.column.categories

    def cell(self, u: npt.ArrayLike) -> Cells:
        return np.zeros(np.shape(np.asarray(u)), dtype=np.int64)

    def decode(self, u: float) -> Any:
        return self.column.decode(self.place)

    def _place(self, cell: Any) -> Any:
        return np.full(np.shape(cell), self.place)[()]

    def _index(self, value: Any) -> int:
        if abs(self.column.encode(value) - self.place) > _ROUNDING:
            raise SpaceError(f"{value!r} is not the value that is held, {self._value(0)!r}")
        return 0

    def _value(self, index: int) -> Any:
        return self.column.decode(self.place)


@dataclass(frozen=True, eq=False)
class HeldSpace(Space):
    """The points of a space that have given coordinates in some columns.

    Attributes:
        whole: The space.
        held: Coordinate of each column that is held, d; NaN for a free one.
    """

    whole: Space
    held: Array

    @classmethod
    def of(cls, space: Space, values: Mapping[str, Any]) -> HeldSpace:
        """Hold columns of a space at values, by name.

        Raises:
            SpaceError: If a name is unknown, a value is not one of its column's, or no valid point is left.
        """
        found = cls(space, held_coordinates(space, values))
        if found.constrained:
            try:
                found.sample(1, np.random.default_rng(0))
            except SpaceError:
                raise SpaceError(
                    f"no valid point of the space has {dict(values)}: hold other values, or fewer"
                ) from None
        return found

    @cached_property
    def _mask(self) -> np.ndarray:
        return ~np.isnan(self.held)

    @property
    def names(self) -> tuple[str, ...]:
        return self.whole.names

    @cached_property
    def columns(self) -> tuple[Parameter, ...]:  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
        """Kinds of the columns, d; those that are held have one value."""
        pairs = zip(self.whole.columns, self.held, strict=True)
        return tuple(
            column if np.isnan(u) else HeldColumn(column, float(u), default=column.decode(u)) for column, u in pairs
        )

    @property
    def contexts(self) -> tuple[str, ...]:
        return self.whole.contexts

    @property
    def is_pool(self) -> bool:
        return self.whole.is_pool

    @property
    def constrained(self) -> bool:
        # Where a space encodes parameters in its own way, columns may depend on each other without being constrained.
        return self.whole.constrained or type(self.whole)._round is Space._round

    @property
    def features(self) -> Callable[[Array], Array] | None:
        return self.whole.features

    @property
    def descriptors(self) -> tuple[Array | None, ...]:
        return self.whole.descriptors

    def encode(self, params: Sequence[Mapping[str, Any]]) -> Array:
        return self.whole.encode(params)

    def decode(self, X: npt.ArrayLike) -> list[Params]:
        return self.whole.decode(X)

    def values(self, X: npt.ArrayLike) -> list[Params]:
        return self.whole.values(X)

    def from_values(self, values: Sequence[Mapping[str, Any]]) -> Array:
        return self.whole.from_values(values)

    def valid(self, X: Array) -> np.ndarray:
        same = np.abs(X[:, self._mask] - self.held[self._mask]) <= _ROUNDING
        found = self.whole.valid(X) & same.all(axis=1)
        if self.constrained and found.any():
            found[found] = (np.abs(self.whole._round(X[found]) - X[found]) <= _ROUNDING).all(axis=1)
        return found

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        if not self.constrained:
            return self._put(self.whole.sample(n, rng))
        # Valid points, of which most stay valid, instead of uniform ones, of which hardly any may be.
        return sample_valid(n, lambda count: self._put(self.whole.sample(count, rng)), self.valid)

    def repair(self, U: npt.ArrayLike) -> Array:
        points = self._put(self.whole.repair(U))
        if self.constrained:
            invalid = np.flatnonzero(~self.valid(points))
            points[invalid] = self._valid_near(points[invalid])
        return points

    def holding(self, values: Mapping[str, Any]) -> Space:
        more = held_coordinates(self.whole, values)
        return replace(self, held=np.where(np.isnan(more), self.held, more))

    def within(self, lower: Array, upper: Array, *, centre: Array) -> Part:
        # In the columns that are held the box is a point: in the coordinates of the part, that point is held again.
        corners = [np.where(self._mask, self.held, corner) for corner in (lower, upper, centre)]
        part = self.whole.within(corners[0], corners[1], centre=corners[2])
        inside = np.where(self._mask, stretched(self.held, part.start, part.width), np.nan)
        ends = np.where(self._mask, 0.0, lower), np.where(self._mask, 1.0, upper)
        everything = self.whole.within(*ends, centre=corners[2]).is_everything
        return replace(part, space=HeldSpace(part.space, inside), is_everything=everything)

    def _round(self, U: Array) -> Array:
        return self._put(self.whole._round(U))

    def _put(self, X: Array) -> Array:
        """Return points, n x d, at the held coordinates."""
        return np.where(self._mask, self.held, X)


def held_coordinates(space: Space, values: Mapping[str, Any]) -> Array:
    """Return the coordinates of values by the names of columns, d; NaN for columns that have none.

    Raises:
        SpaceError: If a name is unknown, or a value is not one of its column's.
    """
    if not isinstance(values, Mapping):
        raise SpaceError(f'values to hold are a dict by name, such as {{"material": "steel"}}, got {values!r}')
    unknown = [name for name in values if name not in space.names]
    if unknown:
        raise SpaceError(
            f"there is no parameter {', '.join(map(repr, unknown))} to hold: the space has {list(space.names)}"
        )
    held = np.full(space.dimension, np.nan)
    for name, value in values.items():
        j = space.names.index(name)
        try:
            held[j] = space.columns[j].encode(value)
        except SpaceError as error:
            raise SpaceError(f"parameter {name!r} cannot be held: {error}") from None
    return held
