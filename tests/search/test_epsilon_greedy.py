"""Random points now and then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibo.data import Array
from calibo.errors import RecipeError, RepeatWarning
from calibo.search import EpsilonGreedy, MultiStart, Mutation, Plan, Pool
from calibo.spaces import Categorical, Float, PoolSpace, ProductSpace

CUBE = ProductSpace({"x": Float(0, 1), "y": Float(0, 1)})
ROWS = PoolSpace([{"x": i, "y": i % 7} for i in range(50)])
NOTHING = np.empty((0, 2))


def top(X: Array) -> Array:
    last = X if X.ndim == 2 else X[:, -1]
    return last[:, 0] + last[:, 1]


def run(search: Any, space: Any, acquisition: Any, q: int = 1, seed: int = 0, taken: Array = NOTHING) -> Array:
    plan = Plan(acquisition or top, taken[:0], taken, at_random=acquisition is None)
    return search.maximize(plan, space, q, rng=np.random.default_rng(seed))


def test_never_and_always() -> None:
    greedy, random = (
        np.vstack([run(EpsilonGreedy(Mutation(), e), CUBE, top, seed=s) for s in range(20)]) for e in (0, 1)
    )
    assert (greedy.sum(axis=1) > 1.9).all()
    assert 0.5 < random.sum(axis=1).mean() < 1.4


def test_as_often_as_said() -> None:
    """Of 400 points each is random with probability 0.1: outside 20 to 62 once in 10,000 seeds."""
    search = EpsilonGreedy(Pool(), 0.1)
    best = max(ROWS.X.sum(axis=1))
    found = [run(search, ROWS, top, seed=s)[0].sum() < best for s in range(400)]
    assert 20 <= sum(found) <= 62


@pytest.mark.parametrize(("search", "space"), [(MultiStart(), CUBE), (Mutation(), CUBE), (Pool(), ROWS)])
def test_where_all_is_the_same_points_are_random_and_different(search: Any, space: Any) -> None:
    batches = [run(EpsilonGreedy(search), space, None, q=8, seed=s) for s in range(5)]
    assert all(len(np.unique(batch, axis=0)) == 8 for batch in batches)
    assert len({batch.tobytes() for batch in batches}) == 5


def test_batches_of_both_kinds_repeat_nothing() -> None:
    for seed in range(5):
        batch = run(EpsilonGreedy(Pool(), 0.5), ROWS, top, q=10, seed=seed, taken=ROWS.X[:30])
        assert len(np.unique(np.vstack([batch, ROWS.X[:30]]), axis=0)) == 40


def test_nothing_left() -> None:
    one = ProductSpace({"c": Categorical(["only"])})
    with pytest.warns(RepeatWarning):
        run(EpsilonGreedy(Mutation()), one, None, taken=one.sample(1, np.random.default_rng(0)))


@pytest.mark.parametrize("epsilon", [-0.1, 1.1])
def test_bad_epsilon(epsilon: float) -> None:
    with pytest.raises(RecipeError, match="epsilon"):
        EpsilonGreedy(Pool(), epsilon)
