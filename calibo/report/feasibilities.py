"""Feasibility: how often points that seemed likely to meet all constraints did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from calibo.diagnostics import FeasibilityRow
from calibo.report.style import CALIBRATED, MISS, OUTCOME, RAW, blank, empty, subtitle, tint
from calibo.report.tradeoff import Tradeoff
from calibo.report.words import counted, percent

_LOOKS = {
    "as promised": dict(color=OUTCOME, symbol="circle", size=11),
    "too hopeful": dict(color=MISS, symbol="x", size=12),
    "too cautious": dict(color=MISS, symbol="x", size=12),
    "not yet": dict(color=RAW, symbol="circle-open", size=11),
}


def feasibility(tradeoff: Tradeoff) -> go.Figure:
    """For each band of stated probabilities, the share of points that met all constraints and what was promised."""
    title = "Were the points that seemed feasible feasible?"
    figure = blank(title, x="stated probability of meeting all constraints", y="share that met them all", height=380)
    if not tradeoff.constraints:
        return empty(figure, "there are no constraints")
    table = tradeoff.feasibility
    rows = [(at, row) for at, row in enumerate(table.rows) if row.of]
    if not rows:
        return empty(figure, "no forecast of the constraints has met its result")
    figure.add_trace(_bands(rows))
    figure.add_trace(_promises(rows))
    for verdict, look in _LOOKS.items():
        chosen = [(at, row) for at, row in rows if row.verdict == verdict]
        figure.add_trace(_shares(chosen, verdict, look))
    labels = [f"{_band_name(row)}<br>{counted(row.of, 'point')}" for row in table.rows]
    count = len(labels)
    figure.update_layout(
        xaxis=dict(tickvals=list(range(count)), ticktext=labels, range=[-0.6, count - 0.4], showgrid=False),
        yaxis=dict(range=[-0.03, 1.03], tickformat=".0%"),
    )
    subtitle(figure, table.headline())
    return figure


def _bands(rows: Sequence[tuple[int, FeasibilityRow]]) -> go.Scatter:
    x: list[int | None] = []
    y: list[float | None] = []
    for at, row in rows:
        x += [at, at, None]
        y += [row.expected[0] / row.of, row.expected[1] / row.of, None]
    line = dict(color=tint(CALIBRATED, 0.25), width=26)
    name = "expected of right probabilities (95 % band)"
    return go.Scatter(x=x, y=y, mode="lines", line=line, name=name, hoverinfo="skip")


def _promises(rows: Sequence[tuple[int, FeasibilityRow]]) -> go.Scatter:
    return go.Scatter(
        x=[at for at, _ in rows],
        y=[row.stated for _, row in rows],
        mode="markers",
        name="promised on average",
        marker=dict(color=CALIBRATED, symbol="line-ew-open", size=26, line=dict(width=2)),
        hovertemplate="promised on average: %{y:.1%}<extra></extra>",
    )


def _shares(rows: Sequence[tuple[int, FeasibilityRow]], verdict: str, look: Mapping[str, object]) -> go.Scatter:
    return go.Scatter(
        x=[at for at, _ in rows],
        y=[row.met / row.of for _, row in rows],
        mode="markers",
        name=f"observed: {'too few points yet' if verdict == 'not yet' else verdict}",
        marker=look,
        customdata=[row.sentence() for _, row in rows],
        hovertemplate="%{y:.1%}: %{customdata}<extra></extra>",
        showlegend=bool(rows),
    )


def _band_name(row: FeasibilityRow) -> str:
    if row.low <= 0.0:
        return f"below {percent(row.high)}"
    return f"{percent(row.low)} or more" if row.high >= 1.0 else f"{100 * row.low:g} to {percent(row.high)}"
