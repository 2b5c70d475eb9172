"""Base class of problems on a box of variables x0, x1, ..."""

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


class BoxProblem:
    """A problem whose d variables lie between bounds.

    Attributes:
        name: Name of the problem, for messages.
        box: Lower and upper bound of each of the d variables.
    """

    name: str
    box: Box

    @property
    def dimension(self) -> int:
        """Number of variables, d."""
        return len(self.box)

    @property
    def bounds(self) -> Array:
        """Lower and upper bounds, d x 2."""
        return np.array(self.box, dtype=np.float64)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables: x0, x1, ..."""
        return tuple(f"x{i}" for i in range(len(self.box)))

    def from_unit(self, U: npt.ArrayLike) -> Array:
        """Convert points of the unit cube to original units, n x d."""
        low, high = self.bounds.T
        return low + np.asarray(U, dtype=np.float64) * (high - low)

    def space(self) -> dict[str, Float]:
        """Return the box as a search space."""
        from calibo.spaces import Float

        return {name: Float(low, high) for name, (low, high) in zip(self.names, self.box, strict=True)}

    def points(self, X: npt.ArrayLike) -> Array:
        """Return points in original units as an array, n x d.

        Raises:
            DataError: If they have another shape.
        """
        points = np.asarray(X, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != len(self.box):
            raise DataError(f"{self.name} takes points of shape n x {len(self.box)}, got shape {points.shape}")
        return points

    def point(self, params: Mapping[str, float]) -> Array:
        """Return parameters given by name as one point, 1 x d.

        Raises:
            SpaceError: If a name is unknown or missing.
        """
        if set(params) != set(self.names):
            given = ", ".join(params) or "none"
            raise SpaceError(f"{self.name} takes the parameters {', '.join(self.names)}, got {given}")
        return np.array([[params[name] for name in self.names]], dtype=np.float64)
