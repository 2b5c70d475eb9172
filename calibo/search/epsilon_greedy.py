"""A search that chooses some points at random."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from calibo.data import Array
from calibo.errors import RecipeError, RepeatWarning
from calibo.search.base import SearchWrapper, untried_point
from calibo.search.plan import Plan
from calibo.spaces import Space


@dataclass(frozen=True)
class EpsilonGreedy(SearchWrapper):
    """Takes a random point with probability epsilon, else what another search finds.

    Random points are untried ones as long as there are any. If the plan says ``at_random``, all points are random.

    Attributes:
        search: Finds the points that are not random.
        epsilon: Probability of a random point, in [0, 1]; drawn for every point of a batch.
    """

    epsilon: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.epsilon <= 1.0:
            raise RecipeError(f"epsilon is the probability of a random point, in [0, 1], got {self.epsilon}")

    def maximize(self, plan: Plan, space: Space, q: int, *, rng: np.random.Generator) -> Array:
        at_random = rng.random(q) < self.epsilon
        if plan.at_random:
            at_random[:] = True
        if not at_random.any():
            return self.search.maximize(plan, space, q, rng=rng)
        chosen: list[Array] = []
        for random in at_random:
            given = plan.given(chosen)
            found = _random_point(given, space, rng) if random else self.search.maximize(given, space, 1, rng=rng)[0]
            chosen.append(found)
        return np.stack(chosen)


def _random_point(plan: Plan, space: Space, rng: np.random.Generator) -> Array:
    found = untried_point(space, plan.avoid, rng)
    if found is None:
        warnings.warn("every point of the space has been tried; suggesting one again", RepeatWarning, stacklevel=4)
        return space.sample(1, rng)[0]
    return found
