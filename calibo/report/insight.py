"""What the model makes of the space: where the optimum lies, what matters, a map, and why a point was suggested."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calibo.arguments import checked
from calibo.data import Array
from calibo.errors import DataError
from calibo.report import figure as draw
from calibo.report.html import panel
from calibo.report.summary import counted, number, safe, shortened

if TYPE_CHECKING:
    from calibo.optimize.slices import Plane

#: More parameters than these are left out of the figure of importance.
_MOST_PARAMETERS = 20
#: Labels on each axis of the map.
_TICKS = 6
#: From unpromising to promising, readable without colours, too: dark is good.
_SCALE = ("#f3f0e6", "#a9d3c0", "#3f8fa8", "#14355c")


@dataclass(frozen=True)
class Share:
    """How much of the objective's variation one parameter explains by itself, with an 80 % interval."""

    name: str
    share: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Map:
    """What the model expects of a measurement over two parameters, the others at the best point.

    Attributes:
        plane: The expected values.
        best: Coordinates of the best point on [0, 1], in both parameters.
        tried: Those of the points measured so far, `n`.
    """

    plane: Plane
    best: tuple[float, float]
    tried: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Insight:
    """What is known beyond the trials; each part may be missing.

    Attributes:
        optimum: Where the best point lies, in sentences.
        importance: Shares of the parameters, the largest first.
        map: Map over the two most important parameters that are numbers.
        why: Why the latest point was suggested: headings and texts.
        trial: Number of the trial that ``why`` is about.
    """

    optimum: tuple[str, ...] = ()
    importance: tuple[Share, ...] = ()
    map: Map | None = None
    why: tuple[tuple[str, str], ...] = ()
    trial: int | None = None


READING_IMPORTANCE = (
    "How much of the variation of the objective over the whole space each parameter explains by itself, by the model, and "
    "the 80 % interval of that share. What parameters do only together is in no share, so they need not add up to 100 %. "
    "A small share does not mean that a parameter is useless: near the optimum it may be all that is left to tune."
)
READING_MAP = (
    "What the model expects over two parameters, the others at the best point. Darker is better. Circles are points that "
    "were measured, wherever their other parameters were; the star is the best."
)


def optimum_panel(insight: Insight) -> str:
    """Return the panel about where the best point lies; empty if it is not known."""
    if not insight.optimum:
        return ""
    first, *others = insight.optimum
    rows = "".join(f"<li>{html.escape(line)}</li>" for line in others)
    return panel("Where the optimum lies", f"<p>{html.escape(first)}</p>\n<ul>{rows}</ul>")


def why_panel(insight: Insight) -> str:
    """Return the panel about why the latest point was suggested; empty if it is not known."""
    if not insight.why:
        return ""
    rows = "\n".join(
        f'<tr><th scope="row">{html.escape(what)}</th><td>{html.escape(text)}</td></tr>' for what, text in insight.why
    )
    return panel(f"Why trial {insight.trial}, the latest one", f'<table class="told">{rows}</table>')


@checked
def plot_importance(insight: Insight) -> go.Figure:
    """Plot the share of each parameter as a dot on its interval, the largest on top."""
    shown = insight.importance[:_MOST_PARAMETERS]
    height = 130 + 28 * len(shown)
    figure = draw.blank("Which parameters matter", x="share of the variation", y="", height=height)
    places = [float(place) for place in range(len(shown))]
    ends = draw.segments(places, [(one.low, one.high) for one in shown])
    look = dict(color=draw.tint(draw.CALIBRATED, 0.5), width=6)
    figure.add_trace(go.Scatter(x=ends["y"], y=ends["x"], mode="lines", line=look, hoverinfo="skip", showlegend=False))
    figure.add_trace(
        go.Scatter(
            x=[one.share for one in shown],
            y=places,
            mode="markers",
            marker=dict(color=draw.OUTCOME, size=9),
            customdata=[
                f"<b>{safe(shortened(one.name))}</b><br>80 %: {one.low:.0%} to {one.high:.0%}" for one in shown
            ],
            hovertemplate="%{customdata}<br>%{x:.0%}<extra></extra>",
            showlegend=False,
        )
    )
    ticks = dict(tickvals=places, ticktext=[safe(shortened(one.name, 24)) for one in shown])
    figure.update_layout(
        xaxis=dict(range=[-0.02, 1.02], tickformat=".0%"), yaxis=dict(autorange="reversed", showgrid=False, **ticks)
    )
    left_out = len(insight.importance) - len(shown)
    draw.subtitle(figure, f"{counted(left_out, 'parameter')} left out." if left_out else "")
    return figure


@checked
def plot_map(insight: Insight, *, larger_is_better: bool) -> go.Figure:
    """Plot what the model expects over two parameters as colours, with the points measured so far.

    Args:
        insight: What is known; it has a map.
        larger_is_better: Whether the objective is maximized.

    Raises:
        DataError: If it has no map.
    """
    found = insight.map
    if found is None:
        raise DataError("there is no map of this study: it needs two parameters and a model of one objective")
    plane, names = found.plane, [safe(shortened(name)) for name in found.plane.names]
    figure = draw.blank(f"Map of {names[0]} and {names[1]}", x=names[0], y=names[1], height=480)
    known = plane.mean[np.isfinite(plane.mean)]
    if not known.size:
        return draw.empty(figure, "no point around the best one is possible")
    scale = _SCALE if larger_is_better else _SCALE[::-1]
    shades = _shades(plane.mean, scale)
    widths = [_width(places) for places in plane.places]
    hover = (
        f"{names[0]} %{{customdata[0]}}<br>{names[1]} %{{customdata[1]}}<br>%{{customdata[2]}} expected<extra></extra>"
    )
    # Rows of bars: heatmaps and colour bars have styles of their own, which the page's content policy forbids.
    for place, value, row, colours in zip(plane.places[1].tolist(), plane.values[1], plane.mean, shades, strict=True):
        boxes = [(number(x), number(value), number(float(z))) for x, z in zip(plane.values[0], row, strict=True)]
        heights = [widths[1] if np.isfinite(z) else None for z in row]
        shape = dict(x=plane.places[0].tolist(), y=heights, base=place - widths[1] / 2.0, width=widths[0])
        marker = dict(color=colours, line=dict(width=0))
        figure.add_trace(go.Bar(**shape, marker=marker, customdata=boxes, hovertemplate=hover, showlegend=False))
    for points, name, marker in (
        (found.tried, "measured", dict(symbol="circle-open", color=draw.MISS, size=7)),
        ((found.best,), "best", dict(symbol="star", color=draw.MISS, size=14)),
    ):
        figure.add_trace(draw.dots([u for u, _ in points], [v for _, v in points], name, marker, name))
    figure.update_layout(barmode="overlay", bargap=0.0)
    for axis, places, values in zip(("xaxis", "yaxis"), plane.places, plane.values, strict=True):
        chosen = draw.evenly(len(values), _TICKS)
        ticks = dict(tickvals=places[chosen].tolist(), ticktext=[number(values[k], 3) for k in chosen])
        figure.update_layout({axis: dict(range=[-0.03, 1.03], showgrid=False, **ticks)})
    ends = sorted([float(known.min()), float(known.max())], reverse=larger_is_better)
    draw.subtitle(
        figure,
        f"Expected values from {number(ends[0])} (dark) to {number(ends[1])} (light), the others as at the best.",
    )
    return figure


def _width(places: Array) -> float:
    """Return the distance of neighbouring values of a grid, a little more so that no gaps show."""
    return 1.002 * float(np.diff(places).mean()) if len(places) > 1 else 1.0


def _shades(values: Array, scale: Sequence[str]) -> list[list[str]]:
    """Return a colour for each of `h x g` values, between those of a scale from the least to the greatest."""
    known = values[np.isfinite(values)]
    low, high = float(known.min()), float(known.max())
    share = (np.nan_to_num(values, nan=low) - low) / ((high - low) or 1.0)
    ends = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in scale], dtype=np.float64)
    at = np.linspace(0.0, 1.0, len(scale))
    mixed = np.stack([np.interp(share, at, ends[:, k]) for k in range(3)], axis=-1).round().astype(int)
    return [["#" + "".join(f"{part:02x}" for part in colour) for colour in row] for row in mixed.tolist()]
