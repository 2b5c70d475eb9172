"""What all figures share: colours, layout, menus, which part of an axis is shown, and which of many trials."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from calibo.data import Array

#: Okabe and Ito's palette, which colour-blind readers can distinguish: one meaning per colour in every figure.
CALIBRATED = "#0072B2"
RAW = "#7a7a7a"
OUTCOME = "#222222"
MISS = "#D55E00"
BEST = "#009E73"
ACQUISITION = "#9c4f80"
FAINT = "#b5b5b5"

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_GRID = "#ececec"
_INK = "#2b2b2b"

#: From the first ratio of the full range to that of most results a zoom is offered; from the second it is the first view.
_ZOOM_OFFERED, _ZOOM_NEEDED = 4.0, 40.0
#: Largest magnitude that a browser draws.
_DRAWABLE = 1e304
#: Up to this many values of a parameter are drawn one by one.
_FEW = 12
#: Ratio of the largest to the smallest value from which an axis is logarithmic.
_LOG_RATIO = 1e3

#: Up to this many trials, all are drawn.
MOST_TRIALS = 1000
#: Of more, only this many.
FEWER_TRIALS = 600
#: Points of a curve; more could not be distinguished.
CURVE_POINTS = 200


def tint(colour: str, opacity: float) -> str:
    """Return a colour such as "#0072B2" with an opacity."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def blank(title: str, *, x: str, y: str, height: int = 430) -> go.Figure:
    """Return an empty figure with the layout that all figures share.

    Args:
        title: Title of the figure.
        x: Title of the x axis.
        y: Title of the y axis.
        height: Height in pixels.
    """
    figure = go.Figure()
    figure.update_layout(
        template=_template(),
        title=dict(text=title),
        xaxis=dict(title=dict(text=x, standoff=8)),
        yaxis=dict(title=dict(text=y), exponentformat="e", minexponent=5),
        height=height,
        margin=dict(l=64, r=16, t=96, b=48),
        hovermode="closest",
    )
    return figure


@functools.cache
def _template() -> go.layout.Template:
    """Return the layout that all figures share."""
    axis = dict(gridcolor=_GRID, zeroline=False, linecolor="#c8c8c8", showline=True, ticks="outside", automargin=True)
    return go.layout.Template(
        layout=dict(
            font=dict(family=FONT, size=13, color=_INK),
            title=dict(x=0, xref="paper", xanchor="left", font=dict(size=18), subtitle=dict(font=dict(size=13))),
            paper_bgcolor="white",
            plot_bgcolor="white",
            xaxis=axis,
            yaxis=axis,
            hoverlabel=dict(bgcolor="white", bordercolor="#c8c8c8", font=dict(family=FONT, size=12), align="left"),
            legend=dict(orientation="h", x=0, y=0, xanchor="left", yanchor="bottom", yref="container"),
        )
    )


def subtitle(figure: go.Figure, text: str) -> None:
    """Put a sentence under the title."""
    figure.update_layout(title=dict(subtitle=dict(text=text)))


def not_yet(text: str, heading: str = "Not yet") -> dict[str, object]:
    """Return an annotation for the middle of a figure with too little data."""
    return dict(
        text=f"<b>{heading}</b><br>{text}",
        x=0.5,
        y=0.5,
        xref="paper",
        yref="paper",
        showarrow=False,
        align="center",
        font=dict(size=14, color=_INK),
        bgcolor="rgba(255,255,255,0.9)",
        bordercolor="#c8c8c8",
        borderpad=10,
    )


def empty(figure: go.Figure, text: str, heading: str = "Not yet") -> go.Figure:
    """Return the figure with nothing but the reason why it is empty."""
    figure.add_annotation(not_yet(text, heading))
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    figure.update_layout(height=220)
    return figure


def without_forecasts(figure: go.Figure) -> go.Figure:
    """Return the empty figure of a method that makes no forecasts."""
    return empty(figure, "this method makes none unless it is given a forecaster", heading="No forecasts")


def whole_numbers(figure: go.Figure, largest: int) -> None:
    """Keep fractions off an x axis of counts."""
    if largest <= 12:
        figure.update_layout(xaxis=dict(dtick=1))


def menu(buttons: list[dict[str, object]], *, active: int = 0, dropdown: bool = False) -> dict[str, object]:
    """Return buttons above the drawing area (or a dropdown), one of which is active."""
    return dict(
        type="dropdown" if dropdown else "buttons",
        direction="down" if dropdown else "right",
        buttons=buttons,
        active=active,
        showactive=True,
        x=0,
        y=1,
        xanchor="left",
        yanchor="bottom",
        pad=dict(b=8, t=0, l=0, r=0),
        # Light on a dark page, too: Plotly draws the active button almost white.
        bgcolor="#fefefe",
        bordercolor="#c8c8c8",
        font=dict(size=12, color="#2a2a2a"),
    )


def segments(x: Sequence[float], ends: npt.ArrayLike) -> dict[str, list[float | None]]:
    """Return the coordinates of vertical lines with gaps between them, for one Plotly trace.

    Args:
        x: `n` positions.
        ends: Lower and upper ends, `n x 2`; an end that cannot be drawn is left out.
    """
    rows = np.asarray(ends, dtype=np.float64).reshape(-1, 2)
    return {
        "x": [at for place in x for at in (place, place, None)],
        "y": [at for row in rows for at in (*drawable(row), None)],
    }


def dots(
    x: Sequence[Any], y: npt.ArrayLike, name: str, marker: Mapping[str, object], hover: str, **more: Any
) -> go.Scatter:
    """Return a trace of `n` markers with hover boxes, which is in the legend if there are any."""
    look = dict(mode="markers", name=name, marker=marker, hovertemplate=f"{hover}<extra></extra>")
    return go.Scatter(x=x, y=drawable(y), **look, **{"showlegend": bool(len(x)), **more})


def line(
    x: Sequence[Any], y: npt.ArrayLike, name: str, look: Mapping[str, object], hover: str = "", **more: Any
) -> go.Scatter:
    """Return a trace of a line, with hover boxes if a template is given."""
    shown = dict(hovertemplate=f"{hover}<extra></extra>") if hover else dict(hoverinfo="skip")
    return go.Scatter(x=x, y=drawable(y), mode="lines", name=name, line=look, **shown, **more)


def bars(x: Sequence[float], ends: npt.ArrayLike, name: str, look: Mapping[str, object], **more: Any) -> go.Scatter:
    """Return a trace of `n` vertical lines with the ends `n x 2`, without hover boxes."""
    return go.Scatter(**segments(x, ends), mode="lines", name=name, line=look, hoverinfo="skip", **more)


def band(x: Sequence[Any], low: npt.ArrayLike, high: npt.ArrayLike, *, color: str, **more: Any) -> list[go.Scatter]:
    """Return the two traces of a filled band, the upper one with the name and other attributes in `more`."""
    edge = dict(x=x, mode="lines", line=dict(width=0), hoverinfo="skip", legendgroup=more.pop("legendgroup", "band"))
    return [
        go.Scatter(y=drawable(low), showlegend=False, **edge),
        go.Scatter(y=drawable(high), fill="tonexty", fillcolor=color, **edge, **more),
    ]


def add_views(
    figure: go.Figure,
    views: Sequence[Sequence[go.Scatter]],
    labels: Sequence[str],
    layouts: Sequence[dict[str, object]],
    *,
    first: int = 0,
    dropdown: bool = False,
) -> None:
    """Add several views, of which a menu shows one.

    Args:
        figure: The figure.
        views: Traces of each view.
        labels: Labels of the views in the menu; a single view gets no menu.
        layouts: Changes to the layout that come with each view.
        first: Index of the view shown at first.
        dropdown: Whether the menu is a dropdown rather than a row of buttons.
    """
    for position, traces in enumerate(views):
        for trace in traces:
            figure.add_trace(trace.update(visible=position == first))
    figure.update_layout(layouts[first])
    if len(views) < 2:
        return
    buttons: list[dict[str, object]] = []
    for position, (label, layout) in enumerate(zip(labels, layouts, strict=True)):
        visible = [other == position for other, traces in enumerate(views) for _ in traces]
        buttons.append(dict(label=label, method="update", args=[{"visible": visible}, layout]))
    figure.update_layout(updatemenus=[menu(buttons, active=first, dropdown=dropdown)])


def zoom_menu(figure: go.Figure, views: Mapping[str, Zoom | None], *, near: bool, marks: int | None = None) -> None:
    """Add buttons that show most results or everything.

    Args:
        figure: The figure.
        views: Range of each axis ("xaxis", "yaxis") that shows most results; `None` for the full range.
        near: Whether most results are shown first.
        marks: Index of the trace that marks the results outside the range, hidden while everything is shown.
    """
    buttons: list[dict[str, object]] = []
    for label, close in (("most results", True), ("everything", False)):
        layout = {k: v for axis, view in views.items() for k, v in axis_range(axis, view if close else None).items()}
        which = [{}, layout] if marks is None else [{"visible": close}, layout, [marks]]
        buttons.append(dict(label=label, method="update", args=which))
        if close is near:
            figure.update_layout(layout)
    figure.update_layout(updatemenus=[menu(buttons, active=0 if near else 1)])


def axis_range(axis: str, view: Zoom | None) -> dict[str, object]:
    """Return the layout of an axis with a range, or with the full range if it is `None`."""
    if view is None:
        return {f"{axis}.autorange": True, f"{axis}.range": None}
    return {f"{axis}.autorange": False, f"{axis}.range": [view.low, view.high]}


def drawable(values: npt.ArrayLike) -> list[float | None]:
    """Return a list of floats for Plotly, with `None` for what cannot be drawn (infinite, NaN, beyond 1e304)."""
    array = np.asarray(values, dtype=np.float64)
    return [float(v) if abs(v) <= _DRAWABLE else None for v in array]


def undrawable_note(values: npt.ArrayLike) -> str:
    """Return a sentence (after a blank) on results that no browser can draw, or an empty string."""
    count = int(np.sum(np.abs(np.asarray(values, dtype=np.float64)) > _DRAWABLE))
    results = "1 result is" if count == 1 else f"{count} results are"
    return f" {results} beyond {_DRAWABLE:g} and cannot be drawn." if count else ""


@dataclass(frozen=True)
class Zoom:
    """A range of an axis that shows most results.

    Attributes:
        low: Lower end.
        high: Upper end.
        needed: Whether most results could not be distinguished if everything were shown.
    """

    low: float
    high: float
    needed: bool


def zoom(results: npt.ArrayLike, others: npt.ArrayLike = ()) -> Zoom | None:
    """Return a range that shows most results, or `None` if the range of these and other values shows them well enough."""
    inner, everything = _drawn(results), np.concatenate([_drawn(results), _drawn(others)])
    scale = float(np.abs(everything).max(initial=0.0))
    if inner.size < 2 or scale == 0.0:
        return None
    inner, everything = inner / scale, everything / scale  # differences of values near 1e304 would overflow
    low, high = np.quantile(inner, [0.1, 0.9])
    spread = float(high - low)
    if spread == 0.0:
        return None
    bottom, top = max(float(everything.min()), low - spread), min(float(everything.max()), high + spread)
    ratio = (everything.max() - everything.min()) / (top - bottom)
    if ratio < _ZOOM_OFFERED:
        return None
    pad = 0.05 * (top - bottom)
    return Zoom(low=float((bottom - pad) * scale), high=float((top + pad) * scale), needed=bool(ratio > _ZOOM_NEEDED))


def around(core: npt.ArrayLike, others: npt.ArrayLike) -> list[float] | None:
    """Return the range of `core` if other values would squeeze it into a third of the figure, else `None`."""
    inner, everything = _drawn(core), np.concatenate([_drawn(core), _drawn(others)])
    if not inner.size:
        return None
    low, high = float(inner.min()), float(inner.max())
    if low == high or float(np.ptp(everything)) <= 3.0 * (high - low):
        return None
    return [low - 0.05 * (high - low), high + 0.05 * (high - low)]


def upper_part(values: npt.ArrayLike) -> list[float] | None:
    """Return a range that shows the upper part of a curve that falls towards minus infinity, or `None` for all of it."""
    curve = _drawn(values)
    if not curve.size:
        return None
    top, middle = float(curve.max()), float(np.median(curve))
    height = top - middle
    bottom = top - 2.5 * height
    if height <= 0.0 or not np.isfinite(height) or curve.min() >= bottom:
        return None
    return [bottom, top + 0.15 * height]


def suits_log_axis(values: npt.ArrayLike) -> bool:
    """Return whether values are all positive and spread over enough orders of magnitude for a logarithmic axis."""
    array = _drawn(values)
    return bool(array.size and array.min() > 0 and array.max() > _LOG_RATIO * array.min())


def numeric(values: Iterable[Any]) -> bool:
    """Return whether all values of a parameter are numbers (a bool is a choice, not a number)."""
    kinds = (int, float, np.integer, np.floating)
    return all(isinstance(v, kinds) and not isinstance(v, (bool, np.bool_)) for v in values)


def few_choices(values: Sequence[Any]) -> bool:
    """Return whether a grid consists of separate choices rather than of points on a continuous range."""
    return len(values) <= _FEW or not numeric(values)


def log_spaced(values: Sequence[Any]) -> bool:
    """Return whether an increasing grid is spaced by ratios rather than by differences."""
    if len(values) < 3 or not numeric(values):
        return False
    grid = np.asarray(values, dtype=np.float64)
    if not np.isfinite(grid).all() or grid.min() <= 0 or grid.max() < 4.0 * grid.min():
        return False
    return _unevenness(np.log(grid)) < _unevenness(grid)


def log_ticks(values: npt.ArrayLike) -> float | None:
    """Return the decades between the labels of a logarithmic axis, or `None` if it spans too few."""
    array = _drawn(values)
    decades = float(np.log10(array.max()) - np.log10(array.min())) if array.size else 0.0
    return float(np.ceil(decades / 8.0)) if decades > 2.0 else None


def _unevenness(grid: Array) -> float:
    """Return the greatest distance of a grid from an even one, as a fraction of its length."""
    unit = (grid - grid[0]) / (grid[-1] - grid[0])
    return float(np.abs(unit - np.linspace(0.0, 1.0, grid.size)).max())


def _drawn(values: npt.ArrayLike) -> Array:
    array = np.asarray(values, dtype=np.float64).ravel()
    return array[np.abs(array) <= _DRAWABLE]


def scale(values: Sequence[float], others: Sequence[float]) -> dict[str, object]:
    """Return the type of an axis: logarithmic if the values call for it and other values are all positive."""
    if suits_log_axis(values) and all(v > 0.0 for v in others):
        return {"type": "log", "dtick": log_ticks(values)}
    return {"type": "linear", "dtick": None}


def close_view(values: Sequence[float], needed: Sequence[float]) -> Zoom | None:
    """Return a range of most results that includes all `needed` values, or `None` if the full range is as good."""
    found = zoom(values)
    if found is None:
        return None
    pad = 0.05 * (found.high - found.low)
    low = min([found.low, *(v - pad for v in needed)])
    high = max([found.high, *(v + pad for v in needed)])
    return replace(found, low=low, high=high)


def evenly(count: int, most: int) -> npt.NDArray[np.intp]:
    """Return at most `most` of the indices 0, ..., count - 1, evenly spread, including the first and the last."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.intp))


def thinned(count: int, keep: Sequence[int]) -> npt.NDArray[np.intp]:
    """Return the indices of the trials to draw, in order: all if they are few, else those to keep and some others.

    Args:
        count: Number of trials.
        keep: Indices of the trials that matter most, such as misses; thinned only if they alone are too many.
    """
    if count <= MOST_TRIALS:
        return np.arange(count)
    kept = np.asarray(sorted(keep), dtype=np.intp)
    others = np.setdiff1d(np.arange(count), kept)
    # At least a quarter of what is drawn are others, so that a figure never shows misses alone.
    kept = kept[evenly(kept.size, max(FEWER_TRIALS * 3 // 4, FEWER_TRIALS - others.size))]
    others = others[evenly(others.size, FEWER_TRIALS - kept.size)]
    return np.sort(np.concatenate([kept, others]))
