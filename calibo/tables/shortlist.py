"""The second pass over a table: candidates are scored batch by batch, and only the best are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibo.data import Array
from calibo.search.base import Acquisition, with_chosen
from calibo.tables.columns import Keys, column_keys, row_keys
from calibo.tables.encoding import Encoding
from calibo.tables.reading import Frame, Table
from calibo.tables.survey import outcomes

#: Rows scored in one call: so many that their arrays stay in the cache.
CHUNK = 1024
#: Rows among which the batch is chosen.
SHORTLIST = 1000
#: Members of the sets scored in one call, and their squares, whose covariances are held.
_SETS = 1 << 21


@dataclass(frozen=True, eq=False)
class Scoring:
    """How candidates are scored; called with a batch of rows, it gives the best of them.

    Attributes:
        encoding: Rows -> points.
        acquisition: Points -> values.
        targets: The columns of outcomes; rows that have any are no candidates.
        text: Columns of words, although some of their values look like numbers.
        seen: The keys of measured points, sorted: they are not suggested again.
        size: How many rows are kept.
    """

    encoding: Encoding
    acquisition: Acquisition
    targets: tuple[str, ...]
    text: frozenset[str]
    seen: Keys
    size: int = SHORTLIST

    def __call__(self, frame: Frame) -> Shortlist:
        """The best candidates of a batch."""
        rows = len(frame)
        frame = frame[np.isnan(outcomes(frame, self.targets)).all(axis=1)]
        keys = row_keys(column_keys(frame, self.encoding.names, self.text))
        new = ~is_among(keys, self.seen)
        frame, keys = frame[new], keys[new]
        X = self.encoding(frame) if len(frame) else np.empty((0, len(self.encoding.categories)))
        whole = Shortlist(frame, X, in_chunks(self.acquisition, X, CHUNK), keys, rows, again=int((~new).sum()))
        return whole.best(self.size)


@dataclass(frozen=True, eq=False)
class Shortlist:
    """The best candidates of a table, or of a part of it.

    Attributes:
        frame: The rows, k, with all their columns.
        X: The same encoded, k x d.
        scores: The acquisition at each of them by itself, k.
        keys: Of the points, k.
        rows: How many rows were read.
        again: How many candidates have the features of a measured row.
        repeats: How many candidates have the features of another one, as far as both were looked at together.
    """

    frame: Frame
    X: Array
    scores: Array
    keys: Keys
    rows: int
    again: int = 0
    repeats: int = 0

    def best(self, size: int) -> Shortlist:
        """The ``size`` best, each point once.

        Scores are compared to seven digits, and ties broken by the keys, that is at random: so neither the order of the rows
        nor the way they were cut into batches, which changes the last digits of a score, changes which are kept.
        """
        with np.errstate(over="ignore"):
            coarse = np.nan_to_num(self.scores.astype(np.float32), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        order = np.lexsort((self.keys, -coarse))
        first = np.sort(np.unique(self.keys[order], return_index=True)[1])
        kept = order[first[:size]]
        return Shortlist(
            frame=self.frame.iloc[kept],
            X=self.X[kept],
            scores=self.scores[kept],
            keys=self.keys[kept],
            rows=self.rows,
            again=self.again,
            repeats=self.repeats + len(order) - len(first),
        )

    def plus(self, other: Shortlist, size: int) -> Shortlist:
        """The best of both."""
        import pandas as pd

        filled = [part for part in (self, other) if len(part.keys)] or [self]
        return Shortlist(
            frame=pd.concat([part.frame for part in filled]) if len(filled) > 1 else filled[0].frame,
            X=np.vstack([part.X for part in filled]),
            scores=np.concatenate([part.scores for part in filled]),
            keys=np.concatenate([part.keys for part in filled]),
            rows=self.rows + other.rows,
            again=self.again + other.again,
            repeats=self.repeats + other.repeats,
        ).best(size)

    def by_key(self) -> Shortlist:
        """The same rows in the order of their keys, which is no order at all."""
        order = np.argsort(self.keys)
        parts = (self.frame.iloc[order], self.X[order], self.scores[order], self.keys[order])
        return Shortlist(*parts, self.rows, self.again, self.repeats)


def shortlisted(table: Table, scoring: Scoring, watched: Callable[[Any, str], Any]) -> Shortlist:
    """The best candidates of a whole table.

    Args:
        table: The table, of at least one row.
        scoring: How they are scored.
        watched: Shows the progress of an iterator, with a description.
    """
    whole: Shortlist | None = None
    for part in watched(table.mapped(scoring, text=scoring.text), "scoring candidates"):
        whole = part if whole is None else whole.plus(part, scoring.size)
    assert whole is not None, "a table that was surveyed has rows"
    return whole.by_key()


def is_among(keys: Keys, seen: Keys) -> np.ndarray:
    """Which keys, N, are among sorted ones, s."""
    if not len(seen):
        return np.zeros(len(keys), dtype=bool)
    place = np.minimum(np.searchsorted(seen, keys), len(seen) - 1)
    return seen[place] == keys


def in_chunks(acquisition: Acquisition, X: Array, chunk: int) -> Array:
    """The values of points, N x d, some at a time, N; not a number counts as the worst."""
    parts = [acquisition(X[i : i + chunk]) for i in range(0, len(X), chunk)]
    return np.nan_to_num(np.concatenate([np.empty(0), *parts]), nan=-np.inf, posinf=np.inf, neginf=-np.inf)


def chosen_batch(acquisition: Acquisition, X: Array, n: int) -> list[int]:
    """Which of the points, k x d, make a good batch of n, in the order in which they are chosen.

    One after the other, each by the value of the set of it and those before, so that of several points that would tell
    the same thing only one is chosen. The first is the best by itself.
    """
    chosen: list[int] = []
    free = np.ones(len(X), dtype=bool)
    for _ in range(min(n, len(X))):
        left = np.flatnonzero(free)
        of_next = with_chosen(acquisition, [X[i] for i in chosen])
        size = len(chosen) + 1
        chunk = CHUNK if size == 1 else max(32, _SETS // (64 * size + size * size))
        chosen.append(int(left[int(np.argmax(in_chunks(of_next, X[left], chunk)))]))
        free[chosen[-1]] = False
    return chosen


def spread(points: Array, taken: Array, n: int) -> list[int]:
    """Which of the points, k x d, lie far from each other and from those taken, t x d: n of them, the first in the middle.

    Greedy maximin: each is the one farthest from all before it.
    """
    from scipy.spatial.distance import cdist

    if len(taken):
        nearest = cdist(points, taken).min(axis=1)
        chosen: list[int] = []
    else:
        chosen = [int(np.argmin(cdist(points, points.mean(axis=0)[None, :])[:, 0]))]
        nearest = cdist(points, points[chosen])[:, 0]
    nearest[chosen] = -np.inf
    while len(chosen) < min(n, len(points)):
        chosen.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, cdist(points, points[chosen[-1:]])[:, 0])
        nearest[chosen] = -np.inf
    return chosen
