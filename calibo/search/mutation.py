"""Search by scoring thousands of random and mutated points in one call: for acquisitions without a slope."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.data import Array
from calibo.errors import RecipeError
from calibo.search.base import Acquisition, with_chosen
from calibo.search.finite import Pool
from calibo.search.multistart import best_available, reflected
from calibo.spaces import PoolSpace, ProductSpace, Space

#: Points that agree to so many decimals are one.
_DECIMALS = 9


@dataclass(frozen=True)
class Mutation:
    """Scores random points and mutations of the anchors, all in one call, and takes the best that is not taken.

    Every row of a pool is scored.

    Attributes:
        scored: Random points.
        around: Mutations of the anchors.
        shortlist: Of the further points of a batch, only so many of the best by themselves are scored beside those
            chosen before, for acquisitions of sets that cost much more than those of points. ``None`` for all.
    """

    scored: int = 3000
    around: int = 2000
    shortlist: int | None = None

    def __post_init__(self) -> None:
        if self.scored < 1 or self.around < 0 or (self.shortlist is not None and self.shortlist < 1):
            raise RecipeError(
                f"a search needs at least one random point and no negative number of mutations, got {self.scored} and "
                f"{self.around}, and a shortlist of at least one, got {self.shortlist}"
            )

    def maximize(
        self, acquisition: Acquisition, space: Space, q: int, *, anchors: Array, taken: Array, rng: np.random.Generator
    ) -> Array:
        if isinstance(space, PoolSpace):
            return Pool(shuffled=True).maximize(acquisition, space, q, anchors=anchors, taken=taken, rng=rng)
        if not isinstance(space, ProductSpace):
            raise RecipeError(f"Mutation searches a product of parameters or a pool, got a {type(space).__name__}")
        chosen: list[Array] = []
        for _ in range(q):
            unavailable = np.vstack([taken.reshape(-1, len(space.columns)), *chosen])
            points = np.vstack([space.sample(self.scored, rng), mutated(anchors, space, self.around, rng)])
            # In any order, so that of equal values, which trees have many of, neither kind comes first.
            points = rng.permutation(points)
            fresh = points[~_known(points, unavailable) & space.valid(points)]
            points = fresh if len(fresh) else points
            if chosen and self.shortlist is not None and len(points) > self.shortlist:
                alone = np.nan_to_num(acquisition(points), nan=-np.inf)
                points = points[np.argsort(-alone, kind="stable")[: self.shortlist]]
            values = with_chosen(acquisition, chosen)(points)
            values = np.where(np.isfinite(values), values, -np.inf)
            chosen.append(best_available(points, values, unavailable, space, rng))
        return np.stack(chosen)


def mutated(anchors: Array, space: ProductSpace, count: int, rng: np.random.Generator) -> Array:
    """Mutations of the anchors, count x d.

    1. An anchor, the earlier the more often.
    2. A number of columns to change, from one to all, small numbers being more frequent.
    3. Of these every fourth, and all categorical ones, are drawn anew; the others take a normal step whose width is
       log-uniform between 0.001 and 0.3, and which leads to another value if the column has finitely many.
    """
    d = len(space.columns)
    if not len(anchors) or not count:
        return np.empty((0, d))
    chances = 1.0 / (1.0 + np.arange(len(anchors)))
    points = anchors[rng.choice(len(anchors), size=count, p=chances / chances.sum())]
    share = d ** -rng.random((count, 1))
    changed = rng.random((count, d)) < share
    changed[np.arange(count), rng.integers(d, size=count)] = True
    step = rng.standard_normal((count, d)) * 10.0 ** rng.uniform(-3.0, np.log10(0.3), size=(count, 1))
    cell = np.array([0.0 if column.cells is None else 1.0 / column.cells for column in space.columns])
    step = np.where(np.abs(step) < cell, np.copysign(cell, step), step)
    nominal = np.array([column.categories > 0 for column in space.columns])
    anew = nominal | (rng.random((count, d)) < 0.25)
    moved = np.where(anew, rng.random((count, d)), reflected(points + step))
    return space.repair(np.where(changed, moved, points))


def _known(points: Array, taken: Array) -> np.ndarray:
    """Which points, m x d, are among ``taken``, t x d, in a time that hardly grows with t; rounding may hide some."""
    both = np.ascontiguousarray(np.round(np.vstack([taken, points]), _DECIMALS) + 0.0)
    rows = both.view([("", both.dtype)] * both.shape[1]).ravel()
    return np.isin(rows[len(taken) :], rows[: len(taken)])
