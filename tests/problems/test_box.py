"""Points of problems on a box, by number and by name."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.errors import DataError, SpaceError
from calibo.problems import Problem

BOX = Problem("p", lambda X: X[:, 0], ((-1.0, 1.0), (0.0, 10.0)), -1.0)


def test_points_by_number_and_by_name() -> None:
    assert BOX.names == ("x0", "x1") and BOX.dimension == 2
    np.testing.assert_allclose(BOX.from_unit([[0.0, 1.0], [0.5, 0.25]]), [[-1.0, 10.0], [0.0, 2.5]])
    np.testing.assert_array_equal(BOX.point({"x1": 3.0, "x0": 0.5}), [[0.5, 3.0]])
    assert [(f.low, f.high) for f in BOX.space().values()] == list(BOX.box)


def test_other_points_are_refused_by_name() -> None:
    with pytest.raises(DataError, match="p takes points of shape n x 2, got shape"):
        BOX([[1.0, 2.0, 3.0]])
    with pytest.raises(SpaceError, match="p takes the parameters x0, x1, got x0"):
        BOX.objective({"x0": 1.0})
