"""Sets of points that share members."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.models.distinct import distinct_points


@pytest.mark.parametrize("shape", [(5, 2), (1, 3, 2), (7, 1, 2), (7, 4, 2), (2, 3, 4, 2), (0, 2), (0, 3, 2), (3, 0, 2)])
def test_points_and_index_give_the_sets(shape: tuple[int, ...]) -> None:
    X = np.random.default_rng(0).random(shape)
    points, index = distinct_points(X)
    np.testing.assert_array_equal(points[index], X)


def test_what_stands_in_every_set_is_there_once() -> None:
    rng = np.random.default_rng(0)
    own, shared = rng.random((50, 1, 3)), rng.random((4, 3))
    sets = np.concatenate([own, np.broadcast_to(shared, (50, 4, 3))], axis=1)
    points, index = distinct_points(sets)
    assert len(points) == 50 + 4
    np.testing.assert_array_equal(points[index], sets)
