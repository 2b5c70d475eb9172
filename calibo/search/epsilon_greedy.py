"""A search that chooses some points at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.arguments import check_fields
from calibo.data import Array
from calibo.errors import RecipeError
from calibo.search.base import SearchWrapper, new_point
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
        check_fields(self)
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
            if random:
                chosen.append(new_point(space, given.avoid, rng, otherwise=lambda: space.sample(1, rng)[0]))
            else:
                chosen.append(self.search.maximize(given, space, 1, rng=rng)[0])
        return np.stack(chosen)
