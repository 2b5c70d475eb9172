"""Coverage over time: do the intervals contain as many results as they promise, and did the raw model's?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calibo.diagnostics import RunningCoverage, points_needed, running_coverage
from calibo.errors import RecipeError
from calibo.report.story import Story
from calibo.report.style import (
    CALIBRATED,
    OUTCOME,
    RAW,
    blank,
    empty,
    menu,
    not_yet,
    subtitle,
    tint,
    whole_numbers,
    without_forecasts,
)
from calibo.report.thinning import CURVE_POINTS, evenly
from calibo.report.words import counted, percent


def coverage_over_time(
    story: Story, *, coverages: Sequence[float] = (0.5, 0.8, 0.95), confidence: float = 0.95
) -> go.Figure:
    """Running coverage of the intervals with the exact binomial band around the promise, the raw model dashed.

    Args:
        story: What to tell.
        coverages: Coverages to choose from with buttons; 80 % is shown first if it is among them, else the first.
        confidence: Least probability with which right intervals stay inside the band at each single time.
    """
    if not coverages:
        raise RecipeError("coverage over time needs at least one coverage, got none: try coverages=(0.5, 0.8, 0.95)")
    figure = blank("Coverage over time", x="results so far", y="share inside the interval")
    figure.update_layout(yaxis=dict(range=[0, 1.02], tickformat=".0%"))
    if not story.judged:
        return empty(figure, "no forecast has met its result") if story.forecasting else without_forecasts(figure)
    whole_numbers(figure, len(story.judged))
    first = coverages.index(0.8) if 0.8 in coverages else 0
    views = [_traces(story, coverage, confidence) for coverage in coverages]
    for position, traces in enumerate(views):
        for trace in traces:
            figure.add_trace(trace.update(visible=position == first))
    notes = [_note(story, coverage) for coverage in coverages]
    said = [_summary(story, coverage) for coverage in coverages]
    figure.update_layout(annotations=notes[first])
    subtitle(figure, said[first])
    if len(coverages) > 1:
        buttons: list[dict[str, object]] = []
        for position, coverage in enumerate(coverages):
            visible = [other == position for other, traces in enumerate(views) for _ in traces]
            changes = {"annotations": notes[position], "title.subtitle.text": said[position]}
            buttons.append(dict(label=percent(coverage), method="update", args=[{"visible": visible}, changes]))
        figure.update_layout(updatemenus=[menu(buttons, active=first)])
    return figure


def _traces(story: Story, coverage: float, confidence: float) -> list[go.Scatter]:
    """Band (two edges), promise, raw model and shown forecasts at one coverage; no curves while it is too early."""
    with np.errstate(over="ignore", invalid="ignore"):
        shown = running_coverage(story.distributions, story.outcomes, coverage, confidence=confidence)
        raw = running_coverage(story.raw_laws, story.outcomes, coverage, confidence=confidence)
    # Steps of the band and of the curves fall on different results, so both are drawn at the same places.
    at = evenly(len(shown.count), CURVE_POINTS)
    x = shown.count[at].tolist()
    low, high = shown.band[at].T
    edge = dict(x=x, mode="lines", line=dict(width=0), hoverinfo="skip", legendgroup="band")
    traces = [
        go.Scatter(y=low.tolist(), showlegend=False, **edge),
        go.Scatter(
            y=high.tolist(),
            fill="tonexty",
            fillcolor=tint(CALIBRATED, 0.13),
            name=f"expected of right intervals ({percent(confidence)} band)",
            **edge,
        ),
        go.Scatter(
            x=[x[0], x[-1]],
            y=[coverage] * 2,
            mode="lines",
            line=dict(color=OUTCOME, width=1, dash="dot"),
            name=f"promised: {percent(coverage)}",
            hoverinfo="skip",
        ),
    ]
    if _too_early(story, coverage):
        return traces
    if story.recalibrated:
        traces.append(_curve(raw, at, "raw model", dict(color=RAW, width=2, dash="dash")))
    name = "calibrated" if story.recalibrated else "forecasts"
    return [*traces, _curve(shown, at, name, dict(color=CALIBRATED, width=2.5))]


def _curve(running: RunningCoverage, at: np.ndarray, name: str, line: dict[str, object]) -> go.Scatter:
    return go.Scatter(
        x=running.count[at].tolist(),
        y=running.fraction[at].tolist(),
        mode="lines",
        line=line,
        name=name,
        customdata=running.contained[at].tolist(),
        hovertemplate=f"{name}: %{{customdata}} of %{{x}} inside (%{{y:.1%}})<extra></extra>",
    )


def _too_early(story: Story, coverage: float) -> bool:
    return len(story.judged) < points_needed(coverage)


def _note(story: Story, coverage: float) -> list[dict[str, object]]:
    if not _too_early(story, coverage):
        return []
    needed = counted(points_needed(coverage), "result")
    return [not_yet(f"{percent(coverage)} intervals need at least<br>{needed}, {len(story.judged)} so far")]


def _summary(story: Story, coverage: float) -> str:
    row = next((row for row in story.calibration.rows if row.nominal == coverage), None)
    if row is None:
        return "Share of results that fell inside their interval, after each result."
    sentence = row.sentence()
    return f"{sentence[0].upper()}{sentence[1:]}."
