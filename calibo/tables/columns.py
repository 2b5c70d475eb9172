"""Column types, numeric values and hash keys of the rows of a table, computed batch by batch."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibo.data import Array
from calibo.tables.reading import Frame, Series

Keys = npt.NDArray[np.uint64]
Codes = npt.NDArray[np.intp]

#: A text column with more distinct values than this is not used as a categorical feature.
MOST_CHOICES = 500
#: Numbers beyond this count as infinite, because their squares overflow.
_HUGE = 1e150
#: Text that is a date, with or without a time: 2024-03-31, 31.3.2024 14:05, 3/31/24.
_DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ]\s*\d{1,2}:\d{2}.*)?\s*"
)
#: Names of columns of numbers that only tell rows apart.
_IDENTIFIER = re.compile(r"(.*[\W_])?(id|identifier|index|uuid|barcode)", re.IGNORECASE)
#: Text that differs in a larger share of at least so many rows is no category.
_MOSTLY_DIFFERENT, _FEWEST_ROWS = 0.8, 20
#: Hash key of a missing value, in every column.
_MISSING = np.uint64(0x9E3779B97F4A7C15)


class Kind(enum.Enum):
    """Type of the values of a column."""

    NUMBER = "numbers"
    CHOICE = "text"
    OTHER = "neither numbers nor text"


def kind_of(series: Series) -> Kind | None:
    """Infer the type of a column, ``None`` if every value is missing.

    Dates count as numbers; bools and pandas categories count as text.
    """
    import pandas as pd

    types, dtype = pd.api.types, series.dtype
    if not series.notna().any():
        return None
    if types.is_bool_dtype(dtype) or isinstance(dtype, pd.CategoricalDtype | pd.StringDtype):
        return Kind.CHOICE
    if types.is_complex_dtype(dtype):
        return Kind.OTHER
    if types.is_numeric_dtype(dtype) or types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype):
        return Kind.NUMBER
    inferred = types.infer_dtype(series, skipna=True)
    if inferred in ("integer", "floating", "mixed-integer-float", "decimal"):
        return Kind.NUMBER
    if inferred in ("string", "boolean"):
        return Kind.CHOICE
    plain = all(isinstance(value, str | bool | int | float | np.generic) for value in series.dropna())
    return Kind.CHOICE if plain else Kind.OTHER


def numbers(series: Series) -> Array:
    """Convert a numeric column to `N` floats: NaN where missing, infinite where the magnitude exceeds 1e150."""
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(series.dtype) or pd.api.types.is_timedelta64_dtype(series.dtype):
        # Seconds; the unit of the column may differ from batch to batch.
        zero = pd.Timedelta(0) if pd.api.types.is_timedelta64_dtype(series.dtype) else pd.Timestamp(0, tz=series.dt.tz)
        values = ((series - zero) / pd.Timedelta(seconds=1)).to_numpy(dtype=np.float64, na_value=np.nan)
    elif series.dtype == object:
        read: Series = pd.to_numeric(series, errors="coerce")
        values = read.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.abs(values) > _HUGE, np.copysign(np.inf, values), values)


def finite(series: Series) -> Array:
    """Convert a numeric column to `N` floats, NaN where a value is missing or infinite."""
    values = numbers(series)
    return np.where(np.isfinite(values), values, np.nan)


def coded(series: Series) -> tuple[Codes, list[str]]:
    """Factorize a text column into `N` integer codes, -1 where missing, and the distinct values."""
    import pandas as pd

    if series.dtype == object and not all(isinstance(value, str) for value in series.dropna()):
        series = series.map(str, na_action="ignore")
    codes, uniques = pd.factorize(series)
    return np.asarray(codes, dtype=np.intp), [str(value) for value in uniques]


def column_keys(frame: Frame, columns: Sequence[str], text: frozenset[str] = frozenset()) -> Keys:
    """Hash every value of some columns to 64 bits.

    A key depends only on the column's name and the value, not on the file format or the process.

    Args:
        frame: `N` rows.
        columns: Names of `c` columns.
        text: Columns to treat as text although some values look like numbers.

    Returns:
        `N x c` keys, equal only for equal values of the same column.
    """
    keys = np.empty((len(frame), len(columns)), dtype=np.uint64)
    for j, name in enumerate(columns):
        series = frame[name]
        kind = kind_of(series)
        salt = _hashed([name])[0]
        if kind is Kind.NUMBER and name not in text:
            values = finite(series) + 0.0  # no negative zeros
            of_column = np.where(np.isnan(values), _MISSING, _mixed(values.view(np.uint64)))
        else:
            codes, words = coded(series if kind is not Kind.OTHER else series.map(str, na_action="ignore"))
            of_column = np.append(_hashed(words), _MISSING)[codes]
        keys[:, j] = _mixed(of_column ^ salt)
    return keys


def row_keys(keys: Keys) -> Keys:
    """Combine the `N x c` keys of rows' values into `N` keys, independent of the order of the columns.

    Keys are uniformly distributed, so the rows with the smallest keys are a random sample without duplicates. The
    probability that any two of 10^7 distinct rows share a key is 3e-6.
    """
    return _mixed(keys.sum(axis=1, dtype=np.uint64))


def value_keys(keys: Keys, values: Array) -> Keys:
    """Combine `N` row keys with `N x m` numbers into `N` keys that change whenever a number changes."""
    for column in values.T:
        keys = _mixed(keys ^ _mixed(np.ascontiguousarray(column + 0.0).view(np.uint64)))
    return keys


def _hashed(words: Sequence[str]) -> Keys:
    """Hash strings to 64 bits, identically in every process."""
    import pandas as pd

    return pd.util.hash_array(np.array(words, dtype=object), categorize=False)  # pyright: ignore


def _mixed(x: Keys) -> Keys:
    """Apply the finalizer of splitmix64, a bijection of 64-bit integers that decorrelates nearby inputs."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass(frozen=True)
class Profile:
    """Summary of a column; the summary of a table is the sum of the summaries of its batches.

    Attributes:
        kinds: Types of values found.
        present: Number of values present.
        missing: Number of missing values.
        infinite: Number of infinite values.
        low: Smallest finite number.
        high: Largest finite number.
        choices: Distinct text values; ``None`` if there are more than ``MOST_CHOICES``.
        dates: Number of values that are dates, as such or written as text.
    """

    kinds: frozenset[Kind] = frozenset()
    present: int = 0
    missing: int = 0
    infinite: int = 0
    low: float = math.inf
    high: float = -math.inf
    choices: frozenset[str] | None = frozenset()
    dates: int = 0

    @classmethod
    def of(cls, series: Series, *, text: bool) -> Profile:
        """Summarize one batch of a column, as text if ``text``."""
        import pandas as pd

        kind = kind_of(series)
        absent = int(series.isna().sum())
        present = len(series) - absent
        if kind is None or kind is Kind.OTHER:
            return cls(frozenset() if kind is None else frozenset([kind]), present, absent)
        if kind is Kind.CHOICE or text:
            words = coded(series)[1]
            dates = present if words and all(map(_DATE.fullmatch, words)) else 0
            return cls(frozenset([Kind.CHOICE]), present, absent, choices=_few(words), dates=dates)
        values = numbers(series)
        infinite = int(np.isinf(values).sum())
        values = values[np.isfinite(values)]
        low, high = (float(values.min()), float(values.max())) if len(values) else (math.inf, -math.inf)
        dates = present if pd.api.types.is_datetime64_any_dtype(series.dtype) else 0
        return cls(frozenset([kind]), present, absent, infinite, low, high, dates=dates)

    def __add__(self, other: Profile) -> Profile:
        both = None if self.choices is None or other.choices is None else _few(self.choices | other.choices)
        return Profile(
            kinds=self.kinds | other.kinds,
            present=self.present + other.present,
            missing=self.missing + other.missing,
            infinite=self.infinite + other.infinite,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            choices=both,
            dates=self.dates + other.dates,
        )

    @property
    def kind(self) -> Kind | None:
        """Type of the column; ``None`` if it has no values."""
        return next(iter(self.kinds)) if len(self.kinds) == 1 else (Kind.OTHER if self.kinds else None)

    @property
    def dated(self) -> bool:
        """Whether the values are dates."""
        return 0 < self.present == self.dates

    def why_identifier(self, name: str, points: int | None) -> str | None:
        """Return why a column of this name seems to tell rows apart rather than to describe them; ``None`` if it does not.

        Args:
            name: Name of the column.
            points: Number of different rows, dates left aside; ``None`` if there are many.
        """
        if self.kind is Kind.NUMBER:
            return "is named like an identifier" if _IDENTIFIER.fullmatch(name) else None
        if self.kind is not Kind.CHOICE or self.choices is None:
            return None
        many = self.present >= _FEWEST_ROWS and len(self.choices) > _MOSTLY_DIFFERENT * self.present
        if len(self.choices) == self.present or many:
            return (
                f"has a different value in {'every row' if len(self.choices) == self.present else 'almost every row'}"
            )
        if points is not None and points == len(self.choices) + self.gaps:
            return "has the same value only in rows that are equal in all else"
        return None

    @property
    def gaps(self) -> bool:
        """Whether any value is missing or infinite (infinite values count as missing)."""
        return self.missing + self.infinite > 0

    @property
    def constant(self) -> bool:
        """Whether every row has the same value."""
        if self.kind is Kind.NUMBER:
            return (self.low == self.high and not self.gaps) or self.low > self.high
        if self.kind is Kind.CHOICE:
            return self.choices is not None and len(self.choices) == 1 and not self.gaps
        return not self.kinds


def _few(words: Sequence[str] | frozenset[str]) -> frozenset[str] | None:
    return frozenset(words) if len(words) <= MOST_CHOICES else None
