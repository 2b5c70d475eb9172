"""Why a point was suggested: what was expected there, what is known nearby, and what would have been tried instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibo.data import Array, Forecast, shown_params, shown_value
from calibo.digits import interval_text, side_by_side
from calibo.models import Capability, Model
from calibo.optimize.design import design_point
from calibo.optimize.predictions import fitted_plan
from calibo.optimize.reasons import BOTH, COVERAGE, GOOD, UNCERTAIN, chance_beyond, expectations, reasons
from calibo.optimize.stopping import Progress
from calibo.optimize.suggest import designs_due
from calibo.pareto import pareto_mask
from calibo.search import Plan
from calibo.search.base import coincides, in_chunks
from calibo.search.multistart import scattered
from calibo.spaces import Space
from calibo.trials import Trial, completed, convert_forecasts, feasible, objective_values, outcome_directions
from calibo.trials.direction import convert_values

#: Random points of the space, and points around the best ones, among which the reason and the alternatives are found.
_SAMPLED, _AROUND = 512, 64
#: Rows scored in one call.
_CHUNK = 4096
#: Neighbours and alternatives that are named.
_NEIGHBOURS, _ALTERNATIVES = 3, 2
#: Alternatives differ from the suggestion, and from each other, by at least this in some coordinate of the cube.
_APART = 0.15
#: An interval counts as changed by calibration if its width or its middle moved by this share of its width.
_CHANGED = 0.02

#: What the reasons mean for the search.
_MEANING = {
    GOOD: "exploit: the model expects a good value here",
    UNCERTAIN: "explore: the model knows little here",
    BOTH: "both: the model expects a good value here, and is not sure of it",
}
#: Added to an expectation of a good value where an improvement is less probable than this: good beside other points only.
_HARDLY, _NOT_BETTER = 0.01, ", though hardly a better one than before"
DESIGNED = "initial design: spread over the space, before there was a model"
DESIGNED_BESIDE = "initial design: spread over the space, whatever the model expects, as there are few results"
DESIGNED_ON = "initial design: spread over the space, as outcomes do not say yet where to search"


@dataclass(frozen=True, eq=False)
class Neighbour:
    """A result near a suggestion.

    Attributes:
        trial: The trial.
        distance: Distance on the unit cube, in units of the model's length scales if it has any; choices that differ count 1.
    """

    trial: Trial
    distance: float


@dataclass(frozen=True, eq=False)
class Alternative:
    """A point that would have been the next best choice.

    Attributes:
        params: Its parameters.
        forecasts: What was expected there, one forecast per outcome, in the user's sign.
    """

    params: Mapping[str, Any]
    forecasts: tuple[Forecast, ...]


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a point was suggested; ``print`` shows it in words.

    Attributes:
        trial: The trial that is explained.
        reason: Explore, exploit or both, in words.
        improvement: Probability, by the forecast, that the result improves on the best one before it (several objectives:
            that no earlier one dominates it); ``None`` without a forecast.
        best_before: Best value before it; ``None`` if there was none, or with several objectives.
        neighbours: The nearest results before it, the nearest first.
        alternatives: The next best points at that time; empty without a model.
        why_method: Why the method chose the parts it did; ``None`` if it does not choose.
        names: Names of the objectives; ``()`` if they have none.
    """

    trial: Trial
    reason: str
    improvement: float | None = None
    best_before: float | None = None
    neighbours: tuple[Neighbour, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    why_method: str | None = None
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        number = "Point" if self.trial.number < 0 else f"Trial {self.trial.number}"
        rows = self.rows()
        width = max(12, *(len(what) for what, _ in rows))
        lines = [f"{number}: {shown_params(self.trial.params)}"]
        lines += [f"  {what:<{width}} {text}" for what, text in rows]
        return "\n".join(lines)

    def rows(self) -> list[tuple[str, str]]:
        """Return what is explained as pairs of a heading and a sentence."""
        found = [("reason", self.reason)]
        forecasts = self.trial.forecasts or ()
        for name, forecast in zip(self._outcomes(), forecasts, strict=True) if forecasts else ():
            found.append((f"expected {name}".rstrip(), _expected(forecast)))
            if (changed := calibration_change(forecast)) is not None:
                found.append(("calibration", changed))
        if self.improvement is not None:
            over = (
                "no earlier one dominates" if self.best_before is None else f"it beats {self._beside(self.best_before)}"
            )
            found.append(("improvement", f"{100 * self.improvement:.0f} % sure that {over}"))
        if self.trial.values is not None:
            found.append(("measured", self._values(self.trial)))
        for neighbour in self.neighbours:
            found.append(("near it", self._near(neighbour)))
        for one in self.alternatives:
            found.append(("or else", f"{shown_params(one.params)}: {self._all_expected(one.forecasts)}"))
        return found + ([("method", self.why_method)] if self.why_method else [])

    def _beside(self, value: float) -> str:
        """Return a value with as many digits as tell it from the ends of the interval that it is read beside."""
        ends = [end for forecast in (self.trial.forecasts or ())[:1] for end in forecast.interval(COVERAGE)]
        return side_by_side(value, *ends)[0]

    def _outcomes(self) -> list[str]:
        """Return the names of the outcomes, objectives first; of one that has no name its number, of the only one nothing."""
        limits = self.trial.suggestion.constraints
        m = len(self.trial.forecasts or self.trial.values or ()) - (len(limits) if self.trial.forecasts else 0)
        unnamed = [""] if m == 1 else [f"objective {i}" for i in range(m)]
        return [*(self.names or unnamed), *limits]

    def _values(self, trial: Trial) -> str:
        values = trial.values or ()
        if not self.names:
            return shown_value(values[0] if len(values) == 1 else values)
        return ", ".join(f"{name} {shown_value(value)}" for name, value in zip(self.names, values, strict=True))

    def _near(self, neighbour: Neighbour) -> str:
        trial = neighbour.trial
        number = "a point told" if trial.number < 0 else f"trial {trial.number}"
        return f"{number} gave {self._values(trial)} at {shown_params(trial.params)}"

    def _all_expected(self, forecasts: tuple[Forecast, ...]) -> str:
        named = zip(self._outcomes(), forecasts, strict=False)
        return "; ".join(f"{name} {_expected(forecast)}".lstrip() for name, forecast in named)


def explain(trial: Trial, before: Progress, names: tuple[str, ...] = ()) -> Explanation:
    """Explain why a point was suggested.

    Args:
        trial: The trial, with the forecasts stored when it was suggested, in the user's sign.
        before: The study as it was then. The models are fitted to it again, from the stored hyperparameters.
        names: Names of the objectives, if they have some.
    """
    done = completed(before.trials)
    neighbours = _neighbours(trial, done, None, before.space)
    why = trial.suggestion.why_method
    if trial.forecasts is None or not len(before.data) or not before.strategy.makes_forecasts:
        reason = DESIGNED if before.strategy.makes_forecasts else f"{before.strategy.name} makes no forecasts"
        return Explanation(trial, reason, neighbours=neighbours, why_method=why, names=names)
    rng = before.generator()
    # The hyperparameters are those that the suggestion was made with, whatever was learned since.
    fitted = trial.suggestion.hyperparameters or before.data.hyperparameters
    plan = fitted_plan(replace(before.data, refit=False, hyperparameters=fitted), before.strategy, rng=rng)
    others = np.vstack(
        [before.space.sample(_SAMPLED, rng), scattered(plan.anchors, before.space, _AROUND, rng)]
        if not before.space.is_pool
        else [before.space.sample(_SAMPLED, rng)]
    )
    m = len(before.directions)
    told = reasons(expectations(plan.models[:m], trial.x[None, :]), expectations(plan.models[:m], others))[0]
    front = _front(before)
    cdfs = [f.calibrated.cdf for f in _internal(trial, before)[:m]]
    improvement = chance_beyond(cdfs, front) if len(front) else None
    single = m == 1 and len(front) > 0
    return Explanation(
        trial=trial,
        reason=_designed(trial, before) or _meaning(told, improvement),
        improvement=improvement,
        best_before=float(convert_values([[front.max()]], before.directions)[0, 0]) if single else None,
        neighbours=_neighbours(trial, done, plan.models[0], before.space),
        alternatives=_alternatives(plan, others, trial.x, before),
        why_method=why,
        names=names,
    )


def _designed(trial: Trial, before: Progress) -> str | None:
    """Say that a point is one of the initial design, if it is: that of its number, while the design goes on."""
    data = before.data
    if before.strategy.designs_on(data):
        return DESIGNED_ON
    if not designs_due(data, before.space, before.strategy, 1, n_initial=before.n_initial):
        return None
    point = design_point(before.space, seed=before.seed, number=trial.number, avoid=data.tried)
    return DESIGNED_BESIDE if coincides(trial.x[None, :], point[None, :])[0] else None


def _meaning(reason: str, improvement: float | None) -> str:
    hardly = improvement is not None and improvement < _HARDLY and reason != UNCERTAIN
    return _MEANING[reason] + (_NOT_BETTER if hardly else "")


def calibration_change(forecast: Forecast) -> str | None:
    """Say what calibration changed of the 80 % interval, in words; ``None`` if there was no calibrator."""
    if len(forecast.stages) == 1:
        return None
    (low, high), (raw_low, raw_high) = forecast.interval(COVERAGE), forecast.raw.interval(COVERAGE)
    raw_width = raw_high - raw_low
    if not (np.isfinite(raw_width) and raw_width > 0.0 and np.isfinite(high - low)):
        return f"the model alone said {interval_text(raw_low, raw_high)}"
    factor = (high - low) / raw_width
    moved = abs((high + low) - (raw_high + raw_low)) / (2.0 * raw_width)
    if abs(factor - 1.0) < _CHANGED and moved < _CHANGED:
        return "hardly changed what the model said"
    return f"{factor:.2g} times as wide as the model alone said ({interval_text(raw_low, raw_high)})"


def _expected(forecast: Forecast) -> str:
    median, low, high = side_by_side(forecast.median, *forecast.interval(COVERAGE))
    return f"{median}, 80 % interval {low} to {high}"


def _internal(trial: Trial, before: Progress) -> tuple[Forecast, ...]:
    outcomes = outcome_directions(before.directions, trial.suggestion.constraints)
    return convert_forecasts(trial.forecasts, outcomes) or ()


def _front(before: Progress) -> Array:
    """Return the outcomes that no other dominates, `k x m`, in the internal sign; none if no result is feasible."""
    met = feasible(before.trials)
    if not met:
        return np.empty((0, len(before.directions)))
    values = objective_values(met, before.directions)
    return values[pareto_mask(values)]


def _neighbours(trial: Trial, done: list[Trial], model: Model | None, space: Space) -> tuple[Neighbour, ...]:
    known = [one for one in done if len(one.x)]
    if not known or not len(trial.x):
        return ()
    scales = np.ones(space.dimension)
    if model is not None and Capability.LENGTHSCALES in model.capabilities:
        learned = np.asarray(model.lengthscales)
        scales = learned if learned.shape == scales.shape else scales
    difference = np.abs(np.stack([one.x for one in known]) - trial.x)
    nominal = np.asarray(space.categories) > 0
    scaled = np.where(nominal, difference > 0.0, difference / scales)
    distances = np.sqrt((scaled**2).sum(axis=1))
    nearest = np.argsort(distances, kind="stable")[:_NEIGHBOURS]
    return tuple(Neighbour(known[i], float(distances[i])) for i in nearest)


def _alternatives(plan: Plan, candidates: Array, x: Array, before: Progress) -> tuple[Alternative, ...]:
    """Return the best candidates that are not close to the suggestion or to each other."""
    if plan.forecaster is None:
        return ()
    values = in_chunks(plan.acquisition, candidates, _CHUNK)
    chosen: list[Array] = []
    for i in np.argsort(-values, kind="stable"):
        apart = np.abs(np.stack([x, *chosen]) - candidates[i]).max(axis=1) >= _APART
        if apart.all() and np.isfinite(values[i]):
            chosen.append(candidates[i])
        if len(chosen) == _ALTERNATIVES:
            break
    if not chosen:
        return ()
    X = np.stack(chosen)
    outcomes = outcome_directions(before.directions, tuple("c" for _ in range(before.data.constraints)))
    told = [convert_forecasts(one, outcomes) or () for one in plan.forecaster(X)]
    return tuple(Alternative(params, f) for params, f in zip(before.space.decode(X), told, strict=True))
