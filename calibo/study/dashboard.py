"""Forecasts in optuna-dashboard: figures of the study, and a note with the verdict on its intervals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from calibo.errors import MissingExtra
from calibo.report.calibration import plot_coverage, plot_forecasts, plot_surprise
from calibo.report.html import compact_json
from calibo.report.summary import headline

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from calibo.study.result import Result

#: What begins our part of the note; what the user wrote before it stays.
HEADING = "## Forecasts (calibo)"
_FIGURES = {"forecasts": plot_forecasts, "surprise": plot_surprise, "coverage": plot_coverage}


def publish(result: Result) -> tuple[str, ...]:
    """Store figures and a note with a study, where optuna-dashboard shows them.

    Args:
        result: The study.

    Returns:
        The ids of the figures, which are replaced when the study is published again.

    Raises:
        MissingExtra: If optuna-dashboard is not installed.
    """
    try:
        from optuna_dashboard import get_note, save_note, save_plotly_graph_object  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtra("this needs optuna-dashboard: pip install 'calibo[dashboard]'") from None
    data = result.report_data()
    ids: list[str] = []
    for k, outcome in enumerate(data.outcomes):
        for name, draw in _FIGURES.items():
            figure = draw(outcome)
            if len(data.outcomes) > 1:
                figure.update_layout(title=dict(text=f"{figure.layout.title.text}: {outcome.name}"))
            ids.append(save_plotly_graph_object(result.study, _small(figure), graph_object_id=f"calibo-{k}-{name}"))
    own = str(get_note(result.study) or "").partition(HEADING)[0].rstrip()
    save_note(result.study, "\n\n".join(part for part in (own, HEADING, _told(headline(data))) if part))
    return tuple(ids)


def _small(figure: go.Figure) -> Any:
    """Return the figure with numbers rounded to what a screen shows, because every piece of it is an attribute."""
    import plotly.graph_objects as go

    return go.Figure(json.loads(compact_json(figure)))


def _told(text: str) -> str:
    """Return text that Markdown shows as it is."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|" else c for c in text)
