"""Multi-start search: good points, inside the space, and never a repeat by accident."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from calibo.errors import RecipeError, RepeatWarning
from calibo.search import MultiStart, Plan
from calibo.search.base import coincides
from calibo.search.multistart import scattered
from calibo.spaces import Categorical, Float, Int, Ordinal, PoolSpace, ProductSpace

RNG = np.random.default_rng
MIXED = ProductSpace(
    {
        "lr": Float(1e-4, 1, log=True),
        "x": Float(-2, 2, step=0.25),
        "n": Int(1, 300, log=True),
        "k": Int(2, 20, step=3),
        "c": Categorical(["a", "b", "c"]),
        "o": Ordinal([1, 2, 4, 8]),
    }
)


def none(space: ProductSpace) -> np.ndarray:
    return np.empty((0, len(space.columns)))


def search(
    acquisition: Callable[[np.ndarray], np.ndarray],
    space: ProductSpace,
    q: int = 1,
    *,
    taken: np.ndarray | None = None,
    anchors: np.ndarray | None = None,
    seed: int = 0,
) -> np.ndarray:
    plan = Plan(acquisition, none(space) if anchors is None else anchors, none(space) if taken is None else taken)
    return MultiStart().maximize(plan, space, q, rng=RNG(seed))


def last(X: np.ndarray) -> np.ndarray:
    return X if X.ndim == 2 else X[:, -1]


@pytest.mark.parametrize(("d", "scale"), [(1, 1.0), (6, 1.0), (2, 1e-300), (2, 1e300)])
def test_the_optimum_of_a_smooth_function(d: int, scale: float) -> None:
    space = ProductSpace({f"x{i}": Float(0, 1) for i in range(d)})
    goal = np.linspace(0.2, 0.8, d)
    found = search(lambda X: -scale * np.square(X - goal).sum(axis=-1), space)
    np.testing.assert_allclose(found, [goal], atol=2e-3)


def test_the_optimum_of_a_mixed_space() -> None:
    goal = MIXED.encode([{"lr": 0.03, "x": 0.75, "n": 40, "k": 14, "c": "b", "o": 4}])[0]
    nominal = np.array([c > 0 for c in MIXED.categories])

    def closeness(X: np.ndarray) -> np.ndarray:
        return -np.where(nominal, goal != X, np.square(X - goal)).sum(axis=-1)

    found = search(closeness, MIXED)
    params = MIXED.decode(found)[0]
    assert (params["x"], params["n"], params["k"], params["c"], params["o"]) == (0.75, 40, 14, "b", 4)
    assert params["lr"] == pytest.approx(0.03, rel=0.05)


def test_inside_the_space_and_reproducible() -> None:
    weights = RNG(0).standard_normal(6) * 5
    one, same, other = (search(lambda X: np.sin(last(X) @ weights), MIXED, 3, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one, MIXED.repair(one))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_batches_are_distinct_and_see_what_was_chosen() -> None:
    space = ProductSpace({"x": Float(0, 1)})
    sizes: set[int] = set()

    def hill(X: np.ndarray) -> np.ndarray:
        sizes.add(1 if X.ndim == 2 else X.shape[1])
        return -np.square(last(X)[:, 0] - 0.5)

    assert len(np.unique(search(hill, space, q=4))) == 4 and sizes == {1, 2, 3, 4}
    with pytest.raises(RecipeError, match="use Pool"):
        search(hill, PoolSpace([{"x": 1}]))  # type: ignore[arg-type]


def test_a_taken_optimum_is_not_suggested_again() -> None:
    space = ProductSpace({"i": Int(0, 9), "c": Categorical(["a", "b"])})
    best = space.encode([{"i": 6, "c": "b"}])
    found = search(lambda X: -np.abs(X - best).sum(-1), space, taken=best)
    assert not coincides(found, best).any()
    assert space.decode(found)[0] in ({"i": 5, "c": "b"}, {"i": 7, "c": "b"})


def test_the_last_free_point_is_found() -> None:
    space = ProductSpace({"i": Int(1, 1000, log=True)})
    every = space.encode([{"i": i} for i in range(1, 1001)])
    found = search(lambda X: X[:, 0], space, taken=np.delete(every, 998, axis=0))
    assert space.decode(found) == [{"i": 999}]


@pytest.mark.parametrize("space", [ProductSpace({"c": Categorical(["only"])}), ProductSpace({"i": Int(1, 3)})])
def test_a_repeat_is_announced(space: ProductSpace) -> None:
    every = np.unique(space.sample(200, RNG(0)), axis=0)
    with pytest.warns(RepeatWarning, match="every point of the space has been tried"):
        found = search(lambda X: last(X)[:, 0], space, q=2, taken=every)
    np.testing.assert_array_equal(found[0], every[-1])


def test_anchors_help_to_find_a_needle() -> None:
    space = ProductSpace({f"x{i}": Float(0, 1) for i in range(6)})
    goal = np.full(6, 0.37)
    needle = lambda X: np.exp(-np.square((X - goal) / 0.03).sum(axis=-1)) - 1e-9 * X.sum(axis=-1)
    found = search(needle, space, anchors=goal[None, :] + 0.02)
    np.testing.assert_allclose(found[0], goal, atol=0.01)


@pytest.mark.parametrize("bad", [np.nan, -np.inf, np.inf])
def test_values_that_are_no_numbers(bad: float) -> None:
    space = ProductSpace({"x": Float(0, 1), "y": Float(0, 1)})
    found = search(lambda X: np.where(X[:, 0] > 0.5, bad, -np.square(X - 0.3).sum(-1)), space)
    assert np.isfinite(found).all()
    if bad != np.inf:
        np.testing.assert_allclose(found, 0.3, atol=0.02)
    assert np.isfinite(search(lambda X: np.full(len(X), bad), space)).all()


def test_scattered_points_are_valid_and_near() -> None:
    anchors = MIXED.sample(3, RNG(0))
    points = scattered(anchors, MIXED, 200, RNG(1))
    assert points.shape == (200, 6)
    np.testing.assert_array_equal(points, MIXED.repair(points))
    numeric = [0, 1, 2, 3, 5]
    nearest = np.abs(points[:, None, numeric] - anchors[None][..., numeric]).max(axis=-1).min(axis=1)
    assert np.median(nearest) < 0.2
    assert scattered(none(MIXED), MIXED, 10, RNG(0)).shape == (0, 6)
