"""Random and mutated points scored in one call."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.data import Array
from calibo.errors import RecipeError, RepeatWarning
from calibo.search import Mutation, Plan
from calibo.search.mutation import _known, mutated
from calibo.spaces import Categorical, Float, Int, Ordinal, PoolSpace, ProductSpace

MIXED = ProductSpace(
    {"x": Float(0, 1), "i": Int(1, 5), "c": Categorical(list("abcd")), "o": Ordinal([1, 10, 100]), "f": Float(0, 1)}
)
NOTHING = np.empty((0, 5))


def run(space: ProductSpace, f: object, q: int = 1, anchors: Array = NOTHING, taken: Array = NOTHING) -> Array:
    search = Mutation()
    rng = np.random.default_rng(0)
    return search.maximize(Plan(f, anchors, taken), space, q, rng=rng)  # type: ignore[arg-type]


def test_one_call_for_each_point() -> None:
    calls: list[tuple[int, ...]] = []

    def height(X: Array) -> Array:
        calls.append(X.shape)
        return X[..., 0] if X.ndim == 2 else X[:, -1, 0]

    found = run(MIXED, height, q=3, anchors=MIXED.sample(2, np.random.default_rng(1)))
    assert found.shape == (3, 5) and len(np.unique(found, axis=0)) == 3
    assert [len(shape) for shape in calls] == [2, 3, 3] and all(shape[0] > 4900 for shape in calls)
    assert found[0, 0] > 0.99
    np.testing.assert_array_equal(found, MIXED.repair(found))


def test_mutations_belong_to_the_space_and_differ_from_their_anchor() -> None:
    anchor = MIXED.sample(1, np.random.default_rng(3))
    found = mutated(anchor, MIXED, 2000, np.random.default_rng(0))
    np.testing.assert_array_equal(found, MIXED.repair(found))
    changed = found != anchor
    assert changed.any(axis=1).mean() > 0.85  # a choice drawn anew may be the same
    share = changed.mean(axis=0)
    assert (share > 0.1).all() and (share < 0.7).all()
    near = np.abs(found[:, 0] - anchor[0, 0])
    assert ((near > 0) & (near < 0.01)).any() and (near > 0.3).any()


def test_avoided_points_are_not_given() -> None:
    space = ProductSpace({"c": Categorical(list("abc")), "i": Int(1, 3)})
    every = np.unique(space.sample(500, np.random.default_rng(0)), axis=0)
    taken = every[:-1]
    found = run(space, lambda X: -X[:, 0], anchors=every[:1], taken=taken)
    np.testing.assert_array_equal(found, every[-1:])
    with pytest.warns(RepeatWarning):
        run(space, lambda X: -X[:, 0], taken=every)
    np.testing.assert_array_equal(_known(every, taken), np.arange(9) < 8)


def test_every_row_of_a_pool_is_evaluated_and_values_that_are_no_numbers_are_not_chosen() -> None:
    pool = PoolSpace([{"x": float(x)} for x in range(50)])
    plan = Plan(lambda X: X[:, 0], pool.X[:0], pool.X[-1:])
    np.testing.assert_array_equal(Mutation(1, 0).maximize(plan, pool, 1, rng=np.random.default_rng(0)), pool.X[[48]])
    assert run(MIXED, lambda X: np.where(X[:, 0] > 0.5, np.nan, X[:, 0]))[0, 0] <= 0.5


def test_a_shortlist_bounds_what_is_scored_as_sets() -> None:
    space, sizes = ProductSpace({"x": Float(0, 1), "y": Float(0, 1)}), []

    def acquisition(X: Array) -> Array:
        sizes.append((X.ndim, len(X)))
        last = X if X.ndim == 2 else X[:, -1]
        return last.sum(axis=1)

    nowhere = np.empty((0, 2))
    found = Mutation(300, 0, shortlist=20).maximize(
        Plan(acquisition, nowhere, nowhere), space, 3, rng=np.random.default_rng(0)
    )
    assert sizes == [(2, 300), (2, 300), (3, 20), (2, 300), (3, 20)]
    # The best by themselves are on the list.
    assert (found.sum(axis=1) > 1.8).all()
    for settings in ({"scored": 0}, {"shortlist": 0}):
        with pytest.raises(RecipeError, match="at least one random point.*shortlist"):
            Mutation(**settings)
