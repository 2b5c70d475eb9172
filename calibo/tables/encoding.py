"""Encode the rows of a table as points on the unit cube."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibo.chemistry import check_installed, described, looks_like_smiles
from calibo.data import Array
from calibo.errors import DataError, FallbackWarning, warn
from calibo.spaces.encoding import log_places, spaced_by_ratios
from calibo.tables.columns import MOST_CHOICES, Kind, Profile, coded, finite
from calibo.tables.reading import Frame


@dataclass(frozen=True)
class ColumnEncoder(ABC):
    """Encoder of one named column of a table into `k` columns on [0, 1]."""

    name: str

    @property
    @abstractmethod
    def categories(self) -> tuple[int, ...]:
        """Number of choices of each encoded column, 0 for a numeric one, `k`."""

    @abstractmethod
    def encode(self, frame: Frame) -> Array:
        """Encode `N` rows as an `N x k` array in [0, 1]."""


@dataclass(frozen=True)
class NumberEncoder(ColumnEncoder):
    """Min-max scaling of a numeric column, with an indicator column of missing values if there are any.

    Attributes:
        low: Smallest number.
        high: Largest number.
        median: Replacement for missing values.
        gaps: Whether values are missing.
        log: Whether logarithms are scaled instead of the numbers, which are then positive.
    """

    low: float
    high: float
    median: float
    gaps: bool
    log: bool = False

    @property
    def categories(self) -> tuple[int, ...]:
        return (0,) * ((self.high > self.low) + self.gaps)

    def encode(self, frame: Frame) -> Array:
        values = finite(frame[self.name])
        missing = np.isnan(values)
        columns: list[Array] = []
        if self.high > self.low:
            known = np.where(missing, self.median, values)
            columns.append(
                log_places(known, self.low, self.high) if self.log else (known - self.low) / (self.high - self.low)
            )
        if self.gaps:
            columns.append(missing.astype(np.float64))
        return np.column_stack(columns)


@dataclass(frozen=True)
class CategoryEncoder(ColumnEncoder):
    """A text column as one categorical column, in which "missing" is a choice of its own.

    Attributes:
        choices: Distinct values, sorted.
        gaps: Whether values are missing.
    """

    choices: tuple[str, ...]
    gaps: bool

    @property
    def categories(self) -> tuple[int, ...]:
        return (len(self.choices) + self.gaps,)

    def encode(self, frame: Frame) -> Array:
        codes, words = coded(frame[self.name])
        index = {word: i for i, word in enumerate(self.choices)}
        # Missing values have code -1, which selects the last entry: the choice after all words.
        numbers = np.array([index[word] for word in words] + [len(self.choices)], dtype=np.float64)
        return ((numbers[codes] + 0.5) / self.categories[0])[:, None]


@dataclass(frozen=True, eq=False)
class SmilesEncoder(ColumnEncoder):
    """A column of molecules as scaled descriptors; SMILES that cannot be parsed count as missing.

    Attributes:
        kept: Indices of the descriptors that differ between the molecules, `k`.
        low: Smallest value of each, `k`, in a sample of the table; values beyond are clipped.
        high: Largest value of each, `k`.
        median: Replacement for missing values, `k`.
        gaps: Whether there is an indicator column of missing molecules.
    """

    kept: np.ndarray
    low: Array
    high: Array
    median: Array
    gaps: bool

    @classmethod
    def of(cls, name: str, sample: Frame, gaps: bool) -> SmilesEncoder:
        """Build the encoder from the molecules of a sample of rows."""
        values = _molecules(sample, name)
        known = values[~np.isnan(values[:, 0])]
        gaps = gaps or len(known) < len(values)
        if not len(known):
            return cls(name, np.empty(0, dtype=np.intp), *np.empty((3, 0)), gaps=False)
        low, high = known.min(axis=0), known.max(axis=0)
        # The same molecule written in two ways has descriptors that differ by rounding.
        kept = np.flatnonzero(high - low > 1e-9 * np.maximum(1.0, np.abs(high)))
        return cls(name, kept, low[kept], high[kept], np.median(known, axis=0)[kept], gaps)

    @property
    def categories(self) -> tuple[int, ...]:
        return (0,) * (len(self.kept) + self.gaps)

    def encode(self, frame: Frame) -> Array:
        values = _molecules(frame, self.name)
        missing = np.isnan(values[:, :1])
        values = np.where(missing, self.median, values[:, self.kept])
        scaled = np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)
        return np.hstack([scaled, missing.astype(np.float64)]) if self.gaps else scaled


@dataclass(frozen=True)
class Encoding:
    """Encoder of the rows of a table as points.

    Attributes:
        encoders: One for each column that is used.
        notes: Remarks about columns for the user, as sentences.
        identifiers: Columns that are not used because they seem to tell rows apart.
    """

    encoders: tuple[ColumnEncoder, ...]
    notes: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()

    @property
    def categories(self) -> tuple[int, ...]:
        """Number of choices of each encoded column, 0 for a numeric one, `d`."""
        return tuple(count for encoder in self.encoders for count in encoder.categories)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the table that are used."""
        return tuple(encoder.name for encoder in self.encoders)

    def __call__(self, frame: Frame) -> Array:
        """Encode `N` rows as `N x d` points."""
        if not len(frame):
            return np.empty((0, len(self.categories)))
        return np.hstack([encoder.encode(frame) for encoder in self.encoders])


def encoding(
    profiles: Mapping[str, Profile],
    sample: Frame,
    *,
    named: bool,
    smiles: Sequence[str] | None,
    points: int | None = None,
) -> Encoding:
    """Choose an encoder for each column by its type.

    Args:
        profiles: Summaries of the columns that may be used, in order.
        sample: Rows from which medians and descriptors are computed.
        named: Whether the user named the columns: an unusable one is then an error, otherwise it is left out.
        smiles: Columns of molecules; ``None`` finds them by their names.
        points: Number of different rows, dates left aside; ``None`` if there are many.

    Raises:
        DataError: If a named column cannot be used, or no column is left.
    """
    molecules = _molecule_columns(profiles, smiles)
    encoders: list[ColumnEncoder] = []
    constant, left_out = list[str](), list[str]()
    for name, profile in profiles.items():
        if profile.constant:
            constant.append(name)
            continue
        unfit = None if name in molecules else _unfit(name, profile, points, named=named)
        if unfit is not None:
            message = f"column {name!r} {unfit}"
            if named:
                raise DataError(f"{message}; leave it out of features, or turn it into a number or a category")
            hint = "" if profile.kind is Kind.OTHER or profile.choices is None else ". Name the features to use it"
            warn(f"{message}: it is left out{hint}", FallbackWarning)
            left_out.append(name)
            continue
        encoder = _encoder(name, profile, sample, molecules)
        if encoder.categories:
            encoders.append(encoder)
        else:
            constant.append(name)
    infinite = ", ".join(f"{profile.infinite} in {name!r}" for name, profile in profiles.items() if profile.infinite)
    if infinite:
        warn(f"infinite numbers count as missing: {infinite}", FallbackWarning)
    if not encoders:
        raise DataError(
            f"no column can be a feature: of {', '.join(map(repr, profiles)) or 'none'}, {len(constant)} are the same "
            "in every row and the others cannot be used; add a column that varies, or name the features"
        )
    columns = f"columns {', '.join(constant)} are" if len(constant) > 1 else f"column {', '.join(constant)} is"
    notes = (f"{columns} the same in every row and left out",) if constant else ()
    identifiers = tuple(name for name in left_out if profiles[name].kind is not Kind.OTHER and not profiles[name].dated)
    return Encoding(tuple(encoders), notes, identifiers)


def _encoder(name: str, profile: Profile, sample: Frame, molecules: Sequence[str]) -> ColumnEncoder:
    if name in molecules:
        encoder = SmilesEncoder.of(name, sample, profile.gaps)
        unread = int(np.isnan(_molecules(sample, name)[:, 0]).sum()) - int(sample[name].isna().sum())
        if unread:
            warn(
                f"column {name!r}: {unread} of {len(sample)} sampled SMILES cannot be parsed and count as missing",
                FallbackWarning,
            )
        return encoder
    if profile.kind is Kind.NUMBER:
        known = finite(sample[name])
        known = known[~np.isnan(known)]
        median = float(np.median(known)) if len(known) else 0.5 * profile.low + 0.5 * profile.high
        ratios = profile.low > 0.0 and spaced_by_ratios(np.append(known, [profile.low, profile.high]))
        return NumberEncoder(name, profile.low, profile.high, median, profile.gaps, log=ratios)
    return CategoryEncoder(name, tuple(sorted(profile.choices or ())), profile.gaps)


def _unfit(name: str, profile: Profile, points: int | None, *, named: bool) -> str | None:
    """Return why a column cannot be a feature, or should not be one unless the user named it; ``None`` if it can."""
    if profile.kind is Kind.OTHER:
        return "contains neither numbers nor text"
    if profile.kind is Kind.CHOICE and profile.choices is None:
        return f"has more than {MOST_CHOICES} distinct values, like an identifier or free text"
    if named:
        return None
    if profile.dated:
        return "contains dates"
    reason = profile.why_identifier(name, points)
    return None if reason is None else f"{reason}, like an identifier"


def _molecule_columns(profiles: Mapping[str, Profile], smiles: Sequence[str] | None) -> list[str]:
    if smiles is None:
        found = [n for n, p in profiles.items() if p.kind is Kind.CHOICE and looks_like_smiles(n)]
    else:
        found = list(smiles)
        unknown = [name for name in found if name not in profiles]
        if unknown:
            raise DataError(f"smiles must be among the features ({', '.join(profiles)}), got {', '.join(unknown)}")
        odd = [name for name in found if profiles[name].kind not in (Kind.CHOICE, None)]
        if odd:
            raise DataError(f"column {odd[0]!r} was given as SMILES but contains numbers; leave it out of smiles")
    if found:
        check_installed(found)
    return found


def _molecules(frame: Frame, name: str) -> Array:
    codes, words = coded(frame[name])
    return np.vstack([described(words), np.full((1, described([]).shape[1]), np.nan)])[codes]
