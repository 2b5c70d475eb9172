"""Search by evaluating thousands of random and mutated points in one call: for acquisition functions without gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.arguments import check_fields
from calibo.data import Array
from calibo.errors import RecipeError
from calibo.search.base import Search, best_available, finite, one_by_one
from calibo.search.finite import Pool
from calibo.search.moves import filled
from calibo.search.multistart import drawn_anchors, reflected
from calibo.search.plan import Plan
from calibo.spaces import Space

#: Points that agree to this many decimals are the same.
_DECIMALS = 9


@dataclass(frozen=True)
class Mutation(Search):
    """Evaluates random points and mutations of the anchors in one call, and takes the best that is not to be avoided.

    Every row of a pool is evaluated.

    Attributes:
        scored: Number of random points.
        around: Number of mutations of the anchors.
        shortlist: For the further points of a batch, evaluate only this many of the best single points beside those
            already chosen: joint acquisition functions of batches cost much more than those of points. ``None`` for all.
    """

    scored: int = 3000
    around: int = 2000
    shortlist: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.scored < 1 or self.around < 0 or (self.shortlist is not None and self.shortlist < 1):
            raise RecipeError(
                f"a search needs at least one random point and no negative number of mutations, got {self.scored} and "
                f"{self.around}, and a shortlist of at least one, got {self.shortlist}"
            )

    def maximize(self, plan: Plan, space: Space, q: int, *, rng: np.random.Generator) -> Array:
        if space.is_pool:
            return Pool(shuffled=True).maximize(plan, space, q, rng=rng)

        def choose(given: Plan) -> Array:
            points = np.vstack([space.sample(self.scored, rng), mutated(plan.anchors, space, self.around, rng)])
            # In random order, so that neither kind of point comes first among equal values, which trees have many of.
            points = rng.permutation(points)
            fresh = points[~_known(points, given.avoid)]
            points = fresh if len(fresh) else points
            if given is not plan and self.shortlist is not None and len(points) > self.shortlist:
                alone = np.nan_to_num(plan.acquisition(points), nan=-np.inf)
                points = points[np.argsort(-alone, kind="stable")[: self.shortlist]]
            return best_available(points, finite(given.acquisition(points)), given.avoid, space, rng)

        return one_by_one(plan, q, choose)


def mutated(anchors: Array, space: Space, count: int, rng: np.random.Generator) -> Array:
    """Draw mutations of the anchors, `count x d`.

    1. Draw an anchor, earlier ones more often.
    2. Draw the number of columns to change, from one to all, small numbers more often.
    3. Redraw every fourth of these and all categorical ones; the others take a normal step whose width is log-uniform
       between 0.001 and 0.3, and which leads to another value if the column has finitely many.
    """
    d = space.dimension
    if not len(anchors) or not count:
        return np.empty((0, d))
    points = drawn_anchors(anchors, count, rng)
    share = d ** -rng.random((count, 1))
    changed = rng.random((count, d)) < share
    changed[np.arange(count), rng.integers(d, size=count)] = True
    step = rng.standard_normal((count, d)) * 10.0 ** rng.uniform(-3.0, np.log10(0.3), size=(count, 1))
    cell = np.array([0.0 if column.cells is None else 1.0 / column.cells for column in space.columns])
    step = np.where(np.abs(step) < cell, np.copysign(cell, step), step)
    nominal = np.array([column.categories > 0 for column in space.columns])
    anew = nominal | (rng.random((count, d)) < 0.25)
    moved = np.where(anew, rng.random((count, d)), reflected(points + step))
    return space.repair(filled(points, np.where(changed, moved, points), space, rng))


def _known(points: Array, avoid: Array) -> np.ndarray:
    """Return which of `m x d` points are among ``avoid``, `t x d`, in time nearly independent of t.

    Rounding may hide some; ``best_available`` compares exactly.
    """
    both = np.ascontiguousarray(np.round(np.vstack([avoid, points]), _DECIMALS) + 0.0)
    rows = both.view([("", both.dtype)] * both.shape[1]).ravel()
    return np.isin(rows[len(avoid) :], rows[: len(avoid)])
