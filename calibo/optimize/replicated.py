"""Measuring every point several times, for methods that learn the noise from replicates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from calibo.checks import check_whole
from calibo.data import Array, Dataset
from calibo.models.heteroscedastic import same_points
from calibo.optimize.strategy import Plan, Strategy, check_outcomes
from calibo.search import CandidateSearch
from calibo.search.base import Acquisition
from calibo.spaces import Space


@dataclass(frozen=True)
class Replicated:
    """A strategy whose points are each asked for several times before the next one is chosen.

    Which points are due again follows from the data alone: every point with an outcome (or pending) that was asked for
    fewer than ``times`` times so far, outcomes, failures and pending points counted, the earliest first. Points of the
    initial design, which are proposed once each, and points that were told without being asked for are therefore
    completed as well. A point that has only failed is not asked for again.

    In a batch the points due come first; what is left of it goes to the strategy's own choices, ``times`` places each.

    Attributes:
        strategy: What chooses points; its forecasts and its model are used as they are.
        times: Measurements of each point, from 1 on.
    """

    strategy: Strategy
    times: int = 3
    single_objective: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole("times, how often a point is measured,", self.times)

    @property
    def name(self) -> str:
        """That of the strategy."""
        return getattr(self.strategy, "name", "custom")

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        check_outcomes(self, data.objectives, data.constraints)
        plan = self.strategy.plan(data, rng=rng)
        return replace(plan, acquisition=WithDue(plan.acquisition, due_points(data, self.times)))

    def searcher(self, space: Space) -> CandidateSearch:
        return DueFirst(self.strategy.searcher(space), self.times)


def due_points(data: Dataset, times: int) -> Array:
    """Points to be measured again, r x d, each as often as it is short of ``times``, the earliest first."""
    tried = np.vstack([data.X, data.X_pending, data.X_failed])
    if not len(tried):
        return tried
    leader = same_points(tried)
    count = np.bincount(leader, minlength=len(tried))
    # Leaders come first in the stack, so one among the failed points is a point that has only failed.
    alive = np.arange(len(tried)) < len(data.X) + len(data.X_pending)
    short = np.where(alive & (count > 0), np.maximum(times - count, 0), 0)
    return np.repeat(tried, short, axis=0)


@dataclass(frozen=True, eq=False)
class WithDue:
    """An acquisition function, and points that are due before it is asked.

    Attributes:
        acquisition: Of points, m x d, or sets, m x q x d.
        due: r x d.
    """

    acquisition: Acquisition
    due: Array

    def __call__(self, X: Array) -> Array:
        return self.acquisition(X)


@dataclass(frozen=True)
class DueFirst:
    """Gives the points that are due, then those another search finds, each several times.

    Attributes:
        search: For points that are not due.
        times: How often a point found is given.
    """

    search: CandidateSearch
    times: int

    def maximize(
        self, acquisition: Acquisition, space: Space, q: int, *, anchors: Array, taken: Array, rng: np.random.Generator
    ) -> Array:
        due = np.empty((0, taken.shape[1]))
        if isinstance(acquisition, WithDue):
            acquisition, due = acquisition.acquisition, acquisition.due[:q]
        left = q - len(due)
        if not left:
            return due
        fresh = -(-left // self.times)
        found = self.search.maximize(acquisition, space, fresh, anchors=anchors, taken=taken, rng=rng)
        return np.vstack([due, np.repeat(found, self.times, axis=0)[:left]])
