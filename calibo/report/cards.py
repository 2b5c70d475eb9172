"""The forecast report card: what was promised of each trial before it ran, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calibo.data import Array
from calibo.diagnostics import covered
from calibo.diagnostics.coverage import central_intervals
from calibo.report.ranges import drawable, undrawable_note, zoom
from calibo.report.story import Story
from calibo.report.style import CALIBRATED, MISS, OUTCOME, RAW, blank, empty, subtitle, tint, whole_numbers, zoom_menu
from calibo.report.thinning import thinned
from calibo.report.words import counted, number, params_text, percent, room_for

#: Heights, as fractions of the drawing area, of marks for what has no place on the value axis.
_BOTTOM, _TOP = 0.03, 0.97


def forecast_card(story: Story, *, coverage: float = 0.8, wide: float = 0.95) -> go.Figure:
    """One interval per trial, stamped when it was asked for, with its outcome as a dot and misses marked.

    Args:
        story: What to tell.
        coverage: Of the thick intervals, by which an outcome counts as a miss.
        wide: Of the thin intervals.
    """
    figure = blank("Forecast report card", x="trial", y="value")
    if not len(story):
        return empty(figure, "no trial has finished")
    with np.errstate(over="ignore", invalid="ignore"):
        inside = covered(story.distributions, story.outcomes, coverage)
    missed = {i for i, hit in zip(story.judged, inside.tolist(), strict=True) if not hit}
    shown = thinned(len(story), keep=sorted(missed)).tolist()
    judged = [i for i in shown if i in set(story.judged)]
    ends = {level: _ends(story, judged, level) for level in (coverage, wide)}
    for level, thickness, opacity in ((wide, 1.5, 0.55), (coverage, 5.0, 0.5)):
        figure.add_trace(_bars(story, judged, ends[level], level, min(thickness, 1.2 + 600 / len(shown)), opacity))
    hits = [i for i in judged if i not in missed]
    misses = [i for i in judged if i in missed]
    plain = [i for i in shown if story.forecasts[i] is None and story.values[i] is not None]
    promise, scale = percent(coverage), 1.0 if len(shown) <= 200 else 0.65
    boxes = _hover_texts(story, judged, ends, room_for(len(shown)))
    figure.add_trace(_dots(story, hits, boxes, f"inside {promise}", color=OUTCOME, symbol="circle", size=7 * scale))
    figure.add_trace(_dots(story, misses, boxes, f"outside {promise}: a miss", color=MISS, symbol="x", size=10 * scale))
    figure.add_trace(_dots(story, plain, boxes, "no forecast", color=RAW, symbol="circle-open", size=7 * scale))
    _mark_failures(figure, story, shown)
    for level, thickness in ((wide, 1.5), (coverage, 5.0)):
        _mark_endless(figure, story, judged, ends[level], level, thickness)
    _zoom(figure, story, judged + plain, np.concatenate([e.ravel() for e in ends.values()]))
    whole_numbers(figure, len(story))
    subtitle(figure, _summary(story, coverage, missed=len(missed), shown=len(shown)))
    return figure


def _ends(story: Story, indices: Sequence[int], coverage: float) -> Array:
    """Lower and upper ends of the shown forecasts' intervals, one row per trial."""
    return central_intervals([story.forecast(i).calibrated for i in indices], coverage)


def _bars(
    story: Story, indices: Sequence[int], ends: Array, coverage: float, thickness: float, opacity: float
) -> go.Scatter:
    x: list[int | None] = []
    y: list[float | None] = []
    for i, row in zip(indices, ends, strict=True):
        x += [story.numbers[i], story.numbers[i], None]
        y += [*drawable(row), None]
    line = dict(color=tint(CALIBRATED, opacity), width=thickness)
    return go.Scatter(x=x, y=y, mode="lines", line=line, name=f"{percent(coverage)} interval", hoverinfo="skip")


def _hover_texts(
    story: Story, judged: Sequence[int], ends: dict[float, Array], room: int
) -> dict[int, tuple[str, str]]:
    """For each trial with a forecast its intervals in words, for every trial its parameters."""
    texts = {i: ("no forecast<br>", params_text(story.params[i], room)) for i in story.finished}
    for row, i in enumerate(judged):
        said = [f"{percent(level)}: {' to '.join(number(float(v)) for v in e[row])}<br>" for level, e in ends.items()]
        texts[i] = ("".join(said), texts[i][1])
    return texts


def _dots(
    story: Story, indices: Sequence[int], texts: dict[int, tuple[str, str]], name: str, **marker: object
) -> go.Scatter:
    return go.Scatter(
        x=[story.numbers[i] for i in indices],
        y=drawable([story.value(i) for i in indices]),
        mode="markers",
        name=name,
        marker=marker,
        customdata=[texts[i] for i in indices],
        hovertemplate="<b>trial %{x}</b><br>value %{y:.5~g}<br>%{customdata[0]}%{customdata[1]}<extra></extra>",
        showlegend=bool(indices),
    )


def _mark_failures(figure: go.Figure, story: Story, shown: Sequence[int]) -> None:
    """Failed trials have no value: they are marked on the lower edge, whatever the value axis shows."""
    failed = [i for i in shown if story.values[i] is None]
    figure.update_layout(yaxis2=dict(overlaying="y", range=[0, 1], visible=False, fixedrange=True))
    figure.add_trace(
        go.Scatter(
            x=[story.numbers[i] for i in failed],
            y=[_BOTTOM] * len(failed),
            yaxis="y2",
            mode="markers",
            name="failed",
            marker=dict(color=RAW, symbol="cross-thin-open", size=11, line=dict(width=2)),
            hovertemplate="<b>trial %{x}</b><br>failed: no value<extra></extra>",
            showlegend=bool(failed),
        )
    )


def _mark_endless(
    figure: go.Figure, story: Story, judged: Sequence[int], ends: Array, level: float, thickness: float
) -> None:
    """Intervals without an end, for which too little was held out, are bars from edge to edge of the picture."""
    endless = [i for i, row in zip(judged, ends, strict=True) if np.isinf(row).any()]
    x: list[int | None] = []
    y: list[float | None] = []
    for i in endless:
        x += [story.numbers[i], story.numbers[i], None]
        y += [0.0, 1.0, None]
    line = dict(color=tint(CALIBRATED, 0.25), width=thickness, dash="dot")
    name = f"no end at {percent(level)}: too few held-out results"
    figure.add_trace(
        go.Scatter(x=x, y=y, yaxis="y2", mode="lines", line=line, name=name, hoverinfo="skip", showlegend=bool(endless))
    )


def _zoom(figure: go.Figure, story: Story, indices: Sequence[int], ends: Array) -> None:
    """Where a few extreme values would flatten all others, most are shown first and a button shows all."""
    values = np.array([story.value(i) for i in indices], dtype=np.float64)
    found = zoom(values, ends)
    if found is None:
        return
    beyond = [i for i, value in zip(indices, values.tolist(), strict=True) if not found.low <= value <= found.high]
    above = [story.value(i) > found.high for i in beyond]
    figure.add_trace(
        go.Scatter(
            x=[story.numbers[i] for i in beyond],
            y=[_TOP if up else _BOTTOM for up in above],
            yaxis="y2",
            mode="markers",
            name="beyond this view",
            marker=dict(color=MISS, symbol=["triangle-up" if up else "triangle-down" for up in above], size=10),
            customdata=[number(story.value(i)) for i in beyond],
            hovertemplate="<b>trial %{x}</b><br>value %{customdata}, beyond this view<extra></extra>",
            showlegend=bool(beyond),
            visible=found.needed,
        )
    )
    zoom_menu(figure, found, marks=len(figure.data) - 1)  # pyright: ignore[reportArgumentType]


def _summary(story: Story, coverage: float, *, missed: int, shown: int) -> str:
    total = len(story.judged)
    if not total and not story.forecasting:
        said = "This method makes no forecasts, so there is nothing to judge."
    elif not total:
        said = "Not yet: no forecast has met its result, so there is nothing to judge."
    else:
        expected = round((1.0 - coverage) * total)
        said = (
            f"{missed} of {counted(total, 'result')} fell outside their {percent(coverage)} interval "
            f"(to be expected: about {expected})."
        )
    said += undrawable_note([story.value(i) for i in story.finished])
    if shown < len(story):
        said += f" {shown} of {len(story)} trials are drawn, misses before others, so misses look too frequent here."
    return said
