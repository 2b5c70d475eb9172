"""The fan: what is believed along one parameter through the best point, and where the method would try next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calibo.data import Array
from calibo.errors import RecipeError
from calibo.report.nearness import distances, incumbent_position, nearby
from calibo.report.ranges import around, drawable, few_choices, log_spaced, log_ticks, upper_part
from calibo.report.story import Story
from calibo.report.style import ACQUISITION, BEST, CALIBRATED, OUTCOME, RAW, blank, empty, menu, subtitle, tint
from calibo.report.thinning import evenly
from calibo.report.words import number, percent, safe, shortened

if TYPE_CHECKING:
    from calibo.optimize.slices import Slice

#: Widest first, so that narrower ones are painted over it.
COVERAGES = (0.95, 0.8, 0.5)
#: Coverage of the raw model's outline.
RAW_COVERAGE = 0.8
#: All slices together draw at most so many grid points, and there are at most so many slices to choose from.
MOST_POINTS = 400
MOST_SLICES = 10


def fan(story: Story, *, parameter: str | None = None) -> go.Figure:
    """Calibrated intervals (50, 80, 95 %) along one parameter, the raw model's outline, and the acquisition below.

    Args:
        story: What to tell.
        parameter: Which slice to draw; by default all, to be chosen from a dropdown, the most telling ones first.
    """
    figure = blank("What is believed around the best point", x="parameter", y="value", height=600)
    figure.update_layout(
        xaxis=dict(anchor="y2", exponentformat="power"),
        yaxis=dict(domain=[0.36, 1.0]),
        yaxis2=dict(domain=[0.0, 0.26], anchor="x", title=dict(text="acquisition"), nticks=4),
    )
    figure.update_layout(yaxis2=dict(exponentformat="power", minexponent=5))
    slices = _chosen(story, parameter)
    if not slices:
        return empty(
            figure,
            "there is no model along single parameters (no result, a table of rows, an unknown space, or a method<br>"
            "without a predictive distribution)",
        )
    off = distances(story)
    views = [_traces(story, piece, off, MOST_POINTS // len(slices)) for piece in slices]
    axes = [_axes(story, piece, off) for piece in slices]
    for position, traces in enumerate(views):
        for trace in traces:
            figure.add_trace(trace.update(visible=position == 0))
    figure.update_layout(axes[0])
    left_out = len(story.slices) - len(slices) if parameter is None else 0
    subtitle(figure, _summary(left_out))
    if len(slices) > 1:
        buttons: list[dict[str, object]] = []
        for position, piece in enumerate(slices):
            visible = [other == position for other, traces in enumerate(views) for _ in traces]
            label = safe(shortened(piece.name, 32))
            buttons.append(dict(label=label, method="update", args=[{"visible": visible}, axes[position]]))
        figure.update_layout(updatemenus=[menu(buttons, dropdown=True)])
    return figure


def _chosen(story: Story, parameter: str | None) -> list[Slice]:
    if parameter is not None:
        found = [piece for piece in story.slices if piece.name == parameter]
        if not found:
            names = ", ".join(piece.name for piece in story.slices) or "none"
            raise RecipeError(f"no slice along {parameter!r} in the story; there are {names}")
        return found
    return sorted(story.slices, key=_influence, reverse=True)[:MOST_SLICES]


def _influence(piece: Slice) -> float:
    """How much the believed median moves along a slice."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.nan_to_num(np.ptp(piece.calibrated.median)))


def _traces(story: Story, piece: Slice, off: dict[str, Array], points: int) -> list[go.Scatter]:
    with np.errstate(over="ignore", invalid="ignore"):
        if few_choices(piece.values):
            at = np.arange(len(piece.values))
            traces = [*_bar_traces(piece, story.recalibrated), _acquisition(piece, at.tolist(), at, "markers")]
        else:
            at = evenly(len(piece.values), points)
            x = [piece.values[i] for i in at]
            traces = [*_fan_traces(piece, x, at, story.recalibrated), _acquisition(piece, x, at, "lines")]
    return [*traces, _results(story, piece, off), _incumbent(story, piece)]


def _fan_traces(piece: Slice, x: Sequence[Any], at: np.ndarray, recalibrated: bool) -> list[go.Scatter]:
    """Filled bands, the median, and the raw model's outline along a numeric parameter."""
    distribution = _law_name(recalibrated)
    traces: list[go.Scatter] = []
    for coverage, opacity in zip(COVERAGES, (0.14, 0.2, 0.3), strict=True):
        low, high = piece.calibrated.interval(coverage)
        edge = dict(x=x, mode="lines", line=dict(width=0), hoverinfo="skip", legendgroup=f"fan {coverage}")
        band = dict(fill="tonexty", fillcolor=tint(CALIBRATED, opacity), name=f"{distribution} {percent(coverage)}")
        traces.append(go.Scatter(y=drawable(low[at]), showlegend=False, **edge))
        traces.append(go.Scatter(y=drawable(high[at]), **band, **edge))
    said = _ranges(piece)
    hover = f"{safe(shortened(piece.name))} = %{{x}}<br>%{{customdata}}<extra></extra>"
    median = dict(mode="lines", name=f"{distribution} median", line=dict(color=CALIBRATED, width=2))
    y = drawable(piece.calibrated.median[at])
    traces.append(go.Scatter(x=x, y=y, customdata=[said[i] for i in at], hovertemplate=hover, **median))
    if not recalibrated:
        return traces
    dashed = dict(mode="lines", line=dict(color=RAW, width=1.5, dash="dash"), legendgroup="raw", hoverinfo="skip")
    for end, shown in zip(piece.raw.interval(RAW_COVERAGE), (True, False), strict=True):
        name = f"raw model {percent(RAW_COVERAGE)}"
        traces.append(go.Scatter(x=x, y=drawable(end[at]), name=name, showlegend=shown, **dashed))
    return traces


def _bar_traces(piece: Slice, recalibrated: bool) -> list[go.Scatter]:
    """The same for separate choices: bars side by side, since nothing lies between them."""
    count, distribution = len(piece.values), _law_name(recalibrated)
    traces: list[go.Scatter] = []
    for coverage, width, opacity in zip(COVERAGES, (3, 10, 18), (0.45, 0.35, 0.4), strict=True):
        x, y = _segments(piece.calibrated.interval(coverage), offset=-0.05)
        line = dict(color=tint(CALIBRATED, opacity), width=width)
        traces.append(
            go.Scatter(x=x, y=y, mode="lines", line=line, name=f"{distribution} {percent(coverage)}", hoverinfo="skip")
        )
    if recalibrated:
        x, y = _segments(piece.raw.interval(RAW_COVERAGE), offset=0.07)
        dashed = dict(color=RAW, width=2, dash="dash")
        name = f"raw model {percent(RAW_COVERAGE)}"
        traces.append(go.Scatter(x=x, y=y, mode="lines", line=dashed, name=name, hoverinfo="skip"))
    traces.append(
        go.Scatter(
            x=[i - 0.05 for i in range(count)],
            y=drawable(piece.calibrated.median),
            mode="markers",
            name=f"{distribution} median",
            marker=dict(color=CALIBRATED, symbol="line-ew-open", size=16, line=dict(width=2)),
            customdata=[[_choice(v), said] for v, said in zip(piece.values, _ranges(piece), strict=True)],
            hovertemplate=f"{safe(shortened(piece.name))} = %{{customdata[0]}}<br>%{{customdata[1]}}<extra></extra>",
        )
    )
    return traces


def _law_name(recalibrated: bool) -> str:
    return "calibrated" if recalibrated else "forecast"


def _segments(ends: tuple[Array, Array], offset: float) -> tuple[list[float | None], list[float | None]]:
    x: list[float | None] = []
    y: list[float | None] = []
    for i, pair in enumerate(zip(*ends, strict=True)):
        x += [i + offset, i + offset, None]
        y += [*drawable(pair), None]
    return x, y


def _ranges(piece: Slice) -> list[str]:
    """The beliefs at each grid point in words, g."""
    columns = (piece.calibrated.median, *piece.calibrated.interval(0.8), *piece.raw.interval(RAW_COVERAGE))
    rows = ([number(float(v)) for v in row] for row in zip(*columns, strict=True))
    return [f"median {m}<br>80 %: {low} to {high}<br>raw 80 %: {a} to {b}" for m, low, high, a, b in rows]


def _acquisition(piece: Slice, x: Sequence[Any], at: np.ndarray, mode: str) -> go.Scatter:
    return go.Scatter(
        x=x,
        y=drawable(piece.acquisition[at]),
        yaxis="y2",
        mode=mode,
        name="acquisition",
        line=dict(color=ACQUISITION, width=2),
        marker=dict(color=ACQUISITION, size=10, symbol="square"),
        hovertemplate="acquisition %{y:.4~g}<extra></extra>",
    )


def _results(story: Story, piece: Slice, off: dict[str, Array]) -> go.Scatter:
    found = nearby(story, piece, off)
    return go.Scatter(
        x=[x for x, _ in found],
        y=drawable([story.value(i) for _, i in found]),
        mode="markers",
        name="results nearby",
        marker=dict(color=OUTCOME, size=6, opacity=0.75),
        customdata=[story.numbers[i] for _, i in found],
        hovertemplate="<b>trial %{customdata}</b><br>value %{y:.5~g}<extra></extra>",
        showlegend=bool(found),
    )


def _incumbent(story: Story, piece: Slice) -> go.Scatter:
    x, best = incumbent_position(story, piece), story.best_value
    known = x is not None and best is not None
    return go.Scatter(
        x=[x] if known else [],
        y=drawable([best]) if best is not None and known else [],
        mode="markers",
        name="best",
        marker=dict(color=BEST, symbol="star", size=15, line=dict(color="white", width=1)),
        hovertemplate="best value %{y:.5~g}<extra></extra>",
        showlegend=known,
    )


def _axes(story: Story, piece: Slice, off: dict[str, Array]) -> dict[str, object]:
    """What of the layout depends on the slice: title and type of the x axis, labels of choices, visible ranges."""
    title = safe(shortened(piece.name))
    if not few_choices(piece.values):
        kind = "log" if log_spaced(piece.values) else "linear"
        below = upper_part(piece.acquisition)
        step = log_ticks(piece.values) if kind == "log" else None
        x: dict[str, object] = {"xaxis.tickmode": "linear" if step else "auto", "xaxis.dtick": step}
        x |= {"xaxis.tickvals": None, "xaxis.ticktext": None}
        x |= {"xaxis.range": None, "xaxis.autorange": True, "xaxis.showgrid": True}
    else:
        kind, below = "linear", None
        count = len(piece.values)
        labels = [_choice(value) for value in piece.values]
        x = {"xaxis.tickmode": "array", "xaxis.tickvals": list(range(count)), "xaxis.ticktext": labels}
        x |= {"xaxis.range": [-0.6, count - 0.4], "xaxis.autorange": False, "xaxis.showgrid": False}
    best = [] if story.best_value is None else [story.best_value]
    with np.errstate(over="ignore", invalid="ignore"):
        ends = (*piece.calibrated.interval(COVERAGES[0]), *piece.raw.interval(RAW_COVERAGE), best)
    above = around(np.concatenate(ends), [story.value(i) for _, i in nearby(story, piece, off)])
    y = {"yaxis.autorange": above is None, "yaxis.range": above}
    y |= {"yaxis2.autorange": below is None, "yaxis2.range": below}
    return {"xaxis.title.text": title, "xaxis.type": kind, **x, **y}


def _choice(value: object) -> str:
    return safe(shortened(number(value), 20))


def _summary(left_out: int) -> str:
    said = "One parameter varies, the others stay at the best point."
    return f"{said} {left_out} parameters that matter less are left out." if left_out else said
