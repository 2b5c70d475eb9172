"""The data of a study's report, collected from its trials and its model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibo.data import Forecast
from calibo.errors import DataError, RecipeError, SpaceError
from calibo.optimize import makes_forecasts
from calibo.optimize.slices import slices_at
from calibo.report.data import OutcomeData, ReportData
from calibo.trials import Direction, State, Trial, in_order_of_completion, predict

if TYPE_CHECKING:
    from calibo.study.result import Result


def report_data(result: Result) -> ReportData:
    """Collect what a report shows of a study: its finished trials in the order in which their results arrived."""
    states = (State.COMPLETE, State.FAILED)
    finished = [e for e in in_order_of_completion(result.trials) if e.state in states and e.finished is not None]
    several = len(result.directions) > 1
    names = [f"objective {i}" for i in range(len(result.directions))] if several else ["value"]
    expected = None if several or result.constraints else _expected_best(result, finished)
    objectives = [
        _outcome(result, finished, name, i, slices=_slices(result, i), expected_best=expected)
        for i, name in enumerate(names)
    ]
    return ReportData(
        title=result.study_name,
        method=result.method or getattr(result.strategy, "name", "unknown"),
        objectives=tuple(objectives),
        constraints=tuple(_outcome(result, finished, name, name) for name in result.constraints),
        reference=result.reference,
    )


def _outcome(result: Result, entries: Sequence[Trial], name: str, outcome: int | str, **more: Any) -> OutcomeData:
    """The data of one objective, by its index, or of one constraint, by its name."""
    return OutcomeData(
        name=name,
        direction=result.directions[outcome] if isinstance(outcome, int) else Direction.MINIMIZE,
        numbers=tuple(entry.number for entry in entries),
        params=tuple(entry.params for entry in entries),
        values=tuple(entry.observed(outcome) for entry in entries),
        forecasts=tuple(_forecast(result, entry, outcome) for entry in entries),
        makes_forecasts=makes_forecasts(result.strategy),
        **more,
    )


def _forecast(result: Result, entry: Trial, outcome: int | str) -> Forecast | None:
    """The forecast of an outcome that was observed."""
    return None if entry.observed(outcome) is None else entry.forecast_of(outcome, len(result.directions))


def _expected_best(result: Result, entries: Sequence[Trial]) -> tuple[float | None, ...] | None:
    """After each trial, the best posterior mean, under the present model, among the points measured until then."""
    if result.optuna_space is None or result.strategy is None or not len(result.data()):
        return None
    measured = [entry for entry in entries if entry.value is not None]
    try:
        X = result.optuna_space.space.from_values([entry.params for entry in measured])
        model = result.plan.models[0]
    except (RecipeError, SpaceError):
        # A method without a model, or trials from before a range was changed: the line is left out.
        return None
    direction = result.directions[0]
    distribution = predict(model, X, direction, latent=True)
    best = direction.value * np.maximum.accumulate(direction.value * distribution.mean)
    after = {entry.number: float(value) for entry, value in zip(measured, best, strict=True)}
    return tuple(after.get(entry.number) for entry in entries)


def _slices(result: Result, objective: int) -> tuple[Any, ...]:
    """Predictions of an objective along each parameter through its best point; none without a model."""
    space = result.space
    if space is None or space.is_pool or result.strategy is None or not len(result.data()):
        return ()
    try:
        return slices_at(
            result.plan,
            result.best_params_of(objective),
            space.names,
            space=space,
            direction=result.directions[objective],
            outcome=objective,
        )
    except (RecipeError, DataError):
        # A method without a model, or no feasible trial.
        return ()
