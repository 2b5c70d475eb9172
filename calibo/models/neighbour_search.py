"""The nearest of many points, with weights that fade towards the border of the neighbourhood.

Notation: k neighbours of a point, r_1 <= ... <= r_k their distances, r_{k+1} that of the next one; p points, D coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import KDTree

from calibo.data import Array, Rows

#: Up to this many coordinates neighbours are found by a tree; with more of them it looks at nearly all data, one by one.
_TREE = 8
#: Neighbours found beyond those that are asked for, so that points close by need no search of their own.
_SPARE = 16
#: Points at most this far from the one before them, in length scales, look among its neighbours first.
_CLOSE = 0.01


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Data that predictions at p points are conditioned on.

    Attributes:
        rows: Rows of the data, `p x k`, nearest first.
        weight: How much of its precision each measurement keeps, `p x k`, from 0 to 1.
    """

    rows: Rows
    weight: Array


@dataclass(frozen=True, eq=False)
class NeighbourSearch:
    """Finds the nearest of n points; exactly, and at once for points that are close to each other.

    Attributes:
        scaled: Coordinates of the data, `n x D`.
        rows: Which of the data are searched, increasing.
        count: Number of neighbours, k; all data that are searched if these are fewer.
    """

    scaled: Array
    rows: Rows
    count: int

    @cached_property
    def _searched(self) -> Array:
        return self.scaled[self.rows]

    @cached_property
    def _tree(self) -> KDTree:
        # Split in the middle of the sides: quicker to build, and as quick to search.
        return KDTree(self._searched, balanced_tree=False, compact_nodes=False)

    @cached_property
    def _centred(self) -> tuple[Array, Array, Array]:
        """The middle of the data that are searched, D, these without it, and their squared distances from it."""
        middle = self._searched.mean(axis=0)
        centred = self._searched - middle
        return middle, centred, np.square(centred).sum(axis=1)

    def _nearest(self, at: Array, wanted: int) -> tuple[Array, Rows]:
        """Return the nearest data of p points, in no order, and how far the farthest of them is, `p` and `p x wanted`."""
        if self.scaled.shape[1] <= _TREE:
            away, found = self._tree.query(at, wanted)
            return np.asarray(away)[:, -1], np.asarray(found)
        middle, centred, square = self._centred
        # Squared distances, without the part that is the same for all data.
        away = (-2.0 * (at - middle)) @ centred.T
        away += square
        found = np.argpartition(away, wanted - 1, axis=1)[:, :wanted]
        apart = np.square(self._searched[found] - at[:, None, :]).sum(axis=-1)
        return np.sqrt(apart.max(axis=1)), found

    def around(self, at: Array, without: Rows | None = None) -> Neighbours:
        """Return the neighbours of points.

        Near the border of the neighbourhood measurements count with less and less precision, w = (r_{k+1}^2 - r^2) /
        (r_{k+1}^2 - r_{k/2}^2), at most 1, so that predictions are continuous where neighbours change (after Rivoirard and
        Romary 2011), and neighbours that are as far as the next one do not count.

        Args:
            at: `p x D` points.
            without: A row of the data for each point, p, that is not to be among its neighbours; ``None`` for none.
        """
        size = len(self.rows)
        count = min(self.count, size)
        if not count:
            return Neighbours(np.empty((len(at), 0), dtype=np.intp), np.empty((len(at), 0)))
        candidates = self._candidates(at, min(count + 1 + (without is not None), size))
        away = np.square(self._searched[candidates] - at[:, None, :]).sum(axis=-1)
        if without is not None:
            away[self.rows[candidates] == without[:, None]] = np.inf
        order = np.argsort(away, axis=1, kind="stable")
        away = np.take_along_axis(away, order, axis=1)
        border = away[:, count] if away.shape[1] > count else np.full(len(at), np.inf)
        weight = _tapered(away[:, :count], border)
        return Neighbours(self.rows[np.take_along_axis(candidates, order[:, :count], axis=1)], weight)

    def _candidates(self, at: Array, needed: int) -> Rows:
        """Return candidates, `p x c`, that hold the ``needed`` nearest of each point."""
        size, wanted = len(self.rows), min(needed + _SPARE, len(self.rows))
        if wanted == size or not len(at):
            return np.broadcast_to(np.arange(size), (len(at), size))
        # Consecutive points close to each other, as those of finite differences, follow the first of them.
        steps = np.square(np.diff(at, axis=0)).sum(axis=1)
        leads = np.concatenate([[0], np.flatnonzero(steps > _CLOSE**2) + 1])
        leader = np.repeat(np.arange(len(leads)), np.diff(np.append(leads, len(at))))
        reached, found = self._nearest(at[leads], wanted)
        candidates = found[leader]
        # All others are at least as far from the leader as its last candidate: by the triangle inequality none of them is
        # among the nearest of a point whose own last one is nearer than that minus its distance to the leader.
        followers = np.setdiff1d(np.arange(len(at)), leads)
        apart = np.sqrt(np.square(at[followers] - at[leads][leader[followers]]).sum(axis=1))
        own = np.square(self._searched[candidates[followers]] - at[followers][:, None, :]).sum(axis=-1)
        last = np.sqrt(np.partition(own, needed - 1, axis=1)[:, needed - 1])
        unsure = followers[last > reached[leader[followers]] - apart]
        if len(unsure):
            candidates[unsure] = self._nearest(at[unsure], wanted)[1]
        return candidates


def _tapered(away: Array, border: Array) -> Array:
    """Return the weights of neighbours, `p x k`, by their squared distances in increasing order and those of the next, p."""
    count = away.shape[1]
    middle = away[:, (count - 1) // 2]
    width = border - middle
    # Without a border, or with all of the outer neighbours on it, every neighbour counts.
    bounded = np.isfinite(border) & (width > 1e-12 * border)
    scale = np.where(bounded, width, 1.0)[:, None]
    inside = np.clip((np.where(bounded, border, 0.0)[:, None] - away) / scale, 0.0, 1.0)
    return np.where(bounded[:, None], inside, np.isfinite(away).astype(np.float64))
