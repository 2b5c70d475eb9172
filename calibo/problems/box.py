"""What all problems on a box of variables x0, x1, ... share: their points, by number and by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from calibo.data import Array
from calibo.errors import DataError, SpaceError

if TYPE_CHECKING:
    from calibo.spaces import Float

#: Lower and upper bound of each variable, d.
Box = tuple[tuple[float, float], ...]


def checked_points(problem: str, box: Box, X: npt.ArrayLike) -> Array:
    """Points in original units, n x d, for a problem of that name."""
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != len(box):
        raise DataError(f"{problem} takes points of shape n x {len(box)}, got shape {points.shape}")
    return points


def variable_names(box: Box) -> tuple[str, ...]:
    """Names of the variables: x0, x1, ..."""
    return tuple(f"x{i}" for i in range(len(box)))


def stretched(box: Box, U: npt.ArrayLike) -> Array:
    """Points of the unit cube, n x d, in original units, n x d."""
    low, high = np.array(box, dtype=np.float64).T
    return low + np.asarray(U, dtype=np.float64) * (high - low)


def box_space(box: Box) -> dict[str, Float]:
    """The box as a search space, by name."""
    from calibo.spaces import Float

    return {name: Float(low, high) for name, (low, high) in zip(variable_names(box), box, strict=True)}


def named_point(problem: str, box: Box, params: Mapping[str, float]) -> Array:
    """Parameters by name as one point, 1 x d."""
    names = variable_names(box)
    if set(params) != set(names):
        raise SpaceError(f"{problem} takes the parameters {', '.join(names)}, got {', '.join(params) or 'none'}")
    return np.array([[params[name] for name in names]], dtype=np.float64)
