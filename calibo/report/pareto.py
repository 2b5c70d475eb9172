"""Figure of the Pareto front: all results by two of their objectives, and those that are Pareto-optimal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from calibo.arguments import checked
from calibo.data import Array
from calibo.pareto import pareto_front
from calibo.report import figure as draw
from calibo.report.data import ReportData
from calibo.report.summary import (
    axis_title,
    counted,
    number,
    outcome_name,
    params_text,
    percent,
    room_for,
    safe,
    shortened,
)

#: Number of the latest results whose forecasts can be shown, and the coverage of their intervals.
_LATEST, _COVERAGE = 5, 0.8


@dataclass(frozen=True)
class _Drawn:
    """Indices of the trials that are drawn: Pareto-optimal, dominated, infeasible, and the latest with forecasts."""

    front: tuple[int, ...]
    others: tuple[int, ...]
    unmet: tuple[int, ...]
    forecast: tuple[int, ...]

    @property
    def results(self) -> tuple[int, ...]:
        return (*self.front, *self.others, *self.unmet)


@checked
def plot_pareto_front(data: ReportData) -> go.Figure:
    """Plot the results by two objectives, with the Pareto front and the reference point.

    With two objectives the front is drawn as a step line, with the area it dominates; of more, menus choose two.
    """
    count = len(data.objectives)
    figure = draw.blank("Pareto front", x="", y="", height=560)
    if count < 2:
        return draw.empty(figure, "a front needs at least two objectives")
    if not data.results:
        return draw.empty(figure, "no trial has a value")
    drawn = _chosen(data)
    if count == 2:
        _add_stairs(figure, data)
    places = (_places(data, drawn, k, across=k == 0) for k in range(2))
    for trace, x, y in zip(_marks(data, drawn), *places, strict=True):
        figure.add_trace(trace.update(x=x, y=y))
    figure.update_layout(xaxis=dict(exponentformat="e", minexponent=5))
    for k, axis in enumerate(("xaxis", "yaxis")):
        figure.update_layout({f"{axis}.{key}": value for key, value in _axis(data, drawn, k).items()})
    views = [_view(data, drawn, k) for k in range(count)]
    first = _first_views(views)
    if count > 2:
        _add_choice(figure, data, drawn, first)
    elif any(views):
        # A few extreme results would hide all differences.
        draw.zoom_menu(figure, dict(zip(("xaxis", "yaxis"), views, strict=True)), near=any(first))
    for axis, view in zip(("xaxis", "yaxis"), first, strict=False):
        figure.update_layout(draw.axis_range(axis, view))
    values = [objective.value(i) for objective in data.objectives for i in drawn.results]
    draw.subtitle(
        figure, _summary(data, len(drawn.results)) + _hidden(data, drawn, first) + draw.undrawable_note(values)
    )
    return figure


def _chosen(data: ReportData) -> _Drawn:
    results, best, met = data.results, set(data.front), set(data.met)
    at = draw.thinned(len(results), keep=[k for k, i in enumerate(results) if i in best])
    shown = [results[k] for k in at]
    forecasted = [i for i in results if all(objective.forecasts[i] is not None for objective in data.objectives)]
    return _Drawn(
        front=tuple(i for i in shown if i in best),
        others=tuple(i for i in shown if i in met and i not in best),
        unmet=tuple(i for i in shown if i not in met),
        forecast=tuple(forecasted[-_LATEST:]),
    )


def _marks(data: ReportData, drawn: _Drawn) -> list[go.Scatter]:
    """Return the traces, still without coordinates, in the order of `_places`."""
    room = room_for(len(drawn.results))
    small = 1.0 if len(drawn.results) <= 200 else 0.75
    kinds = (
        ("constraints not met", drawn.unmet, dict(color=draw.RAW, symbol="circle-open", size=8 * small)),
        ("dominated", drawn.others, dict(color=draw.FAINT, size=8 * small)),
        ("on the Pareto front", drawn.front, dict(color=draw.BEST, symbol="diamond", size=11 * small)),
    )
    traces = [
        go.Scatter(
            mode="markers",
            name=name,
            marker=marker,
            customdata=[_hover_text(data, i, room) for i in indices],
            hovertemplate="%{customdata}<extra></extra>",
            showlegend=bool(indices),
        )
        for name, indices, marker in kinds
    ]
    bars = dict(color=draw.tint(draw.CALIBRATED, 0.75), width=2)
    return [
        *traces,
        go.Scatter(
            mode="markers",
            name="reference point",
            marker=dict(color=draw.OUTCOME, symbol="x-thin", size=11, line=dict(width=2, color=draw.OUTCOME)),
            hovertemplate="reference point<extra></extra>",
            showlegend=data.reference_point is not None,
        ),
        go.Scatter(
            mode="lines",
            name=f"{percent(_COVERAGE)} forecasts of the latest {counted(len(drawn.forecast), 'result')}",
            line=bars,
            hoverinfo="skip",
            visible="legendonly",
            showlegend=bool(drawn.forecast),
        ),
    ]


def _places(data: ReportData, drawn: _Drawn, k: int, *, across: bool) -> list[list[float | None]]:
    """Return the coordinates on the axis of the k-th objective: three groups of results, the reference point, the forecasts.

    A forecast is a cross of a horizontal and a vertical stroke, of which one has a length on either axis.
    """
    objective, point = data.objectives[k], data.reference_point
    groups = [draw.drawable([objective.value(i) for i in group]) for group in (drawn.unmet, drawn.others, drawn.front)]
    lowest = min(objective.value(i) for i in drawn.results) if _scale(data, drawn, k)["type"] == "log" else -np.inf
    crosses: list[float | None] = []
    with np.errstate(over="ignore", invalid="ignore"):
        for distribution in (objective.forecast(i).calibrated for i in drawn.forecast):
            # A logarithmic axis has no place for an end that is not positive.
            low, middle, high = draw.drawable(np.maximum([distribution.icdf(u) for u in (0.1, 0.5, 0.9)], lowest))
            strokes = [[low, high, None], [middle, middle, None]]
            crosses += [place for stroke in (strokes if across else strokes[::-1]) for place in stroke]
    return [*groups, [] if point is None else draw.drawable([point[k]]), crosses]


def _hover_text(data: ReportData, index: int, room: int) -> str:
    lines = [f"<b>trial {data.numbers[index]}</b>"]
    lines += [f"{outcome_name(objective)}: {number(objective.value(index), 5)}" for objective in data.objectives]
    broken = [objective for objective in data.constraints if objective.value(index) > 0.0]
    lines += [
        f"not met: {outcome_name(objective)} ({number(objective.value(index))} is above 0)" for objective in broken
    ]
    return "<br>".join([*lines, params_text(data.params[index], room)])


def _add_stairs(figure: go.Figure, data: ReportData) -> None:
    """Add the step line of a front of two objectives, and the area between it and the reference point."""
    if not data.front:
        return
    point = data.signs * np.array(data.reference_point)
    values = [[objective.value(i) for objective in data.objectives] for i in data.front]
    best = pareto_front(np.array(values, dtype=np.float64) * data.signs)
    inside = best[(best > point).all(axis=1)]
    area = np.vstack([_stairs(inside, point), point]) if len(inside) else inside
    fill = dict(
        fill="toself", fillcolor=draw.tint(draw.BEST, 0.08), line=dict(width=0), hoverinfo="skip", showlegend=False
    )
    steps = dict(line=dict(color=draw.BEST, width=2), hoverinfo="skip", showlegend=False)
    for corners, name, look in ((area, "shaded area", fill), (_stairs(best, point), "stairs", steps)):
        x, y = (corners * data.signs).T
        figure.add_trace(go.Scatter(x=draw.drawable(x), y=draw.drawable(y), mode="lines", name=name, **look))


def _stairs(best: Array, point: Array) -> Array:
    """Return the corners of the step line through a front, `k x 2` by decreasing first objective, to the reference point."""
    start, end = [best[0, 0], min(point[1], best[0, 1])], [min(point[0], best[-1, 0]), best[-1, 1]]
    between = np.column_stack([best[1:, 0], best[:-1, 1]])
    corners = np.empty((2 * len(best) - 1, 2))
    corners[::2], corners[1::2] = best, between
    return np.vstack([start, corners, end])


def _scale(data: ReportData, drawn: _Drawn, k: int) -> dict[str, object]:
    point = data.reference_point
    return draw.scale([data.objectives[k].value(i) for i in drawn.results], [] if point is None else [point[k]])


def _axis(data: ReportData, drawn: _Drawn, k: int) -> dict[str, object]:
    """Return the title and type of the axis of the k-th objective, as Plotly names them."""
    return {"title.text": axis_title(data.objectives[k]), **_scale(data, drawn, k)}


def _view(data: ReportData, drawn: _Drawn, k: int) -> draw.Zoom | None:
    """Return the range of the k-th objective with most results, front and reference point; `None` for the full range."""
    if _scale(data, drawn, k)["type"] == "log":
        return None
    objective, point = data.objectives[k], data.reference_point
    needed = [objective.value(i) for i in data.front] + ([] if point is None else [point[k]])
    return draw.close_view([objective.value(i) for i in drawn.results], [v for v in needed if np.isfinite(v)])


def _first_views(views: Sequence[draw.Zoom | None]) -> list[draw.Zoom | None]:
    """Return the ranges shown at first: zoomed only where it is needed, both axes together if there are two objectives."""
    needed = [view is not None and view.needed for view in views]
    together = len(views) == 2 and any(needed)
    return [view if together or must else None for view, must in zip(views, needed, strict=True)]


def _add_choice(figure: go.Figure, data: ReportData, drawn: _Drawn, first: Sequence[draw.Zoom | None]) -> None:
    """Add two menus that choose the objectives; extreme results are out of view at first where they hide others."""
    menus: list[dict[str, object]] = []
    for position, axis in enumerate(("xaxis", "yaxis")):
        buttons: list[dict[str, object]] = []
        for k, objective in enumerate(data.objectives):
            places = {axis[0]: _places(data, drawn, k, across=position == 0)}
            changes = {f"{axis}.{key}": value for key, value in _axis(data, drawn, k).items()}
            label = f"{'across' if position == 0 else 'up'}: {safe(shortened(objective.name, 20))}"
            buttons.append(dict(label=label, method="update", args=[places, changes | draw.axis_range(axis, first[k])]))
        menus.append(draw.menu(buttons, active=position, dropdown=True) | {"x": 0.5 * position})
    figure.update_layout(updatemenus=menus)


def _hidden(data: ReportData, drawn: _Drawn, first: Sequence[draw.Zoom | None]) -> str:
    """Return a sentence (after a blank) on results outside the first view, or an empty string."""
    near = [(objective, view) for objective, view in zip(data.objectives[:2], first, strict=False) if view is not None]
    count = sum(any(not view.low <= objective.value(i) <= view.high for objective, view in near) for i in drawn.results)
    text = "1 result is" if count == 1 else f"{count} results are"
    return f" {text} far from the others and out of view at first." if count else ""


def _summary(data: ReportData, shown: int) -> str:
    results, met, best = (len(group) for group in (data.results, data.met, data.front))
    if not met:
        text = f"None of {counted(results, 'result')} meets all constraints yet, so there is no front."
    else:
        among = counted(results, "result") if not data.constraints else f"{met} that meet all constraints"
        text = f"{best} of {among} {'is' if best == 1 else 'are'} on the front."
    return f"{text} {shown} of {counted(results, 'result')} are drawn." if shown < results else text
