"""Search among few candidates: edited copies of the best points, random points, or first these, then those.

As architecture searches do (White et al. 2021; Chen 2025, section 3.4): a model is trusted near the data only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibo.arguments import check_fields
from calibo.checks import check_whole
from calibo.data import Array
from calibo.search.base import Search, best_available, coincides, finite
from calibo.search.finite import Pool
from calibo.search.moves import filled
from calibo.search.multistart import reflected
from calibo.search.plan import Plan
from calibo.spaces import Space

#: Standard deviation of an edit of a number, on the unit cube.
_STEP = 0.1
#: How often candidates are generated before random points fill up.
_ATTEMPTS = 4


@dataclass(frozen=True)
class MutatedBest(Search):
    """Evaluates copies of the best points, each with ``edits`` columns changed, and takes the best untried ones.

    If there are too few new copies, random points fill up. Every row of a pool is evaluated.

    Attributes:
        parents: How many of the best points are copied; all anchors of a plan that has fewer.
        candidates: How many copies are evaluated for a batch.
        edits: Columns changed in a copy: a choice or whole number to another one, any other by a normal step.
    """

    parents: int = 2
    candidates: int = 100
    edits: int = 1

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("parents", "candidates", "edits"):
            check_whole(name, getattr(self, name))

    @property
    def anchors_needed(self) -> int:
        return self.parents

    def maximize(self, plan: Plan, space: Space, q: int, *, rng: np.random.Generator) -> Array:
        def copies() -> Array:
            return edited(plan.anchors[: self.parents], space, self.candidates, self.edits, rng)

        return _best_of(plan, space, q, copies, self.candidates, rng)


@dataclass(frozen=True)
class RandomCandidates(Search):
    """Evaluates random points, and takes the best untried ones; every row of a pool is evaluated.

    Attributes:
        candidates: How many are evaluated for a batch.
    """

    candidates: int = 100

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("candidates", self.candidates)

    def maximize(self, plan: Plan, space: Space, q: int, *, rng: np.random.Generator) -> Array:
        return _best_of(plan, space, q, lambda: space.sample(self.candidates, rng), self.candidates, rng)


@dataclass(frozen=True)
class Dynamic(Search):
    """Random candidates for the first half of a budget, then copies of ever fewer of the best points (Chen 2025).

    The number of parents falls by two every 20 evaluations, to two at the end of the budget and after it. Evaluations
    are counted by the points that the plan avoids, so every point tried must be among them.

    Attributes:
        budget: Total number of evaluations.
        candidates: How many candidates are evaluated for a batch.
        edits: As for ``MutatedBest``.
    """

    budget: int = 150
    candidates: int = 100
    edits: int = 1

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("budget", "candidates", "edits"):
            check_whole(name, getattr(self, name))

    @property
    def anchors_needed(self) -> int:
        return 2 * -(-(self.budget // 2) // 20)

    @property
    def counts_evaluations(self) -> bool:
        return True

    def maximize(self, plan: Plan, space: Space, q: int, *, rng: np.random.Generator) -> Array:
        done = len(plan.avoid)
        search: Search = RandomCandidates(self.candidates)
        if 2 * done >= self.budget:
            search = MutatedBest(max(2, 2 * -(-(self.budget - done) // 20)), self.candidates, self.edits)
        return search.maximize(plan, space, q, rng=rng)


def edited(parents: Array, space: Space, count: int, edits: int, rng: np.random.Generator) -> Array:
    """Return the valid ones of ``count`` copies of parents, `p x d`, each with ``edits`` columns changed (all if fewer).

    Parents have equal shares, up to one.
    """
    d = space.dimension
    if not len(parents):
        return space.sample(count, rng)
    points = parents[rng.permutation(count) % len(parents)].copy()
    fixed = np.array([column.cells == 1 for column in space.columns])
    # To edit a column that is inactive changes nothing.
    idle = fixed | ~space.active(points)
    rank = (rng.random((count, d)) + idle).argsort(axis=1).argsort(axis=1)
    changed = (rank < edits) & ~idle
    before = points.copy()
    step = rng.standard_normal((count, d)) * _STEP
    for j, column in enumerate(space.columns):
        rows = np.flatnonzero(changed[:, j])
        if column.cells is None:
            points[rows, j] = reflected(points[rows, j] + step[rows, j])
        elif column.cells > 1:
            here = column.cell(points[rows, j]).astype(np.int64)
            other = (here + rng.integers(1, column.cells, size=len(rows))) % column.cells
            points[rows, j] = column.position(other)
    points = filled(before, points, space, rng)
    # Invalid copies are dropped instead of repaired, as in White et al. (2021), except where one edit always is invalid.
    return space.admitted(points)


def _best_of(
    plan: Plan, space: Space, q: int, generate: Callable[[], Array], count: int, rng: np.random.Generator
) -> Array:
    """Return the best untried points, `q x d`, of about ``count`` that ``generate`` makes, or of a pool."""
    if space.is_pool:
        return Pool(shuffled=True).maximize(plan, space, q, rng=rng)
    points = plan.avoid[:0]
    for attempt in range(_ATTEMPTS + 1):
        more = generate() if attempt < _ATTEMPTS else space.sample(count, rng)
        more = np.unique(np.vstack([points, more[~coincides(more, plan.avoid)]]), axis=0)
        points = rng.permutation(more)[:count]
        if len(points) >= max(q, count // 2):
            break
    chosen: list[Array] = []
    for _ in range(q):
        points = points if len(points) else space.sample(count, rng)
        given = plan.given(chosen)
        chosen.append(best_available(points, finite(given.acquisition(points)), given.avoid, space, rng))
        points = points[~coincides(points, chosen[-1][None])]
    return np.stack(chosen)
