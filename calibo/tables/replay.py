"""Replay a method on a table whose outcomes are all known, revealing them as the method asks for rows.

For benchmarks on real tables. Rows with equal features are replicates of one candidate: its true value is the mean of its
labels, and a method observes one of them.

Notation:
    N  candidates (rows with different features)      s  candidates known at the start
    T  suggestions                                    n  evaluations, s + T
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibo.arguments import checked
from calibo.checks import check_seed, check_whole, read_items, shown
from calibo.data import Array, Dataset, Forecasts, Marginal
from calibo.diagnostics import covered
from calibo.errors import DataError, RecipeError
from calibo.optimize import Plan, PoolSource, Strategy, choose, generator
from calibo.optimize.auto import default_for_rows
from calibo.spaces import PoolSpace
from calibo.spaces.pool import is_frame
from calibo.trials import Direction, convert_forecasts

Rows = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]
#: The k worst candidates, k random ones, or rows of the table by their position.
Start = tuple[Literal["worst", "random"], int] | Sequence[int]
#: What a measurement of a candidate with replicates reveals: one of its labels, drawn once, or their mean.
Replicates = Literal["draw", "mean"]
#: Called at every step with the plan, the data, the `q` candidates chosen, and their outcomes in the internal sign.
Watch = Callable[[Plan, Dataset, Rows, Array], None]

#: Streams of random numbers of a replay, so that start and replicates are the same for every method.
_START, _DRAW = 1, 2


@dataclass(frozen=True, eq=False)
class LabelledPool:
    """Candidates of a table with all their labels.

    Attributes:
        space: The candidates, `N` rows.
        members: Positions of the rows of the table that are replicates of each candidate, `N` arrays.
        labels: Target of each row of the table, in the user's sign.
        direction: Direction of optimization.
    """

    space: PoolSpace
    members: tuple[Rows, ...]
    labels: Array
    direction: Direction

    @classmethod
    def of(cls, table: Any, features: Sequence[str], target: str, *, direction: str | Direction) -> LabelledPool:
        """Collect the candidates of a pandas DataFrame or a list of dicts with the columns ``features`` and ``target``."""
        labels = _labels(table, target)
        if isinstance(features, str) or target in features:
            raise DataError(
                f"features are the columns that describe a row, without the target {target!r}; got {features}"
            )
        every = PoolSpace(table, features)
        _, first, owner = np.unique(every.X, axis=0, return_index=True, return_inverse=True)
        # Candidates in the order of the table, not of their features.
        order = np.argsort(first)
        owner = np.argsort(order)[owner.reshape(-1)]
        by_owner = np.argsort(owner, kind="stable")
        members = np.split(by_owner, np.cumsum(np.bincount(owner))[:-1])
        kept = first[order]
        distinct = table.iloc[kept] if is_frame(table) else [table[i] for i in kept]
        return cls(PoolSpace(distinct, features), tuple(members), labels, Direction.of(direction))

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def means(self) -> Array:
        """True value of each candidate, the mean of its labels, `N`."""
        return np.array([self.labels[rows].mean() for rows in self.members])

    @cached_property
    def ranks(self) -> Rows:
        """Number of candidates that are better than each, `N`; equal ones have the same rank."""
        merit = np.sort(-self.direction.value * self.means)
        return np.searchsorted(merit, -self.direction.value * self.means, side="left")

    def start(self, start: Start, *, seed: int) -> Rows:
        """Return the `s` candidates known at the start, the same for every method."""
        if len(start) and not isinstance(start, str) and not isinstance(start[0], str):
            return self._candidates(start)
        if len(start) != 2 or start[0] not in ("worst", "random"):
            raise RecipeError(f'start is ("worst", k), ("random", k) or positions of rows, got {shown(start)}')
        kind, count = start[0], check_whole("the number of rows at the start", start[1])
        if count > len(self):
            raise RecipeError(f"the table has {len(self)} different candidates, too few to start from {count}")
        if kind == "worst":
            return np.argsort(self.direction.value * self.means, kind="stable")[:count]
        return np.random.default_rng([seed, _START]).choice(len(self), count, replace=False)

    def _candidates(self, rows: Sequence[Any]) -> Rows:
        """Return the candidates of some rows of the table, each once."""
        given = np.asarray(rows)
        if given.ndim != 1 or given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= len(self.labels):
            raise RecipeError(f"rows to start from are positions from 0 to {len(self.labels) - 1}, got {shown(rows)}")
        owner = np.empty(len(self.labels), dtype=np.intp)
        for candidate, members in enumerate(self.members):
            owner[members] = candidate
        return np.array(list(dict.fromkeys(owner[given].tolist())), dtype=np.intp)

    def measurements(self, replicates: Replicates, *, seed: int) -> tuple[Rows, Array]:
        """Return what a measurement of each candidate reveals, the same for every method.

        Returns:
            The row of the table, `N` (for "mean" the candidate's first), and the value, `N`.
        """
        if replicates not in ("draw", "mean"):
            raise RecipeError(f'replicates is "draw" or "mean", got {shown(replicates)}')
        if replicates == "mean":
            return np.array([rows[0] for rows in self.members]), self.means
        u = np.random.default_rng([seed, _DRAW]).random(len(self))
        drawn = np.array([rows[int(v * len(rows))] for rows, v in zip(self.members, u, strict=True)])
        return drawn, self.labels[drawn]


@dataclass(frozen=True, eq=False)
class Replay:
    """What was revealed, in order, and what had been forecast, in the user's sign.

    Attributes:
        rows: Positions in the table of the rows revealed, `n`, those of the start first.
        values: Values observed, `n`.
        true_values: Mean label of each candidate revealed, `n`; equal to ``values`` without replicates.
        ranks: Number of candidates of the table that are better than each, `n`.
        regret: Difference of each suggestion to the best candidate that was not revealed yet, `T`.
        forecasts: Forecasts of the suggestions, `T`; ``None`` where the method made none.
        optimum: Best true value of the table.
        size: Number of candidates of the table, `N`.
        direction: Direction of optimization.
    """

    rows: Rows
    values: Array
    true_values: Array
    ranks: Rows
    regret: Array
    forecasts: tuple[Forecasts | None, ...]
    optimum: float
    size: int
    direction: Direction

    @property
    def started(self) -> int:
        """Number of candidates known at the start, `s`."""
        return len(self.rows) - len(self.regret)

    @property
    def best_so_far(self) -> Array:
        """Best true value revealed after each evaluation, `n`."""
        return self.direction.value * np.maximum.accumulate(self.direction.value * self.true_values)

    @property
    def simple_regret(self) -> Array:
        """Difference of the best true value revealed to the table's best, after each evaluation, `n`."""
        return np.abs(self.best_so_far - self.optimum)

    @property
    def cumulative_regret(self) -> Array:
        """Sum of ``regret`` after each suggestion, `T`: 0 for a perfect ranking (Stanton et al. 2023, C.3)."""
        return np.cumsum(self.regret)

    @property
    def distributions(self) -> tuple[Marginal, ...]:
        """Calibrated forecast of each suggestion, `T`.

        Raises:
            DataError: If the method makes no forecasts.
        """
        if any(forecast is None for forecast in self.forecasts):
            raise DataError("the method made no forecasts, so there is no coverage: use one with a model")
        return tuple(forecast[0].calibrated for forecast in self.forecasts if forecast is not None)

    def covered(self, level: float) -> Flags:
        """Return whether the value of each suggestion lies in its central forecast interval, `T`."""
        return covered(self.distributions, self.values[self.started :], level)

    def coverage(self, levels: Sequence[float]) -> dict[float, float]:
        """Return the share of suggestions whose values lie in their central forecast intervals, for each level."""
        return {level: float(self.covered(level).mean()) if len(self.regret) else float("nan") for level in levels}

    def evaluations_to_top(self, share: float) -> int | None:
        """Return the number of evaluations, start included, until one of the best ``share`` was revealed, or ``None``."""
        hits = np.flatnonzero(self.ranks < top_count(self.size, share))
        return int(hits[0]) + 1 if len(hits) else None


def top_count(size: int, share: float) -> int:
    """Return how many of ``size`` candidates are the best ``share`` of them: at least one, rounded up."""
    if not 0.0 < share <= 1.0:
        raise RecipeError(f"a share of the candidates lies in (0, 1], got {share}; 0.01 is 1 %")
    # The small number makes 1 % of 600 exactly 6 in floating point.
    return max(1, ceil(share * size - 1e-9))


@checked
def replay(
    table: Any,
    features: Sequence[str],
    target: str,
    *,
    method: str | Strategy | None = None,
    direction: str | Direction = "max",
    start: Start = ("random", 5),
    steps: int = 100,
    q: int = 1,
    seed: int = 0,
    replicates: Replicates = "draw",
    until: float | None = None,
    watch: Watch | None = None,
) -> Replay:
    """Let a method choose rows of a table whose labels are all known, and reveal the labels it asks for.

    Each suggestion is stored with its forecast before its label is revealed, and calibrators learn from these as in a
    study. A candidate is revealed at most once. A density ratio (``cbo``) is learned from the candidates not yet
    revealed, without Langevin chains (Stanton et al. 2023, C.3): from all of them up to 2048, else from a random choice.

    Args:
        table: A pandas DataFrame or a list of dicts.
        features: Columns that describe a row, numeric or categorical.
        target: Column of labels, all finite numbers.
        method: A name of ``calibo.methods.METHODS`` or a strategy; by default that of ``rank``.
        direction: "max" or "min".
        start: Rows known at the start: ("worst", k), ("random", k) or positions of rows.
        steps: Number of labels to reveal after that, fewer if the table ends.
        q: Batch size.
        seed: Seed of the start, of the replicates and of the method.
        replicates: Whether a candidate with several labels reveals one of them, drawn once, or their mean.
        until: Stop once a candidate of this best share was revealed (0.01 for the top 1 %); ``None`` goes on.
        watch: Called at every step with the plan, the data, the candidates chosen and their outcomes.
    """
    from calibo.methods import strategy as strategy_of

    pool = LabelledPool.of(table, features, target, direction=direction)
    seed, q = check_seed(seed), check_whole("q", q)
    asked = default_for_rows(pool.space.categories) if method is None else method
    strategy, sign = strategy_of(asked), pool.direction.value
    rows, values = pool.measurements(replicates, seed=seed)
    chosen = pool.start(start, seed=seed).tolist()
    steps = min(check_whole("steps", steps), len(pool) - len(chosen))
    enough = 0 if until is None else top_count(len(pool), until)
    begun, forecasts = len(chosen), list[Forecasts | None]()
    places = {x.tobytes(): place for place, x in enumerate(pool.space.X)}
    data = Dataset(
        X=pool.space.X[chosen],
        Y=sign * values[chosen, None],
        categories=pool.space.categories,
        from_pool=True,
    )
    while len(forecasts) < steps and not (pool.ranks[chosen] < enough).any():
        source, count = PoolSource(pool.space, tried=data.X), min(q, steps - len(forecasts))
        found = choose(data, source=source, strategy=strategy, q=count, rng=generator(seed, len(data)))
        new = np.array([places[x.tobytes()] for x in found.X], dtype=np.intp)
        if watch is not None:
            watch(found.plan, data, new, sign * values[new])
        chosen += new.tolist()
        made = [suggestion.forecasts for suggestion in found.suggestions()]
        forecasts += made
        data = data.with_observations(
            pool.space.X[new], sign * values[new, None], forecasts=made, hyperparameters=found.plan.hyperparameters
        )
    order = np.asarray(chosen, dtype=np.intp)
    return Replay(
        rows=rows[order],
        values=values[order],
        true_values=pool.means[order],
        ranks=pool.ranks[order],
        regret=_regret(sign * pool.means, order, begun),
        forecasts=tuple(convert_forecasts(forecast, (pool.direction,)) for forecast in forecasts),
        optimum=float(sign * (sign * pool.means).max()),
        size=len(pool),
        direction=pool.direction,
    )


def _regret(merit: Array, order: Rows, begun: int) -> Array:
    """Return the difference of each suggestion to the best candidate left, `T`; ``merit`` is in the internal sign."""
    left = merit.copy()
    left[order[:begun]] = -np.inf
    regret = np.empty(len(order) - begun)
    for step, candidate in enumerate(order[begun:]):
        regret[step] = left.max() - merit[candidate]
        left[candidate] = -np.inf
    return regret


def _labels(table: Any, target: str) -> Array:
    """Return the target column as finite floats."""
    rows = None if is_frame(table) else read_items(table)
    if not is_frame(table) and (rows is None or not all(isinstance(row, Mapping) for row in rows)):
        raise DataError(f"a table to replay is a data frame or a list of dicts, got {shown(table)}")
    columns = list(table.columns) if is_frame(table) else list(table[0]) if len(table) else []
    if target not in columns:
        raise DataError(f"the table has no column {target!r} to replay; its columns are {columns}")
    column = table[target].to_numpy() if is_frame(table) else [row[target] for row in table]
    try:
        labels = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"a replay needs numbers in column {target!r}, got {shown(column[0])} and the like") from None
    if not np.isfinite(labels).all():
        row = int(np.argmin(np.isfinite(labels)))
        raise DataError(
            f"a replay needs the label of every row, but row {row} of column {target!r} is {labels[row]}: "
            "drop the rows that were not measured"
        )
    return labels
