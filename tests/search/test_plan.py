"""Plans: one more point of a batch, points of one shape, and boxes."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.errors import DataError
from calibo.search import Box, Plan
from calibo.search.base import one_by_one


def test_a_batch_is_chosen_given_its_earlier_points() -> None:
    plan = Plan(lambda X: X.reshape(len(X), -1).sum(axis=1), np.empty((0, 2)), np.zeros((1, 2)))
    X = np.array([[1.0, 0.0], [0.0, 2.0]])
    assert plan.given([]) is plan
    given = plan.given([np.array([10.0, 20.0]), np.array([30.0, 40.0])])
    np.testing.assert_allclose(given.acquisition(X), [101.0, 102.0])
    np.testing.assert_array_equal(given.avoid, [[0.0, 0.0], [10.0, 20.0], [30.0, 40.0]])
    seen: list[int] = []
    batch = one_by_one(plan, 3, lambda given: seen.append(len(given.avoid)) or np.full(2, len(given.avoid) / 8))
    assert seen == [1, 2, 3] and batch.shape == (3, 2)


def test_points_are_arrays_with_as_many_columns_as_the_space() -> None:
    plan = Plan(lambda X: X[:, 0], np.empty((0, 0)), np.zeros((1, 3)))
    assert plan.anchors.shape == plan.repeats.shape == (0, 3)
    with pytest.raises(DataError, match="m x d"):
        Plan(lambda X: X[:, 0], np.empty(3), np.zeros((1, 3)))


def test_boxes() -> None:
    """Sides follow the weights with geometric mean 1, end at the cube, and do not limit categorical columns."""
    box = Box.around(np.full(3, 0.5), np.array([1.0, 2.0, 4.0]), 0.2, (0, 0, 0))
    np.testing.assert_allclose(box.upper - box.lower, [0.1, 0.2, 0.4])
    np.testing.assert_allclose(box.doubled().upper - box.doubled().lower, [0.2, 0.4, 0.8])
    box = Box.around(np.array([0.0, 0.95]), np.ones(2), 0.4, (0, 0))
    np.testing.assert_allclose([box.lower, box.upper], [[0.0, 0.75], [0.2, 1.0]])
    np.testing.assert_array_equal(box.contains(np.array([[0.1, 0.8], [0.3, 0.8], [0.2, 1.0]])), [True, False, True])
    assert not box.is_everything and Box.around(np.full(2, 0.5), np.ones(2), 1.0, (0, 0)).is_everything
    box = Box.around(np.array([0.5, 0.125, 0.5]), np.array([1.0, 1e3, 4.0]), 0.2, (0, 4, 0))
    np.testing.assert_allclose(box.upper - box.lower, [0.1, 1.0, 0.4])
    assert Box.around(np.array([0.5]), np.ones(1), 0.2, (2,)).is_everything
