"""Where gradient steps may lead: the part of the unit cube that constraints leave, as a search sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from calibo.data import Array


@dataclass(eq=False)
class WorkingSet:
    """The bounds and linear constraints that R points are at, and those that hold them back.

    Attributes:
        blocked: Columns that stay at their bounds, R x c.
        at_low: Columns at their lower bound, R x c.
        at_high: Columns at their upper bound, R x c.
        normals: Normals of the linear constraints, R x m x c.
        held: Constraints that are kept at their bound: equalities, and inequalities that hold the points back, R x m.
        at_lower: Inequalities at their lower bound, R x m.
        at_upper: Inequalities at their upper bound, R x m.
    """

    blocked: np.ndarray
    at_low: np.ndarray
    at_high: np.ndarray
    normals: Array
    held: np.ndarray
    at_lower: np.ndarray
    at_upper: np.ndarray

    def extended(self, way: Array) -> bool:
        """Add what directions, R x c, would leave though the points are at its bound; return whether there was anything."""
        longest = np.abs(way).max(axis=1, keepdims=True)
        room = 1e-9 * longest
        columns = ~self.blocked & ((self.at_low & (way < -room)) | (self.at_high & (way > room)))
        slopes, sizes = (self.normals * way[:, None, :]).sum(axis=2), np.abs(self.normals).max(axis=2, initial=0.0)
        room = room * sizes
        rows = ~self.held & ((self.at_lower & (slopes < -room)) | (self.at_upper & (slopes > room)))
        self.blocked, self.held = self.blocked | columns, self.held | rows
        return bool(columns.any() or rows.any())


class Region(ABC):
    """The feasible set around R points, in the c columns that gradient steps move."""

    @property
    def constrained(self) -> bool:
        """Whether there is more than the bounds of columns, which never bend a step downhill."""
        return True

    @property
    def straight(self) -> bool:
        """Whether equalities hold all along a straight step that they hold along at first."""
        return True

    def part(self, rows: np.ndarray) -> Region:
        """Return the region around some of the points."""
        return self

    @abstractmethod
    def project(self, x: Array) -> Array:
        """Return the nearest feasible coordinates, R x c."""

    @abstractmethod
    def bent(self, x: Array) -> tuple[Array, np.ndarray]:
        """Return the nearest feasible coordinates, R x c, as far as they are found fast, and which are, R."""

    @abstractmethod
    def reach(self, x: Array, way: Array) -> Array:
        """Return how far feasible points can go in some directions, R x c each, before something holds them back, R.

        The directions are such that the equalities hold along them; bounds may be passed by a rounding error.
        """

    @abstractmethod
    def working_set(self, x: Array, uphill: Array) -> WorkingSet:
        """Return what holds back feasible points that move in some directions, R x c each."""

    def allows(self, x: Array) -> np.ndarray:
        """Return at which feasible coordinates, R x c, all other conditions are met, R."""
        return np.ones(len(x), dtype=bool)


class Cube(Region):
    """The unit cube without constraints."""

    @property
    def constrained(self) -> bool:
        return False

    def project(self, x: Array) -> Array:
        return x.clip(0.0, 1.0)

    def bent(self, x: Array) -> tuple[Array, np.ndarray]:
        return self.project(x), np.ones(len(x), dtype=bool)

    def reach(self, x: Array, way: Array) -> Array:
        return cube_reach(x, way)

    def working_set(self, x: Array, uphill: Array) -> WorkingSet:
        none, normals = np.empty((len(x), 0), dtype=bool), np.empty((len(x), 0, x.shape[1]))
        at_low, at_high = x <= 0.0, x >= 1.0
        return WorkingSet(leaving(at_low, at_high, uphill), at_low, at_high, normals, none, none, none)


def leaving(at_low: np.ndarray, at_high: np.ndarray, uphill: Array) -> np.ndarray:
    """Return which columns would leave the unit cube, given which are at its faces, all of the same shape."""
    return (at_low & (uphill < 0.0)) | (at_high & (uphill > 0.0))


def cube_reach(x: Array, way: Array) -> Array:
    """Return how far points of the unit cube can go in some directions, R x c each, R."""
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(way > 0.0, (1.0 - x) / way, np.where(way < 0.0, -x / way, np.inf))
    return reach.min(axis=1, initial=np.inf)
