"""A page about ranked rows: their forecasts as intervals, and what earlier rounds promised and kept."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from calibo.arguments import checked
from calibo.digits import side_by_side
from calibo.errors import DataError
from calibo.report import figure as draw
from calibo.report.html import document, figure_section, header, panel, table
from calibo.report.page import save
from calibo.report.summary import counted, number, safe, shortened

if TYPE_CHECKING:
    import pandas as pd

#: Height of a figure in pixels: what is around the rows, and each row.
_AROUND, _PER_ROW = 150, 24
#: Of more measured forecasts the latest are drawn.
_MOST_PROMISES = 300
#: Feature columns in the table of rows.
_MOST_FEATURES = 12
_READING_ROWS = (
    "Each line is a row to measure, the first suggestion on top: the dot is what a measurement is expected to give, and with "
    "80 % probability it will lie on the line. The dashed line is the best result so far. A row may be worth measuring for "
    "a long line that reaches beyond the best, not only for its dot."
)
_READING_PROMISES = (
    "What earlier rounds promised and what came: the bar is the 80 % interval that was forecast before a row was measured, "
    "the dot its result, an orange cross a result outside. One in five should be outside."
)


@checked
def write_ranking_report(
    answer: pd.DataFrame, path: str | os.PathLike[str], *, title: str = "Rows to measure", labels: Sequence[str] = ()
) -> Path:
    """Write a page about ranked rows as one self-contained HTML file, which opens without a network.

    Args:
        answer: What ``calibo.rank`` returned.
        path: The file to write, normally ending in .html.
        title: Title of the page, such as the name of the table.
        labels: What the rows are called, one for each; by default their index.

    Returns:
        The path of the file.

    Raises:
        DataError: If it is not what ``calibo.rank`` returned.
        StudyError: If the folder is missing or cannot be written to.
    """
    import pandas as pd

    if not isinstance(answer, pd.DataFrame) or "promised" not in answer.attrs.get("calibo", {}):
        raise DataError("a page is made of what calibo.rank returned, got something else; pass its answer unchanged")
    return save(path, lambda script: ranking_page(answer, title=title, labels=labels, script=script))


def ranking_page(answer: pd.DataFrame, *, title: str, labels: Sequence[str], script: str) -> str:
    """Return the whole page; see ``write_ranking_report``, and ``script`` is Plotly's."""
    about: dict[str, Any] = answer.attrs["calibo"]
    names = [shortened(str(label)) for label in (labels or answer.index)]
    figures: dict[str, go.Figure] = {}
    parts = [_rows_panel(answer, about, names)]
    for k, target in enumerate(about["targets"]):
        drawn = plot_rows(answer, names, target)
        parts.append(_section(figures, drawn, f"rows-{k}", _READING_ROWS))
        kept = [one for one in about["promised"] if one["target"] == target]
        drawn = plot_promises(kept, target)
        parts.append(_section(figures, drawn, f"promises-{k}", _READING_PROMISES))
    facts = [
        f"round {about['round']}",
        f"{about['measured']:,} rows measured",
        f"{about['candidates']:,} candidates",
        f"features {shortened(', '.join(about['features']), 160)}",
    ]
    return document(
        title, header(title, facts, _headline(about, len(answer))) + "\n" + "\n".join(parts), figures, script=script
    )


def _section(figures: dict[str, go.Figure], figure: go.Figure, name: str, reading: str) -> str:
    figures[name] = figure
    return figure_section(figure, name, reading)


def _headline(about: dict[str, Any], count: int) -> str:
    """Say how many rows are suggested, how earlier forecasts came out, and whether measuring more may pay."""
    parts = [f"{counted(count, 'row')} to measure next."]
    for target, found in about["calibration"].items():
        inside = f"{found['contained']['0.8']} of {counted(found['of'], 'result')}"
        parts.append(f"{shortened(target)}: {inside} fell inside their 80 % intervals. {found['headline']}")
    if not about["calibration"]:
        parts.append("No suggested row has been measured yet, so it is too early to judge the intervals.")
    return " ".join([*parts, about["outlook"] or ""]).strip()


def _rows_panel(answer: pd.DataFrame, about: dict[str, Any], names: Sequence[str]) -> str:
    """Return the table of suggested rows."""
    m, features = len(about["targets"]), about["features"][:_MOST_FEATURES]
    ours = list(answer.iloc[:, -3 * m - 2 :].itertuples(index=False, name=None))
    head = ["row", *features, *about["targets"], "chance to improve", "reason"]
    rows = [
        [
            name,
            *(shortened(number(_plain(row[feature]))) for feature in features),
            *(_interval(*one[3 * j : 3 * j + 3]) for j in range(m)),
            "not known" if one[-2] != one[-2] else f"{100 * one[-2]:.0f} %",
            one[-1],
        ]
        for name, (_, row), one in zip(names, answer.iterrows(), ours, strict=True)
    ]
    cells = [[html.escape(cell) for cell in row] for row in rows]
    hidden = len(about["features"]) - len(features)
    note = f"<p>{counted(hidden, 'more column')} of the table not shown.</p>" if hidden else ""
    return panel("Rows to measure", f"{table([html.escape(shortened(one)) for one in head], cells)}{note}")


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _interval(mean: float, low: float, high: float) -> str:
    if mean != mean:
        return "not known"
    mean_text, *ends = side_by_side(mean, low, high)
    return f"{mean_text} ({' to '.join(ends)})"


def plot_rows(answer: pd.DataFrame, names: Sequence[str], target: str) -> go.Figure:
    """Plot the forecast of each ranked row as a horizontal interval, the first on top.

    Args:
        answer: What ``calibo.rank`` returned.
        names: What the rows are called, `n`.
        target: The column of outcomes.
    """
    about: dict[str, Any] = answer.attrs["calibo"]
    title = safe(shortened(target))
    figure = draw.blank(
        f"Forecasts of {title}", x=f"{title}, 80 % intervals", y="", height=_AROUND + _PER_ROW * len(names)
    )
    j = about["targets"].index(target)
    means, lows, highs = (answer.iloc[:, -3 * len(about["targets"]) - 2 + 3 * j + k].tolist() for k in range(3))
    if not all(mean == mean for mean in means):
        return draw.empty(figure, "nothing is measured, so nothing can be forecast")
    places = list(range(len(names)))
    ends = draw.segments([float(place) for place in places], list(zip(lows, highs, strict=True)))
    look = dict(color=draw.tint(draw.CALIBRATED, 0.5), width=6)
    figure.add_trace(
        go.Scatter(x=ends["y"], y=ends["x"], mode="lines", name="80 % interval", line=look, hoverinfo="skip")
    )
    boxes = [
        f"<b>{safe(name)}</b><br>{mean} expected<br>80 %: {low} to {high}"
        for name, (mean, low, high) in zip(names, map(side_by_side, means, lows, highs), strict=True)
    ]
    hover = dict(customdata=boxes, hovertemplate="%{customdata}<extra></extra>")
    figure.add_trace(
        go.Scatter(
            x=draw.drawable(means),
            y=places,
            mode="markers",
            name="expected",
            marker=dict(color=draw.OUTCOME, size=8),
            **hover,
        )
    )
    if about["best"]:
        best = about["best"][j]
        figure.add_vline(x=best, line=dict(color=draw.BEST, width=2, dash="dash"))
        draw.subtitle(figure, f"The best result so far is {number(best)} (dashed).")
    ticks = dict(tickvals=places, ticktext=[safe(shortened(name, 24)) for name in names])
    figure.update_layout(yaxis=dict(autorange="reversed", showgrid=False, **ticks))
    return figure


def plot_promises(promised: Sequence[dict[str, Any]], target: str) -> go.Figure:
    """Plot what was forecast of measured rows beside their results, in the order of the rounds.

    Args:
        promised: Forecasts with results, as in ``answer.attrs["calibo"]["promised"]``.
        target: The column of outcomes that they are of.
    """
    title = safe(shortened(target))
    figure = draw.blank(f"Promised and kept: {title}", x="measured row", y=title)
    if not promised:
        return draw.empty(figure, "no forecast has met its result yet")
    shown = list(promised)[-_MOST_PROMISES:]
    places = list(range(len(promised) - len(shown) + 1, len(promised) + 1))
    ends = [(one["low_80"], one["high_80"]) for one in shown]
    look = dict(color=draw.tint(draw.CALIBRATED, 0.5), width=5)
    figure.add_trace(draw.bars([float(place) for place in places], ends, "80 % interval", look))
    missed = [not one["low_80"] <= one["value"] <= one["high_80"] for one in shown]
    for name, wanted, marker in (
        ("inside", False, dict(color=draw.OUTCOME, symbol="circle", size=7)),
        ("outside: a miss", True, dict(color=draw.MISS, symbol="x", size=10)),
    ):
        mine = [k for k, miss in enumerate(missed) if miss is wanted]
        boxes = [f"row {safe(str(shown[k]['row']))}, round {shown[k]['round']}" for k in mine]
        hover = "<b>%{customdata}</b><br>result %{y:.5~g}"
        values = [shown[k]["value"] for k in mine]
        figure.add_trace(draw.dots([places[k] for k in mine], values, name, marker, hover, customdata=boxes))
    draw.whole_numbers(figure, len(promised))
    inside = len(shown) - sum(missed)
    draw.subtitle(figure, f"{inside} of {counted(len(shown), 'result')} fell inside their 80 % intervals.")
    return figure
