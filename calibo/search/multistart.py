"""Multi-start search: gradient steps on continuous columns, exact moves on finite ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.data import Array
from calibo.errors import RecipeError
from calibo.search.ascent import ascend
from calibo.search.base import Search, best_available, finite, one_by_one
from calibo.search.moves import climbed_columns, filled, hill_climb
from calibo.search.plan import Acquisition, Plan
from calibo.spaces import Space

#: Standard deviations of the steps along a curved border, on the unit cube, and how many points are tried with each.
_POLISH, _AROUND_EACH = (0.1, 0.05, 0.05, 0.02, 0.02, 0.01, 0.01, 0.005, 0.002, 0.001), 16


@dataclass(frozen=True)
class MultiStart(Search):
    """Evaluates many points, climbs from the best of them, and returns the best that is not to be avoided.

    Attributes:
        scored: Number of random initial points.
        around: Number of initial points near the anchors.
        starts: Number of points that are improved by climbing.
        iterations: Maximum number of gradient steps of a climb.
        rounds: How often gradient steps and exact moves alternate in a mixed space.
    """

    scored: int = 384
    around: int = 128
    starts: int = 4
    iterations: int = 30
    rounds: int = 2

    def maximize(self, plan: Plan, space: Space, q: int, *, rng: np.random.Generator) -> Array:
        if space.is_pool:
            raise RecipeError("MultiStart moves through the unit cube, but a pool is a list of points: use Pool()")
        return one_by_one(plan, q, lambda given: self._best(given, space, rng))

    def _best(self, plan: Plan, space: Space, rng: np.random.Generator) -> Array:
        points = np.vstack([space.sample(self.scored, rng), scattered(plan.anchors, space, self.around, rng)])
        values = finite(plan.acquisition(points))
        found = points[_initial_conditions(values, self.starts, rng)]
        columns = climbed_columns(space)
        mixed = space.has_neighbours
        for _ in range(self.rounds if mixed else 1):
            found = space.repair(ascend(plan.acquisition, found, columns, self.iterations, space.region))
            found = hill_climb(plan.acquisition, found, space, sweeps=8) if mixed else found
        if space.curved:
            found = polished(plan.acquisition, found, space, rng)
        candidates = np.vstack([found, points])
        scores = np.concatenate([finite(plan.acquisition(found)), values])
        return best_available(candidates, scores, plan.avoid, space, rng)


def polished(acquisition: Acquisition, X: Array, space: Space, rng: np.random.Generator) -> Array:
    """Move `R x d` points to better ones among random valid points around them, ever nearer.

    A gradient step ends where a condition that is no linear constraint no longer holds; random ones follow its border.
    """
    current = X.copy()
    values = finite(acquisition(current))
    for width in _POLISH:
        near = np.repeat(current, _AROUND_EACH, axis=0)
        near = space.repair(reflected(near + width * rng.standard_normal(near.shape)))
        scores = finite(acquisition(near)).reshape(len(current), _AROUND_EACH)
        best = scores.argmax(axis=1)
        rows = np.flatnonzero(scores[np.arange(len(current)), best] > values)
        current[rows] = near.reshape(len(current), _AROUND_EACH, -1)[rows, best[rows]]
        values[rows] = scores[rows, best[rows]]
    return current


def scattered(anchors: Array, space: Space, count: int, rng: np.random.Generator) -> Array:
    """Draw points near the anchors, `count x d`: some columns moved by a little, or redrawn if they are categorical."""
    if not len(anchors) or not count:
        return np.empty((0, space.dimension))
    d = space.dimension
    points = drawn_anchors(anchors, count, rng)
    moved = rng.random((count, d)) < max(0.25, min(1.0, 5.0 / d))
    moved[np.arange(count), rng.integers(d, size=count)] = True
    widths = 10.0 ** rng.uniform(-3.0, -0.7, size=(count, 1))
    step = rng.standard_normal((count, d)) * widths
    nominal = np.array([column.categories > 0 for column in space.columns])
    shifted = np.where(nominal, rng.random((count, d)), reflected(points + step))
    return space.repair(filled(points, np.where(moved, shifted, points), space, rng))


def drawn_anchors(anchors: Array, count: int, rng: np.random.Generator) -> Array:
    """Draw from the anchors, `count x d`, the earlier ones more often, as they are more promising."""
    weights = 1.0 / (1.0 + np.arange(len(anchors)))
    return anchors[rng.choice(len(anchors), size=count, p=weights / weights.sum())]


def reflected(U: Array) -> Array:
    """Reflect points outside the unit cube back into it."""
    folded = np.abs(U) % 2.0
    return np.where(folded > 1.0, 2.0 - folded, folded)


def _initial_conditions(values: Array, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return the index of the best value and those of others drawn in favour of large ones, without repetition."""
    usable = np.flatnonzero(np.isfinite(values))
    if not len(usable):
        return rng.choice(len(values), size=min(count, len(values)), replace=False)
    # Relative to the largest, so that values of any size can be squared.
    v = values[usable] / (float(np.max(np.abs(values[usable]))) or 1.0)
    scale = float(np.std(v)) or 1.0
    # The Gumbel trick draws without replacement with probabilities proportional to exp(2 v / scale).
    key = 2.0 * (v - v.max()) / scale + rng.gumbel(size=len(v))
    key[np.argmax(v)] = np.inf
    return usable[np.argsort(-key)[:count]]
