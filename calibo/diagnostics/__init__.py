"""Diagnostics of forecasts and optimizations: coverage, calibration error, scoring rules, regret, tables in words."""

from calibo.diagnostics.anytime import confidence_sequence, count_band, log_evidence, log_wealth, mean_chance_limit
from calibo.diagnostics.comparison import Comparison, Preference, compare
from calibo.diagnostics.coverage import (
    RunningCoverage,
    coverage,
    covered,
    pit,
    points_needed,
    running_coverage,
)
from calibo.diagnostics.forecasters import ForecasterRow, ForecasterTable, forecaster_table
from calibo.diagnostics.places import Place, PlaceRow, PlaceTable, place_table
from calibo.diagnostics.regret import area_under_curve, best_so_far, cumulative_regret, simple_regret
from calibo.diagnostics.reliability import (
    ReliabilityCurve,
    calibration_error,
    observed_frequencies,
    reliability_curve,
)
from calibo.diagnostics.scoring_rules import crps, interval_score, log_score, pinball_loss, sharpness
from calibo.diagnostics.surprises import Surprise, surprises
from calibo.diagnostics.tables import (
    CalibrationRow,
    CalibrationTable,
    FeasibilityRow,
    FeasibilityTable,
    Verdict,
    calibration_table,
    feasibility_table,
    forecast_table,
    stated_feasibility,
)

__all__ = [
    "CalibrationRow",
    "CalibrationTable",
    "Comparison",
    "FeasibilityRow",
    "FeasibilityTable",
    "ForecasterRow",
    "ForecasterTable",
    "Place",
    "PlaceRow",
    "PlaceTable",
    "Preference",
    "ReliabilityCurve",
    "RunningCoverage",
    "Surprise",
    "Verdict",
    "area_under_curve",
    "best_so_far",
    "calibration_error",
    "calibration_table",
    "forecast_table",
    "forecaster_table",
    "compare",
    "confidence_sequence",
    "count_band",
    "coverage",
    "covered",
    "crps",
    "cumulative_regret",
    "feasibility_table",
    "interval_score",
    "log_evidence",
    "log_score",
    "log_wealth",
    "mean_chance_limit",
    "observed_frequencies",
    "pinball_loss",
    "pit",
    "place_table",
    "points_needed",
    "reliability_curve",
    "running_coverage",
    "sharpness",
    "simple_regret",
    "surprises",
    "stated_feasibility",
]
