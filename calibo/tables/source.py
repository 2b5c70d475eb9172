"""The candidates of a table as a source: score them batch by batch, keep the best, and choose among these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibo.data import Array
from calibo.errors import DataError, FallbackWarning, warn
from calibo.optimize.sources import CandidateSource, Chosen
from calibo.optimize.strategy import Strategy
from calibo.search import Acquisition, Plan
from calibo.search.base import in_chunks
from calibo.tables.columns import Keys, column_keys, row_keys
from calibo.tables.encoding import Encoding
from calibo.tables.reading import Frame, Table, joined
from calibo.tables.survey import outcomes

#: Rows scored in one call, so that their arrays stay in the cache.
CHUNK = 1024
#: Size of the shortlist among which the batch is chosen.
SHORTLIST = 1000
#: Limit on the covariance entries held in memory when batches are scored.
_SETS = 1 << 21


@dataclass(frozen=True, eq=False)
class Scoring:
    """Scorer of candidates; calling it with a batch of rows returns the best of them.

    Attributes:
        encoding: Encoder of rows as points.
        targets: Columns of outcomes; rows with any outcome are not candidates.
        text: Columns to treat as text although some values look like numbers.
        seen: Sorted keys of measured points, which are not suggested again.
        size: Number of rows to keep.
        acquisition: Acquisition function, which is known only once there is a plan.
    """

    encoding: Encoding
    targets: tuple[str, ...]
    text: frozenset[str]
    seen: Keys
    size: int = SHORTLIST
    acquisition: Acquisition | None = None

    def __call__(self, frame: Frame) -> Shortlist:
        """Score a batch of rows and keep the best candidates."""
        assert self.acquisition is not None, "a scorer is used with the acquisition function of a plan"
        rows = len(frame)
        frame = frame[np.isnan(outcomes(frame, self.targets)).all(axis=1)]
        keys = row_keys(column_keys(frame, self.encoding.names, self.text))
        new = ~is_among(keys, self.seen)
        frame, keys = frame[new], keys[new]
        X = self.encoding(frame)
        whole = Shortlist(frame, X, in_chunks(self.acquisition, X, CHUNK), keys, rows, again=int((~new).sum()))
        return whole.best(self.size)


@dataclass(frozen=True, eq=False)
class Shortlist:
    """Best candidates of a table, or of a part of it.

    Attributes:
        frame: `k` rows with all their columns.
        X: `k x d` points.
        scores: `k` acquisition values, of each row alone.
        keys: `k` keys of the points.
        rows: Number of rows read.
        again: Number of candidates with the features of a measured row.
        repeats: Number of candidates with the features of another candidate, as far as both were compared.
    """

    frame: Frame
    X: Array
    scores: Array
    keys: Keys
    rows: int
    again: int = 0
    repeats: int = 0

    def best(self, size: int) -> Shortlist:
        """Keep the ``size`` best distinct points.

        Scores are compared to seven digits and ties are broken by the keys, that is at random, so that neither the order of
        the rows nor the batch size (which changes the last digits of a score) affects the result.
        """
        with np.errstate(over="ignore"):
            coarse = np.nan_to_num(self.scores.astype(np.float32), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        order = np.lexsort((self.keys, -coarse))
        first = np.sort(np.unique(self.keys[order], return_index=True)[1])
        return replace(self.rows_at(order[first[:size]]), repeats=self.repeats + len(order) - len(first))

    def plus(self, other: Shortlist, size: int) -> Shortlist:
        """Combine two shortlists and keep the best of both."""
        both = (self, other)
        return Shortlist(
            frame=joined([part.frame for part in both]),
            X=np.vstack([part.X for part in both]),
            scores=np.concatenate([part.scores for part in both]),
            keys=np.concatenate([part.keys for part in both]),
            rows=self.rows + other.rows,
            again=self.again + other.again,
            repeats=self.repeats + other.repeats,
        ).best(size)

    def rows_at(self, index: np.ndarray) -> Shortlist:
        """Select rows by position."""
        return replace(
            self, frame=self.frame.iloc[index], X=self.X[index], scores=self.scores[index], keys=self.keys[index]
        )


def shortlisted(table: Table, scoring: Scoring, watched: Callable[[Any, str], Any]) -> Shortlist:
    """Find the best candidates of a table with at least one row, in random order: sorted by their keys."""
    whole: Shortlist | None = None
    for part in watched(table.mapped(scoring, text=scoring.text), "scoring candidates"):
        whole = part if whole is None else whole.plus(part, scoring.size)
    assert whole is not None, "a table that was surveyed has rows"
    return whole.rows_at(np.argsort(whole.keys))


def is_among(keys: Keys, seen: Keys) -> np.ndarray:
    """Return which of `N` keys are among `s` sorted ones."""
    if not len(seen):
        return np.zeros(len(keys), dtype=bool)
    place = np.minimum(np.searchsorted(seen, keys), len(seen) - 1)
    return seen[place] == keys


def chosen_batch(plan: Plan, X: Array, n: int) -> list[int]:
    """Choose a batch of `n` of `k x d` candidates greedily, and return their indices in the order of the choice.

    Each point maximizes the joint value of it and those chosen before, so that of several points that would give the same
    information only one is chosen.
    """
    chosen: list[int] = []
    left = list(range(len(X)))
    for size in range(1, min(n, len(X)) + 1):
        chunk = CHUNK if size == 1 else max(32, _SETS // (64 * size + size * size))
        values = in_chunks(plan.given([X[i] for i in chosen]).acquisition, X[left], chunk)
        chosen.append(left.pop(int(np.argmax(values))))
    return chosen


@dataclass(frozen=True, eq=False)
class TableSource(CandidateSource):
    """The candidates of a table, of which one batch of rows at a time is in memory.

    A plan that learns where the search goes (CBO) learns from a random sample of the candidates, without exploration
    (Stanton et al. 2023, C.3).

    Attributes:
        table: The table, of at least one row.
        scoring: Scorer of its rows.
        sample: `s x d` points of a random sample of the candidates.
        count: Number of rows to suggest in all.
        watched: Wraps an iterator to show its progress under a description.
    """

    table: Table
    scoring: Scoring
    sample: Array
    count: int
    watched: Callable[[Any, str], Any]

    def choose(self, plan: Plan, strategy: Strategy, q: int, *, rng: np.random.Generator) -> Chosen:
        plan = plan.learned(self.sample, rng=rng) if len(self.sample) else plan
        best = shortlisted(self.table, replace(self.scoring, acquisition=plan.acquisition), self.watched)
        check_enough(len(best.keys), self.count, again=best.again, repeats=best.repeats)
        return ShortlistSource(best, self.sample).chosen(plan, q)


@dataclass(frozen=True, eq=False)
class ShortlistSource(CandidateSource):
    """The best candidates of a table that are left after a first batch was chosen; ``sample`` is that of `TableSource`."""

    shortlist: Shortlist
    sample: Array

    def choose(self, plan: Plan, strategy: Strategy, q: int, *, rng: np.random.Generator) -> Chosen:
        return self.chosen(plan.learned(self.sample, rng=rng) if len(self.sample) else plan, q)

    def chosen(self, plan: Plan, q: int) -> Chosen:
        """Choose `q` candidates by a plan that has learned."""
        best = self.shortlist
        index = chosen_batch(plan, best.X, q)
        rows = best.frame.iloc[index]
        left = np.delete(np.arange(len(best.keys)), index)
        rest = ShortlistSource(best.rows_at(left), self.sample) if len(left) else None
        return Chosen(best.X[index], tuple(rows.to_dict("records")), plan, rows=rows, rest=rest)


def check_enough(points: int, count: int, *, again: int = 0, repeats: int = 0) -> None:
    """Warn if there are fewer distinct candidates than rows asked for, and of rows with equal features (`Shortlist`).

    Raises:
        DataError: If there is no candidate.
    """
    if not points:
        raise DataError("every row that is not measured has the features of a measured one; nothing is left to suggest")
    if points < count:
        warn(
            f"{count} rows were asked for, but there are only {points} distinct candidates: all are suggested",
            FallbackWarning,
        )
    if again + repeats:
        warn(
            f"{again + repeats} candidates have the same features as another row (measured: {again}, not measured: "
            f"{repeats}); each point is suggested once, and a measured one not at all",
            FallbackWarning,
        )


def spread(points: Array, taken: Array, n: int) -> list[int]:
    """Choose points far from each other and from known ones by greedy maximin distance.

    Args:
        points: `k x d` candidates.
        taken: `t x d` known points; without any, the first choice is the candidate nearest to the mean.
        n: Number of points, whose indices are returned in the order of the choice.
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
