"""Points not tried yet: found where there is one, and none where there is none."""

import numpy as np

from calibo.search.untried import untried_point
from calibo.spaces import Categorical, Float, Int, PoolSpace, ProductSpace


def test_the_last_free_point_of_a_small_space_is_found() -> None:
    space = ProductSpace({"i": Int(0, 6), "c": Categorical(["a", "b", "c"])})
    grid = space.encode([{"i": i, "c": c} for i in range(7) for c in "abc"])
    found = untried_point(space, np.delete(grid, 10, axis=0), np.random.default_rng(0))
    np.testing.assert_allclose(found, grid[10])
    assert untried_point(space, grid, np.random.default_rng(0)) is None


def test_a_continuous_space_always_has_one() -> None:
    space = ProductSpace({"x": Float(0, 1)})
    taken = space.sample(100, np.random.default_rng(0))
    found = untried_point(space, taken, np.random.default_rng(0))
    assert found is not None and np.abs(taken - found).min() > 1e-9


def test_a_pool_gives_one_of_its_free_rows() -> None:
    pool = PoolSpace([{"a": float(i)} for i in range(5)])
    np.testing.assert_array_equal(untried_point(pool, pool.X[:4], np.random.default_rng(0)), pool.X[4])
    assert untried_point(pool, pool.X, np.random.default_rng(0)) is None
