"""A search that now and then, or where nothing is known, chooses at random."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from calibo.checks import check_has
from calibo.data import Array
from calibo.errors import RecipeError, RepeatWarning
from calibo.search.base import Acquisition, CandidateSearch, with_chosen
from calibo.search.untried import untried_point
from calibo.spaces import PoolSpace, ProductSpace, Space


@dataclass(frozen=True)
class Indifferent:
    """The acquisition of points of which any is as good as another."""

    def __call__(self, X: Array) -> Array:
        """Zeros for points, m x d, or sets, m x q x d, m."""
        return np.zeros(len(X))


@dataclass(frozen=True)
class EpsilonGreedy:
    """Takes a random point with probability epsilon, and what another search finds else.

    An ``Indifferent`` acquisition always gets random points, none of them taken as long as there are others.

    Attributes:
        search: For points that are not random.
        epsilon: Probability of a random point, in [0, 1]; decided for every point of a batch.
    """

    search: CandidateSearch
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        check_has("search", self.search, "maximize", "MultiStart()")
        if not 0.0 <= self.epsilon <= 1.0:
            raise RecipeError(f"epsilon is the probability of a random point, in [0, 1], got {self.epsilon}")

    def maximize(
        self, acquisition: Acquisition, space: Space, q: int, *, anchors: Array, taken: Array, rng: np.random.Generator
    ) -> Array:
        at_random = rng.random(q) < self.epsilon
        if isinstance(acquisition, Indifferent):
            at_random[:] = True
        if not at_random.any():
            return self.search.maximize(acquisition, space, q, anchors=anchors, taken=taken, rng=rng)
        chosen: list[Array] = []
        for random in at_random:
            unavailable = np.vstack([taken, *chosen])
            if random:
                chosen.append(_random_point(space, unavailable, rng))
                continue
            of_next = with_chosen(acquisition, chosen)
            chosen.append(self.search.maximize(of_next, space, 1, anchors=anchors, taken=unavailable, rng=rng)[0])
        return np.stack(chosen)


def _random_point(space: Space, taken: Array, rng: np.random.Generator) -> Array:
    if not isinstance(space, ProductSpace | PoolSpace):
        return space.sample(1, rng)[0]
    found = untried_point(space, taken, rng)
    if found is None:
        warnings.warn("every point of the space has been tried; suggesting one again", RepeatWarning, stacklevel=4)
        return space.sample(1, rng)[0]
    return found
