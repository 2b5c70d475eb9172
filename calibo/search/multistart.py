"""Multi-start search over a product space: gradient steps on continuous columns, exact moves on finite ones."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from calibo.data import Array
from calibo.errors import RecipeError, RepeatWarning
from calibo.search.ascent import ascend
from calibo.search.base import Acquisition, is_taken, with_chosen
from calibo.search.moves import climbed_columns, finite_columns, hill_climb
from calibo.search.untried import untried_point
from calibo.spaces import ProductSpace, Space


@dataclass(frozen=True)
class MultiStart:
    """Scores many points, climbs from the best of them, and returns the best that is not taken.

    Attributes:
        scored: Random points scored at the start.
        around: Points scored near the anchors.
        starts: Points climbed from.
        iterations: Limit on the steps of a climb.
        rounds: How often climbing and exact moves alternate in a mixed space.
    """

    scored: int = 384
    around: int = 128
    starts: int = 4
    iterations: int = 50
    rounds: int = 2

    def maximize(
        self, acquisition: Acquisition, space: Space, q: int, *, anchors: Array, taken: Array, rng: np.random.Generator
    ) -> Array:
        if not isinstance(space, ProductSpace):
            raise RecipeError(f"MultiStart searches a product of parameters, got a {type(space).__name__}: use Pool()")
        chosen: list[Array] = []
        for _ in range(q):
            unavailable = np.vstack([taken.reshape(-1, len(space.columns)), *chosen])
            chosen.append(self._next(with_chosen(acquisition, chosen), space, anchors, unavailable, rng))
        return np.stack(chosen)

    def _next(
        self, acquisition: Acquisition, space: ProductSpace, anchors: Array, taken: Array, rng: np.random.Generator
    ) -> Array:
        points = np.vstack([space.sample(self.scored, rng), scattered(anchors, space, self.around, rng)])
        values = _finite(acquisition(points))
        found = points[_spread_choice(values, self.starts, rng)]
        columns = climbed_columns(space)
        mixed = bool(finite_columns(space))
        for _ in range(self.rounds if mixed else 1):
            found = space.repair(ascend(acquisition, found, columns, self.iterations))
            found = hill_climb(acquisition, found, space, sweeps=8) if mixed else found
        pool = np.vstack([found, points])
        scores = np.concatenate([_finite(acquisition(found)), values])
        return best_available(pool, scores, taken, space, rng)


def scattered(anchors: Array, space: ProductSpace, count: int, rng: np.random.Generator) -> Array:
    """Points near the anchors, count x d: some columns moved by a little, or redrawn if they are categorical."""
    if not len(anchors) or not count:
        return np.empty((0, len(space.columns)))
    d = len(space.columns)
    # Earlier anchors are more promising, so they are drawn more often.
    weights = 1.0 / (1.0 + np.arange(len(anchors)))
    points = anchors[rng.choice(len(anchors), size=count, p=weights / weights.sum())].copy()
    moved = rng.random((count, d)) < max(0.25, min(1.0, 5.0 / d))
    moved[np.arange(count), rng.integers(d, size=count)] = True
    widths = 10.0 ** rng.uniform(-3.0, -0.7, size=(count, 1))
    step = rng.standard_normal((count, d)) * widths
    nominal = np.array([column.categories > 0 for column in space.columns])
    shifted = np.where(nominal, rng.random((count, d)), reflected(points + step))
    return space.repair(np.where(moved, shifted, points))


def reflected(U: Array) -> Array:
    """Points outside the unit cube folded back into it."""
    folded = np.abs(U) % 2.0
    return np.where(folded > 1.0, 2.0 - folded, folded)


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, -np.inf)


def _spread_choice(values: Array, count: int, rng: np.random.Generator) -> np.ndarray:
    """Indices of the best value and of others drawn in favour of large ones, without repetition."""
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


def best_available(points: Array, values: Array, taken: Array, space: ProductSpace, rng: np.random.Generator) -> Array:
    """The best of ``points``, m x d, that is not taken; if all are, an untried one, or a repeat where there is none."""
    for i in np.argsort(-values, kind="stable"):
        if not is_taken(points[[i]], taken)[0]:
            return points[i]
    untried = untried_point(space, taken, rng)
    if untried is not None:
        return untried
    warnings.warn("every point of the space has been tried; suggesting one again", RepeatWarning, stacklevel=4)
    return points[int(np.argmax(values))]
