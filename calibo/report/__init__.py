"""Pictures and the HTML report: how the optimisation went and whether its forecasts can be believed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibo.report.cards import forecast_card
    from calibo.report.coverage import coverage_over_time
    from calibo.report.fans import fan
    from calibo.report.feasibilities import feasibility
    from calibo.report.fronts import front
    from calibo.report.html import write_report
    from calibo.report.progress import best_so_far
    from calibo.report.reliabilities import reliability
    from calibo.report.story import Story
    from calibo.report.tradeoff import Tradeoff
    from calibo.report.volumes import hypervolume_over_time

__all__ = [
    "Story",
    "Tradeoff",
    "best_so_far",
    "coverage_over_time",
    "fan",
    "feasibility",
    "forecast_card",
    "front",
    "hypervolume_over_time",
    "reliability",
    "write_report",
]

_HOMES = {
    "Story": "story",
    "Tradeoff": "tradeoff",
    "best_so_far": "progress",
    "coverage_over_time": "coverage",
    "fan": "fans",
    "feasibility": "feasibilities",
    "forecast_card": "cards",
    "front": "fronts",
    "hypervolume_over_time": "volumes",
    "reliability": "reliabilities",
    "write_report": "html",
}


def __getattr__(name: str) -> Any:
    """Loads a name with the file it lives in: plotly comes with the figures only."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
