"""Figures and the HTML report of a study: its results, and the calibration of its forecasts.

`Result.report` writes the whole report; single figures are Plotly figures of one outcome or of the whole study:

    >>> from calibo import Float, minimize
    >>> from calibo.report import plot_best_so_far
    >>> result = minimize(lambda p: p["x"] ** 2, {"x": Float(-1, 1)}, 3, method="gp_ei", progress=False)
    >>> data = result.report_data()
    >>> data.objectives[0]
    OutcomeData('value', minimized, 3 of 3 trials with a value)
    >>> figure = plot_best_so_far(data.objectives[0])  # figure.show() opens it in a browser
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibo.report.calibration import (
        plot_coverage,
        plot_feasibility,
        plot_forecasts,
        plot_places,
        plot_reliability,
        plot_surprise,
    )
    from calibo.report.data import OutcomeData, ReportData
    from calibo.report.insight import plot_importance, plot_map
    from calibo.report.page import write_report
    from calibo.report.pareto import plot_pareto_front
    from calibo.report.plots import Plots
    from calibo.report.progress import plot_best_so_far, plot_hypervolume
    from calibo.report.ranking import write_ranking_report
    from calibo.report.slices import plot_slices

__all__ = [
    "OutcomeData",
    "Plots",
    "ReportData",
    "plot_best_so_far",
    "plot_coverage",
    "plot_feasibility",
    "plot_forecasts",
    "plot_hypervolume",
    "plot_importance",
    "plot_map",
    "plot_pareto_front",
    "plot_places",
    "plot_reliability",
    "plot_slices",
    "plot_surprise",
    "write_ranking_report",
    "write_report",
]

_NAMES = {
    "calibration": (
        "plot_coverage",
        "plot_feasibility",
        "plot_forecasts",
        "plot_places",
        "plot_reliability",
        "plot_surprise",
    ),
    "data": ("OutcomeData", "ReportData"),
    "insight": ("plot_importance", "plot_map"),
    "ranking": ("write_ranking_report",),
    "page": ("write_report",),
    "plots": ("Plots",),
    "pareto": ("plot_pareto_front",),
    "progress": ("plot_best_so_far", "plot_hypervolume"),
    "slices": ("plot_slices",),
}


def __getattr__(name: str) -> Any:
    """Import a name with its module: Plotly is imported only with the figures."""
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
