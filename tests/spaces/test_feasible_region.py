"""Where gradient steps may lead under constraints."""

from __future__ import annotations

import numpy as np

from calibo import Float, Mixture, ProductSpace

RNG = np.random.default_rng


def test_steps_under_constraints() -> None:
    space = ProductSpace({"m": Mixture(dict.fromkeys("abc", (0, 0.6))), "T": Float(0, 1)}, constraints=["a <= 2*b"])
    X = space.sample(30, RNG(0))
    region = space.region(X, np.arange(4))
    assert region.constrained and region.straight
    outside = X + 0.3 * RNG(1).standard_normal(X.shape)
    near = region.project(outside)
    assert space.valid(near).all()
    # They are the nearest points of a convex set: seen from them, no feasible point lies towards what was projected.
    assert ((outside - near)[:, None, :] * (X - near[:, None, :])).sum(axis=2).max() <= 1e-8
    quick, found = region.bent(outside)
    np.testing.assert_allclose(quick[found], near[found], atol=1e-9)
    # A straight step along the sum stays inside as far as it may go, and no farther.
    way = np.array([1.0, -1.0, 0.0, 0.5]) * np.ones((30, 1))
    reach = region.reach(X, way)
    assert space.valid(X + (reach * (1.0 - 1e-9))[:, None] * way).all()
    beyond = X + (reach + 1e-3)[:, None] * way
    assert not (space.valid(beyond) & (beyond >= 0.0).all(axis=1) & (beyond <= 1.0).all(axis=1)).any()


def test_what_holds_points_back_is_found() -> None:
    space = ProductSpace({"m": Mixture(dict.fromkeys("abc", (0, 1)))}, constraints=["a <= 0.5"])
    X = space.encode([{"a": 0.5, "b": 0.5, "c": 0.0}, {"a": 0.2, "b": 0.3, "c": 0.5}])
    uphill = np.array([[1.0, 0.0, -1.0]] * 2)
    working = space.region(X, np.arange(3)).working_set(X, uphill)
    assert working.blocked.tolist() == [[False, False, True], [False, False, False]]
    # Of the sum and the inequality, the first always holds, the second where a would grow beyond it.
    assert working.held.sum(axis=1).tolist() == [2, 1]


def test_points_at_nothing_are_held_by_equalities_only_and_absent_components_stay() -> None:
    space = ProductSpace({"m": Mixture(dict.fromkeys("abcd", (0, 1)), at_most=2)})
    X = space.encode([{"a": 0.4, "b": 0.6, "c": 0.0, "d": 0.0}, {"a": 0.0, "b": 1.0, "c": 0.0, "d": 0.0}])
    working = space.region(X, np.arange(4)).working_set(X, np.array([[1.0, -1.0, 1.0, 1.0]] * 2))
    assert working.blocked[0].tolist() == [False, False, True, True] and working.blocked[1, 2:].all()
    assert working.held[:, 0].all()
