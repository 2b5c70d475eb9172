from __future__ import annotations

import numpy as np
import pytest

from calibo.errors import DataError, SpaceError
from calibo.problems.box import box_space, checked_points, named_point, stretched, variable_names

BOX = ((-1.0, 1.0), (0.0, 10.0))


def test_points_by_number_and_by_name() -> None:
    assert variable_names(BOX) == ("x0", "x1")
    np.testing.assert_allclose(stretched(BOX, [[0.0, 1.0], [0.5, 0.25]]), [[-1.0, 10.0], [0.0, 2.5]])
    np.testing.assert_array_equal(named_point("p", BOX, {"x1": 3.0, "x0": 0.5}), [[0.5, 3.0]])
    assert [(f.low, f.high) for f in box_space(BOX).values()] == list(BOX)


def test_other_points_are_refused_by_name() -> None:
    with pytest.raises(DataError, match="p takes points of shape n x 2, got shape"):
        checked_points("p", BOX, [[1.0, 2.0, 3.0]])
    with pytest.raises(SpaceError, match="p takes the parameters x0, x1, got x0"):
        named_point("p", BOX, {"x0": 1.0})
