"""What a candidate search is: it finds points where an acquisition function is large, and knows nothing of outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from calibo.data import Array
from calibo.spaces import Space

#: Points m x d, or sets of points m x q x d, to m values (as in ``calibo.acquisition``, which this room does not see).
Acquisition = Callable[[Array], Array]


class CandidateSearch(Protocol):
    """A way to maximise an acquisition function over a space."""

    def maximize(
        self, acquisition: Acquisition, space: Space, q: int, *, anchors: Array, taken: Array, rng: np.random.Generator
    ) -> Array:
        """A batch of points with a large acquisition, q x d, chosen one after the other.

        Args:
            acquisition: Of points, m x d, or of sets, m x j x d, whose last point is the candidate.
            space: What may be tried.
            q: Number of points.
            anchors: Points worth searching around, a x d, the most promising first; may be empty.
            taken: Points not to be suggested again, t x d; may be empty.
            rng: The only source of randomness.
        """
        ...


@runtime_checkable
class CopiesParents(Protocol):
    """A search that copies the best points."""

    @property
    def parents(self) -> int:
        """The largest number of points copied: so many anchors are of use to it."""
        ...


@runtime_checkable
class Learning(Protocol):
    """An acquisition function that depends on where the search goes."""

    def __call__(self, X: Array) -> Array:
        """Values of points, m x d, or of sets, m x q x d, m."""
        ...

    def learned(self, proposals: Array, *, rng: np.random.Generator) -> Learning:
        """The acquisition of a search that has gone to ``proposals``, p x d: all of them so far."""
        ...


@dataclass(frozen=True)
class Explored:
    """What came of an exploration.

    Attributes:
        acquisition: As learned from where the search went.
        points: The most promising points found, k x d, the best first.
    """

    acquisition: Learning
    points: Array


@runtime_checkable
class Explorer(Protocol):
    """A search that first finds out where it goes, for acquisitions that depend on it."""

    def explore(self, acquisition: Learning, space: Space, *, anchors: Array, rng: np.random.Generator) -> Explored:
        """The acquisition as learned from the search's own proposals, and the best points on the way.

        Args:
            acquisition: What the search would maximise.
            space: What may be tried.
            anchors: Points worth searching around, a x d, the most promising first; may be empty.
            rng: The only source of randomness.
        """
        ...


def with_chosen(acquisition: Acquisition, chosen: list[Array]) -> Acquisition:
    """The acquisition of a further point beside those already chosen for the batch."""
    if not chosen:
        return acquisition
    fixed = np.stack(chosen)

    def of_sets(X: Array) -> Array:
        earlier = np.broadcast_to(fixed, (len(X), *fixed.shape))
        return acquisition(np.concatenate([earlier, X[:, None, :]], axis=1))

    return of_sets


def is_taken(X: Array, taken: Array) -> np.ndarray:
    """Which points, m x d, coincide with one of ``taken``, t x d, up to rounding."""
    if not len(taken) or not len(X):
        return np.zeros(len(X), dtype=bool)
    from scipy.spatial.distance import cdist

    return cdist(X, taken, "chebyshev").min(axis=1) < 1e-9
