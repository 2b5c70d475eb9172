"""The initial design: any point by its number, on the grid, and no repeats where there is a choice."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import qmc

from calibo.errors import RepeatWarning
from calibo.optimize.design import design_point, initial_size
from calibo.search.base import coincides
from calibo.spaces import Categorical, Float, Int, PoolSpace, ProductSpace
from calibo.testing.randomness import global_state

CUBE = ProductSpace({"x": Float(0, 1), "y": Float(-1, 1)})
MIXED = ProductSpace({"x": Float(0, 1, step=0.1), "n": Int(1, 50, log=True), "c": Categorical(list("abc"))})


def points(space: ProductSpace | PoolSpace, n: int, seed: int = 0) -> np.ndarray:
    taken = np.empty((0, len(space.categories)))
    for number in range(n):
        taken = np.vstack([taken, design_point(space, seed=seed, number=number, avoid=taken)])
    return taken


def test_its_size() -> None:
    assert [initial_size(d) for d in (1, 2, 3, 5, 50)] == [5, 5, 6, 10, 10]


def test_any_point_by_its_number() -> None:
    none = np.empty((0, 2))
    forwards = [design_point(CUBE, seed=3, number=i, avoid=none) for i in range(8)]
    backwards = [design_point(CUBE, seed=3, number=i, avoid=none) for i in reversed(range(8))][::-1]
    np.testing.assert_array_equal(forwards, backwards)
    assert not np.array_equal(forwards[0], design_point(CUBE, seed=4, number=0, avoid=none))


def test_it_fills_the_space() -> None:
    scattered = np.mean([qmc.discrepancy(np.random.default_rng(s).random((16, 2))) for s in range(20)])
    assert np.mean([qmc.discrepancy(points(CUBE, 16, s)) for s in range(5)]) < 0.5 * scattered


@pytest.mark.parametrize("space", [MIXED, ProductSpace({f"x{i}": Float(0, 1) for i in range(60)})])
def test_points_of_the_space_from_the_seed_alone(space: ProductSpace) -> None:
    before = global_state()
    X = points(space, 12)
    np.testing.assert_array_equal(X, space.repair(X))
    assert global_state() == before


def test_a_taken_point_is_passed_over() -> None:
    first = design_point(CUBE, seed=0, number=0, avoid=np.empty((0, 2)))
    assert not coincides(design_point(CUBE, seed=0, number=0, avoid=first[None])[None], first[None]).any()


@pytest.mark.parametrize(
    "space",
    [
        ProductSpace({"i": Int(1, 5)}),
        ProductSpace({"a": Categorical(["a", "b", "c"]), "b": Int(0, 1)}),
        PoolSpace([{"x": v} for v in (0.0, 0.3, 0.31, 0.9, 1.0)]),
        # Rows so close together that no point of the sequence falls nearest to the inner ones.
        PoolSpace([{"x": v} for v in (0.0, 0.5 - 2e-7, 0.5 - 1e-7, 0.5, 0.5 + 1e-7, 0.5 + 2e-7, 1.0)]),
        # A log scale on which the large values are rarely met.
        ProductSpace({"i": Int(1, 5, log=True)}),
    ],
    ids=["int", "product", "pool", "crowded pool", "log"],
)
def test_no_repeat_while_there_is_something_new(space: ProductSpace | PoolSpace) -> None:
    assert space.size is not None
    assert len(np.unique(points(space, space.size), axis=0)) == space.size


def test_a_repeat_is_announced() -> None:
    space = ProductSpace({"i": Int(1, 2)})
    every = space.encode([{"i": 1}, {"i": 2}])
    with pytest.warns(RepeatWarning):
        assert coincides(design_point(space, seed=0, number=2, avoid=every)[None], every).all()
