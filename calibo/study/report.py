"""The data of a study's report, collected from its trials and its model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibo.errors import DataError, RecipeError, SpaceError, StudyError
from calibo.optimize import Plan
from calibo.optimize.slices import Slice, slices_at
from calibo.report.data import ReportData
from calibo.report.figure import evenly
from calibo.trials import State, Trial, in_order_of_completion, predict

if TYPE_CHECKING:
    from calibo.study.result import Result


#: Points at which the model's mean is computed for the line of expected bests; of more, these many are taken.
MOST_EXPECTED = 1000


def report_data(result: Result) -> ReportData:
    """Collect what a report shows of a study: its finished trials in the order in which their results arrived."""
    states = (State.COMPLETE, State.FAILED)
    finished = [t for t in in_order_of_completion(result.stored_trials) if t.state in states and t.finished is not None]
    try:
        plan = result.plan
    except (StudyError, DataError, RecipeError):
        plan = None  # without an outcome, a known space, or a method with models
    single = len(result.directions) == 1 and not result.constraints
    return ReportData(
        title=result.study_name,
        method=result.method or ("unknown" if result.strategy is None else result.strategy.name),
        trials=tuple(finished),
        directions=result.directions,
        names=result.names,
        reference=result.reference,
        expected_best=None if plan is None or not single else _expected_best(result, plan, finished),
        slices=() if plan is None else tuple(_slices(result, plan, i) for i in range(len(result.directions))),
        makes_forecasts=result.makes_forecasts,
    )


def _expected_best(result: Result, plan: Plan, trials: Sequence[Trial]) -> tuple[float | None, ...] | None:
    """Return after each trial the best posterior mean, under the present model, among the points measured until then.

    Of more than ``MOST_EXPECTED`` points the best half by value and as many others, evenly spread, are taken; trials in
    between have none.
    """
    assert result.space is not None
    measured = _some_of([trial for trial in trials if trial.value is not None], result.directions[0].value)
    try:
        X = result.space.from_values([trial.params for trial in measured])
    except SpaceError:
        # Trials from before a range was changed: the line is left out.
        return None
    direction = result.directions[0]
    mean = predict(plan.models[0], X, direction, latent=True).mean
    best = direction.value * np.maximum.accumulate(direction.value * mean)
    after = {trial.number: float(value) for trial, value in zip(measured, best, strict=True)}
    return tuple(after.get(trial.number) for trial in trials)


def _some_of(trials: Sequence[Trial], sign: float) -> list[Trial]:
    """Return all trials if they are few; else the best ones and others evenly spread, in their order."""
    if len(trials) <= MOST_EXPECTED:
        return list(trials)
    values = np.array([trial.value for trial in trials], dtype=np.float64)
    best = np.argsort(-sign * values, kind="stable")[: MOST_EXPECTED // 2]
    rows = np.union1d(best, evenly(len(trials), MOST_EXPECTED // 2))
    return [trials[int(row)] for row in rows]


def _slices(result: Result, plan: Plan, objective: int) -> tuple[Slice, ...]:
    """Predict an objective along each parameter through its best point."""
    space, direction = result.space, result.directions[objective]
    assert space is not None
    try:
        best = result.best_params_of(objective)
    except DataError:  # no feasible trial
        return ()
    names = () if space.is_pool else space.names
    try:
        return slices_at(plan, best, names, space=space, direction=direction, outcome=objective)
    except SpaceError:
        # The best trial was told without all parameters, or in a range that has changed since.
        return ()
