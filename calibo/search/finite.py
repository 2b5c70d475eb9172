"""Search by scoring finitely many points once: all rows of a pool, or a random draw from a product space."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from calibo.data import Array
from calibo.errors import RecipeError, RepeatWarning
from calibo.search.base import Acquisition, is_taken, with_chosen
from calibo.search.multistart import best_available, scattered
from calibo.spaces import PoolSpace, ProductSpace, Space


@dataclass(frozen=True)
class Pool:
    """Scores every row of a pool that is not taken.

    Attributes:
        chunk: Rows scored in one call, which bounds the memory.
        drawn: Score only so many rows, drawn at random, in one call: for acquisitions whose values may be compared
            within one call only. ``None`` scores all.
        shuffled: Whether rows are scored in a random order, so that the first of equal ones is any: for acquisitions
            with many ties, such as those of trees.
    """

    chunk: int = 8192
    drawn: int | None = None
    shuffled: bool = False

    def maximize(
        self, acquisition: Acquisition, space: Space, q: int, *, anchors: Array, taken: Array, rng: np.random.Generator
    ) -> Array:
        if not isinstance(space, PoolSpace):
            raise RecipeError(f"Pool searches a table of rows, got a {type(space).__name__}: use MultiStart()")
        free = space.X[~is_taken(space.X, taken)]
        if self.shuffled:
            free = rng.permutation(free)
        chosen: list[Array] = []
        for _ in range(q):
            if not len(free):
                warnings.warn("every row of the pool has been tried; suggesting one again", RepeatWarning, stacklevel=3)
                free = space.X
            rows, chunk = free, self.chunk
            if self.drawn is not None and len(free) > self.drawn:
                rows, chunk = free[rng.choice(len(free), size=self.drawn, replace=False)], self.drawn
            of_next = with_chosen(acquisition, chosen)
            parts = [of_next(rows[i : i + chunk]) for i in range(0, len(rows), chunk)]
            chosen.append(rows[int(np.argmax(np.nan_to_num(np.concatenate(parts), nan=-np.inf)))])
            free = free[~is_taken(free, chosen[-1][None, :])]
        return np.stack(chosen)


@dataclass(frozen=True)
class RandomDraw:
    """Scores random points once: for acquisitions whose values may be compared within one call only.

    Attributes:
        scored: Random points.
        around: Points near the anchors.
    """

    scored: int = 768
    around: int = 256

    def maximize(
        self, acquisition: Acquisition, space: Space, q: int, *, anchors: Array, taken: Array, rng: np.random.Generator
    ) -> Array:
        if not isinstance(space, ProductSpace):
            raise RecipeError(f"RandomDraw searches a product of parameters, got a {type(space).__name__}: use Pool()")
        chosen: list[Array] = []
        for _ in range(q):
            points = np.vstack([space.sample(self.scored, rng), scattered(anchors, space, self.around, rng)])
            values = with_chosen(acquisition, chosen)(points)
            unavailable = np.vstack([taken.reshape(-1, len(space.columns)), *chosen])
            chosen.append(best_available(points, values, unavailable, space, rng))
        return np.stack(chosen)
