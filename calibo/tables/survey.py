"""The first pass over a table: what was measured, what the columns hold, and a random sample of the candidates."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibo.data import Array
from calibo.errors import DataError, FallbackWarning, ValueRejected
from calibo.tables.columns import Keys, Profile, column_keys, numbers, row_keys, value_keys
from calibo.tables.reading import Frame, Series, Table

#: Candidates in the random sample.
SAMPLE = 2048


@dataclass(frozen=True)
class Question:
    """What is to be found out of a table; called with a batch of rows, it gives the survey of them.

    Attributes:
        columns: All columns that may describe a row, c.
        targets: The columns of outcomes, m.
        signs: What makes larger outcomes better ones, m.
        key_columns: The columns by which a study file knows its rows.
        known: The keys of the rows that it has forecasts of; they are kept, however many rows were measured.
        text: Columns of words, although some of their values look like numbers.
        most_labels: Measured rows that are kept: the best half, and a random sample of the others.
        sample: Candidates in the random sample.
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
        """What is found in a batch of rows."""
        Y = outcomes(frame, self.targets)
        measured, touched = ~np.isnan(Y).any(axis=1), ~np.isnan(Y).all(axis=1)
        of_values = column_keys(frame, self.columns, self.text)
        keys = row_keys(of_values)
        labels = Labels(frame[measured], Y[measured], of_values[measured])
        return Survey(
            rows=len(frame),
            partial=int((touched & ~measured).sum()),
            measured=int(measured.sum()),
            profiles={name: Profile.of(frame[name], text=name in self.text) for name in self.columns},
            seen=of_values[measured],
            labels=self.thinned(labels),
            fingerprint=int(value_keys(keys[measured], Y[measured]).sum(dtype=np.uint64)),
            sample=Sample(frame[~touched], keys[~touched]).smallest(self.sample),
        )

    def thinned(self, labels: Labels) -> Labels:
        """The measured rows that are certain to be among those kept in the end, whatever the other batches hold."""
        if len(labels.frame) <= self.most_labels:
            return labels
        best = self._best(labels)
        drawn = np.argsort(row_keys(labels.keys), kind="stable")[: self.most_labels]
        kept = best | self.forecast(labels)
        kept[drawn] = True
        return labels.rows(kept)

    def kept(self, labels: Labels) -> Labels:
        """The measured rows that are kept in the end: those with forecasts, the best, and a random sample of the rest."""
        if len(labels.frame) <= self.most_labels:
            return labels
        kept = self._best(labels) | self.forecast(labels)
        order = np.argsort(row_keys(labels.keys), kind="stable")
        others = order[~kept[order]]
        kept[others[: max(0, self.most_labels - int(kept.sum()))]] = True
        return labels.rows(kept)

    def _best(self, labels: Labels) -> npt.NDArray[np.bool_]:
        best = np.zeros(len(labels.frame), dtype=bool)
        share = self.most_labels // (2 * len(self.targets))
        for column in (labels.Y * np.asarray(self.signs)).T:
            # Ties by the key, so that the answer does not depend on the order of the rows.
            best[np.lexsort((row_keys(labels.keys), -column))[:share]] = True
        return best

    def forecast(self, labels: Labels) -> npt.NDArray[np.bool_]:
        """Which measured rows a study file has forecasts of, n."""
        if not self.known:
            return np.zeros(len(labels.frame), dtype=bool)
        known = np.fromiter(self.known, dtype=np.uint64, count=len(self.known))
        return np.isin(self.study_keys(labels.keys), known)

    def study_keys(self, keys: Keys) -> Keys:
        """The keys of rows in a study file, from those of their values, N x c."""
        return row_keys(keys[:, [self.columns.index(name) for name in self.key_columns]])


@dataclass(frozen=True, eq=False)
class Labels:
    """Measured rows.

    Attributes:
        frame: The rows.
        Y: Their outcomes, n x m, in the user's sign.
        keys: Of their values, n x c.
    """

    frame: Frame
    Y: Array
    keys: Keys

    def rows(self, index: Any) -> Labels:
        """Some of them."""
        return Labels(
            self.frame[index] if index.dtype == bool else self.frame.iloc[index], self.Y[index], self.keys[index]
        )


@dataclass(frozen=True, eq=False)
class Sample:
    """Some candidates.

    Attributes:
        frame: The rows.
        keys: Of the rows, s.
    """

    frame: Frame
    keys: Keys

    def smallest(self, count: int) -> Sample:
        """The rows with the smallest keys, in their order, each key once: a random sample."""
        keys, first = np.unique(self.keys, return_index=True)
        return Sample(self.frame.iloc[first[:count]], keys[:count])


@dataclass(frozen=True, eq=False)
class Survey:
    """What was found in a table, or in a part of it.

    Attributes:
        rows: How many rows there are.
        partial: How many have some but not all outcomes: they are neither data nor candidates.
        measured: How many have all outcomes.
        profiles: Of the columns that may describe a row.
        seen: The keys of the values of all measured rows, measured x c.
        labels: Measured rows, not more than can be used.
        fingerprint: A number of the measured rows and their outcomes, in any order.
        sample: A random sample of the candidates.
    """

    rows: int
    partial: int
    measured: int
    profiles: dict[str, Profile]
    seen: Keys
    labels: Labels
    fingerprint: int
    sample: Sample

    @property
    def candidates(self) -> int:
        """How many rows nothing was measured of."""
        return self.rows - self.measured - self.partial

    def plus(self, other: Survey, question: Question) -> Survey:
        """The survey of both parts."""
        import pandas as pd

        def joined(*frames: Frame) -> Frame:
            filled = [frame for frame in frames if len(frame)]
            return pd.concat(filled) if len(filled) > 1 else (filled or frames)[0]

        labels = Labels(
            joined(self.labels.frame, other.labels.frame),
            np.vstack([self.labels.Y, other.labels.Y]),
            np.vstack([self.labels.keys, other.labels.keys]),
        )
        sample = Sample(
            joined(self.sample.frame, other.sample.frame), np.concatenate([self.sample.keys, other.sample.keys])
        )
        return Survey(
            rows=self.rows + other.rows,
            partial=self.partial + other.partial,
            measured=self.measured + other.measured,
            profiles={name: profile + other.profiles[name] for name, profile in self.profiles.items()},
            seen=np.vstack([self.seen, other.seen]),
            # Thinning looks at all that is kept, so not after every batch.
            labels=question.thinned(labels) if len(labels.frame) > 4 * question.most_labels else labels,
            fingerprint=(self.fingerprint + other.fingerprint) % 2**64,
            sample=sample.smallest(question.sample),
        )


def surveyed(table: Table, question: Question, watched: Callable[[Any, str], Any]) -> tuple[Survey, Question]:
    """The survey of a whole table, and the question that was answered: with the columns that turned out to be words.

    Args:
        table: The table.
        question: What is to be found out.
        watched: Shows the progress of an iterator, with a description.
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
        # Numbers in one batch and words in another: words, and so from the first row on.
        question = replace(question, text=question.text | mixed)


def _settled(whole: Survey, question: Question) -> Survey:
    """The survey with as many measured rows as can be used, in an order that is not that of the table."""
    labels = question.kept(whole.labels)
    if len(labels.frame) < whole.measured:
        warnings.warn(
            f"{whole.measured} rows are measured, more than an exact Gaussian process can take: the best and a random sample "
            f"of the others, {len(labels.frame)} rows, are used. max_labels changes the limit",
            FallbackWarning,
            stacklevel=4,
        )
    if whole.partial:
        warnings.warn(
            f"{whole.partial} rows have some of the targets {', '.join(question.targets)} but not all: they are taken "
            "neither as data nor as candidates. Complete or clear them",
            FallbackWarning,
            stacklevel=4,
        )
    order = np.lexsort((*labels.Y.T, row_keys(labels.keys)))
    return replace(whole, labels=labels.rows(order))


def outcomes(frame: Frame, targets: Sequence[str]) -> Array:
    """The outcomes of rows, N x m, NaN where not measured; anything but finite numbers is rejected by its row."""
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
                f"row {series.index[i]}, target {name!r}: expected a number, or nothing where the row is not measured, got "
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
