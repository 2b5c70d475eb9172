"""Replay: a table whose labels are all known, revealed row by row as a method asks for them.

For benchmarks of methods on real tables. Rows with equal features are one candidate that was measured several times
(replicates): its worth is the mean of its labels, and a method is told one of them.

Notation:
    N  candidates (rows with different features)      s  candidates known at the start
    T  suggestions                                    n  evaluations, s + T
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibo.checks import check_seed, check_whole
from calibo.data import Array, Dataset, Forecasts, Marginal
from calibo.diagnostics import best_so_far, covered, simple_regret
from calibo.errors import DataError, RecipeError
from calibo.optimize import (
    Plan,
    PoolSource,
    Strategy,
    choose,
    generator,
)
from calibo.spaces import PoolSpace
from calibo.spaces.pool import is_frame
from calibo.trials import Direction, convert_forecasts

Rows = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]
#: The k worst candidates, k random ones, or rows of the table by their position.
Start = tuple[Literal["worst", "random"], int] | Sequence[int]
#: What a measurement of a candidate with replicates tells: one of its labels, drawn once, or their mean.
Replicates = Literal["draw", "mean"]
#: Called at every step: the plan as learned, what was known, the candidates chosen, q, and their outcomes, q (larger is
#: better).
Watch = Callable[[Plan, Dataset, Rows, Array], None]

#: What the generators of a replay are called, so that start and replicates are the same for every method.
_START, _DRAW = 1, 2


@dataclass(frozen=True, eq=False)
class LabelledPool:
    """The candidates of a table with all their labels.

    Attributes:
        space: The candidates, N rows.
        members: The rows of the table that are replicates of each candidate, N arrays of positions.
        labels: The target of each row of the table, in the user's sign.
        direction: Which labels are wanted.
    """

    space: PoolSpace
    members: tuple[Rows, ...]
    labels: Array
    direction: Direction

    @classmethod
    def of(cls, table: Any, features: Sequence[str], target: str, *, direction: str | Direction) -> LabelledPool:
        """The candidates of a pandas DataFrame or a list of dicts with the columns ``features`` and ``target``."""
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
        """What each candidate is worth: the mean of its labels, N."""
        return np.array([self.labels[rows].mean() for rows in self.members])

    @cached_property
    def ranks(self) -> Rows:
        """How many candidates are better than each, N; equal ones have the same rank."""
        merit = np.sort(-self.direction.value * self.means)
        return np.searchsorted(merit, -self.direction.value * self.means, side="left")

    def start(self, start: Start, *, seed: int) -> Rows:
        """The candidates known at the start, s, the same for every method."""
        if isinstance(start, str) or not len(start):
            raise RecipeError(f'start is ("worst", k), ("random", k) or positions of rows, got {start!r}')
        if not isinstance(start[0], str):
            return self._candidates(start)
        kind, count = start[0], check_whole("the number of rows at the start", start[-1])
        if len(start) != 2 or kind not in ("worst", "random"):
            raise RecipeError(f'start is ("worst", k), ("random", k) or positions of rows, got {start!r}')
        if count > len(self):
            raise RecipeError(f"the table has {len(self)} different candidates, too few to start from {count}")
        if kind == "worst":
            return np.argsort(self.direction.value * self.means, kind="stable")[:count]
        return np.random.default_rng([seed, _START]).choice(len(self), count, replace=False)

    def _candidates(self, rows: Sequence[Any]) -> Rows:
        """The candidates behind rows of the table, each once."""
        wanted = np.asarray(rows)
        if wanted.ndim != 1 or wanted.dtype.kind not in "iu" or wanted.min() < 0 or wanted.max() >= len(self.labels):
            raise RecipeError(f"rows to start from are positions from 0 to {len(self.labels) - 1}, got {rows!r}")
        owner = np.empty(len(self.labels), dtype=np.intp)
        for candidate, members in enumerate(self.members):
            owner[members] = candidate
        return np.array(list(dict.fromkeys(owner[wanted].tolist())), dtype=np.intp)

    def measurements(self, replicates: Replicates, *, seed: int) -> tuple[Rows, Array]:
        """The row that a measurement of each candidate reveals, N, and the value it tells, N; the same for every method.

        For "mean" the row is the first of the candidate's.
        """
        if replicates not in ("draw", "mean"):
            raise RecipeError(f'replicates is "draw" or "mean", got {replicates!r}')
        if replicates == "mean":
            return np.array([rows[0] for rows in self.members]), self.means
        u = np.random.default_rng([seed, _DRAW]).random(len(self))
        drawn = np.array([rows[int(v * len(rows))] for rows, v in zip(self.members, u, strict=True)])
        return drawn, self.labels[drawn]


@dataclass(frozen=True, eq=False)
class Replay:
    """What was revealed, in order, and what had been forecast; in the user's sign.

    Attributes:
        rows: Positions in the table of the rows revealed, n, those of the start first.
        values: What was told, n.
        worth: Mean label of each candidate revealed, n; equal to ``values`` without replicates.
        ranks: How many candidates of the table are better than each, n.
        regret: Of each suggestion: how far it is from the best candidate that was not revealed yet, T.
        forecasts: Of the suggestions, T; ``None`` where the method made none.
        optimum: The best worth there is.
        size: Candidates of the table, N.
        direction: Which values are wanted.
    """

    rows: Rows
    values: Array
    worth: Array
    ranks: Rows
    regret: Array
    forecasts: tuple[Forecasts | None, ...]
    optimum: float
    size: int
    direction: Direction

    @property
    def started(self) -> int:
        """Candidates known at the start, s."""
        return len(self.rows) - len(self.regret)

    @property
    def best_so_far(self) -> Array:
        """The best worth revealed after each evaluation, n."""
        return best_so_far(self.worth, direction=self._wanted)

    @property
    def simple_regret(self) -> Array:
        """How far the best worth revealed is from the table's best, after each evaluation, n."""
        return simple_regret(self.worth, self.optimum, direction=self._wanted)

    @property
    def cumulative_regret(self) -> Array:
        """Sum of ``regret`` after each suggestion, T: 0 for a perfect ranking (Stanton et al. 2023, C.3)."""
        return np.cumsum(self.regret)

    @property
    def distributions(self) -> tuple[Marginal, ...]:
        """What was forecast of each suggestion after all calibration, T; an error if the method makes no forecasts."""
        if any(forecast is None for forecast in self.forecasts):
            raise DataError("the method made no forecasts, so there is no coverage: use one with a model")
        return tuple(forecast[0].calibrated for forecast in self.forecasts if forecast is not None)

    def covered(self, level: float) -> Flags:
        """Whether each suggestion's value lay in the central interval that had been forecast, T."""
        return covered(self.distributions, self.values[self.started :], level)

    def coverage(self, levels: Sequence[float]) -> dict[float, float]:
        """Share of the suggestions' values in the central intervals forecast, for each level (query coverage)."""
        return {level: float(self.covered(level).mean()) if len(self.regret) else float("nan") for level in levels}

    def evaluations_to_top(self, share: float) -> int | None:
        """Evaluations, the start included, until a candidate of the best ``share`` was revealed; ``None`` if none was."""
        hits = np.flatnonzero(self.ranks < top_count(self.size, share))
        return int(hits[0]) + 1 if len(hits) else None

    @property
    def _wanted(self) -> Literal["minimize", "maximize"]:
        return "maximize" if self.direction is Direction.MAXIMIZE else "minimize"


def top_count(size: int, share: float) -> int:
    """How many of ``size`` candidates are the best ``share`` of them: at least one, rounded up."""
    if not 0.0 < share <= 1.0:
        raise RecipeError(f"a share of the candidates lies in (0, 1], got {share}; 0.01 is 1 %")
    # A hair less, so that 1 % of 600 is 6 in floating point, too.
    return max(1, ceil(share * size - 1e-9))


def replay(
    table: Any,
    features: Sequence[str],
    target: str,
    *,
    method: str | Strategy = "cbo",
    direction: str | Direction = "max",
    start: Start = ("random", 5),
    steps: int = 100,
    q: int = 1,
    seed: int = 0,
    replicates: Replicates = "draw",
    until: float | None = None,
    watch: Watch | None = None,
) -> Replay:
    """Lets a method choose from a table whose labels are all known, and reveals what it asks for.

    Each suggestion is stamped with its forecast before its label is revealed, and calibrators learn from these as in a
    study. A candidate is revealed at most once. A density ratio (``cbo``) is learned from the candidates not yet
    revealed, without Langevin chains (Stanton et al. 2023, C.3): from all of them up to 2048, else from a random choice.

    Args:
        table: A pandas DataFrame or a list of dicts.
        features: Columns that describe a row, numeric or categorical.
        target: Column of labels, all finite numbers.
        method: A name of ``calibo.methods.METHODS`` or a strategy.
        direction: "max" or "min": which labels are wanted.
        start: What is known at first: ("worst", k), ("random", k) or positions of rows.
        steps: Labels to reveal after that, fewer if the table ends.
        q: How many are asked for at a time.
        seed: Of the start, of which replicate is revealed, and of the method.
        replicates: Whether a candidate with several labels tells one of them, drawn once, or their mean.
        until: Stop once a candidate of this best share was revealed (0.01 for the top 1 %); ``None`` goes on.
        watch: Sees every plan and what came of it; candidates are numbered as in ``LabelledPool``.
    """
    pool = LabelledPool.of(table, features, target, direction=direction)
    seed, q = check_seed(seed), check_whole("q", q)
    strategy, sign = _strategy(method), pool.direction.value
    rows, told = pool.measurements(replicates, seed=seed)
    chosen = pool.start(start, seed=seed).tolist()
    steps = min(check_whole("steps", steps), len(pool) - len(chosen))
    enough = 0 if until is None else top_count(len(pool), until)
    begun, forecasts = len(chosen), list[Forecasts | None]()
    data = Dataset(X=pool.space.X[chosen], Y=sign * told[chosen, None], categories=pool.space.categories)
    while len(forecasts) < steps and not (pool.ranks[chosen] < enough).any():
        count = min(q, steps - len(forecasts))
        new, stamped, plan = _suggested(data, pool.space, strategy, count, generator(seed, len(data)))
        if watch is not None:
            watch(plan, data, new, sign * told[new])
        chosen += new.tolist()
        forecasts += stamped
        data = replace(
            data,
            X=pool.space.X[chosen],
            Y=sign * told[chosen, None],
            forecasts=(None,) * begun + tuple(forecasts),
            hyperparameters=plan.hyperparameters,
        )
    order = np.asarray(chosen, dtype=np.intp)
    return Replay(
        rows=rows[order],
        values=told[order],
        worth=pool.means[order],
        ranks=pool.ranks[order],
        regret=_regret(sign * pool.means, order, begun),
        forecasts=tuple(convert_forecasts(forecast, (pool.direction,)) for forecast in forecasts),
        optimum=float(sign * (sign * pool.means).max()),
        size=len(pool),
        direction=pool.direction,
    )


def _suggested(
    data: Dataset, space: PoolSpace, strategy: Strategy, q: int, rng: np.random.Generator
) -> tuple[Rows, tuple[Forecasts | None, ...], Plan]:
    """The next candidates, q, their forecasts in the house's sign, and the plan they follow."""
    chosen = choose(data, source=PoolSource(space, tried=data.X), strategy=strategy, q=q, rng=rng)
    places = {x.tobytes(): place for place, x in enumerate(space.X)}
    rows = np.array([places[x.tobytes()] for x in chosen.X], dtype=np.intp)
    return rows, tuple(suggestion.forecasts for suggestion in chosen.suggestions()), chosen.plan


def _regret(merit: Array, order: Rows, begun: int) -> Array:
    """How far each suggestion is from the best candidate left, T.

    Args:
        merit: Of all candidates, larger is better, N.
        order: Candidates as revealed, n.
        begun: How many of them were known at the start.
    """
    left = merit.copy()
    left[order[:begun]] = -np.inf
    regret = np.empty(len(order) - begun)
    for step, candidate in enumerate(order[begun:]):
        regret[step] = left.max() - merit[candidate]
        left[candidate] = -np.inf
    return regret


def _strategy(method: str | Strategy) -> Strategy:
    from calibo.methods import strategy

    return strategy(method)


def _labels(table: Any, target: str) -> Array:
    """The target column as finite floats."""
    columns = list(table.columns) if is_frame(table) else list(table[0]) if len(table) else []
    if target not in columns:
        raise DataError(f"the table has no column {target!r} to replay; its columns are {columns}")
    column = table[target].to_numpy() if is_frame(table) else [row[target] for row in table]
    try:
        labels = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"a replay needs numbers in column {target!r}, got {column[0]!r} and the like") from None
    if not np.isfinite(labels).all():
        row = int(np.argmin(np.isfinite(labels)))
        raise DataError(
            f"a replay needs the label of every row, but row {row} of column {target!r} is {labels[row]}: "
            "drop the rows that were not measured"
        )
    return labels
