"""First pass over a table: collect measured rows, summarize columns, and draw a random sample of the candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibo.data import Array
from calibo.errors import DataError, FallbackWarning, ValueRejected, warn
from calibo.tables.columns import MOST_CHOICES, Keys, Profile, column_keys, numbers, row_keys, value_keys
from calibo.tables.reading import Frame, Series, Table, joined

Flags = npt.NDArray[np.bool_]
#: Size of the random sample of candidates.
SAMPLE = 2048


@dataclass(frozen=True)
class Question:
    """What to collect from a table; calling it with a batch of rows returns the survey of that batch.

    Attributes:
        columns: Names of the `c` columns that may be features.
        targets: Names of the `m` columns of outcomes.
        signs: Factors that make larger outcomes better, `m`.
        key_columns: Columns that identify a row in the study file.
        known: Keys of the rows that the study file has forecasts of; these are always kept.
        text: Columns to treat as text although some values look like numbers.
        most_labels: Maximum number of measured rows to keep: the best half and a random sample of the others.
        sample: Size of the random sample of candidates.
    """

    columns: tuple[str, ...]
    targets: tuple[str, ...]
    signs: tuple[float, ...]
    key_columns: tuple[str, ...] = ()
    known: frozenset[int] = frozenset()
    text: frozenset[str] = frozenset()
    most_labels: int = 2000
    sample: int = SAMPLE

    def __call__(self, frame: Frame) -> Survey:
        """Survey a batch of rows."""
        Y = outcomes(frame, self.targets)
        measured, touched = ~np.isnan(Y).any(axis=1), ~np.isnan(Y).all(axis=1)
        of_values = column_keys(frame, self.columns, self.text)
        keys = row_keys(of_values)
        labels = Labels(frame[measured], Y[measured], of_values[measured])
        profiles = {name: Profile.of(frame[name], text=name in self.text) for name in self.columns}
        undated = [j for j, name in enumerate(self.columns) if not profiles[name].dated]
        return Survey(
            rows=len(frame),
            partial=int((touched & ~measured).sum()),
            measured=int(measured.sum()),
            profiles=profiles,
            points=_few(frozenset(row_keys(of_values[:, undated]).tolist())),
            seen=of_values[measured],
            labels=self.kept(labels, final=False),
            fingerprint=int(value_keys(keys[measured], Y[measured]).sum(dtype=np.uint64)),
            sample=Sample(frame[~touched], keys[~touched]).smallest(self.sample),
        )

    def kept(self, labels: Labels, *, final: bool) -> Labels:
        """Select measured rows: those with forecasts, the best ones, and a random sample of the others.

        Args:
            labels: Measured rows.
            final: Whether these are all of the table, of which ``most_labels`` are kept. Otherwise only those are dropped
                that would not be kept in the end, whatever other batches contain.
        """
        if len(labels.frame) <= self.most_labels:
            return labels
        kept = self._best(labels) | self._forecast(labels)
        order = np.argsort(row_keys(labels.keys), kind="stable")
        room = self.most_labels
        if final:
            order, room = order[~kept[order]], max(0, room - int(kept.sum()))
        kept[order[:room]] = True
        return labels.rows(kept)

    def _best(self, labels: Labels) -> Flags:
        best = np.zeros(len(labels.frame), dtype=bool)
        share = self.most_labels // (2 * len(self.targets))
        for column in (labels.Y * np.asarray(self.signs)).T:
            # Ties are broken by the key, so that the result does not depend on the order of the rows.
            best[np.lexsort((row_keys(labels.keys), -column))[:share]] = True
        return best

    def _forecast(self, labels: Labels) -> Flags:
        """Return which of `n` measured rows the study file has forecasts of."""
        known = np.fromiter(self.known, dtype=np.uint64, count=len(self.known))
        return np.isin(self.study_keys(labels.keys), known, kind="sort")  # NumPy 2.0 overflows otherwise

    def study_keys(self, keys: Keys) -> Keys:
        """Compute the keys of rows in the study file from the `N x c` keys of their values."""
        return row_keys(keys[:, [self.columns.index(name) for name in self.key_columns]])


@dataclass(frozen=True, eq=False)
class Labels:
    """Measured rows, with their outcomes (`n x m`, in the user's sign) and the keys of their values (`n x c`)."""

    frame: Frame
    Y: Array
    keys: Keys

    def rows(self, index: Any) -> Labels:
        """Select rows by a mask or by positions."""
        return Labels(
            self.frame[index] if index.dtype == bool else self.frame.iloc[index], self.Y[index], self.keys[index]
        )


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample of `s` candidates, with the keys of the rows."""

    frame: Frame
    keys: Keys

    def smallest(self, count: int) -> Sample:
        """Keep the ``count`` rows with the smallest distinct keys: a random sample without duplicates."""
        keys, first = np.unique(self.keys, return_index=True)
        return Sample(self.frame.iloc[first[:count]], keys[:count])


@dataclass(frozen=True, eq=False)
class Survey:
    """Contents of a table, or of a part of it.

    Attributes:
        rows: Number of rows.
        partial: Number of rows with some but not all outcomes, which are neither data nor candidates.
        measured: Number of rows with all outcomes.
        profiles: Summaries of the columns that may be features.
        points: Keys of the different rows, dates left aside; ``None`` if there are more than ``MOST_CHOICES``.
        seen: Keys of the values of all measured rows, `measured x c`.
        labels: Measured rows, at most as many as can be used.
        fingerprint: Hash of the measured rows and their outcomes, independent of their order.
        sample: Random sample of the candidates.
    """

    rows: int
    partial: int
    measured: int
    profiles: dict[str, Profile]
    points: frozenset[int] | None
    seen: Keys
    labels: Labels
    fingerprint: int
    sample: Sample

    @property
    def candidates(self) -> int:
        """Number of rows without any outcome."""
        return self.rows - self.measured - self.partial

    def plus(self, other: Survey, question: Question) -> Survey:
        """Combine the surveys of two parts of a table."""
        both = (self.labels, other.labels)
        labels = Labels(
            joined([part.frame for part in both]),
            np.vstack([part.Y for part in both]),
            np.vstack([part.keys for part in both]),
        )
        sample = Sample(
            joined([self.sample.frame, other.sample.frame]), np.concatenate([self.sample.keys, other.sample.keys])
        )
        return Survey(
            rows=self.rows + other.rows,
            partial=self.partial + other.partial,
            measured=self.measured + other.measured,
            profiles={name: profile + other.profiles[name] for name, profile in self.profiles.items()},
            points=None if self.points is None or other.points is None else _few(self.points | other.points),
            seen=np.vstack([self.seen, other.seen]),
            # Thinning sorts all rows kept so far, so it is not done after every batch.
            labels=question.kept(labels, final=False) if len(labels.frame) > 4 * question.most_labels else labels,
            fingerprint=(self.fingerprint + other.fingerprint) % 2**64,
            sample=sample.smallest(question.sample),
        )


def surveyed(table: Table, question: Question, watched: Callable[[Any, str], Any]) -> tuple[Survey, Question]:
    """Survey a whole table, and return the question with the columns that turned out to be text.

    ``watched`` wraps an iterator to show its progress under a description.
    """
    while True:
        parts = watched(table.mapped(question, text=question.text), "reading the table")
        whole: Survey | None = None
        for part in parts:
            whole = part if whole is None else whole.plus(part, question)
        if whole is None or not whole.rows:
            raise DataError("the table has no rows; expected measured rows, candidates, or both")
        mixed = {name for name, profile in whole.profiles.items() if len(profile.kinds) > 1}
        if not mixed - question.text:
            return _settled(whole, question), question
        # Numbers in one batch and text in another: read the whole column as text.
        question = replace(question, text=question.text | mixed)


def _settled(whole: Survey, question: Question) -> Survey:
    """Limit the measured rows to as many as can be used, in an order that does not depend on the table's."""
    labels = question.kept(whole.labels, final=True)
    if len(labels.frame) < whole.measured:
        warn(
            f"{whole.measured} rows are measured, too many for an exact Gaussian process: the best ones and a random sample "
            f"of the others, {len(labels.frame)} rows, are used. Change the limit with max_labels",
            FallbackWarning,
        )
    if whole.partial:
        warn(
            f"{whole.partial} rows have some of the targets {', '.join(question.targets)} but not all and are ignored: "
            "complete or clear them",
            FallbackWarning,
        )
    order = np.lexsort((*labels.Y.T, row_keys(labels.keys)))
    return replace(whole, labels=labels.rows(order))


def _few(points: frozenset[int]) -> frozenset[int] | None:
    return points if len(points) <= MOST_CHOICES else None


def outcomes(frame: Frame, targets: Sequence[str]) -> Array:
    """Read the outcomes of `N` rows, `N x m`, NaN where not measured.

    Raises:
        ValueRejected: If a value is not a finite number; the message names the row.
    """
    return np.column_stack([_outcome(frame[name], name) for name in targets])


def _outcome(series: Series, name: str) -> Array:
    import pandas as pd

    if pd.api.types.is_numeric_dtype(series.dtype):
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        words = series.map(lambda v: v.strip() or None if isinstance(v, str) else v)
        values = numbers(pd.to_numeric(words.astype(object), errors="coerce"))
        odd = np.isnan(values) & words.notna().to_numpy()
        if odd.any():
            i = int(odd.argmax())
            raise ValueRejected(
                f"row {series.index[i]}, target {name!r}: expected a number, or an empty cell if it is not measured, got "
                f"{series.iloc[i]!r}; correct the table"
            )
    infinite = np.isinf(values)
    if infinite.any():
        i = int(infinite.argmax())
        raise ValueRejected(
            f"row {series.index[i]}, target {name!r}: expected a finite number, got {values[i]}; correct the row, or clear "
            "the cell if the measurement failed"
        )
    return values
