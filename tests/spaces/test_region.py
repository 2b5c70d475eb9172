"""Where gradient steps may lead in the cube, and what they take up on their way."""

from __future__ import annotations

import numpy as np

from calibo.spaces.region import Cube, WorkingSet, cube_reach, leaving


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
