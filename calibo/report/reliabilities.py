"""Reliability before and after calibration: every level at once, without bins."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from calibo.diagnostics import ReliabilityCurve, pit, points_needed, reliability_curve
from calibo.report.story import Story
from calibo.report.style import CALIBRATED, OUTCOME, RAW, blank, empty, subtitle, tint, without_forecasts
from calibo.report.thinning import CURVE_POINTS, evenly
from calibo.report.words import counted, percent

#: With fewer results the band fills the square, and a curve would only mislead.
_FEWEST = points_needed(0.8)


def reliability(story: Story, *, confidence: float = 0.95) -> go.Figure:
    """How often results fell below each level of their forecasts, before and after calibration; right is the diagonal.

    Args:
        story: What to tell.
        confidence: Least probability with which the whole curve of right forecasts stays inside the band.
    """
    title = "Reliability before and after calibration" if story.recalibrated else "Reliability of the forecasts"
    figure = blank(title, x="level of the forecast", y="share of results at or below it", height=500)
    square = dict(range=[-0.01, 1.01], constrain="domain", tickformat=".0%", dtick=0.2)
    figure.update_layout(xaxis=square, yaxis=dict(**square, scaleanchor="x"))
    with np.errstate(over="ignore", invalid="ignore"):
        after = reliability_curve(pit(story.distributions, story.outcomes), confidence=confidence)
        before = reliability_curve(pit(story.raw_laws, story.outcomes), confidence=confidence)
    if not story.judged and not story.forecasting:
        return without_forecasts(figure)
    if after.levels.size < _FEWEST:
        needed = f"needs at least {counted(_FEWEST, 'result')} with a forecast"
        return empty(figure, f"{needed}, {after.levels.size} so far")
    _add_band(figure, after)
    if story.recalibrated:
        figure.add_trace(_staircase(before, "raw model", dict(color=RAW, width=2, dash="dash")))
    name = "calibrated" if story.recalibrated else "forecasts"
    figure.add_trace(_staircase(after, name, dict(color=CALIBRATED, width=2.5)))
    subtitle(figure, _summary(story, before, after))
    return figure


def _add_band(figure: go.Figure, curve: ReliabilityCurve) -> None:
    w = min(1.0, curve.half_width)
    levels = np.unique([0.0, w, 1.0 - w, 1.0])  # the band is straight between these
    low, high = curve.band(levels).T
    edge = dict(x=levels.tolist(), mode="lines", line=dict(width=0), hoverinfo="skip", legendgroup="band")
    name = f"expected of right forecasts ({percent(curve.confidence)} band)"
    fill = dict(fill="tonexty", fillcolor=tint(CALIBRATED, 0.13), name=name)
    figure.add_trace(go.Scatter(y=low.tolist(), showlegend=False, **edge))
    figure.add_trace(go.Scatter(y=high.tolist(), **fill, **edge))
    dotted = dict(color=OUTCOME, width=1, dash="dot")
    diagonal = go.Scatter(x=[0, 1], y=[0, 1], mode="lines", line=dotted, name="exactly right", hoverinfo="skip")
    figure.add_trace(diagonal)


def _staircase(curve: ReliabilityCurve, name: str, line: dict[str, object]) -> go.Scatter:
    at = evenly(curve.levels.size, CURVE_POINTS)
    return go.Scatter(
        x=[0.0, *curve.levels[at].tolist(), 1.0],
        y=[0.0, *curve.observed[at].tolist(), 1.0],
        mode="lines",
        line={**line, "shape": "hv"},
        name=name,
        hovertemplate=f"{name}: %{{y:.1%}} of results at or below level %{{x:.1%}}<extra></extra>",
    )


def _summary(story: Story, before: ReliabilityCurve, after: ReliabilityCurve) -> str:
    def said(curve: ReliabilityCurve) -> str:
        return "stays inside the band" if curve.inside else "leaves the band"

    if not story.recalibrated:
        return f"The curve {said(after)} after {counted(after.levels.size, 'result')}."
    joined = "as" if before.inside == after.inside else "while"
    return (
        f"After {counted(after.levels.size, 'result')} the calibrated curve {said(after)}, "
        f"{joined} the raw model's {'does' if joined == 'as' else said(before)}."
    )
