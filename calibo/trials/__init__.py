"""Trials: what was suggested, what was forecast, and what was observed, in the user's sign and units."""

from calibo.trials.direction import (
    Direction,
    Directions,
    convert_forecasts,
    objective_names,
    outcome_directions,
    reference_values,
)
from calibo.trials.history import history_table
from calibo.trials.judging import (
    best_trial,
    calibration_by_place_of,
    calibration_of,
    check_single,
    feasibility_of,
    feasible,
    hypervolume_after,
    objective_values,
    outcome_of,
    pareto_trials,
    some_feasible,
)
from calibo.trials.predictions import in_user_sign, predict, predict_table
from calibo.trials.serialization import forecast_from_json, forecast_to_json, suggestion_from_json, suggestion_to_json
from calibo.trials.showing import trials_html
from calibo.trials.trial import State, Trial, completed, constraint_names, dataset, in_order_of_completion
from calibo.trials.values import finite_constraints, finite_values, standard_errors

__all__ = [
    "Direction",
    "Directions",
    "State",
    "Trial",
    "best_trial",
    "calibration_by_place_of",
    "calibration_of",
    "check_single",
    "completed",
    "constraint_names",
    "convert_forecasts",
    "dataset",
    "feasibility_of",
    "feasible",
    "finite_constraints",
    "finite_values",
    "forecast_from_json",
    "forecast_to_json",
    "history_table",
    "hypervolume_after",
    "in_order_of_completion",
    "objective_names",
    "objective_values",
    "outcome_directions",
    "outcome_of",
    "pareto_trials",
    "in_user_sign",
    "predict",
    "predict_table",
    "reference_values",
    "some_feasible",
    "standard_errors",
    "suggestion_from_json",
    "suggestion_to_json",
    "trials_html",
]
