"""Pools and random draws: scored once, in full."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.errors import RecipeError, RepeatWarning
from calibo.search import Plan, Pool, RandomDraw
from calibo.search.base import coincides
from calibo.spaces import Categorical, Float, Int, PoolSpace, ProductSpace

RNG = np.random.default_rng
POOL = PoolSpace([{"a": i % 7, "b": i / 10, "c": "xyz"[i % 3]} for i in range(50)])
NONE = np.empty((0, 3))


def last(X: np.ndarray) -> np.ndarray:
    return X if X.ndim == 2 else X[:, -1]


@pytest.mark.parametrize("chunk", [3, 8192])
def test_the_best_row(chunk: int) -> None:
    weights = np.array([1.0, -2.0, 0.3])
    found = Pool(chunk).maximize(Plan(lambda X: X @ weights, NONE, NONE), POOL, 1, rng=RNG(0))
    np.testing.assert_array_equal(found[0], POOL.X[np.argmax(POOL.X @ weights)])


def test_a_batch_of_rows_is_distinct_and_new() -> None:
    taken = POOL.X[:10]
    found = Pool().maximize(Plan(lambda X: last(X).sum(axis=-1), NONE, taken), POOL, 6, rng=RNG(0))
    assert not coincides(found, taken).any()
    np.testing.assert_allclose(found.sum(axis=1), np.sort(POOL.X[10:].sum(axis=1))[::-1][:6])
    twins = PoolSpace([{"a": 1.0}, {"a": 1.0}, {"a": 0.0}])
    found = Pool().maximize(Plan(lambda X: last(X)[:, 0], twins.X[:0], twins.X[:0]), twins, 2, rng=RNG(0))
    np.testing.assert_array_equal(found, [[1.0], [0.0]])


def test_an_exhausted_pool_repeats_and_says_so() -> None:
    with pytest.warns(RepeatWarning, match="every point of the space"):
        found = Pool().maximize(Plan(lambda X: last(X)[:, 0], NONE, POOL.X), POOL, 2, rng=RNG(0))
    assert len(np.unique(found, axis=0)) == 2


def test_rows_without_a_value_come_last() -> None:
    found = Pool().maximize(Plan(lambda X: np.where(X[:, 0] > 0.5, np.nan, X[:, 0]), NONE, NONE), POOL, 1, rng=RNG(0))
    assert found[0, 0] == 0.5


def test_spaces_that_are_finite_or_not() -> None:
    product = ProductSpace({"x": Float(0, 1)})
    with pytest.raises(RecipeError, match="use MultiStart"):
        Pool().maximize(Plan(lambda X: X[:, 0], np.empty((0, 1)), np.empty((0, 1))), product, 1, rng=RNG(0))
    found = RandomDraw().maximize(Plan(lambda X: X[:, 0], NONE, NONE), POOL, 1, rng=RNG(0))
    assert found[0, 0] == POOL.X[:, 0].max()
    grid = ProductSpace({"i": Int(1, 5), "c": Categorical(["a", "b"])})
    found = Pool().maximize(Plan(lambda X: X @ [1.0, 2.0], np.empty((0, 2)), np.empty((0, 2))), grid, 1, rng=RNG(0))
    assert grid.decode(found) == [{"i": 5, "c": "b"}]


SPACE = ProductSpace({"x": Float(-1, 1), "i": Int(1, 9), "c": Categorical(["a", "b"])})


def test_random_draws_score_every_place_in_one_call() -> None:
    calls: list[tuple[int, ...]] = []

    def acquisition(X: np.ndarray) -> np.ndarray:
        calls.append(X.shape)
        return last(X)[:, 0]

    found = RandomDraw(100, 20).maximize(Plan(acquisition, SPACE.sample(2, RNG(1)), NONE), SPACE, 3, rng=RNG(0))
    assert calls == [(120, 3), (120, 2, 3), (120, 3, 3)]
    np.testing.assert_array_equal(found, SPACE.repair(found))
    assert len(np.unique(found, axis=0)) == 3


def test_random_draws_avoid_tried_points_and_repeat_only_when_they_must() -> None:
    small = ProductSpace({"i": Int(1, 4)})
    every = small.encode([{"i": i} for i in range(1, 5)])
    draw = lambda taken: RandomDraw().maximize(Plan(lambda X: X[:, 0], every[:0], taken), small, 1, rng=RNG(0))
    np.testing.assert_array_equal(draw(every[1:]), every[:1])
    with pytest.warns(RepeatWarning):
        np.testing.assert_array_equal(draw(every), every[-1:])
