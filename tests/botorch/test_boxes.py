"""Boxes of what fronts of three objectives do not dominate."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.botorch.boxes import partitioned
from calibo.pareto import hypervolume

pytestmark = pytest.mark.extras

REFERENCE = np.zeros(3)
TOP = np.ones(3)


def volume(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Of boxes, ... x K x 3, below the point (1, 1, 1), summed: ..."""
    return np.maximum(np.minimum(upper, TOP) - lower, 0.0).prod(axis=-1).sum(axis=-1)


def test_boxes_fill_what_the_front_leaves() -> None:
    Y = np.random.default_rng(0).random((5, 9, 3))
    lower, upper = partitioned(Y, REFERENCE)
    dominated = [hypervolume(front, REFERENCE) for front in Y]
    np.testing.assert_allclose(volume(lower, upper), 1.0 - np.array(dominated), rtol=1e-12)


def test_fronts_do_not_depend_on_those_beside_them_or_before_them() -> None:
    Y = np.random.default_rng(1).random((4, 6, 3))
    lower, upper = partitioned(Y, REFERENCE)
    # What is kept of an earlier call is not what was handed out.
    expected = volume(lower, upper)
    lower[...], upper[...] = 0.0, 0.0
    np.testing.assert_array_equal(volume(*partitioned(Y, REFERENCE)), expected)
    alone = [volume(*partitioned(front, REFERENCE)) for front in Y]
    np.testing.assert_allclose(alone, expected, rtol=1e-14)
    # The same values in another layout of memory, and another reference.
    np.testing.assert_array_equal(volume(*partitioned(np.asfortranarray(Y), REFERENCE)), expected)
    assert (volume(*partitioned(Y, REFERENCE + 0.1)) < expected).all()


def test_without_points_there_is_one_box() -> None:
    for shape in ((0, 3), (2, 0, 3)):
        lower, upper = partitioned(np.empty(shape), REFERENCE)
        assert lower.shape == upper.shape == (*shape[:-2], 1, 3)
        assert (lower == 0.0).all() and np.isposinf(upper).all()
