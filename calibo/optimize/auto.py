"""The default method: parts chosen by a rule, from the data, with the reason in words."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist

from calibo.acquisition import (
    ExpectedImprovement,
    FirstFeasible,
    HypervolumeImprovement,
    HypervolumeInTurns,
    ImprovementByNoise,
    ImprovementInTurns,
    NoisyExpectedImprovement,
)
from calibo.arguments import check_fields
from calibo.checks import check_instance
from calibo.data import Dataset
from calibo.errors import RecipeError
from calibo.models import Surrogate
from calibo.models.outcome_transforms import FEWEST_OUTCOMES, half_rank
from calibo.models.standardization import all_alike
from calibo.models.subsets import point_keys
from calibo.optimize.strategy import ModelBased, Strategy
from calibo.search import Plan, Search
from calibo.spaces import Space

_LOGGER = logging.getLogger("calibo")

#: Results from which on their outcomes may be told not to say where to search.
_ENOUGH_ALIKE = 3
#: Share of the results above which the best outcome is too common to say where to search; the larger one where there are two
#: different outcomes only, which may be chance: whether a try succeeds.
_COMMON, _COMMON_OF_TWO = 0.5, 0.9
#: Share of the better half of the results on a plateau above which outcomes come in steps.
_ON_PLATEAUS = 0.25
#: Nearest good results of which one has the same outcome on a plateau, and most good results that are looked at.
_AROUND, _MOST_GOOD = 3, 500
#: What the rules for an acquisition function are called.
_RULES = {
    ExpectedImprovement.__name__: "expected improvement",
    ImprovementInTurns.__name__: "noisy and plain expected improvement in turns",
    NoisyExpectedImprovement.__name__: "noisy expected improvement",
    HypervolumeImprovement.__name__: "hypervolume improvement",
    HypervolumeInTurns.__name__: "noisy and plain hypervolume improvement in turns",
    FirstFeasible.__name__: "the probability of meeting the constraints, as no result meets them yet",
}


@dataclass(frozen=True)
class Auto(Strategy):
    """A method that says why it uses which parts, and may change its mind as results arrive.

    Everything follows from the data, so that every worker and every resumed study decides alike. docs/choosing.md has the
    measurements behind each line:

    ==========================================================  ========================================================
    one objective, no list of rows, no contexts                 search by a model of half-ranked outcomes
    there, but all parameters are numbers, or some depend on    search by the model inside what is shown, and noisy
    choices, and more than a quarter of the better half of      expected improvement
    the results are on plateaus: outcomes come in steps
    else                                                        search by the model inside what is shown
    noise above a quarter of the good outcomes' spread          expected improvement and its noisy form in turns (from
                                                                10 results on), also at points measured before
                                                                unless that gave the same outcome again
    two objectives, and such noise in one of them               hypervolume improvement and its noisy form in turns
    less, or a list of rows                                     expected improvement, or that of the hypervolume
    all objectives the same so far, or more than half of them   further points of the initial design
    the best one (nine in ten of only two different ones)
    up to ``large`` results                                     exact Gaussian process
    more                                                        Gaussian process of nearest neighbours
    ==========================================================  ========================================================

    What is shown is always the same forecaster, so that its calibration carries over.

    Attributes:
        method: The parts, some of which choose themselves; its ``acting`` surrogate is used where the table says so.
        rows: The parts for a list of rows, with the same surrogate.
        steps: The parts for outcomes that come in steps, with the same surrogate.
        several: The parts for several objectives. Its surrogate may differ, as the number of objectives never changes.
        large: Number of results above which the exact model is given up, for the words.
        always_below: With fewer results the hyperparameters of what the search acts on are fitted at every step, also if
            it acts on the model inside what is shown, whose surrogate may have a schedule of its own.
        name: Name of the method.
    """

    method: ModelBased
    rows: ModelBased
    steps: ModelBased
    several: ModelBased
    large: int
    always_below: int = 100
    name: str = "auto"

    def __post_init__(self) -> None:
        check_fields(self)
        check_instance("method", self.method, ModelBased, "methods.ocbo()")
        check_instance("several", self.several, ModelBased, "methods.ocbo()")
        for name, parts in (("rows", self.rows), ("steps", self.steps)):
            check_instance(name, parts, ModelBased, "methods.ocbo()")
            if self.method.surrogate != parts.surrogate:
                raise RecipeError(
                    f"method and {name} must show the forecasts of one surrogate, so that calibration carries over; "
                    f"got {self.method.surrogate!r} and {parts.surrogate!r}"
                )

    @property
    def forecasting(self) -> Surrogate | None:
        return self.method.forecasting

    @property
    def compares_within_contexts(self) -> bool:
        return True

    @property
    def compares_rows(self) -> bool:
        return self.method.compares_rows

    def designs_on(self, data: Dataset) -> bool:
        return nothing_leads_on(data)

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        stepped = in_steps(data)
        ranked = _ranks_may_tell(data) and not stepped
        acts_on_shown = not ranked or data.constraints > 0
        if acts_on_shown and data.refit is None and len(data) < self.always_below:
            data = replace(data, refit=True)
        plan = self._parts(data, ranked, stepped).plan(data, rng=rng)
        avoid = np.vstack([data.X_pending, data.X_failed]) if repeats_tell(data, plan) else plan.avoid
        return replace(
            plan, avoid=avoid, why=f"{self._model(data)}; {_acting(data, ranked, stepped)}; {_rule(data, plan)}"
        )

    def searcher(self, space: Space) -> Search:
        return (self.rows if space.is_pool else self.method).searcher(space)

    def _parts(self, data: Dataset, ranked: bool, stepped: bool) -> ModelBased:
        if data.from_pool:
            return self.rows
        if data.objectives > 1:
            return self.several
        if stepped:
            return self.steps
        return self.method if ranked else replace(self.method, acting=None)

    def _model(self, data: Dataset) -> str:
        exact = len(data) <= self.large
        return "exact Gaussian process" if exact else f"Gaussian process of neighbours, over {self.large} results"


def nothing_leads_on(data: Dataset) -> bool:
    """Return whether no outcome says where to search: all are the same, or the best one is that of most results.

    A model of equal outcomes has length scales far beyond the space, so that it is unsure at the ends of it only, and
    measures there again and again: what differs in the middle, be it half of the space, may never be found. A few worse
    outcomes do not help: they say where not to go. Nor do failures, which count as tried, as they do before there is an
    outcome.
    """
    return len(data) >= _ENOUGH_ALIKE and (_nothing_differs(data) or _best_is_common(data))


def _nothing_differs(data: Dataset) -> bool:
    """Return whether all objectives are the same; while no result meets all constraints, their slacks as well.

    Slacks lead to the first result that meets the constraints, and say nothing of where objectives may differ.
    """
    return all_alike(data.Y[:, : data.objectives] if data.feasible.any() else data.Y)


def _best_is_common(data: Dataset) -> bool:
    """Return whether most results share the best outcome; only of one objective, without constraints and contexts."""
    if data.objectives > 1 or data.constraints or data.contexts:
        return False
    y = data.Y[:, 0]
    share = float(np.mean(y == y.max()))
    return share > _COMMON and (share > _COMMON_OF_TWO or len(np.unique(y)) > 2)


def acts_on_ranks(data: Dataset) -> bool:
    """Return whether the search acts on half-ranked outcomes: where ranks may tell more, and outcomes are not in steps."""
    return _ranks_may_tell(data) and not in_steps(data)


def in_steps(data: Dataset) -> bool:
    """Return whether outcomes come in steps: of the better half many are on plateaus. Only where ranks may tell more.

    With parameters that are choices, on which no other depends, the rule was not tried: it does not apply there.

    A result is on a plateau if one of the three nearest of the better half, at another point, has exactly the same outcome:
    equal outcomes far apart, as of accuracies measured on few rows, say nothing of what is between them. Where more than half
    of all outcomes are the worst one, the others are the better ones. On a plateau measured again and again
    half of all outcomes soon are nearly the same, and ranks hide the others, which say where it goes down; and improvement
    over the best value is expected anywhere on the plateau, but over the unknown values at the points measured there only
    beyond it.
    """
    choices = any(data.categories) and data.activity is None
    if len(data) < ImprovementByNoise.fewest or choices or not _ranks_may_tell(data):
        return False
    y = data.Y[:, 0]
    median, worst = np.median(y), y.min()
    better = y > worst if median == worst else y >= median
    if not better.any():
        return False
    good = np.argsort(-y, kind="stable")[: int(better.sum())][:_MOST_GOOD]
    away = cdist(data.X[good], data.X[good])
    away[away == 0.0] = np.inf
    nearest = np.argsort(away, axis=1, kind="stable")[:, :_AROUND]
    equal = (y[good][nearest] == y[good][:, None]) & np.isfinite(np.take_along_axis(away, nearest, axis=1))
    return bool(equal.any(axis=1).mean() > _ON_PLATEAUS)


def _ranks_may_tell(data: Dataset) -> bool:
    """Return whether ranks of bad outcomes may tell more: one objective, no rows, no contexts.

    Where candidates are a list of rows, how bad an outcome is tells more than its rank; where the level of outcomes changes
    with a context, the better half of all outcomes may be that of a few contexts.
    """
    return data.objectives == 1 and not data.from_pool and not data.contexts


def repeats_tell(data: Dataset, plan: Plan) -> bool:
    """Return whether points may be measured again: measurements look noisy, and no repetition gave the same outcome.

    A computation that is only rough, such as a cross-validation with fixed folds, looks noisy too, but gives the same again.
    """
    if plan.rule != ImprovementInTurns.__name__:
        return False
    return len(np.unique(point_keys(np.hstack([data.X, data.Y])))) == len(data)


def _acting(data: Dataset, ranked: bool, stepped: bool) -> str:
    """Say which outcomes the search acts on; the same as long as they are the same."""
    if ranked and len(data) < FEWEST_OUTCOMES:
        return f"outcomes count as they are, as there are fewer than {FEWEST_OUTCOMES} results"
    if ranked and half_rank(data.Y[:, 0]) is None:
        return "outcomes count as they are, as half of them are alike, or they are too large or too small for ranks"
    if ranked:
        return "bad outcomes count by rank, as how bad they are tells little"
    if stepped:
        return "outcomes count as they are, as they come in steps"
    if data.from_pool:
        return "outcomes count as they are, as candidates are rows"
    reason = "some parameters are contexts" if data.contexts else "there are several objectives"
    return f"outcomes count as they are, as {reason}"


def _rule(data: Dataset, plan: Plan) -> str:
    """Say which acquisition function is used, and why if measurements decided it."""
    if nothing_leads_on(data):
        shared = "all outcomes are the same" if _nothing_differs(data) else "most results share the best outcome"
        return f"{shared} so far, which does not say where to search"
    name = _RULES.get(plan.rule, plan.rule)
    if plan.rule == HypervolumeInTurns.__name__:
        return f"{name}, as measurements are noisy"
    if data.objectives > 1 or data.from_pool or plan.rule == FirstFeasible.__name__:
        return name
    if plan.rule == NoisyExpectedImprovement.__name__:
        return f"{name}, as many good results are on plateaus"
    if len(data) < ImprovementByNoise.fewest:
        return f"{name}, as noise cannot be told from fewer than {ImprovementByNoise.fewest} results"
    if plan.rule != ImprovementInTurns.__name__:
        return f"{name}, as measurements are nearly exact"
    if repeats_tell(data, plan):
        return f"{name}, also at points measured before, as measurements are noisy"
    return f"{name}, as outcomes look noisy, although a repeated measurement gave the same"


def default_for_rows(categories: Sequence[int]) -> str:
    """Return the name of the method that ranks the rows of a table by default.

    Conformal sets find the best rows sooner where columns are categories, the default method where all are numbers.

    Args:
        categories: Number of choices of each categorical column, 0 for a numeric one.
    """
    return "cbo" if any(categories) else "auto"


def log_change(before: str | None, now: str | None) -> None:
    """Log which parts a method uses when they differ from those of the suggestion before."""
    if now is not None and now != before:
        _LOGGER.info("method: %s", now)
