"""Rows of a table as points on the unit cube."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from calibo.data import Array
from calibo.errors import DataError, FallbackWarning
from calibo.tables.chemistry import check_installed, described, looks_like_smiles
from calibo.tables.columns import MOST_CHOICES, Kind, Profile, coded, finite
from calibo.tables.reading import Frame


class Coder(Protocol):
    """How one column of a table is encoded.

    Attributes:
        categories: Number of choices of each encoded column, 0 for a number, k.
    """

    @property
    def categories(self) -> tuple[int, ...]: ...

    def places(self, frame: Frame) -> Array:
        """The encoded columns of rows, N x k, in [0, 1]."""
        ...


@dataclass(frozen=True)
class NumberCoder:
    """A column of numbers, scaled to [0, 1] by its smallest and largest; beside it, if some are missing, one that says so.

    Attributes:
        name: Of the column.
        low: The smallest number.
        high: The largest.
        median: What stands in for a missing one.
        gaps: Whether some are missing.
    """

    name: str
    low: float
    high: float
    median: float
    gaps: bool

    @property
    def categories(self) -> tuple[int, ...]:
        return (0,) * ((self.high > self.low) + self.gaps)

    def places(self, frame: Frame) -> Array:
        values = finite(frame[self.name])
        missing = np.isnan(values)
        columns: list[Array] = []
        if self.high > self.low:
            columns.append((np.where(missing, self.median, values) - self.low) / (self.high - self.low))
        if self.gaps:
            columns.append(missing.astype(np.float64))
        return np.column_stack(columns)


@dataclass(frozen=True)
class ChoiceCoder:
    """A column of words as a categorical one; missing is a choice of its own.

    Attributes:
        name: Of the column.
        choices: The different words, sorted.
        gaps: Whether some are missing.
    """

    name: str
    choices: tuple[str, ...]
    gaps: bool

    @property
    def categories(self) -> tuple[int, ...]:
        return (len(self.choices) + self.gaps,)

    def places(self, frame: Frame) -> Array:
        codes, words = coded(frame[self.name])
        number = {word: i for i, word in enumerate(self.choices)}
        # The place behind the last word is that of what is missing.
        of_words = np.array([number[word] for word in words] + [len(self.choices)], dtype=np.float64)
        return ((of_words[codes] + 0.5) / self.categories[0])[:, None]


@dataclass(frozen=True, eq=False)
class SmilesCoder:
    """A column of molecules as their descriptors, each scaled to [0, 1]; what cannot be read is missing.

    Attributes:
        name: Of the column.
        kept: Which descriptors differ between the molecules, k.
        low: The smallest of each, k. Of a large table a sample is looked at, and what lies beyond counts as its ends.
        high: The largest of each, k.
        median: What stands in for missing ones, k.
        gaps: Whether there is a column that says that the molecule is missing.
    """

    name: str
    kept: np.ndarray
    low: Array
    high: Array
    median: Array
    gaps: bool

    @classmethod
    def of(cls, name: str, sample: Frame, gaps: bool) -> SmilesCoder:
        """The coder by the molecules of a sample of rows."""
        values = _molecules(sample, name)
        known = values[~np.isnan(values[:, 0])]
        gaps = gaps or len(known) < len(values)
        if not len(known):
            return cls(name, np.empty(0, dtype=np.intp), *np.empty((3, 0)), gaps=False)
        low, high = known.min(axis=0), known.max(axis=0)
        # Two ways to write a molecule differ by rounding.
        kept = np.flatnonzero(high - low > 1e-9 * np.maximum(1.0, np.abs(high)))
        return cls(name, kept, low[kept], high[kept], np.median(known, axis=0)[kept], gaps)

    @property
    def categories(self) -> tuple[int, ...]:
        return (0,) * (len(self.kept) + self.gaps)

    def places(self, frame: Frame) -> Array:
        values = _molecules(frame, self.name)
        missing = np.isnan(values[:, :1])
        values = np.where(missing, self.median, values[:, self.kept])
        scaled = np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)
        return np.hstack([scaled, missing.astype(np.float64)]) if self.gaps else scaled


@dataclass(frozen=True)
class Encoding:
    """How the rows of a table become points.

    Attributes:
        coders: One for each column that is used.
        notes: What a reader may want to know of the columns, in sentences.
    """

    coders: tuple[Coder, ...]
    notes: tuple[str, ...] = ()

    @property
    def categories(self) -> tuple[int, ...]:
        """Number of choices of each encoded column, 0 for a numeric one, d."""
        return tuple(count for coder in self.coders for count in coder.categories)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that are used."""
        return tuple(coder.name for coder in self.coders)  # pyright: ignore[reportAttributeAccessIssue]

    def __call__(self, frame: Frame) -> Array:
        """Rows as points, N x d."""
        return np.hstack([coder.places(frame) for coder in self.coders])


def encoding(
    profiles: Mapping[str, Profile],
    sample: Frame,
    *,
    named: bool,
    smiles: Sequence[str] | None,
) -> Encoding:
    """The encoding of columns by what they hold.

    Args:
        profiles: Of the columns that may be used, in their order.
        sample: Rows for what needs more than a range: medians, molecules.
        named: Whether the columns were named by the user: then one that cannot be used is an error, else it is left out.
        smiles: The columns of molecules; ``None`` finds them by their names.
    """
    molecules = _molecule_columns(profiles, smiles)
    coders: list[Coder] = []
    constant: list[str] = []
    for name, profile in profiles.items():
        if profile.constant:
            constant.append(name)
            continue
        unfit = None if name in molecules else _unfit(profile, named)
        if unfit is not None:
            message = f"column {name!r} {unfit}"
            if named:
                raise DataError(f"{message}; leave it out of features, or turn it into a number or a category")
            hint = ". Name the features to use it, if it is a category" if profile.choices else ""
            warnings.warn(f"{message}: it is left out{hint}", FallbackWarning, stacklevel=4)
            continue
        coder = _coder(name, profile, sample, molecules)
        if coder.categories:
            coders.append(coder)
        else:
            constant.append(name)
    _announce_infinite(profiles)
    if not coders:
        raise DataError(
            f"no column describes the rows: of {', '.join(map(repr, profiles)) or 'none'}, {len(constant)} are the same in "
            "every row and the others cannot be used; add a column that differs, or name the features"
        )
    columns = f"columns {', '.join(constant)} are" if len(constant) > 1 else f"column {', '.join(constant)} is"
    return Encoding(tuple(coders), (f"{columns} the same in every row and left out",) if constant else ())


def _coder(name: str, profile: Profile, sample: Frame, molecules: Sequence[str]) -> Coder:
    if name in molecules:
        coder = SmilesCoder.of(name, sample, profile.gaps)
        unread = int(np.isnan(_molecules(sample, name)[:, 0]).sum()) - int(sample[name].isna().sum())
        if unread:
            warnings.warn(
                f"column {name!r}: {unread} of {len(sample)} SMILES looked at cannot be read; they count as missing",
                FallbackWarning,
                stacklevel=5,
            )
        return coder
    if profile.kind is Kind.NUMBER:
        known = finite(sample[name])
        known = known[~np.isnan(known)]
        median = float(np.median(known)) if len(known) else 0.5 * profile.low + 0.5 * profile.high
        return NumberCoder(name, profile.low, profile.high, median, profile.gaps)
    return ChoiceCoder(name, tuple(sorted(profile.choices or ())), profile.gaps)


def _unfit(profile: Profile, named: bool) -> str | None:
    """Why a column cannot describe a row; ``None`` if it can."""
    if profile.kind is Kind.OTHER:
        return "holds neither numbers nor words"
    if profile.kind is not Kind.CHOICE:
        return None
    if profile.choices is None:
        return f"has more than {MOST_CHOICES} different words, like an identifier or a text"
    if len(profile.choices) == profile.present and not named:
        return "has another word in every row, like an identifier"
    return None


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
            raise DataError(f"column {odd[0]!r} was to hold SMILES but holds numbers; leave it out of smiles")
    if found:
        check_installed(found)
    return found


def _molecules(frame: Frame, name: str) -> Array:
    codes, words = coded(frame[name])
    return np.vstack([described(words), np.full((1, described([]).shape[1]), np.nan)])[codes]


def _announce_infinite(profiles: Mapping[str, Profile]) -> None:
    infinite = {name: profile.infinite for name, profile in profiles.items() if profile.infinite}
    if infinite:
        where = ", ".join(f"{count} in {name!r}" for name, count in infinite.items())
        warnings.warn(f"infinite numbers count as missing: {where}", FallbackWarning, stacklevel=4)
