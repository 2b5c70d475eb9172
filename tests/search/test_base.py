"""What searches share: which points are avoided, how batches are conditioned, and what wrappers forward."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.search import Dynamic, EpsilonGreedy, Langevin, MultiStart, MutatedBest, Plan, RandomCandidates, TrustRegion
from calibo.search.base import best_available, coincides, untried_point
from calibo.spaces import Categorical, Float, PoolSpace, ProductSpace

RNG = np.random.default_rng


def test_coincidence_up_to_rounding() -> None:
    points = np.array([[0.25, 0.5], [0.1, 0.1]])
    X = np.array([[0.25 + 1e-12, 0.5], [0.25, 0.6], [0.1, 0.1]])
    np.testing.assert_array_equal(coincides(X, points), [True, False, True])
    assert not coincides(X, np.empty((0, 2))).any() and coincides(np.empty((0, 2)), points).shape == (0,)


def test_untried_points() -> None:
    space = ProductSpace({"c": Categorical(["a", "b", "c"]), "d": Categorical(["x", "y"])})
    tried = space.encode([{"c": c, "d": d} for c in "abc" for d in "xy"])
    last = untried_point(space, tried[:-1], RNG(0))
    assert last is not None and space.decode(last[None]) == [{"c": "c", "d": "y"}]
    assert untried_point(space, tried, RNG(0)) is None
    pool = PoolSpace([{"x": i} for i in range(4)])
    found = untried_point(pool, pool.X[[0, 1, 3]], RNG(0))
    np.testing.assert_array_equal(found, pool.X[2])
    assert untried_point(pool, pool.X, RNG(0)) is None
    cube = ProductSpace({"x": Float(0, 1)})
    assert untried_point(cube, cube.sample(50, RNG(0)), RNG(1)) is not None


def test_what_searches_need_and_wrappers_forward() -> None:
    assert [s.anchors_needed for s in (MutatedBest(7), Dynamic(150), RandomCandidates(), MultiStart())] == [7, 8, 0, 0]
    for wrapped in (EpsilonGreedy(Dynamic(150)), TrustRegion(Dynamic(150)), Langevin(then=Dynamic(150))):
        assert wrapped.anchors_needed == 8 and wrapped.counts_evaluations
    learned: list[int] = []

    def learn(plan: Plan, proposals: np.ndarray, rng: np.random.Generator) -> Plan:
        learned.append(len(proposals))
        return plan

    space = ProductSpace({"x": Float(0, 1)})
    plan = Plan(lambda X: X[:, 0], np.empty((0, 1)), np.empty((0, 1)), learn=learn)
    for wrapped in (EpsilonGreedy(Langevin()), TrustRegion(EpsilonGreedy(Langevin())), TrustRegion(Langevin())):
        wrapped.explore(plan, space, rng=RNG(0))
    assert learned == 3 * [75, 150, 225]


def test_many_points_are_compared_like_few(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = RNG(0)
    points = rng.random((200, 3))
    X = np.vstack([rng.random((30, 3)), points[:20], points[20:40] + 1e-8, points[40:60] + 1e-11])
    few = coincides(X, points)
    monkeypatch.setattr("calibo.search.base._COMPARED", 100)
    np.testing.assert_array_equal(coincides(X, points), few)
    np.testing.assert_array_equal(few, np.repeat([False, True, False, True], [30, 20, 20, 20]))


def test_the_best_point_that_is_not_avoided() -> None:
    space = ProductSpace({"x": Float(0, 1)})
    points, values = np.linspace(0.0, 1.0, 5)[:, None], np.array([0.0, 3.0, 5.0, 4.0, 1.0])
    for avoided, best in (([], 2), ([2], 3), ([2, 3], 1), ([1, 2, 3, 4], 0)):
        np.testing.assert_array_equal(best_available(points, values, points[avoided], space, RNG(0)), points[best])
