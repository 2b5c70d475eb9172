"""Search among few candidates: copies of the best points with an edit or two, random points, or first these, then those.

What architecture searches do (White et al. 2021; Chen 2025, section 3.4): a model is trusted near what it has seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibo.checks import check_whole
from calibo.data import Array
from calibo.errors import RecipeError
from calibo.search.base import Acquisition, is_taken, with_chosen
from calibo.search.finite import Pool
from calibo.search.multistart import best_available, reflected
from calibo.spaces import PoolSpace, ProductSpace, Space

#: Width of an edit of a number, on the unit cube.
_STEP = 0.1
#: How often so many copies are made again before random points fill up.
_ATTEMPTS = 4


@dataclass(frozen=True)
class MutatedBest:
    """Scores copies of the best points, each with ``edits`` columns changed, and takes the best that are not taken.

    As long as there are fewer new copies than wanted, random points fill up. Every row of a pool is scored.

    Attributes:
        parents: How many of the best points are copied; of a plan with fewer anchors, all of them.
        candidates: How many copies are scored for a batch.
        edits: Columns changed in a copy: a choice or whole number to another one, any other by a normal step.
    """

    parents: int = 2
    candidates: int = 100
    edits: int = 1

    def __post_init__(self) -> None:
        check_whole("parents", self.parents)
        check_whole("candidates", self.candidates)
        check_whole("edits", self.edits)

    def maximize(
        self, acquisition: Acquisition, space: Space, q: int, *, anchors: Array, taken: Array, rng: np.random.Generator
    ) -> Array:
        def copies(product: ProductSpace) -> Array:
            return edited(anchors[: self.parents], product, self.candidates, self.edits, rng)

        return _best_of(acquisition, space, q, copies, self.candidates, taken, rng)


@dataclass(frozen=True)
class RandomCandidates:
    """Scores random points, and takes the best that are not taken; every row of a pool is scored.

    Attributes:
        candidates: How many are scored for a batch.
    """

    candidates: int = 100

    def __post_init__(self) -> None:
        check_whole("candidates", self.candidates)

    def maximize(
        self, acquisition: Acquisition, space: Space, q: int, *, anchors: Array, taken: Array, rng: np.random.Generator
    ) -> Array:
        def drawn(product: ProductSpace) -> Array:
            return product.sample(self.candidates, rng)

        return _best_of(acquisition, space, q, drawn, self.candidates, taken, rng)


@dataclass(frozen=True)
class Dynamic:
    """Random candidates for the first half of a budget, then copies of ever fewer of the best points (Chen 2025).

    The number of parents falls by two every 20 evaluations, to two at the end of the budget and after it.

    Attributes:
        budget: Evaluations in all; how many have been made is told by the points that are taken, so that a point must
            not be tried again.
        candidates: How many are scored for a batch.
        edits: As for ``MutatedBest``.
    """

    budget: int = 150
    candidates: int = 100
    edits: int = 1

    @property
    def parents(self) -> int:
        """The largest number of points copied."""
        return 2 * -(-(self.budget // 2) // 20)

    def __post_init__(self) -> None:
        check_whole("budget", self.budget)
        check_whole("candidates", self.candidates)
        check_whole("edits", self.edits)

    def maximize(
        self, acquisition: Acquisition, space: Space, q: int, *, anchors: Array, taken: Array, rng: np.random.Generator
    ) -> Array:
        left = self.budget - len(taken)
        if 2 * len(taken) < self.budget:
            search: RandomCandidates | MutatedBest = RandomCandidates(self.candidates)
        else:
            search = MutatedBest(max(2, 2 * -(-left // 20)), self.candidates, self.edits)
        return search.maximize(acquisition, space, q, anchors=anchors, taken=taken, rng=rng)


def edited(parents: Array, space: ProductSpace, count: int, edits: int, rng: np.random.Generator) -> Array:
    """Copies of parents, p x d, each with ``edits`` columns changed (as many as there are, if fewer), count x d.

    Parents have equal shares, up to one.
    """
    d = len(space.columns)
    if not len(parents):
        return space.sample(count, rng)
    points = parents[rng.permutation(count) % len(parents)].copy()
    fixed = np.array([column.cells == 1 for column in space.columns])
    rank = (rng.random((count, d)) + fixed).argsort(axis=1).argsort(axis=1)
    changed = (rank < edits) & ~fixed
    step = rng.standard_normal((count, d)) * _STEP
    for j, column in enumerate(space.columns):
        rows = np.flatnonzero(changed[:, j])
        if column.cells is None:
            points[rows, j] = reflected(points[rows, j] + step[rows, j])
        elif column.cells > 1:
            here = column.cell(points[rows, j]).astype(np.int64)
            other = (here + rng.integers(1, column.cells, size=len(rows))) % column.cells
            points[rows, j] = column.position(other)
    return space.repair(points)


def _best_of(
    acquisition: Acquisition,
    space: Space,
    q: int,
    make: Callable[[ProductSpace], Array],
    wanted: int,
    taken: Array,
    rng: np.random.Generator,
) -> Array:
    """The best new points, q x d, of those that ``make`` makes for a product of parameters, or of a pool."""
    if isinstance(space, PoolSpace):
        return Pool(shuffled=True).maximize(acquisition, space, q, anchors=taken[:0], taken=taken, rng=rng)
    if not isinstance(space, ProductSpace):
        raise RecipeError(f"candidates are of a product of parameters or a pool, got a {type(space).__name__}")
    taken = taken.reshape(-1, len(space.columns))
    points = taken[:0]
    for attempt in range(_ATTEMPTS + 1):
        more = make(space) if attempt < _ATTEMPTS else space.sample(wanted, rng)
        more = more[space.valid(more)]
        more = np.unique(np.vstack([points, more[~is_taken(more, taken)]]), axis=0)
        points = rng.permutation(more)[:wanted]
        if len(points) >= max(q, wanted // 2):
            break
    chosen: list[Array] = []
    for _ in range(q):
        points = points if len(points) else space.sample(wanted, rng)
        unavailable = np.vstack([taken, *chosen])
        values = with_chosen(acquisition, chosen)(points)
        values = np.where(np.isfinite(values), values, -np.inf)
        chosen.append(best_available(points, values, unavailable, space, rng))
        points = points[~is_taken(points, chosen[-1][None])]
    return np.stack(chosen)
