"""The Pareto front: all results by two of their objectives, and those that no other one outdoes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from calibo.data import Array
from calibo.pareto import pareto_front
from calibo.report.axes import axis_title, close_view, outcome_name, scale
from calibo.report.ranges import Zoom, drawable, undrawable_note
from calibo.report.style import BEST, CALIBRATED, FAINT, OUTCOME, RAW, blank, empty, menu, subtitle, tint
from calibo.report.thinning import thinned
from calibo.report.tradeoff import Tradeoff
from calibo.report.words import counted, number, params_text, room_for, safe, shortened

#: Of so many of the latest results the forecasts can be shown, with this coverage.
_LATEST, _COVERAGE = 5, 0.8


@dataclass(frozen=True)
class _Drawn:
    """Indices of the trials that are drawn, by what has become of them.

    Attributes:
        front: On the front.
        others: Meet all constraints, but are dominated.
        unmet: Do not meet all constraints.
        forecast: The latest with a forecast of every objective.
    """

    front: tuple[int, ...]
    others: tuple[int, ...]
    unmet: tuple[int, ...]
    forecast: tuple[int, ...]

    @property
    def results(self) -> tuple[int, ...]:
        return (*self.front, *self.others, *self.unmet)


def front(tradeoff: Tradeoff) -> go.Figure:
    """Results of two objectives as marks, the Pareto front emphasised, and the reference point.

    Two objectives have the stairs of the front, too, and the area it dominates; of more, two are chosen with menus.
    """
    count = len(tradeoff.objectives)
    figure = blank("Pareto front", x="", y="", height=560)
    if count < 2:
        return empty(figure, "a front needs at least two objectives")
    if not tradeoff.results:
        return empty(figure, "no trial has a value")
    drawn = _chosen(tradeoff)
    if count == 2:
        _add_stairs(figure, tradeoff)
    places = (_places(tradeoff, drawn, k, across=k == 0) for k in range(2))
    for trace, x, y in zip(_marks(tradeoff, drawn), *places, strict=True):
        figure.add_trace(trace.update(x=x, y=y))
    figure.update_layout(xaxis=dict(exponentformat="power", minexponent=5))
    for k, axis in enumerate(("xaxis", "yaxis")):
        figure.update_layout({f"{axis}.{key}": value for key, value in _axis(tradeoff, drawn, k).items()})
    views = [_view(tradeoff, drawn, k) for k in range(count)]
    first = _first_views(views)
    _add_zoom(figure, views, first) if count == 2 else _add_choice(figure, tradeoff, drawn, first)
    for axis, view in zip(("xaxis", "yaxis"), first, strict=False):
        figure.update_layout(_range(axis, view))
    values = [story.value(i) for story in tradeoff.objectives for i in drawn.results]
    subtitle(figure, _summary(tradeoff, len(drawn.results)) + _hidden(tradeoff, drawn, first) + undrawable_note(values))
    return figure


def _chosen(tradeoff: Tradeoff) -> _Drawn:
    results, best = tradeoff.results, set(tradeoff.front)
    at = thinned(len(results), keep=[k for k, i in enumerate(results) if i in best])
    shown = [results[k] for k in at]
    told = [i for i in results if all(story.forecasts[i] is not None for story in tradeoff.objectives)]
    return _Drawn(
        front=tuple(i for i in shown if i in best),
        others=tuple(i for i in shown if tradeoff.feasible[i] and i not in best),
        unmet=tuple(i for i in shown if not tradeoff.feasible[i]),
        forecast=tuple(told[-_LATEST:]),
    )


def _marks(tradeoff: Tradeoff, drawn: _Drawn) -> list[go.Scatter]:
    """The marks, still without a place: their order is that of ``_places``."""
    room = room_for(len(drawn.results))
    small = 1.0 if len(drawn.results) <= 200 else 0.75
    kinds = (
        ("constraints not met", drawn.unmet, dict(color=RAW, symbol="circle-open", size=8 * small)),
        ("dominated", drawn.others, dict(color=FAINT, size=8 * small)),
        ("on the Pareto front", drawn.front, dict(color=BEST, symbol="diamond", size=11 * small)),
    )
    traces = [
        go.Scatter(
            mode="markers",
            name=name,
            marker=marker,
            customdata=[_hover_text(tradeoff, i, room) for i in indices],
            hovertemplate="%{customdata}<extra></extra>",
            showlegend=bool(indices),
        )
        for name, indices, marker in kinds
    ]
    bars = dict(color=tint(CALIBRATED, 0.75), width=2)
    said = f"{100 * _COVERAGE:g} % forecasts of the latest {counted(len(drawn.forecast), 'result')}"
    return [
        *traces,
        go.Scatter(
            mode="markers",
            name="reference point",
            marker=dict(color=OUTCOME, symbol="x-thin", size=11, line=dict(width=2, color=OUTCOME)),
            hovertemplate="reference point<extra></extra>",
            showlegend=tradeoff.reference_point is not None,
        ),
        go.Scatter(
            mode="lines",
            name=said,
            line=bars,
            hoverinfo="skip",
            visible="legendonly",
            showlegend=bool(drawn.forecast),
        ),
    ]


def _places(tradeoff: Tradeoff, drawn: _Drawn, k: int, *, across: bool) -> list[list[float | None]]:
    """Where each mark stands on an axis of the k-th objective: three groups of results, the reference, the forecasts.

    A forecast is a cross of a stroke across and a stroke up: on either axis one of them has a length.
    """
    story, point = tradeoff.objectives[k], tradeoff.reference_point
    groups = [drawable([story.value(i) for i in group]) for group in (drawn.unmet, drawn.others, drawn.front)]
    lowest = min(story.value(i) for i in drawn.results) if _scale(tradeoff, drawn, k)["type"] == "log" else -np.inf
    crosses: list[float | None] = []
    with np.errstate(over="ignore", invalid="ignore"):
        for distribution in (story.forecast(i).calibrated for i in drawn.forecast):
            # A logarithmic axis has no place for an end that is not positive.
            low, middle, high = drawable(np.maximum([distribution.icdf(u) for u in (0.1, 0.5, 0.9)], lowest))
            strokes = [[low, high, None], [middle, middle, None]]
            crosses += [place for stroke in (strokes if across else strokes[::-1]) for place in stroke]
    return [*groups, [] if point is None else drawable([point[k]]), crosses]


def _hover_text(tradeoff: Tradeoff, index: int, room: int) -> str:
    lines = [f"<b>trial {tradeoff.numbers[index]}</b>"]
    lines += [f"{outcome_name(story)}: {number(story.value(index), 5)}" for story in tradeoff.objectives]
    broken = [story for story in tradeoff.constraints if story.value(index) > 0.0]
    lines += [f"not met: {outcome_name(story)} ({number(story.value(index))} is above 0)" for story in broken]
    return "<br>".join([*lines, params_text(tradeoff.params[index], room)])


def _add_stairs(figure: go.Figure, tradeoff: Tradeoff) -> None:
    """The outline of what the front of two objectives dominates, and the area above the reference point."""
    if not tradeoff.front:
        return
    point = tradeoff.signs * np.array(tradeoff.reference_point)
    values = [[story.value(i) for story in tradeoff.objectives] for i in tradeoff.front]
    best = pareto_front(np.array(values, dtype=np.float64) * tradeoff.signs)
    inside = best[(best > point).all(axis=1)]
    area = np.vstack([_stairs(inside, point), point]) if len(inside) else inside
    fill = dict(fill="toself", fillcolor=tint(BEST, 0.08), line=dict(width=0), hoverinfo="skip", showlegend=False)
    steps = dict(line=dict(color=BEST, width=2), hoverinfo="skip", showlegend=False)
    for corners, name, look in ((area, "shaded area", fill), (_stairs(best, point), "stairs", steps)):
        x, y = (corners * tradeoff.signs).T
        figure.add_trace(go.Scatter(x=drawable(x), y=drawable(y), mode="lines", name=name, **look))


def _stairs(best: Array, point: Array) -> Array:
    """Corners of the stairs through a front, k x 2 by falling first outcome, down to the reference point, 2."""
    start, end = [best[0, 0], min(point[1], best[0, 1])], [min(point[0], best[-1, 0]), best[-1, 1]]
    between = np.column_stack([best[1:, 0], best[:-1, 1]])
    corners = np.empty((2 * len(best) - 1, 2))
    corners[::2], corners[1::2] = best, between
    return np.vstack([start, corners, end])


def _scale(tradeoff: Tradeoff, drawn: _Drawn, k: int) -> dict[str, object]:
    point = tradeoff.reference_point
    return scale([tradeoff.objectives[k].value(i) for i in drawn.results], [] if point is None else [point[k]])


def _axis(tradeoff: Tradeoff, drawn: _Drawn, k: int) -> dict[str, object]:
    """Title and kind of an axis of the k-th objective, in Plotly's words."""
    return {"title.text": axis_title(tradeoff.objectives[k]), **_scale(tradeoff, drawn, k)}


def _view(tradeoff: Tradeoff, drawn: _Drawn, k: int) -> Zoom | None:
    """A range of the k-th objective with most results, the front and the reference point; ``None`` for everything."""
    if _scale(tradeoff, drawn, k)["type"] == "log":
        return None
    story, point = tradeoff.objectives[k], tradeoff.reference_point
    needed = [story.value(i) for i in tradeoff.front] + ([] if point is None else [point[k]])
    return close_view([story.value(i) for i in drawn.results], [v for v in needed if np.isfinite(v)])


def _range(axis: str, view: Zoom | None) -> dict[str, object]:
    if view is None:
        return {f"{axis}.autorange": True, f"{axis}.range": None}
    return {f"{axis}.autorange": False, f"{axis}.range": [view.low, view.high]}


def _first_views(views: Sequence[Zoom | None]) -> list[Zoom | None]:
    """What is shown at first: a closer view only where it must be, of two objectives together as their buttons do."""
    needed = [view is not None and view.needed for view in views]
    together = len(views) == 2 and any(needed)
    return [view if together or must else None for view, must in zip(views, needed, strict=True)]


def _add_zoom(figure: go.Figure, views: Sequence[Zoom | None], first: Sequence[Zoom | None]) -> None:
    """Buttons that show most results or everything, where a few extreme results would flatten the others."""
    if not any(views):
        return
    near = _range("xaxis", views[0]) | _range("yaxis", views[1])
    far = _range("xaxis", None) | _range("yaxis", None)
    labels = (("most results", near), ("everything", far))
    buttons: list[dict[str, object]] = [dict(label=label, method="update", args=[{}, to]) for label, to in labels]
    figure.update_layout(updatemenus=[menu(buttons, active=0 if any(first) else 1)])


def _add_choice(figure: go.Figure, tradeoff: Tradeoff, drawn: _Drawn, first: Sequence[Zoom | None]) -> None:
    """Two menus that choose the objectives; extreme results are out of view at first where they would flatten others."""
    menus: list[dict[str, object]] = []
    for position, axis in enumerate(("xaxis", "yaxis")):
        buttons: list[dict[str, object]] = []
        for k, story in enumerate(tradeoff.objectives):
            places = {axis[0]: _places(tradeoff, drawn, k, across=position == 0)}
            changes = {f"{axis}.{key}": value for key, value in _axis(tradeoff, drawn, k).items()}
            label = f"{'across' if position == 0 else 'up'}: {safe(shortened(story.title, 20))}"
            buttons.append(dict(label=label, method="update", args=[places, changes | _range(axis, first[k])]))
        menus.append(menu(buttons, active=position, dropdown=True) | {"x": 0.5 * position})
    figure.update_layout(updatemenus=menus)


def _hidden(tradeoff: Tradeoff, drawn: _Drawn, first: Sequence[Zoom | None]) -> str:
    """A sentence (with a blank before it) on results that the first view leaves out, or nothing if there are none."""
    near = [(story, view) for story, view in zip(tradeoff.objectives[:2], first, strict=False) if view is not None]
    count = sum(any(not view.low <= story.value(i) <= view.high for story, view in near) for i in drawn.results)
    said = "1 result is" if count == 1 else f"{count} results are"
    return f" {said} so far away as to be out of view at first." if count else ""


def _summary(tradeoff: Tradeoff, shown: int) -> str:
    results, met, best = (len(group) for group in (tradeoff.results, tradeoff.met, tradeoff.front))
    if not met:
        said = f"None of {counted(results, 'result')} meets all constraints yet, so there is no front."
    else:
        among = counted(results, "result") if not tradeoff.constraints else f"{met} that meet all constraints"
        said = f"{best} of {among} {'is' if best == 1 else 'are'} on the front."
    return f"{said} {shown} of {counted(results, 'result')} are drawn." if shown < results else said
