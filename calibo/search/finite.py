"""Searches that evaluate finitely many points once: all of them, or random ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.data import Array
from calibo.errors import RecipeError
from calibo.search.base import Search, announce_repeat, best_available, coincides, in_chunks, one_by_one
from calibo.search.multistart import scattered
from calibo.search.plan import Plan
from calibo.spaces import Space


@dataclass(frozen=True)
class Pool(Search):
    """Evaluates every point of a finite space, such as each row of a pool, that is not to be avoided.

    Attributes:
        chunk: Points evaluated in one call, which bounds the memory.
        drawn: Evaluate only this many points, drawn at random, in one call: for acquisition functions whose values can be
            compared within one call only, such as Thompson sampling. ``None`` evaluates all.
        shuffled: Whether points are evaluated in random order, so that ties, which trees have many of, are broken at random.
    """

    chunk: int = 8192
    drawn: int | None = None
    shuffled: bool = False

    def maximize(self, plan: Plan, space: Space, q: int, *, rng: np.random.Generator) -> Array:
        every = space.enumerate()
        if every is None:
            raise RecipeError(
                f"Pool evaluates every point of a finite space, but this {type(space).__name__} has infinitely many: "
                "use MultiStart()"
            )
        free = every[~coincides(every, plan.avoid)]
        if self.shuffled:
            free = rng.permutation(free)
        chosen: list[Array] = []
        for _ in range(q):
            if not len(free):
                announce_repeat()
                free = every
            rows, chunk = free, self.chunk
            if self.drawn is not None and len(free) > self.drawn:
                rows, chunk = free[rng.choice(len(free), size=self.drawn, replace=False)], self.drawn
            chosen.append(rows[int(np.argmax(in_chunks(plan.given(chosen).acquisition, rows, chunk)))])
            free = free[~coincides(free, chosen[-1][None, :])]
        return np.stack(chosen)


@dataclass(frozen=True)
class RandomDraw(Search):
    """Evaluates random points once: for acquisition functions whose values can be compared within one call only.

    Of a pool, rows are drawn.

    Attributes:
        scored: Number of random points.
        around: Number of points near the anchors.
    """

    scored: int = 768
    around: int = 256

    def maximize(self, plan: Plan, space: Space, q: int, *, rng: np.random.Generator) -> Array:
        if space.is_pool:
            return Pool(drawn=self.scored + self.around).maximize(plan, space, q, rng=rng)

        def choose(plan: Plan) -> Array:
            points = np.vstack([space.sample(self.scored, rng), scattered(plan.anchors, space, self.around, rng)])
            return best_available(points, plan.acquisition(points), plan.avoid, space, rng)

        return one_by_one(plan, q, choose)
