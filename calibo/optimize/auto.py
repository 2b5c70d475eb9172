"""The default method: parts chosen by a rule, from the data, with the reason in words."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from calibo.checks import check_instance
from calibo.data import Dataset
from calibo.models import Surrogate
from calibo.optimize.strategy import ModelBased, Strategy
from calibo.search import Plan, Search
from calibo.spaces import Space

_LOGGER = logging.getLogger("calibo")

#: What the rule for an acquisition function is called, and why it was taken.
_RULES = {
    "ExpectedImprovement": "expected improvement, as measurements are nearly exact",
    "NoisyExpectedImprovement": "noisy expected improvement, as measurements are noisy",
    "HypervolumeImprovement": "hypervolume improvement, as there are several objectives",
}


@dataclass(frozen=True)
class Auto(Strategy):
    """A method that says why it uses which parts, and may change its mind as results arrive.

    All of it follows from the data, so that every worker and every resumed study decides alike. docs/choosing.md has the
    measurements behind each decision:

    ======================================  ==============================================================
    single objective                        search on a model of half-ranked outcomes
    several objectives                      search on the model that is shown
    up to ``large`` results                 exact Gaussian process
    more                                    Gaussian process of each point's nearest neighbours
    noise above a quarter of good outcomes  noisy expected improvement, else expected improvement
    ======================================  ==============================================================

    What is shown is always the same forecaster, so that its calibration carries over.

    Attributes:
        method: The parts, some of which choose themselves.
        large: Number of results above which the exact model is given up, for the words.
        name: Name of the method.
    """

    method: ModelBased
    large: int
    name: str = "auto"

    def __post_init__(self) -> None:
        check_instance("method", self.method, ModelBased, "methods.ocbo()")

    @property
    def forecasting(self) -> Surrogate | None:
        return self.method.forecasting

    @property
    def compares_rows(self) -> bool:
        return self.method.compares_rows

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        plan = self.method.plan(data, rng=rng)
        return replace(plan, why=self.why(data, plan))

    def searcher(self, space: Space) -> Search:
        return self.method.searcher(space)

    def why(self, data: Dataset, plan: Plan) -> str:
        """Say in one sentence which parts are used and why; the same as long as they are the same."""
        exact = len(data) <= self.large
        model = "exact Gaussian process" if exact else f"nearest-neighbour Gaussian process (over {self.large} results)"
        return f"{model}; {_RULES.get(plan.rule, plan.rule)}"


def log_change(before: str | None, now: str | None) -> None:
    """Log which parts a method uses when they differ from those of the suggestion before."""
    if now is not None and now != before:
        _LOGGER.info("method: %s", now)
