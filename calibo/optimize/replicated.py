"""Measuring every point several times, for methods that learn the noise from replicates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from calibo.arguments import check_fields
from calibo.checks import check_instance, check_whole
from calibo.data import Array, Dataset
from calibo.models.base import Surrogate
from calibo.models.heteroscedastic import same_points
from calibo.optimize.strategy import Strategy, check_outcomes
from calibo.search import Plan, Search
from calibo.spaces import Space


@dataclass(frozen=True)
class Replicated(Strategy):
    """A strategy that measures each point several times before it chooses the next one.

    Which points are to be repeated follows from the data alone: every point with an outcome (or pending) that was
    measured fewer than ``times`` times so far, outcomes, failures and pending points counted, the earliest first. Points
    of the initial design, which are suggested once each, and points observed without being suggested are therefore
    completed as well. A point that has only failed is not repeated.

    In a batch the repeats come first; the rest of it is filled with the strategy's own choices, ``times`` each.

    Attributes:
        strategy: Chooses the points; its models and forecasts are used as they are.
        times: Measurements of each point, at least 1.
        name: Name of the strategy inside.
    """

    strategy: Strategy
    times: int = 3
    name: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_fields(self)
        check_instance("strategy", self.strategy, Strategy, "gp_ei()")
        check_whole("times", self.times)
        object.__setattr__(self, "name", self.strategy.name)

    @property
    def makes_forecasts(self) -> bool:
        return self.strategy.makes_forecasts

    @property
    def forecasting(self) -> Surrogate | None:
        return self.strategy.forecasting

    @property
    def single_objective(self) -> bool:
        return True

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        check_outcomes(self, data.objectives, data.constraints)
        plan = self.strategy.plan(data, rng=rng)
        return replace(plan, repeats=points_to_repeat(data, self.times), replicates=self.times)

    def searcher(self, space: Space) -> Search:
        return self.strategy.searcher(space)


def points_to_repeat(data: Dataset, times: int) -> Array:
    """Return the points to measure again, `r x d`, each as often as it is short of ``times``, the earliest first."""
    tried = data.tried
    if not len(tried):
        return tried
    leader = same_points(tried)
    count = np.bincount(leader, minlength=len(tried))
    # Leaders come first in the stack, so one among the failed points is a point that has only failed.
    alive = np.arange(len(tried)) < len(data.X) + len(data.X_pending)
    short = np.where(alive & (count > 0), np.maximum(times - count, 0), 0)
    return np.repeat(tried, short, axis=0)
