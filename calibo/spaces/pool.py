"""Spaces that are a finite table."""

from __future__ import annotations

import contextlib
import copy
import math
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calibo.checks import read_items, read_mapping, shown
from calibo.data import Array, Params
from calibo.errors import SpaceError
from calibo.spaces.base import Space, wrong_names
from calibo.spaces.encoding import as_points, log_places, spaced_by_ratios
from calibo.spaces.parameters import Categorical, Float, Ordinal, Parameter, plain

if TYPE_CHECKING:
    from scipy.spatial import KDTree

Values = npt.NDArray[Any]
Rows = npt.NDArray[np.intp]

#: How far from a row, on the unit cube, parameters may be and still mean it: rounding error only.
SAME_ROW = 1e-12


class PoolSpace(Space):
    """The rows of a table, encoded column by column: each row is a point that may be tried, and nothing else is.

        >>> from calibo import PoolSpace
        >>> pool = PoolSpace([{"id": 7, "ratio": 0.2}, {"id": 9, "ratio": 0.8}], features=["ratio"])
        >>> pool
        PoolSpace(2 rows, features=['ratio'])
        >>> pool.decode([[0.9]])
        [{'id': 9, 'ratio': 0.8}]

    Numeric columns are scaled to [0, 1] by their smallest and largest value (0.5 if they have one value only), on a
    logarithmic scale if they span two orders of magnitude and lie more evenly on it, such as 1, 4, 16, ..., 1024. Bools,
    pandas categories and all else are categorical by their distinct values, sorted if they can be, else as first seen.
    Nearest means nearest on the unit cube, categorical columns included.

    Columns that are not ``features`` (an identifier, say) are not encoded but kept: ``decode`` returns whole rows;
    ``encode`` needs the features and ignores the others. Rows with equal features are one point: the first.

    Args:
        table: A pandas DataFrame, or a sequence of mappings with the same keys.
        features: Names of the columns that describe a point; all of them if ``None``.

    Attributes:
        X: All rows encoded, N x d, read-only; equal rows of the table are equal rows here.
    """

    def __init__(self, table: Any, features: Sequence[str] | None = None) -> None:
        values, nominal = _from_frame(table) if is_frame(table) else (_from_rows(table), frozenset[str]())
        self._names: tuple[str, ...] = _checked_features(values, features)
        coded = [_coded(name, values[name], nominal=name in nominal) for name in self._names]
        self._columns: tuple[Parameter, ...] = tuple(column for column, _ in coded)
        self._table: dict[str, Values] = values
        self.X: Array = np.column_stack([places for _, places in coded])
        self.X.flags.writeable = False

    def __repr__(self) -> str:
        return f"PoolSpace({len(self.X)} rows, features={list(self.names)})"

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    @property
    def columns(self) -> tuple[Parameter, ...]:
        """Kinds of the features, d: a Float over their range, or a Categorical (an Ordinal of one value if constant)."""
        return self._columns

    @property
    def size(self) -> int:
        """Number of different points: rows with equal features count once."""
        return len(self._first)

    @property
    def is_pool(self) -> bool:
        return True

    @cached_property
    def _first(self) -> Rows:
        """The first row of each different point, ascending."""
        order = np.lexsort(self.X.T)
        ordered = self.X[order]
        new = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
        return np.sort(order[new])

    @cached_property
    def _tree(self) -> KDTree:
        from scipy.spatial import KDTree

        # Table columns hold few different values; splitting at midpoints, not medians, copes with the ties.
        return KDTree(self.X[self._first], balanced_tree=False, compact_nodes=False)

    def _nearest(self, U: Array) -> tuple[Rows, Array]:
        """Return the nearest rows to points n x d, n, and their Euclidean distances on the unit cube, n."""
        if not len(U):
            return np.empty(0, dtype=np.intp), np.empty(0)
        distance, index = self._tree.query(U)
        return self._first[index], np.asarray(distance)

    def encode(self, params: Sequence[Mapping[str, Any]]) -> Array:
        """Encode rows given by (at least) their features, n x d.

        Raises:
            SpaceError: If the table has no such row.
        """
        if isinstance(params, Mapping):
            raise SpaceError("encode takes a list of rows, got a single one; write encode([row])")
        places = [self._encoded(i, row) for i, row in enumerate(params)]
        rows, distance = self._nearest(np.array(places, dtype=np.float64).reshape(-1, self.dimension))
        if (distance > SAME_ROW).any():
            i = int(np.argmax(distance > SAME_ROW))
            asked = {name: params[i][name] for name in self.names}
            raise SpaceError(f"no row of the table is {asked}; the nearest one is {self._row(rows[i])}")
        return self.X[rows]

    def _encoded(self, i: int, row: Mapping[str, Any]) -> list[float]:
        if wrong := wrong_names(row, self._table, self.names):
            raise SpaceError(f"parameters {i}: {wrong}; give the features {list(self.names)}")
        try:
            return [column.encode(row[name]) for name, column in zip(self.names, self.columns, strict=True)]
        except SpaceError as error:
            raise SpaceError(f"no row of the table is {dict(row)}: {error}") from None

    def decode(self, X: npt.ArrayLike) -> list[Params]:
        """Decode points, n x d, to the nearest rows with all columns of the table, n."""
        return [self._row(row) for row in self._nearest(as_points(X, self.dimension))[0]]

    def _row(self, row: np.intp) -> Params:
        return {name: plain(values[row]) for name, values in self._table.items()}

    def repair(self, U: npt.ArrayLike) -> Array:
        return self.X[self._nearest(as_points(U, self.dimension))[0]]

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw encoded rows uniformly, n x d; none comes twice before every point has come once."""
        whole, rest = divmod(n, self.size)
        drawn = [rng.permutation(self.size) for _ in range(whole)] + [rng.choice(self.size, rest, replace=False)]
        return self.X[self._first[np.concatenate(drawn)]]

    def enumerate(self) -> Array:
        return self.X

    def neighbours(self, x: Array) -> Array:
        """List the rows that differ from x, d, in one feature, k x d."""
        others = self.X[self._first]
        return others[(others != x).sum(axis=1) == 1]

    def holding(self, values: Mapping[str, Any]) -> PoolSpace:
        """Return the rows that have given values, of features or of any other column, in the same coordinates.

        Raises:
            SpaceError: If there is no such column, or no such row.
        """
        if not isinstance(values, Mapping):
            raise SpaceError(
                f'values to hold are a dict by column, such as {{"material": "steel"}}, got {shown(values)}'
            )
        kept = np.ones(len(self.X), dtype=bool)
        for name, value in values.items():
            if name not in self._table:
                raise SpaceError(f"the table has no column {name!r} to hold, only {list(self._table)}")
            own = plain(value)
            kept &= np.fromiter((plain(v) == own for v in self._table[name]), dtype=bool, count=len(self.X))
        if not kept.any():
            raise SpaceError(f"no row of the table has {dict(values)}: hold values that a row has, or fewer of them")
        part = copy.copy(self)
        for cached in ("_first", "_tree"):
            vars(part).pop(cached, None)
        part._table = {name: column[kept] for name, column in self._table.items()}
        part.X = self.X[kept]
        part.X.flags.writeable = False
        return part

    def values(self, X: npt.ArrayLike) -> list[Params]:
        return [{name: row[name] for name in self.names} for row in self.decode(X)]

    def from_values(self, values: Sequence[Mapping[str, Any]]) -> Array:
        return self.encode(values)


def is_frame(table: Any) -> bool:
    """Whether ``table`` is a pandas DataFrame; pandas is not imported to find out."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(table, pandas.DataFrame)


def _from_frame(frame: Any) -> tuple[dict[str, Values], frozenset[str]]:
    """Return the columns of a DataFrame as arrays, missing values as None, and which of them are pandas categories."""
    if not frame.columns.is_unique:
        twice = list(frame.columns[frame.columns.duplicated()])
        raise SpaceError(f"the table has several columns named {twice}; rename or drop them")
    if not len(frame):
        raise SpaceError("the table has no rows; give at least one")
    columns: dict[str, Values] = {}
    for name, series in frame.items():
        numeric = isinstance(series.dtype, np.dtype) and series.dtype.kind in "iuf"
        columns[name] = series.to_numpy(copy=True) if numeric else series.astype(object).to_numpy(copy=True)
        if not numeric:
            columns[name][series.isna().to_numpy()] = None
    return columns, frozenset(name for name, series in frame.items() if hasattr(series.dtype, "categories"))


def _from_rows(table: Any) -> dict[str, Values]:
    """Return the columns of a list of mappings as arrays of Python objects."""
    rows = read_items(table) if isinstance(table, Sequence) else None
    if rows is None:
        raise SpaceError(f"a pool is a pandas DataFrame or a list of dicts, got {type(table).__name__}")
    if not rows:
        raise SpaceError("the table has no rows; give at least one")
    rows = [row if (found := read_mapping(row)) is None else found for row in rows]
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise SpaceError(f"row {i} of the table must be a dict, got {type(row).__name__} {shown(row)}")
        if row.keys() != rows[0].keys():
            differ = sorted(map(shown, row.keys() ^ rows[0].keys()))
            raise SpaceError(f"row {i} and row 0 must have the same columns, but only one has {', '.join(differ)}")
    return {name: np.fromiter((plain(row[name]) for row in rows), dtype=object, count=len(rows)) for name in rows[0]}


def _checked_features(columns: Mapping[Any, Values], features: Sequence[str] | None) -> tuple[str, ...]:
    if isinstance(features, str):
        raise SpaceError(f"features must be a list of column names, got the string {features!r}; write [{features!r}]")
    names = tuple(columns) if features is None else tuple(features)
    if not names:
        raise SpaceError("a pool needs at least one column to describe its rows, got none")
    for name in columns:
        if not isinstance(name, str):
            raise SpaceError(f"columns must be named by strings, got {name!r}; rename them, e.g. with str")
    unknown = [name for name in names if name not in columns]
    if unknown or len(set(names)) < len(names):
        raise SpaceError(f"features must be different columns of the table ({list(columns)}), got {list(names)}")
    return names


def _coded(name: str, values: Values, *, nominal: bool) -> tuple[Parameter, Array]:
    """Return the kind of a column, and its N values encoded, N."""
    if values.dtype == object:
        absent = np.fromiter((v is None or (isinstance(v, float) and math.isnan(v)) for v in values), dtype=bool)
    else:
        absent = np.isnan(values)
    if absent.any():
        row = int(absent.argmax())
        raise SpaceError(f"row {row}, column {name!r}: the value is missing; fill it in, or drop the row or column")
    numeric = values.dtype != object or all(isinstance(v, Real) and not isinstance(v, bool) for v in values)
    return _coded_numbers(name, values) if numeric and not nominal else _coded_choices(name, values)


def _coded_numbers(name: str, values: Values) -> tuple[Parameter, Array]:
    try:
        numbers = values.astype(np.float64)
    except (OverflowError, ValueError):
        raise SpaceError(f"column {name!r} has a number that is too large for a float; rescale it") from None
    if not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        raise SpaceError(f"row {row}, column {name!r}: expected a finite number, got {values[row]}; drop the row")
    low, high = float(numbers.min()), float(numbers.max())
    if not math.isfinite(high - low):
        raise SpaceError(f"column {name!r} spans {low} to {high}, too far for a float; rescale it")
    if high == low:
        return Ordinal([low]), np.full(len(numbers), 0.5)
    if spaced_by_ratios(numbers):
        return Float(low, high, log=True), log_places(numbers, low, high)
    return Float(low, high), (numbers - low) / (high - low)


def _coded_choices(name: str, values: Values) -> tuple[Categorical, Array]:
    try:
        keys = [(type(v), v) for v in map(plain, values)]
        distinct = [value for _, value in dict.fromkeys(keys)]
    except TypeError:
        raise SpaceError(
            f"column {name!r} holds values that are not hashable, such as lists; leave it out of features"
        ) from None
    with contextlib.suppress(TypeError):  # values of several types have no common order
        distinct = sorted(distinct)
    place = {(type(v), v): (i + 0.5) / len(distinct) for i, v in enumerate(distinct)}
    return Categorical(distinct), np.fromiter((place[key] for key in keys), dtype=np.float64, count=len(keys))
