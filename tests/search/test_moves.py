"""Exact moves on finite columns."""

from __future__ import annotations

import numpy as np

from calibo.search.moves import climbed_columns, finite_columns, hill_climb
from calibo.spaces import Categorical, Float, Int, Ordinal, ProductSpace

SPACE = ProductSpace(
    {
        "f": Float(0, 1),
        "small": Int(1, 5),
        "large": Int(1, 1000),
        "log": Int(1, 2**40, log=True),
        "c": Categorical(list("abc")),
        "one": Categorical(["only"]),
        "o": Ordinal([1, 2, 4]),
        "step": Float(0, 1, step=0.25),
        "many": Categorical([f"c{i}" for i in range(100)]),
    }
)


def test_which_columns_are_which() -> None:
    assert finite_columns(SPACE) == [1, 2, 3, 4, 6, 7, 8]
    assert climbed_columns(SPACE).tolist() == [0, 2, 3]


def test_a_small_column_reaches_its_best_value_in_one_move() -> None:
    space = ProductSpace({"c": Categorical(list("abcdef")), "i": Int(0, 9)})
    goal = space.encode([{"c": "e", "i": 7}])[0]
    found = hill_climb(
        lambda X: -np.abs(X - goal).sum(axis=1), space.sample(6, np.random.default_rng(0)), space, sweeps=3
    )
    np.testing.assert_array_equal(found, np.broadcast_to(goal, (6, 2)))


def test_a_large_column_is_climbed_in_powers_of_two() -> None:
    space = ProductSpace({"i": Int(0, 10**6)})
    goal = space.encode([{"i": 777_777}])[0, 0]
    found = hill_climb(lambda X: -np.abs(X[:, 0] - goal), space.encode([{"i": 3}, {"i": 10**6}]), space, sweeps=40)
    np.testing.assert_array_equal(found[:, 0], goal)


def test_points_without_a_better_neighbour_stay_after_one_call() -> None:
    calls: list[int] = []

    def flat(X: np.ndarray) -> np.ndarray:
        calls.append(len(X))
        return np.zeros(len(X))

    X = SPACE.sample(5, np.random.default_rng(0))
    np.testing.assert_array_equal(hill_climb(flat, X, SPACE, sweeps=8), X)
    assert len(calls) == 2
    fixed = ProductSpace({"x": Float(0, 1), "only": Categorical(["a"])})
    X = fixed.sample(3, np.random.default_rng(0))
    np.testing.assert_array_equal(hill_climb(flat, X, fixed, sweeps=3), X)


def test_a_value_that_is_not_a_number_hides_no_better_one() -> None:
    space = ProductSpace({"c": Categorical(list("abcd"))})
    value = {"a": 0.0, "b": np.nan, "c": 1.0, "d": 0.5}

    def acquisition(X: np.ndarray) -> np.ndarray:
        return np.array([value[p["c"]] for p in space.decode(X)])

    found = hill_climb(acquisition, space.encode([{"c": "a"}]), space, sweeps=3)
    assert space.decode(found) == [{"c": "c"}]
