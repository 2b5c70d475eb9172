"""Figure of predictions along single parameters through the best point, with the acquisition function below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calibo.arguments import checked
from calibo.data import Array
from calibo.digits import interval_text, side_by_side
from calibo.errors import RecipeError
from calibo.report import figure as draw
from calibo.report.data import OutcomeData
from calibo.report.summary import number, percent, safe, shortened

if TYPE_CHECKING:
    from calibo.optimize.slices import Slice

#: Widest first, so that narrower ones are painted over it.
COVERAGES = (0.95, 0.8, 0.5)
#: Coverage of the raw model's intervals.
RAW_COVERAGE = 0.8
_RAW_NAME = f"raw model {percent(RAW_COVERAGE)}"
#: Greatest number of grid points of all slices together, and of slices to choose from.
MOST_POINTS = 400
MOST_SLICES = 10
#: Largest distance of a nearby result from a slice: the mean over the other parameters, as a fraction of their ranges.
_NEAR = 0.12
#: Greatest number of nearby results drawn.
_MOST = 60


@checked
def plot_slices(outcome: OutcomeData, *, parameter: str | None = None) -> go.Figure:
    """Plot calibrated intervals (50, 80, 95 %) along one parameter, the raw model's 80 %, and the acquisition below.

    Args:
        outcome: The objective.
        parameter: Which slice to draw; by default all, to be chosen from a dropdown, those with the largest effect
            first.
    """
    figure = draw.blank("Predictions around the best point", x="parameter", y="value", height=600)
    figure.update_layout(
        xaxis=dict(anchor="y2", exponentformat="e"),
        yaxis=dict(domain=[0.36, 1.0]),
        yaxis2=dict(domain=[0.0, 0.26], anchor="x", title=dict(text="acquisition"), nticks=4),
    )
    figure.update_layout(yaxis2=dict(exponentformat="e", minexponent=5))
    slices = _chosen(outcome, parameter)
    if not slices:
        return draw.empty(
            figure,
            "there is no model along single parameters (no result, a table of rows, an unknown space, or a method<br>"
            "without a predictive distribution)",
        )
    off = distances(outcome)
    views = [_traces(outcome, piece, off, MOST_POINTS // len(slices)) for piece in slices]
    axes = [_axes(outcome, piece, off) for piece in slices]
    draw.add_views(figure, views, [safe(shortened(piece.name, 32)) for piece in slices], axes, dropdown=True)
    left_out = len(outcome.slices) - len(slices) if parameter is None else 0
    draw.subtitle(figure, _summary(left_out))
    return figure


def _chosen(outcome: OutcomeData, parameter: str | None) -> list[Slice]:
    if parameter is not None:
        found = [piece for piece in outcome.slices if piece.name == parameter]
        if not found:
            names = ", ".join(piece.name for piece in outcome.slices) or "none"
            raise RecipeError(f"there is no slice along {parameter!r}; there are {names}")
        return found
    return sorted(outcome.slices, key=_influence, reverse=True)[:MOST_SLICES]


def _influence(piece: Slice) -> float:
    """Return the range of the median along a slice."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.nan_to_num(np.ptp(piece.calibrated.median)))


def _traces(outcome: OutcomeData, piece: Slice, off: dict[str, Array], points: int) -> list[go.Scatter]:
    with np.errstate(over="ignore", invalid="ignore"):
        if draw.few_choices(piece.values):
            at = np.arange(len(piece.values))
            traces = [*_bar_traces(piece, outcome.recalibrated), _acquisition(piece, at.tolist(), at, "markers")]
        else:
            at = draw.evenly(len(piece.values), points)
            x = [piece.values[i] for i in at]
            traces = [*_band_traces(piece, x, at, outcome.recalibrated), _acquisition(piece, x, at, "lines")]
    return [*traces, _results(outcome, piece, off), _best(outcome, piece)]


def _band_traces(piece: Slice, x: Sequence[Any], at: np.ndarray, recalibrated: bool) -> list[go.Scatter]:
    """Return the filled bands, the median, and the raw model's interval along a numeric parameter."""
    series = _series_name(recalibrated)
    traces: list[go.Scatter] = []
    for coverage, opacity in zip(COVERAGES, (0.14, 0.2, 0.3), strict=True):
        low, high = piece.calibrated.interval(coverage)
        name, color = f"{series} {percent(coverage)}", draw.tint(draw.CALIBRATED, opacity)
        traces += draw.band(x, low[at], high[at], color=color, name=name, legendgroup=f"interval {coverage}")
    texts = _ranges(piece)
    hover = f"{safe(shortened(piece.name))} = %{{x}}<br>%{{customdata}}"
    look = dict(color=draw.CALIBRATED, width=2)
    median = piece.calibrated.median[at]
    traces.append(draw.line(x, median, f"{series} median", look, hover, customdata=[texts[i] for i in at]))
    if not recalibrated:
        return traces
    dashed = dict(color=draw.RAW, width=1.5, dash="dash")
    for end, shown in zip(piece.raw.interval(RAW_COVERAGE), (True, False), strict=True):
        traces.append(draw.line(x, end[at], _RAW_NAME, dashed, legendgroup="raw", showlegend=shown))
    return traces


def _bar_traces(piece: Slice, recalibrated: bool) -> list[go.Scatter]:
    """Return the same for separate choices: bars side by side."""
    series = _series_name(recalibrated)
    traces: list[go.Scatter] = []
    left, right = ([i + offset for i in range(len(piece.values))] for offset in (-0.05, 0.07))
    for coverage, width, opacity in zip(COVERAGES, (3, 10, 18), (0.45, 0.35, 0.4), strict=True):
        look = dict(color=draw.tint(draw.CALIBRATED, opacity), width=width)
        ends = np.transpose(piece.calibrated.interval(coverage))
        traces.append(draw.bars(left, ends, f"{series} {percent(coverage)}", look))
    if recalibrated:
        dashed = dict(color=draw.RAW, width=2, dash="dash")
        traces.append(draw.bars(right, np.transpose(piece.raw.interval(RAW_COVERAGE)), _RAW_NAME, dashed))
    marker = dict(color=draw.CALIBRATED, symbol="line-ew-open", size=16, line=dict(width=2))
    texts = [[_choice(v), text] for v, text in zip(piece.values, _ranges(piece), strict=True)]
    hover = f"{safe(shortened(piece.name))} = %{{customdata[0]}}<br>%{{customdata[1]}}"
    traces.append(draw.dots(left, piece.calibrated.median, f"{series} median", marker, hover, customdata=texts))
    return traces


def _series_name(recalibrated: bool) -> str:
    return "calibrated" if recalibrated else "forecast"


def _ranges(piece: Slice) -> list[str]:
    """Return the median and 80 % intervals at each of the `g` grid points, for hover boxes."""
    columns = (piece.calibrated.median, *piece.calibrated.interval(0.8), *piece.raw.interval(RAW_COVERAGE))
    texts: list[str] = []
    for *shown, raw_low, raw_high in np.transpose(columns).tolist():
        median, low, high = side_by_side(*shown)
        texts.append(f"median {median}<br>80 %: {low} to {high}<br>raw 80 %: {interval_text(raw_low, raw_high)}")
    return texts


def _acquisition(piece: Slice, x: Sequence[Any], at: np.ndarray, mode: str) -> go.Scatter:
    return go.Scatter(
        x=x,
        y=draw.drawable(piece.acquisition[at]),
        yaxis="y2",
        mode=mode,
        name="acquisition",
        line=dict(color=draw.ACQUISITION, width=2),
        marker=dict(color=draw.ACQUISITION, size=10, symbol="square"),
        hovertemplate="acquisition %{y:.4~g}<extra></extra>",
    )


def _results(outcome: OutcomeData, piece: Slice, off: dict[str, Array]) -> go.Scatter:
    found = nearby(outcome, piece, off)
    x, y = [x for x, _ in found], [outcome.value(i) for _, i in found]
    marker = dict(color=draw.OUTCOME, size=6, opacity=0.75)
    hover = "<b>trial %{customdata}</b><br>value %{y:.5~g}"
    return draw.dots(x, y, "results nearby", marker, hover, customdata=[outcome.numbers[i] for _, i in found])


def _best(outcome: OutcomeData, piece: Slice) -> go.Scatter:
    x = best_position(outcome, piece)
    marker = dict(color=draw.BEST, symbol="star", size=15, line=dict(color="white", width=1))
    known = [] if x is None or outcome.best_value is None else [(x, outcome.best_value)]
    return draw.dots([x for x, _ in known], [y for _, y in known], "best", marker, "best value %{y:.5~g}")


def _axes(outcome: OutcomeData, piece: Slice, off: dict[str, Array]) -> dict[str, object]:
    """Return the layout that depends on the slice: title and type of the x axis, labels of choices, visible ranges."""
    title = safe(shortened(piece.name))
    if not draw.few_choices(piece.values):
        kind = "log" if draw.log_spaced(piece.values) else "linear"
        below = draw.upper_part(piece.acquisition)
        step = draw.log_ticks(piece.values) if kind == "log" else None
        x: dict[str, object] = {"xaxis.tickmode": "linear" if step else "auto", "xaxis.dtick": step}
        x |= {"xaxis.tickvals": None, "xaxis.ticktext": None}
        x |= {"xaxis.range": None, "xaxis.autorange": True, "xaxis.showgrid": True}
    else:
        kind, below = "linear", None
        count = len(piece.values)
        labels = [_choice(value) for value in piece.values]
        x = {"xaxis.tickmode": "array", "xaxis.tickvals": list(range(count)), "xaxis.ticktext": labels}
        x |= {"xaxis.range": [-0.6, count - 0.4], "xaxis.autorange": False, "xaxis.showgrid": False}
    best = [] if outcome.best_value is None else [outcome.best_value]
    with np.errstate(over="ignore", invalid="ignore"):
        ends = (*piece.calibrated.interval(COVERAGES[0]), *piece.raw.interval(RAW_COVERAGE), best)
    above = draw.around(np.concatenate(ends), [outcome.value(i) for _, i in nearby(outcome, piece, off)])
    y = {"yaxis.autorange": above is None, "yaxis.range": above}
    y |= {"yaxis2.autorange": below is None, "yaxis2.range": below}
    return {"xaxis.title.text": title, "xaxis.type": kind, **x, **y}


def _choice(value: object) -> str:
    return safe(shortened(number(value), 20))


def _summary(left_out: int) -> str:
    text = "One parameter varies, the others stay at the best point."
    return f"{text} {left_out} parameters with less effect are left out." if left_out else text


def distances(outcome: OutcomeData) -> dict[str, Array]:
    """Return, for each parameter, the distances of the finished trials from the best point, as fractions of its range."""
    return {name: _distances(outcome, name) for name in outcome.best_params or ()}


def nearby(outcome: OutcomeData, piece: Slice, off: dict[str, Array]) -> list[tuple[Any, int]]:
    """Return the results near a slice, nearest first: the position on its axis and the trial's index of each.

    Args:
        outcome: The objective.
        piece: The slice.
        off: Distances as returned by `distances`.
    """
    others = [column for name, column in off.items() if name != piece.name]
    distance = np.mean(others, axis=0) if others else np.zeros(len(outcome.finished))
    order = [k for k in np.argsort(distance, kind="stable").tolist() if distance[k] <= _NEAR]
    found = (
        (position(piece, outcome.params[i].get(piece.name)), i) for i in (outcome.finished[k] for k in order[:_MOST])
    )
    return [(x, i) for x, i in found if x is not None]


def position(piece: Slice, value: Any) -> Any:
    """Return the position of a value on the slice's axis (a choice by its index), or `None` if it has none."""
    if not draw.few_choices(piece.values):
        return value if draw.numeric([value]) else None
    return next((k for k, choice in enumerate(piece.values) if _same(choice, value)), None)


def best_position(outcome: OutcomeData, piece: Slice) -> Any:
    """Return the position of the best point on the slice's axis, or `None`."""
    return None if outcome.best_params is None else position(piece, outcome.best_params.get(piece.name))


def _distances(outcome: OutcomeData, name: str) -> Array:
    here = (outcome.best_params or {}).get(name)
    values: list[Any] = [outcome.params[i].get(name) for i in outcome.finished]
    grid: Sequence[Any] = next((piece.values for piece in outcome.slices if piece.name == name), values)
    if not (draw.numeric([here]) and draw.numeric(values) and draw.numeric(grid)):
        return np.array([0.0 if _same(value, here) else 1.0 for value in values])
    ends = np.array([min(grid, default=0.0), max(grid, default=0.0)], dtype=np.float64)
    at = np.array([*values, here], dtype=np.float64)
    if draw.log_spaced(grid) and at.min() > 0:
        ends, at = np.log(ends), np.log(at)
    half = at / 2.0 - at[-1] / 2.0  # halves, since the difference of two values near 1e308 would overflow
    length = ends[1] / 2.0 - ends[0] / 2.0
    return np.clip(np.abs(half[:-1]) / length, 0.0, 1.0) if length > 0 else np.zeros(len(values))


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are equal and of one kind: True is not the choice 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
