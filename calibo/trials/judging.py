"""Judgements of trials: the best, the Pareto front, and how forecasts of values and of feasibility came out.

All functions take trials in the order of their outcomes, in the user's sign, and the directions of the objectives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibo.arguments import checked
from calibo.checks import is_text, is_whole, shown
from calibo.data import Array, Forecast
from calibo.errors import DataError, RecipeError
from calibo.pareto import hypervolumes, inferred_reference, pareto_mask
from calibo.trials.direction import Direction, convert_values, reference_values
from calibo.trials.trial import Trial, as_counted, completed, constraint_names

if TYPE_CHECKING:
    from calibo.diagnostics import CalibrationTable, FeasibilityTable, PlaceTable


@checked
def feasible(trials: Sequence[Trial]) -> list[Trial]:
    """Return the complete trials that meet all constraints; a constraint that was not measured is not met."""
    names = constraint_names(trials)
    return [trial for trial in completed(trials) if trial.meets(names)]


@checked
def some_feasible(trials: Sequence[Trial]) -> list[Trial]:
    """Return the complete trials that meet all constraints, of which there is at least one.

    Raises:
        DataError: If there is none.
    """
    if found := feasible(trials):
        return found
    done = len(completed(trials))
    if not done:
        raise DataError("no trial is complete yet, so there is no best one: at least one outcome is needed")
    raise DataError(
        f"none of {done} complete trials meets all constraints yet, so there is no best one: run more trials"
    )


@checked
def best_trial(trials: Sequence[Trial], directions: Sequence[Direction], objective: int | None = None) -> Trial:
    """Return the feasible trial with the best value; of several the earliest.

    ``objective`` is the index of the objective, not needed if there is only one.

    Raises:
        DataError: If no trial is feasible.
        RecipeError: If there are several objectives and none is named.
    """
    if objective is None:
        check_single(directions, "best trial")
    place = objective or 0
    check_outcome(place, len(directions), ())
    return max(some_feasible(trials), key=lambda trial: directions[place].value * (trial.observed(place) or 0.0))


@checked
def pareto_trials(trials: Sequence[Trial], directions: Sequence[Direction]) -> list[Trial]:
    """Return the feasible trials that no other feasible trial dominates; none if no trial is feasible."""
    met = feasible(trials)
    return [met[i] for i in np.flatnonzero(pareto_mask(objective_values(met, directions)))] if met else []


@checked
def objective_values(trials: Sequence[Trial], directions: Sequence[Direction]) -> Array:
    """Return the objectives of `n` complete trials as they count, in the internal sign, `n x m`."""
    return as_counted(convert_values([trial.values or () for trial in trials], directions))


@checked
def hypervolume_after(
    trials: Sequence[Trial], directions: Sequence[Direction], reference: Sequence[float] | None = None
) -> Array:
    """Return the hypervolume of the feasible trials after each complete trial: one value per complete trial.

    Without a reference point (in the user's sign) it is inferred from the feasible trials.

    Raises:
        DataError: If no trial is feasible.
    """
    met, done = some_feasible(trials), completed(trials)
    given = reference_values(reference, directions)
    point = as_counted(np.array(given)) if given else inferred_reference(objective_values(met, directions))
    names = constraint_names(trials)
    # A trial that is not feasible adds nothing, as a point at the reference does.
    values = objective_values(done, directions)
    counted = [y if trial.meets(names) else point for trial, y in zip(done, values, strict=True)]
    return hypervolumes(np.array(counted), point)


@checked
def calibration_of(
    trials: Sequence[Trial], directions: Sequence[Direction], outcome: int | str = 0, *, makes_forecasts: bool = True
) -> CalibrationTable:
    """Compare the forecasts of one outcome (index of an objective, or name of a constraint) with the values observed.

    ``makes_forecasts`` says whether the method makes forecasts at all, for the words of the table.
    """
    from calibo.diagnostics import forecast_table

    known = [(f, value) for f, value in _observed(trials, directions, outcome) if f is not None]
    return forecast_table([f for f, _ in known], [value for _, value in known], forecasting=makes_forecasts)


@checked
def calibration_by_place_of(
    trials: Sequence[Trial], directions: Sequence[Direction], outcome: int | str = 0
) -> PlaceTable:
    """Compare the forecasts of one outcome with the values observed: near the data, between, and far from them.

    The outcome is the index of an objective, or the name of a constraint.
    """
    from calibo.diagnostics import place_table

    known = _observed(trials, directions, outcome)
    return place_table([forecast for forecast, _ in known], [value for _, value in known])


def _observed(
    trials: Sequence[Trial], directions: Sequence[Direction], outcome: int | str
) -> list[tuple[Forecast | None, float]]:
    """Return the values of one outcome as they count, in their order, each with its forecast if there was one."""
    check_outcome(outcome, len(directions), constraint_names(trials))
    pairs = [(trial.forecast_of(outcome, len(directions)), trial.observed(outcome)) for trial in completed(trials)]
    known = [(forecast, value) for forecast, value in pairs if value is not None]
    values = as_counted(np.array([value for _, value in known])).tolist()
    return list(zip([forecast for forecast, _ in known], values, strict=True))


@checked
def feasibility_of(trials: Sequence[Trial], directions: Sequence[Direction]) -> FeasibilityTable:
    """Compare the forecast probabilities of feasibility with the constraints observed.

    A trial is judged by the constraints that were known when it was suggested.
    """
    from calibo.diagnostics import feasibility_table

    judged = [trial for trial in completed(trials) if trial.forecasts and trial.suggestion.constraints]
    stated = [trial.forecasts[len(directions) :] for trial in judged if trial.forecasts]
    return feasibility_table(stated, [trial.meets(trial.suggestion.constraints) for trial in judged])


@checked
def check_single(directions: Sequence[Direction], asked: str) -> None:
    """Raise a ``RecipeError`` if there are several objectives, so that there is no single ``asked``."""
    if len(directions) > 1:
        raise RecipeError(
            f"there are {len(directions)} objectives, so there is no single {asked}: ask for pareto_front"
        )


@checked
def outcome_of(outcome: int | str, names: Sequence[str]) -> int | str:
    """Return the index of an objective that is given by its name; anything else as it is."""
    return names.index(outcome) if isinstance(outcome, str) and outcome in names else outcome


def check_outcome(outcome: int | str, objectives: int, constraints: Sequence[str]) -> None:
    """Raise a ``RecipeError`` unless ``outcome`` is the index of an objective or the name of a constraint."""
    if is_text(outcome):
        if outcome not in constraints:
            known = ", ".join(map(repr, constraints)) or "none"
            raise RecipeError(
                f"there is no objective and no constraint {shown(outcome)}; constraints recorded so far: {known}"
            )
    elif not is_whole(outcome) or not 0 <= int(outcome) < objectives:
        raise RecipeError(f"objectives are counted from 0 to {objectives - 1}, got {shown(outcome)}")
