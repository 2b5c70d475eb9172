"""The interface of searches, and what they share: greedy batches and points to avoid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibo.arguments import check_fields
from calibo.checks import check_instance
from calibo.data import Array
from calibo.errors import RepeatWarning, warn
from calibo.search.plan import Acquisition, Plan
from calibo.spaces import Space

#: Points drawn before a small space is enumerated.
_DRAWN = 1024
#: Points nearer than this in every column are the same.
_ROUNDING = 1e-9
#: Up to this many pairs of points are compared one by one, which needs memory for all of them.
_COMPARED = 1_000_000


class Search(ABC):
    """Finds points of a space where a plan's acquisition function is large."""

    @property
    def anchors_needed(self) -> int:
        """How many anchors the search makes use of beyond the strategy's own number; 0 for any."""
        return 0

    @property
    def counts_evaluations(self) -> bool:
        """Whether the search counts evaluations by ``plan.avoid``, which must then hold every point tried."""
        return False

    @property
    def explores(self) -> bool:
        """Whether ``explore`` lets a plan learn where the search goes."""
        return False

    def explore(self, plan: Plan, space: Space, *, rng: np.random.Generator) -> Plan:
        """Return the plan after it has learned where the search goes; by default the plan as it is.

        Args:
            plan: What to maximize.
            space: The search space.
            rng: The only source of randomness.
        """
        return plan

    @abstractmethod
    def maximize(self, plan: Plan, space: Space, q: int, *, rng: np.random.Generator) -> Array:
        """Return a batch of points with a large acquisition value, `q x d`.

        Args:
            plan: What to maximize, where to start, and what to avoid.
            space: The search space.
            q: Number of points.
            rng: The only source of randomness.
        """


@dataclass(frozen=True)
class SearchWrapper(Search):
    """A search that modifies another one, and forwards everything else to it.

    Attributes:
        search: The search inside.
    """

    search: Search

    def __post_init__(self) -> None:
        check_fields(self)
        check_instance("search", self.search, Search, "MultiStart()")

    @property
    def anchors_needed(self) -> int:
        return self.search.anchors_needed

    @property
    def counts_evaluations(self) -> bool:
        return self.search.counts_evaluations

    @property
    def explores(self) -> bool:
        return self.search.explores

    def explore(self, plan: Plan, space: Space, *, rng: np.random.Generator) -> Plan:
        return self.search.explore(plan, space, rng=rng)

    def maximize(self, plan: Plan, space: Space, q: int, *, rng: np.random.Generator) -> Array:
        return self.search.maximize(plan, space, q, rng=rng)


def one_by_one(plan: Plan, q: int, choose: Callable[[Plan], Array]) -> Array:
    """Choose a batch greedily, `q x d`: each point by the plan given those chosen before it.

    Args:
        plan: Of the first point.
        q: Number of points.
        choose: Returns the best point of a plan, `d`.
    """
    chosen: list[Array] = []
    for _ in range(q):
        chosen.append(choose(plan.given(chosen)))
    return np.stack(chosen)


def in_chunks(acquisition: Acquisition, X: Array, chunk: int) -> Array:
    """Evaluate an acquisition function at `m x d` points, ``chunk`` at a time to bound memory; NaN becomes minus infinity."""
    parts = [acquisition(X[i : i + chunk]) for i in range(0, len(X), chunk)]
    return np.nan_to_num(np.concatenate([np.empty(0), *parts]), nan=-np.inf, posinf=np.inf, neginf=-np.inf)


def coincides(X: Array, points: Array) -> np.ndarray:
    """Return which of `m x d` points equal one of ``points``, `t x d`, up to rounding."""
    if not len(points) or not len(X):
        return np.zeros(len(X), dtype=bool)
    if len(X) * len(points) <= _COMPARED:
        from scipy.spatial.distance import cdist

        return cdist(X, points, "chebyshev").min(axis=1) < _ROUNDING
    from scipy.spatial import KDTree

    nearest = KDTree(points).query(X, p=np.inf, distance_upper_bound=_ROUNDING)[0]
    return np.isfinite(nearest)


def finite(values: Array) -> Array:
    """Return values with everything that is not finite replaced by minus infinity."""
    return np.where(np.isfinite(values), values, -np.inf)


def best_available(points: Array, values: Array, avoid: Array, space: Space, rng: np.random.Generator) -> Array:
    """Return the best of `m x d` points that is not to be avoided; else an untried point, or a repeat if there is none."""
    order = np.argsort(-values, kind="stable")
    for some in (order[:1], order[1:]):
        free = some[~coincides(points[some], avoid)]
        if len(free):
            return points[free[0]]
    return new_point(space, avoid, rng, otherwise=lambda: points[int(np.argmax(values))])


def new_point(space: Space, avoid: Array, rng: np.random.Generator, *, otherwise: Callable[[], Array]) -> Array:
    """Return a random untried point, `d`; if the space has none, what ``otherwise`` returns, with a warning."""
    found = untried_point(space, avoid, rng)
    if found is None:
        announce_repeat()
        return otherwise()
    return found


def announce_repeat() -> None:
    """Warn that a point is suggested again, because every point of the space has been tried."""
    warn("every point of the space has been tried; suggesting one again", RepeatWarning)


def untried_point(space: Space, avoid: Array, rng: np.random.Generator) -> Array | None:
    """Return a random point, `d`, that is not among ``avoid``, `t x d`; ``None`` if the space has no other."""
    if not space.is_pool:
        found = _drawn(space.sample(_DRAWN, rng), avoid, rng)
        if found is not None or space.size is None or space.size > 10 * (len(avoid) + _DRAWN):
            return found
    every = space.enumerate()
    return None if every is None else _drawn(every, avoid, rng)


def _drawn(points: Array, avoid: Array, rng: np.random.Generator) -> Array | None:
    free = points[~coincides(points, avoid)]
    return free[rng.integers(len(free))] if len(free) else None
