"""Studies, trials and forecasts as the JSON objects that ``--json`` prints; docs/command_line.md describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calibo.data import COVERAGES
from calibo.trials.history import objective_columns

if TYPE_CHECKING:
    from calibo.data import Forecast, Marginal
    from calibo.diagnostics import CalibrationTable
    from calibo.study import Result
    from calibo.trials import Trial


def study_record(result: Result) -> dict[str, Any]:
    """Return what a study is, and how many trials it has."""
    states = [str(trial.state) for trial in result.trials]
    return {
        "study": result.study_name,
        "directions": [direction.name.lower() for direction in result.directions],
        "objectives": outcome_names(result)[: len(result.directions)],
        "constraints": list(result.constraints),
        "method": result.method,
        "states": {state: states.count(state) for state in dict.fromkeys(states)},
    }


def best_record(result: Result) -> dict[str, Any]:
    """Return the best trial, of several objectives the Pareto front and its hypervolume."""
    if not result.feasible_trials:
        return {"best": None, "pareto_front": [], "hypervolume": None}
    if len(result.directions) == 1:
        best = trial_record(result.best_trial, result)
        return {"best": best, "pareto_front": [], "hypervolume": None}
    numbers = set(result.pareto_front["number"])
    front = [trial_record(trial, result) for trial in result.trials if trial.number in numbers]
    return {"best": None, "pareto_front": front, "hypervolume": float(result.hypervolume().iloc[-1])}


def result_record(result: Result) -> dict[str, Any]:
    """Return what a run has found, and how its forecasts came out."""
    outcomes = [*range(len(result.directions)), *result.constraints]
    names = outcome_names(result)
    judged = [calibration_record(result.calibration(one)) for one in outcomes] if result.feasible_trials else []
    return {
        **study_record(result),
        **best_record(result),
        "calibration": dict(zip(names, judged, strict=True)) if judged else {},
        "stopped": result.stopped,
    }


def outcome_names(result: Result) -> list[str]:
    """Return the names of the objectives ("value", or their index, if they have none), then of the constraints."""
    objectives = objective_columns(result.names, len(result.directions))
    return [*(name or "value" for name in objectives), *result.constraints]


def trial_record(trial: Trial, result: Result) -> dict[str, Any]:
    """Return a trial: what was suggested and forecast, and what came of it."""
    names = outcome_names(result)
    goals = names[: len(result.directions)]
    known = [*range(len(goals)), *result.constraints]
    forecasts = {
        name: forecast_record(forecast)
        for name, one in zip(names, known, strict=True)
        if (forecast := trial.forecast_of(one, len(goals))) is not None
    }
    return {
        "number": trial.number,
        "state": str(trial.state),
        "params": dict(trial.params),
        "values": None if trial.values is None else dict(zip(goals, trial.values, strict=True)),
        "sem": None if trial.sem is None else dict(zip(goals, trial.sem, strict=True)),
        "constraints": dict(trial.constraints),
        "forecasts": forecasts,
        "started": trial.started,
        "finished": trial.finished,
        "error": trial.error,
    }


def forecast_record(forecast: Forecast) -> dict[str, Any]:
    """Return a forecast with calibration and without it."""
    return {"calibrated": marginal_record(forecast.calibrated), "raw": marginal_record(forecast.raw)}


def marginal_record(marginal: Marginal) -> dict[str, Any]:
    """Return mean, standard deviation, median and the ends of the intervals by their coverage in per cent."""
    return {
        "mean": marginal.mean,
        "std": marginal.std,
        "median": marginal.icdf(0.5),
        "intervals": {f"{100 * coverage:g}": list(marginal.interval(coverage)) for coverage in COVERAGES},
    }


def calibration_record(table: CalibrationTable) -> dict[str, Any]:
    """Return how forecasts came out: in words, and for every coverage how many of how many results lay inside."""
    return {
        "headline": table.headline(),
        "verdict": str(table.verdict.value),
        "coverage": {
            f"{100 * row.nominal:g}": {"inside": row.contained, "of": row.of, "verdict": str(row.verdict.value)}
            for row in table.rows
        },
    }


def table_records(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a data frame, each by the names of its columns."""
    return [dict(zip(table.columns, row, strict=True)) for row in table.itertuples(index=False, name=None)]
