"""Parameters: Float, Int, Categorical and Ordinal, and how their values are encoded on the unit interval.

A parameter with finitely many values divides [0, 1] into cells, and encodes a value as one coordinate of its cell: the
middle, (i + .5) / k for cell i of k, unless it is a log-scaled Int, whose cells are as wide as its values are apart on the
log scale. Uniform coordinates therefore fall on all values evenly, and the ends of a range are as likely as its middle.
"""

from __future__ import annotations

import math
import reprlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from fractions import Fraction
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from calibo.checks import read_items, shown
from calibo.data import Array
from calibo.errors import DataError, SpaceError
from calibo.spaces.descriptors import Described, as_descriptors

Cells = npt.NDArray[np.int64]

#: More cells than this and float64 could no longer tell neighbours apart on the unit interval.
MAX_CELLS = 2**50
#: The same for log-scaled integers, as high / step: the logarithm of a large number has fewer digits to spare.
MAX_LOG_RATIO = 10**13
#: How far off its grid a stepped float may be, in steps: rounding error such as .1 + .2, or a float32, but not a mistake.
STEP_TOLERANCE = Fraction(1, 10**6)
#: How far beyond a bound a number may be, in units of its last place: rounding, such as 10**-5 as a power of a logarithm.
_ROUNDING = 4


class NoDefault(Enum):
    """What stands for a missing default, since ``None`` may be a choice."""

    NO_DEFAULT = "no default"

    def __repr__(self) -> str:
        return self.name


NO_DEFAULT = NoDefault.NO_DEFAULT

#: Values of other parameters with which a parameter is active: one value or several of each, all of which must hold; a
#: list of such mappings, of which one must hold.
When = Mapping[str, Any] | Sequence[Mapping[str, Any]]


def _whole(value: object) -> str:
    """Return a value as messages show it, but not shortened."""
    return shown(value, length=sys.maxsize)


def _differs(value: object, default: object) -> bool:
    """Return whether a value is not the default, also if it cannot be compared."""
    try:
        return bool(value != default)
    except Exception:  # an array, or of the user's own class
        return True


@dataclass(frozen=True, repr=False)
class Parameter(ABC):
    """The range of one parameter, encoded on the unit interval; finite ones by cells, counted from 0.

    Attributes:
        default: The value that is tried first, if all parameters have one; ``NO_DEFAULT`` if there is none.
        when: Values of other parameters with which it is active, such as ``{"model": "svm"}`` or
            ``{"model": ["svm", "knn"]}``; with others it is left out. ``None`` if it is always active. The space checks it,
            which knows the other parameters.
    """

    default: Any = field(default=NO_DEFAULT, kw_only=True)
    when: When | None = field(default=None, kw_only=True, hash=False)

    def __repr__(self) -> str:
        """Return what to write for it, without defaults: ``Float(0.0, 1.0, log=True)``."""
        given = [(f.name, self._shown(f.name), f.default) for f in sorted(fields(self), key=lambda f: bool(f.kw_only))]
        texts = (
            _whole(v) if default is MISSING else f"{name}={_whole(v)}"
            for name, v, default in given
            if _differs(v, default)
        )
        return f"{type(self).__name__}({', '.join(texts)})"

    def _shown(self, name: str) -> Any:
        """Return what the ``repr`` shows of a field."""
        return getattr(self, name)

    def _check_default(self) -> None:
        """Check that the default is one of the values, and keep it as a plain one.

        Raises:
            SpaceError: If it is not.
        """
        if self.default is NO_DEFAULT:
            return
        try:
            self.encode(self.default)
        except SpaceError as error:
            raise SpaceError(f"{type(self).__name__}: default must be one of the values: {error}") from None
        object.__setattr__(self, "default", plain(self.default))

    @property
    @abstractmethod
    def cells(self) -> int | None:
        """Number of values, or ``None`` if the parameter is continuous."""

    @property
    def categories(self) -> int:
        """Number of choices if they have no order, else 0."""
        return 0

    def position(self, cell: npt.ArrayLike) -> Array:
        """Return the coordinates of cells (any shape of integers), same shape."""
        index = np.asarray(cell)
        if index.size and (index.min() < 0 or index.max() >= self._count()):
            raise DataError(f"cells must lie from 0 to {self._count() - 1}, got {index.min()} to {index.max()}")
        return self._place(index)

    def cell(self, u: npt.ArrayLike) -> Cells:
        """Return the cells that hold coordinates (any shape), same shape; coordinates are clipped to [0, 1]."""
        count = self._count()
        return np.minimum((_unit(u) * count).astype(np.int64), count - 1)

    def round(self, u: npt.ArrayLike) -> Array:
        """Return the encoded values nearest to coordinates (any shape), same shape."""
        return self._place(self.cell(u))

    def encode(self, value: Any) -> float:
        """Encode a value as its coordinate on the unit interval.

        Raises:
            SpaceError: If it is not one of the values.
        """
        return float(self._place(self._index(value)))

    def decode(self, u: float) -> Any:
        """Decode a coordinate to the nearest value, as a plain Python object."""
        return self._value(int(self.cell(u)))

    def _count(self) -> int:
        if self.cells is None:
            raise SpaceError(f"{self!r} is continuous and has no cells: give it a step, or use encode and decode")
        return self.cells

    def _place(self, cell: Any) -> Any:
        return (cell + 0.5) / self._count()

    @abstractmethod
    def _index(self, value: Any) -> int: ...

    @abstractmethod
    def _value(self, index: int) -> Any: ...


@dataclass(frozen=True, repr=False)
class Float(Parameter):
    """A real number between two bounds, both included.

        >>> from calibo import Float
        >>> round(Float(1e-4, 1.0, log=True).decode(0.5), 6)
        0.01
        >>> Float(0.0, 1.0, step=0.25).encode(0.3)
        Traceback (most recent call last):
            ...
        calibo.errors.SpaceError: 0.3 is not on the steps of Float(0.0, 1.0, step=0.25): its nearest is 0.25

    Attributes:
        low: Smallest value.
        high: Largest value; lowered to the last value that ``step`` reaches.
        log: Whether equal ratios, instead of equal differences, are equally far apart.
        step: Distance between neighbouring values, counted from ``low``; ``None`` if continuous.
        default: See ``Parameter``.
    """

    low: float
    high: float
    log: bool = False
    step: float | None = None

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        for name in ("low", "high") if self.step is None else ("low", "high", "step"):
            set_(self, name, _bound("Float", name, getattr(self, name)))
        _check_range("Float", self.low, self.high, self.log, self.step)
        if not 0 < self._scale[1] < math.inf:
            raise SpaceError(f"Float: {self.low} to {self.high} is too short or too long for floats; rescale it")
        if self.step is None:
            return self._check_default()
        if self.log:
            raise SpaceError("Float: log and step cannot go together; drop one, or use Int(..., log=True) or Ordinal")
        if self.step < 16 * math.ulp(max(-self.low, self.high)):
            raise SpaceError(f"Float: step={self.step} is lost in rounding {self.low} to {self.high}; enlarge it")
        _check_count(self, self._last + 1)
        set_(self, "high", self._value(self._last))
        return self._check_default()

    @property
    def cells(self) -> int | None:
        return None if self.step is None else self._last + 1

    @cached_property
    def _grid(self) -> tuple[int, int, int]:
        """Return whole numbers a, b, q such that value i is (a + i b) / q."""
        # From the decimals a user wrote, not from the binary float: 3 steps of 0.1 are 0.3, not 0.30000000000000004.
        low, step = Fraction(repr(self.low)), Fraction(repr(self.step))
        q = math.lcm(low.denominator, step.denominator)
        return int(low * q), int(step * q), q

    @cached_property
    def _last(self) -> int:
        return math.floor(sum(self._steps(self.high)))

    def _steps(self, number: float) -> tuple[Fraction, Fraction]:
        """Return how many steps a number is from ``low``, and by how much rounding may have put it off."""
        a, b, q = self._grid
        return (Fraction(repr(number)) * q - a) / b, max(STEP_TOLERANCE, Fraction(math.ulp(number)) * q / b)

    @cached_property
    def _scale(self) -> tuple[float, float]:
        if self.log:
            return math.log(self.low), math.log(self.high) - math.log(self.low)
        return self.low, self.high - self.low

    def round(self, u: npt.ArrayLike) -> Array:
        return _unit(u) if self.step is None else super().round(u)

    def encode(self, value: Any) -> float:
        if self.step is not None:
            return super().encode(value)
        number = self._within(value)
        start, width = self._scale
        return ((math.log(number) if self.log else number) - start) / width

    def _within(self, value: Any) -> float:
        """Return a number within the bounds: one that rounding put beyond a bound is taken to be at the bound."""
        number = _number(self, value)
        within = min(max(number, self.low), self.high)
        largest = within if self.log else max(-self.low, self.high)
        if abs(number - within) > _ROUNDING * math.ulp(largest):
            raise self._outside(value)
        return within

    def decode(self, u: float) -> float:
        """Decode a coordinate to its value: exactly ``low`` at 0 and ``high`` at 1, never outside."""
        if self.step is not None:
            return super().decode(u)
        place = float(_unit(u))
        if place in (0.0, 1.0):
            return self.high if place else self.low
        start, width = self._scale
        number = math.exp(start + place * width) if self.log else start + place * width
        return min(max(number, self.low), self.high)

    def _index(self, value: Any) -> int:
        assert self.step is not None
        steps = (_number(self, value) - self.low) / self.step
        if not -0.5 <= steps <= self._last + 0.5:
            raise self._outside(value)
        index = min(max(round(steps), 0), self._last)
        if self._value(index) != value:
            exact, rounding = self._steps(float(value))
            if abs(exact - index) > rounding:
                raise SpaceError(f"{shown(value)} is not on the steps of {self!r}: its nearest is {self._value(index)}")
        return index

    def _value(self, index: int) -> float:
        a, b, q = self._grid
        return (a + index * b) / q

    def _outside(self, value: Any) -> SpaceError:
        return SpaceError(f"{shown(value)} lies outside {self!r}: give a number from {self.low} to {self.high}")


@dataclass(frozen=True, repr=False)
class Int(Parameter):
    """An integer between two bounds, both included.

        >>> from calibo import Int
        >>> [Int(1, 8).decode(u) for u in (0.0, 0.5, 1.0)]
        [1, 5, 8]
        >>> Int(16, 1024, log=True).decode(0.5)
        126

    Attributes:
        low: Smallest value.
        high: Largest value; lowered to the last value that ``step`` reaches.
        log: Whether equal ratios, instead of equal differences, are equally far apart.
        step: Distance between neighbouring values, counted from ``low``.
    """

    low: int
    high: int
    log: bool = False
    step: int = 1

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        for name in ("low", "high", "step"):
            set_(self, name, _integer_bound(name, getattr(self, name)))
        _check_range("Int", self.low, self.high, self.log, self.step)
        _check_count(self, self.cells)
        set_(self, "high", self.low + (self.cells - 1) * self.step)
        if self.log and self.high > MAX_LOG_RATIO * self.step:
            raise SpaceError(f"{self!r} needs high / step <= {MAX_LOG_RATIO:.0e}; enlarge the step or use a Float")
        self._check_default()

    @property
    def cells(self) -> int:
        return (self.high - self.low) // self.step + 1

    @cached_property
    def _log_scale(self) -> tuple[float, float, float]:
        """First value in steps, and start and width of the unit interval on the log scale, half a step further out."""
        first = self.low / self.step
        # Where half a step below low there is nothing left to take the logarithm of, half of low has to do.
        start = math.log(max(first - 0.5, first / 2))
        return first, start, math.log(first + self.cells - 0.5) - start

    def cell(self, u: npt.ArrayLike) -> Cells:
        if not self.log:
            return super().cell(u)
        first, start, width = self._log_scale
        steps = np.rint(np.exp(start + _unit(u) * width) - first)
        return np.clip(steps, 0, self.cells - 1).astype(np.int64)

    def _place(self, cell: Any) -> Any:
        if not self.log:
            return super()._place(cell)
        first, start, width = self._log_scale
        return (np.log(first + cell) - start) / width

    def _index(self, value: Any) -> int:
        number = _number(self, value)
        if not isinstance(value, Integral) and not number.is_integer():
            raise SpaceError(
                f"{shown(value)} is not an integer: {self!r} takes integers from {self.low} to {self.high}"
            )
        whole = int(value)
        if not self.low <= whole <= self.high:
            raise SpaceError(f"{shown(value)} lies outside {self!r}: give an integer from {self.low} to {self.high}")
        index, rest = divmod(whole - self.low, self.step)
        if rest:
            near = f"{self._value(index)} or {self._value(index + 1)}"
            raise SpaceError(f"{shown(value)} is not on the steps of {self!r}: give {near}")
        return index

    def _value(self, index: int) -> int:
        return self.low + index * self.step


@dataclass(frozen=True, repr=False)
class _Choices(Parameter):
    """One of some listed values, which may be any objects.

    Two choices are the same if they are equal *and* of one type: 1, 1.0 and True are three choices (scikit-learn's
    ``max_features=1`` and ``1.0`` differ), and each is found again as itself. A value that is no choice itself but
    equals exactly one, as 1.0 does 1, stands for that one; bools and numbers never stand for each other.

    Attributes:
        choices: The values, kept as a tuple; NumPy scalars become Python ones.
    """

    choices: Sequence[Any]

    def __post_init__(self) -> None:
        kind = type(self).__name__
        choices = read_items(self.choices) if isinstance(self.choices, Sequence | np.ndarray) else None
        if choices is None:
            raise SpaceError(
                f"{kind}: choices must be a list or tuple, got {shown(self.choices)}; list them inside [...]"
            )
        object.__setattr__(self, "choices", tuple(map(plain, choices)))
        if not self.choices:
            raise SpaceError(f"{kind}: choices are empty; give at least one")
        seen, unhashable = set[tuple[type, Any]](), list[Any]()
        for choice in self.choices:
            if isinstance(choice, float) and math.isnan(choice):
                raise SpaceError(f"{kind}: NaN cannot be a choice, as it does not equal itself; use None or a string")
            key = (type(choice), choice)
            if (key in seen) if _hashable(choice) else any(_equal(choice, other) for other in unhashable):
                raise SpaceError(f"{kind}: choice {shown(choice)} is given twice; list every choice once")
            seen.add(key) if _hashable(choice) else unhashable.append(choice)
        self._check_default()

    @property
    def cells(self) -> int:
        return len(self.choices)

    @cached_property
    def _places(self) -> dict[tuple[type, Any], int]:
        return {(type(c), c): i for i, c in enumerate(self.choices) if _hashable(c)}

    def _index(self, value: Any) -> int:
        own = plain(value)
        if _hashable(own) and (index := self._places.get((type(own), own))) is not None:
            return index
        equal = [i for i, choice in enumerate(self.choices) if _equal(choice, own)]
        if len(equal) != 1:
            raise SpaceError(
                f"{shown(value)} is not a choice: {type(self).__name__} takes {reprlib.repr(self.choices)}"
            )
        return equal[0]

    def _value(self, index: int) -> Any:
        return self.choices[index]


@dataclass(frozen=True, repr=False)
class Categorical(_Choices):
    """One of some choices that have no order; a single one is allowed.

        >>> from calibo import Categorical
        >>> Categorical(["relu", "gelu", None]).decode(0.9)
        >>> Categorical(["relu", "gelu", None]).encode("gelu")
        0.5

    Choices with ``descriptors`` (numbers that say what they are like: polarity and boiling point of a solvent, say) are
    learned together where these are alike:

        >>> Categorical(["water", "ethanol"], descriptors={"water": [80.1, 100.0], "ethanol": [24.5, 78.4]})
        Categorical(('water', 'ethanol'), descriptors=2 numbers each)

    Attributes:
        choices: The values, kept as a tuple; NumPy scalars become Python ones.
        descriptors: What the choices are like, see ``calibo.spaces.descriptors.as_descriptors``; kept as one tuple of
            numbers for each choice, ``None`` without any.
    """

    descriptors: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.descriptors is not None:
            object.__setattr__(self, "descriptors", as_descriptors(self.choices, self.descriptors))

    def _shown(self, name: str) -> Any:
        if name == "descriptors" and self.descriptors is not None:
            return Described(len(self.descriptors[0]))
        return super()._shown(name)

    @property
    def categories(self) -> int:
        return len(self.choices)


@dataclass(frozen=True, repr=False)
class Ordinal(_Choices):
    """One of some choices whose order, as listed, matters: neighbours are expected to behave alike.

    >>> from calibo import Ordinal
    >>> Ordinal(["small", "medium", "large"]).decode(0.2)
    'small'
    """


def plain(value: Any) -> Any:
    """Return a NumPy scalar as a Python one, and anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def rounded_columns(columns: Sequence[Parameter], U: Array) -> Array:
    """Return points, n x d, with each column at one of its values; continuous columns are clipped all at once."""
    rounded = _unit(U)
    for j, column in enumerate(columns):
        if column.cells is not None:
            rounded[:, j] = column.round(U[:, j])
    return rounded


def _unit(u: npt.ArrayLike) -> Array:
    places = np.asarray(u, dtype=np.float64)
    if np.isnan(places).any():
        raise DataError("a coordinate must be a number from 0 to 1, got NaN")
    return np.clip(places, 0.0, 1.0)


def _float(value: Any) -> float:
    """Return a value as a float: NaN if it is not a number, infinite if it is too large for one."""
    try:
        return float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        return math.inf


def _number(parameter: Parameter, value: Any) -> float:
    if math.isnan(number := _float(value)):
        raise SpaceError(f"{shown(value)} is not a number: {parameter!r} takes numbers (bools and strings are none)")
    return number


def _bound(kind: str, name: str, value: Any) -> float:
    if not math.isfinite(number := _float(value)):
        raise SpaceError(f"{kind}: {name} must be a finite number, got {shown(value)}")
    return number


def _integer_bound(name: str, value: Any) -> int:
    # A Python int may be too large for a float, and needs none.
    number = value if isinstance(value, int) and not isinstance(value, bool) else _bound("Int", name, value)
    if number != math.floor(number):
        raise SpaceError(f"Int: {name} must be an integer, got {shown(value)}; use Float for fractions")
    return int(value)


def _check_range(kind: str, low: float, high: float, log: Any, step: float | None) -> None:
    if not isinstance(log, bool | np.bool_):
        raise SpaceError(f"{kind}: log must be True or False, got {shown(log)}")
    if low == high:
        raise SpaceError(f"{kind}: low and high are both {low}: keep a constant outside of the space")
    if low > high:
        raise SpaceError(f"{kind}: low must lie below high, got low={low} and high={high}; swap them")
    if log and low <= 0:
        raise SpaceError(f"{kind}: a log scale needs low > 0, got low={low}; raise low or drop log=True")
    if step is not None and step <= 0:
        raise SpaceError(f"{kind}: step must be positive, got {step}")


def _check_count(parameter: Parameter, count: int) -> None:
    if count < 2:
        raise SpaceError(f"the step of {parameter!r} is longer than its range and leaves one value; use a smaller step")
    if count > MAX_CELLS:
        raise SpaceError(f"{parameter!r} has more values than float64 can tell apart; use a larger step or a Float")


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except Exception:  # of the user's own class
        return False
    return True


def _equal(one: Any, other: Any) -> bool:
    try:
        return one is other or (isinstance(one, bool) == isinstance(other, bool) and bool(one == other))
    except Exception:  # arrays and the like do not compare to one bool: they are found by identity only
        return False
