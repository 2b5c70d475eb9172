"""Where gradient steps may lead, in the cube and under constraints."""

from __future__ import annotations

import numpy as np

from calibo import Float, Mixture, ProductSpace
from calibo.spaces.region import Cube, WorkingSet, cube_reach, leaving

RNG = np.random.default_rng


def test_steps_in_the_cube_end_at_its_faces() -> None:
    x = np.array([[0.25, 0.5], [0.0, 1.0], [0.5, 0.5]])
    way = np.array([[1.0, -1.0], [-1.0, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(cube_reach(x, way), [0.5, 0.0, np.inf])
    np.testing.assert_array_equal(leaving(x <= 0.0, x >= 1.0, way), [[False, False], [True, False], [False, False]])
    assert not Cube().constrained
    np.testing.assert_array_equal(Cube().project(x + way), np.clip(x + way, 0.0, 1.0))


def test_a_working_set_takes_up_what_a_direction_would_leave() -> None:
    none, rows = np.zeros((1, 2), dtype=bool), np.zeros((1, 1), dtype=bool)
    at_low = np.array([[True, False]])
    upper = np.ones((1, 1), dtype=bool)
    working = WorkingSet(none, at_low, none, np.array([[[0.0, 1.0]]]), rows, rows, upper)
    assert not working.extended(np.array([[1.0, -1.0]]))
    assert working.extended(np.array([[-1.0, 0.0]])) and working.blocked.tolist() == [[True, False]]
    assert working.extended(np.array([[0.0, 1.0]])) and working.held.tolist() == [[True]]
    assert not working.extended(np.array([[-1.0, 1.0]]))


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
