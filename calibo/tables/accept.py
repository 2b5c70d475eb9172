"""Accept rows of a table without measuring them, so that at most a given share of them misses a threshold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from calibo.arguments import checked
from calibo.checks import check_between, check_seed
from calibo.data import Array, Dataset
from calibo.errors import DataError, RecipeError
from calibo.search.base import in_chunks
from calibo.tables.answer import free_names
from calibo.tables.columns import Keys, column_keys, row_keys, value_keys
from calibo.tables.error_budget import Counts, DrawnRows, fewest_accepted
from calibo.tables.preparing import Prepared, Request
from calibo.tables.reading import BATCH, Frame, joined
from calibo.tables.source import CHUNK, is_among
from calibo.tables.survey import outcomes

if TYPE_CHECKING:
    import pandas as pd

Flags = npt.NDArray[np.bool_]
#: With fewer rows no model is fitted, and with fewer drawn ones nothing can be checked.
_FEWEST = 3
#: Rows that the model of the score is fitted to, at most.
_MOST_FITTED = 1000
#: All measured rows are looked at; only the model takes a part of them.
_ALL = 10**9


@checked
def accept(
    table: Any,
    features: Sequence[str] | None = None,
    target: str | None = None,
    *,
    threshold: float,
    error_budget: float = 0.1,
    direction: str = "max",
    drawn: Literal["all"] | None = None,
    study: str | Path | Literal[False] | None = None,
    smiles: Sequence[str] | None = None,
    seed: int = 0,
    progress: bool = True,
    batch_size: int = BATCH,
) -> pd.DataFrame:
    """Choose rows that reach a threshold without measuring them, with a bound on how many of them do not.

    On average over the rows that might have been drawn, at most the share ``error_budget`` of the accepted rows miss the
    threshold, whatever the model is worth (conformal selection, Jin and Candès 2023). That rests on rows that were drawn *at
    random* and measured: draw them with ``rank(..., at_random=True)``, fill in all results, and measure nothing else until
    the rows are accepted. Rows that a method chose cannot stand in for them.

    Args:
        table: A pandas DataFrame; the path of a .csv, .tsv, .parquet or .xlsx file; or a Ray Dataset.
        features: Names of the feature columns; see ``rank``.
        target: Name of the column of outcomes.
        threshold: Value that a row reaches if its measurement is at least this (with "min", at most).
        error_budget: Share of the accepted rows that may miss the threshold, on average.
        direction: "max" or "min".
        drawn: "all" says that all measured rows were drawn at random, each row of the table with the same probability. By
            default the study file knows which were.
        study: Path of the study file, as for ``rank``; it is not changed.
        smiles: Columns of molecules as SMILES; by default those whose names say so.
        seed: Seed of all random choices.
        progress: Whether to show a progress bar if reading the table takes long.
        batch_size: Rows in memory at once.

    Returns:
        The accepted rows with their index and all their columns, plus ``probability``: the model's that a row reaches the
        threshold, by which they are sorted. There may be none; ``.attrs["calibo"]["message"]`` says what would help.

    Raises:
        DataError: If no rows were drawn at random, or some of them are not measured, or others were measured since.
        RecipeError: If a setting is wrong.

    Example:
        >>> import calibo, numpy as np, pandas as pd
        >>> x = np.random.default_rng(0).random(400)
        >>> table = pd.DataFrame({"x": x, "y": np.where(np.arange(400) < 80, x**2, np.nan)})
        >>> good = calibo.accept(table, target="y", threshold=0.2, drawn="all", progress=False)
        >>> len(good), round(float(good["x"].min()), 2)
        (192, 0.45)
    """
    check_between("error_budget", error_budget, 0.0, 1.0)
    if not isfinite(threshold):
        raise RecipeError(f"threshold must be a finite number, got {threshold}")
    seed = check_seed(seed)
    request = Request(
        features=features,
        target=target,
        direction=direction,
        study=study,
        smiles=smiles,
        progress=progress,
        max_labels=_ALL,
        batch_size=batch_size,
    )
    prepared = request.prepare(table)
    if len(prepared.directions) > 1:
        raise RecipeError("rows are accepted by one target, got several; give the one that the threshold is for")
    checks = _drawn_rows(prepared, everything=drawn == "all")
    return _Acceptance(prepared, threshold, error_budget, seed).run(checks)


def _drawn_rows(prepared: Prepared, *, everything: bool) -> Flags:
    """Return which of the measured rows were drawn at random.

    Raises:
        DataError: If none were, if some are not measured yet, or if others were measured since.
    """
    labels, question = prepared.found.labels, prepared.question
    if everything:
        return np.ones(len(labels.frame), dtype=bool)
    last = prepared.study.last_drawn()
    if last is None:
        raise DataError(
            "no rows were drawn at random, so nothing can be promised of rows that are not measured: draw some with "
            "rank(..., at_random=True, n=60) (calibo rank --at-random -n 60) and measure them; or say drawn='all' "
            "(--drawn-at-random) if all measured rows were drawn at random"
        )
    number, keys = last
    known = question.study_keys(labels.keys)
    mine = np.isin(known, np.fromiter(keys, dtype=np.uint64, count=len(keys)), kind="sort")
    lacking = len(keys) - len(np.unique(known[mine]))
    if lacking:
        raise DataError(
            f"{lacking} of the {len(keys)} rows drawn at random are not measured yet: fill in all of them (for one that "
            "could not be measured, a value that misses the threshold), because a part of them is no random sample"
        )
    of_drawn = value_keys(row_keys(labels.keys[mine]), labels.Y[mine]).sum(dtype=np.uint64)
    if (prepared.found.fingerprint - int(of_drawn)) % 2**64 != prepared.study.rounds[number - 1].fingerprint:
        raise DataError(
            "results other than those of the rows drawn at random were added or changed since these were drawn, or the "
            "features are others, so they no longer stand for the rest: draw rows at random again"
        )
    return mine


@dataclass(frozen=True, eq=False)
class _Acceptance:
    """A surveyed table, and by what its rows are accepted.

    Attributes:
        prepared: The table, its survey and its encoding.
        threshold: Value to reach, in the user's sign.
        budget: Share of the accepted rows that may miss it.
        seed: Seed of the random choices.
    """

    prepared: Prepared
    threshold: float
    budget: float
    seed: int

    def run(self, drawn: Flags) -> Frame:
        """Accept rows, of which ``drawn`` says which measured ones were drawn at random."""
        rng = np.random.default_rng(self.seed)
        labels, sign = self.prepared.found.labels, self.prepared.directions[0].value
        points, values, of_drawn = _points(self.prepared.point_keys(labels.keys), sign * labels.Y[:, 0], drawn)
        X = self.prepared.encoding(labels.frame)[points]
        train, check = _parts(of_drawn, rng)
        if len(train) < _FEWEST or len(check) < _FEWEST:
            raise DataError(
                f"{len(points)} measured points are too few to accept rows by, {int(of_drawn.sum())} of them drawn at "
                "random: draw and measure more, 60 or so"
            )
        score = _score(self._data(X[train], values[train]), sign * self.threshold, rng)
        rows = DrawnRows(score(X[check]), values[check] < sign * self.threshold)
        found = self._looked_through(score, rows)
        allowed = rows.allowed(found.counts, self.budget)
        chosen = np.zeros(len(found.scores), dtype=bool) if allowed is None else rows.above(found.scores) <= allowed
        order = np.flatnonzero(chosen)[np.argsort(-found.scores[chosen], kind="stable")]
        frame = found.frame.iloc[order]
        frame = frame.assign(**{free_names(["probability"], list(frame.columns))[0]: found.scores[order]})
        frame.attrs["calibo"] = self._about(rows, int(found.counts.sum()), len(frame), len(train))
        return frame

    def _data(self, X: Array, values: Array) -> Dataset:
        return Dataset(X=X, Y=values[:, None], categories=self.prepared.encoding.categories, from_pool=True)

    def _looked_through(self, score: Callable[[Array], Array], rows: DrawnRows) -> _Candidates:
        """Score all candidates, and keep those that could be accepted."""
        prepared = self.prepared
        most = floor(self.budget * (len(rows) + 1.0) + 1e-9) - 1
        looking = _Looking(prepared, score, rows, most)
        whole: _Candidates | None = None
        for part in prepared.watched(prepared.table.mapped(looking, text=prepared.question.text), "scoring candidates"):
            whole = part if whole is None else whole.plus(part)
        assert whole is not None, "a table that was surveyed has rows"
        return whole

    def _about(self, rows: DrawnRows, candidates: int, accepted: int, trained: int) -> dict[str, Any]:
        about: dict[str, Any] = {
            "threshold": self.threshold,
            "error_budget": self.budget,
            "checked_by": len(rows),
            "missed": int(rows.missed.sum()),
            "trained_on": trained,
            "candidates": candidates,
            "accepted": accepted,
            "features": list(self.prepared.encoding.names),
            "identifiers": list(self.prepared.encoding.identifiers),
            "added": 1,
            "targets": list(self.prepared.question.targets),
            "notes": list(self.prepared.encoding.notes),
        }
        return about | {"message": _message(self.budget, about)}


def _message(budget: float, about: dict[str, Any]) -> str:
    """Say what was accepted and what that promises, or what would help."""
    reach = f"reach {about['threshold']:g}"
    if about["accepted"]:
        return (
            f"{about['accepted']} of {about['candidates']} candidates are accepted: on average at most {100 * budget:g} % of "
            f"such rows do not {reach}. Checked by {about['checked_by']} rows drawn at random, of which "
            f"{about['missed']} missed it."
        )
    least = fewest_accepted(about["checked_by"], about["candidates"], budget)
    return (
        f"No row is accepted. {about['checked_by']} rows drawn at random can vouch only for {least} or more of the "
        f"{about['candidates']} candidates at once with an error budget of {100 * budget:g} %, and not so many are likely "
        f"enough to {reach}. Draw and measure more rows at random, allow a larger budget, or choose an easier threshold."
    )


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Candidates of a table, or of a part of it.

    Attributes:
        rows: Number of rows read.
        counts: Of all candidates, by how many drawn rows missed with at least their score.
        frame: Those that could be accepted, `k` rows.
        scores: Their scores, `k`.
    """

    rows: int
    counts: Counts
    frame: Frame
    scores: Array

    def plus(self, other: _Candidates) -> _Candidates:
        """Combine two parts of a table."""
        return _Candidates(
            self.rows + other.rows,
            self.counts + other.counts,
            joined([self.frame, other.frame]),
            np.concatenate([self.scores, other.scores]),
        )


@dataclass(frozen=True, eq=False)
class _Looking:
    """Scorer of the rows of a table; calling it with a batch of rows returns its candidates.

    Attributes:
        prepared: The table, its survey and its encoding.
        score: Returns the scores of `N x d` points.
        rows: Rows drawn at random.
        most: Candidates with more misses above them cannot be accepted.
    """

    prepared: Prepared
    score: Callable[[Array], Array]
    rows: DrawnRows
    most: int

    def __call__(self, frame: Frame) -> _Candidates:
        """Score a batch of rows."""
        question, encoding = self.prepared.question, self.prepared.encoding
        count = len(frame)
        frame = frame[np.isnan(outcomes(frame, question.targets)).all(axis=1)]
        keys = row_keys(column_keys(frame, encoding.names, question.text))
        frame = frame[~is_among(keys, self.prepared.seen)]
        scores = in_chunks(self.score, encoding(frame), CHUNK)
        kept = self.rows.above(scores) <= self.most
        return _Candidates(count, self.rows.counts(scores), frame[kept], scores[kept])


def _points(keys: Keys, values: Array, drawn: Flags) -> tuple[npt.NDArray[np.intp], Array, Flags]:
    """Return the first row of each measured point, its mean value, and whether it was drawn at random."""
    _, first, owner = np.unique(keys, return_index=True, return_inverse=True)
    means = np.bincount(owner, weights=values) / np.bincount(owner)
    return first, means, drawn[first]


def _parts(drawn: Flags, rng: np.random.Generator) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return which points train the score and which of the drawn ones check it.

    Drawn points train it only until there are as many to train as to check; of all drawn, that is half of them.
    """
    others, mine = np.flatnonzero(~drawn), rng.permutation(np.flatnonzero(drawn))
    needed = max(0, (len(mine) - len(others)) // 2)
    train = np.concatenate([others, mine[:needed]])
    return rng.permutation(train)[:_MOST_FITTED], mine[needed:]


def _score(data: Dataset, threshold: float, rng: np.random.Generator) -> Callable[[Array], Array]:
    """Fit a Gaussian process and return the probability by it that a measurement at a point reaches the threshold."""
    from calibo.methods import gp_ei

    model = gp_ei().plan(data, rng=rng).models[0]

    def score(X: Array) -> Array:
        return 1.0 - model.predict(X, latent=False).cdf(np.full(len(X), threshold))

    return score
