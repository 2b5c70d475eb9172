"""Columns as numbers: the map between coordinates on the unit interval and values, which constraints are about.

Vectorized, and with a continuous extension for finite columns, in which gradient steps and projections move before they
round.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibo.data import Array
from calibo.errors import SpaceError
from calibo.spaces.parameters import Float, Int, Parameter


class Values(ABC):
    """The values of one numeric column, as float64 arrays of any shape."""

    @property
    @abstractmethod
    def low(self) -> float:
        """Smallest value."""

    @property
    @abstractmethod
    def high(self) -> float:
        """Largest value."""

    @property
    def finite(self) -> bool:
        """Whether there are finitely many values."""
        return True

    @property
    def graded(self) -> bool:
        """Whether the values between two of a finite column make sense on the way of a gradient step."""
        return True

    @abstractmethod
    def of(self, u: Array) -> Array:
        """Return the values at coordinates; between two of a finite column as well."""

    @abstractmethod
    def at(self, v: Array) -> Array:
        """Return the coordinates of values, also of those between two of a finite column."""

    @abstractmethod
    def slope(self, v: Array) -> Array:
        """Return how fast the value grows with the coordinate, at values."""

    def rounded(self, v: Array) -> Array:
        """Return the nearest values that the column has."""
        return np.clip(v, self.low, self.high)

    def next(self, v: Array, step: int) -> Array:
        """Return the values so many steps above those given (below if negative), not beyond the last."""
        return v


@dataclass(frozen=True)
class _Continuous(Values):
    """A continuous column."""

    column: Float

    @property
    def low(self) -> float:
        return self.column.low

    @property
    def high(self) -> float:
        return self.column.high

    @property
    def finite(self) -> bool:
        return False


@dataclass(frozen=True)
class _Linear(_Continuous):
    """A continuous column on a linear scale."""

    def of(self, u: Array) -> Array:
        # The same operations as when a single coordinate is decoded.
        low, width = self.column.low, self.column.high - self.column.low
        inside = np.clip(low + u * width, low, self.column.high)
        return np.where(u >= 1.0, self.column.high, inside)

    def at(self, v: Array) -> Array:
        return np.clip((v - self.column.low) / (self.column.high - self.column.low), 0.0, 1.0)

    def slope(self, v: Array) -> Array:
        return np.full_like(v, self.column.high - self.column.low)


@dataclass(frozen=True)
class _Log(_Continuous):
    """A continuous column on a log scale."""

    @cached_property
    def _scale(self) -> tuple[float, float]:
        return float(np.log(self.low)), float(np.log(self.high) - np.log(self.low))

    def of(self, u: Array) -> Array:
        start, width = self._scale
        inside = np.clip(np.exp(start + u * width), self.low, self.high)
        return np.where(u >= 1.0, self.high, np.where(u <= 0.0, self.low, inside))

    def at(self, v: Array) -> Array:
        start, width = self._scale
        return np.clip((np.log(np.maximum(v, self.low)) - start) / width, 0.0, 1.0)

    def slope(self, v: Array) -> Array:
        return np.maximum(v, self.low) * self._scale[1]


@dataclass(frozen=True)
class _Steps(Values):
    """Equidistant values: integers, or a float with a step; integers also on a log scale."""

    column: Float | Int

    @property
    def low(self) -> float:
        return float(self.column.low)

    @property
    def high(self) -> float:
        return float(self.column.high)

    @cached_property
    def _count(self) -> int:
        return self.column.cells or 1

    def of(self, u: Array) -> Array:
        if self.column.log:
            at_cells = self.column.position(self._cells)
            return np.interp(u, at_cells, self._values)
        return np.clip(self.low + (u * self._count - 0.5) * self._step, self.low, self.high)

    def at(self, v: Array) -> Array:
        if self.column.log:
            return np.interp(v, self._values, self.column.position(self._cells))
        return ((v - self.low) / self._step + 0.5) / self._count

    def slope(self, v: Array) -> Array:
        if self.column.log:
            return np.maximum(v, self.low) * np.log(self.high / self.low)
        return np.full_like(v, self._step * self._count)

    def rounded(self, v: Array) -> Array:
        index = np.rint((np.clip(v, self.low, self.high) - self.low) / self._step).astype(np.int64)
        return self._exact(np.clip(index, 0, self._count - 1))

    def next(self, v: Array, step: int) -> Array:
        index = np.rint((v - self.low) / self._step).astype(np.int64) + step
        return self._exact(np.clip(index, 0, self._count - 1))

    def _exact(self, index: np.ndarray) -> Array:
        """Return the values of cells, as decoding gives them: 3 steps of 0.1 are 0.3."""
        if isinstance(self.column, Int):
            return self.column.low + index * float(self.column.step)
        a, b, q = self.column._grid  # pyright: ignore[reportPrivateUsage]
        return (a + index * b) / q

    @property
    def _step(self) -> float:
        return float(self.column.step or 1.0)

    @cached_property
    def _cells(self) -> np.ndarray:
        # Enough support points for the interpolation between the values of a long log scale.
        return np.unique(np.geomspace(1, self._count, min(self._count, 512)).astype(np.int64) - 1)

    @cached_property
    def _values(self) -> Array:
        return self._exact(self._cells)


@dataclass(frozen=True)
class _Listed(Values):
    """Choices that are numbers, in any order."""

    numbers: tuple[float, ...]

    @property
    def low(self) -> float:
        return min(self.numbers)

    @property
    def high(self) -> float:
        return max(self.numbers)

    @property
    def graded(self) -> bool:
        return False

    @cached_property
    def _sorted(self) -> tuple[Array, np.ndarray]:
        listed = np.array(self.numbers)
        order = np.argsort(listed, kind="stable")
        return listed[order], order

    def of(self, u: Array) -> Array:
        k = len(self.numbers)
        return np.array(self.numbers)[np.clip((u * k).astype(np.int64), 0, k - 1)]

    def at(self, v: Array) -> Array:
        return (self._sorted[1][self._rank(v)] + 0.5) / len(self.numbers)

    def slope(self, v: Array) -> Array:
        return np.full_like(v, (self.high - self.low) or 1.0)

    def rounded(self, v: Array) -> Array:
        return self._sorted[0][self._rank(v)]

    def next(self, v: Array, step: int) -> Array:
        return self._sorted[0][np.clip(self._rank(v) + step, 0, len(self.numbers) - 1)]

    def _rank(self, v: Array) -> np.ndarray:
        ordered = self._sorted[0]
        return np.searchsorted(0.5 * (ordered[1:] + ordered[:-1]), v)


def values_of(name: str, column: Parameter, constraint: str) -> Values:
    """Return the values of a column that a constraint names.

    Raises:
        SpaceError: If they are not numbers.
    """
    if isinstance(column, Int) or (isinstance(column, Float) and column.step is not None):
        return _Steps(column)
    if isinstance(column, Float):
        return _Log(column) if column.log else _Linear(column)
    count = column.cells or 0
    listed = [column.decode((i + 0.5) / count) for i in range(count)]
    if not listed or not all(isinstance(v, int | float) and not isinstance(v, bool) for v in listed):
        raise SpaceError(
            f"constraint {constraint!r} needs numbers, but {name!r} is {column!r}: use a Float, an Int or choices that "
            "are numbers, or give the condition as where=lambda p: ..."
        )
    return _Listed(tuple(float(v) for v in listed))
