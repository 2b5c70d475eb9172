"""Every search on spaces it was not written for: one of a user's own, and cells of which many are invalid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from calibo import Optimizer
from calibo.data import Array, Params
from calibo.methods import gp_ei
from calibo.search import (
    Box,
    Dynamic,
    EpsilonGreedy,
    Langevin,
    MultiStart,
    MutatedBest,
    Mutation,
    Plan,
    RandomCandidates,
    RandomDraw,
    Search,
    TrustRegion,
)
from calibo.spaces import Categorical, CellSpace, Float, Int, Mixture, Parameter, ProductSpace, Space

RNG = np.random.default_rng
SEARCHES: list[Search] = [
    MultiStart(scored=32, around=16, starts=2, iterations=5),
    RandomDraw(32, 16),
    Mutation(32, 32),
    MutatedBest(candidates=20),
    RandomCandidates(20),
    Dynamic(4, 20),
    EpsilonGreedy(Mutation(32, 32), 0.5),
    Langevin(chains=2, steps=6, burn_in=2, updates=1, then=RandomDraw(32, 16)),
]
SMALL_CELL = CellSpace(3, ("none", "skip_connect", "conv"))


#: Two amounts first, of which the plans below want the first to be large and the second to be small.
RECIPE = ProductSpace(
    {
        "m": Mixture({"a": (0, 0.8), "b": (0.1, 0.8), "c": (0, 0.8), "d": (0, 0.8)}, at_most=3),
        "k": Categorical(["x", "y"]),
    },
    constraints=["a + c <= 0.85"],
)
WHOLE = ProductSpace({name: Int(0, 9) for name in "abcd"}, constraints=["a + b + c + d == 18", "a <= 2*b"])
ROUND = ProductSpace({"a": Float(-1, 1), "b": Float(-1, 1)}, where=lambda p: p["a"] ** 2 + p["b"] ** 2 <= 1)


class Ascending(Space):
    """A user's own space: two amounts and a count, of which the first amount may not exceed the second."""

    names = ("low", "high", "count")
    columns: tuple[Parameter, ...] = (Float(0.0, 1.0), Float(0.0, 1.0), Int(1, 4))

    def encode(self, params: Sequence[Mapping[str, Any]]) -> Array:
        return self.from_values(params)

    def decode(self, X: Any) -> list[Params]:
        return self.values(X)

    def valid(self, X: Array) -> np.ndarray:
        return X[:, 0] <= X[:, 1]


def last(X: Array) -> Array:
    return X if X.ndim == 2 else X[:, -1]


def learn(plan: Plan, proposals: Array, rng: np.random.Generator) -> Plan:
    return plan


@pytest.mark.parametrize("search", SEARCHES, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize(
    "space", [Ascending(), SMALL_CELL, RECIPE, WHOLE, ROUND], ids=["own", "cells", "recipe", "integers", "predicate"]
)
@pytest.mark.parametrize("region", [False, True], ids=["whole", "region"])
def test_only_valid_and_different_points_are_found(search: Search, space: Space, region: bool) -> None:
    anchors = space.sample(3, RNG(1))
    box = Box.around(anchors[0], np.ones(space.dimension), 0.8, space.categories) if region else None
    # Points with a small first and a large second column are invalid in neither space, the opposite ones are.
    plan = Plan(lambda X: last(X)[:, 0] - last(X)[:, 1], anchors, anchors[:1], region=box, learn=learn)
    search = TrustRegion(search) if region else search
    found = search.maximize(search.explore(plan, space, rng=RNG(0)), space, 3, rng=RNG(0))
    assert space.valid(found).all() and len(np.unique(found, axis=0)) == 3
    np.testing.assert_allclose(space.repair(found), found)


def test_an_objective_that_rewards_invalid_cells_gets_valid_ones() -> None:
    optimizer = Optimizer(SMALL_CELL, gp_ei(search=MultiStart(scored=48, around=16)), direction="maximize", seed=0)
    for _ in range(18):
        suggestion = optimizer.ask()
        assert SMALL_CELL.valid(suggestion.x[None, :]).all(), suggestion.params
        optimizer.tell(suggestion, float(sum(op == "none" for op in suggestion.params.values())))


def test_an_optimizer_takes_a_space_of_ones_own() -> None:
    optimizer = Optimizer(Ascending(), "gp_ei", seed=0)
    for _ in range(8):
        suggestion = optimizer.ask()
        assert suggestion.params["low"] <= suggestion.params["high"]
        optimizer.tell(suggestion, suggestion.params["high"] - suggestion.params["low"] + suggestion.params["count"])
