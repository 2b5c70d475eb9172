"""Figures of progress: the best value so far, and the hypervolume after each trial."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calibo.arguments import checked
from calibo.report import figure as draw
from calibo.report.data import OutcomeData, ReportData
from calibo.report.summary import counted, met_text, number, params_text, reference_text, room_for


@checked
def plot_best_so_far(outcome: OutcomeData, *, log: bool | None = None) -> go.Figure:
    """Plot the best value after each trial as a step line, all results as dots, and the expected best if known.

    Only results that meet the constraints can be the best; the others are hollow.

    Args:
        outcome: The objective.
        log: Whether the value axis is logarithmic; by default if all values are positive and spread over a factor of
            a thousand. Ignored where a value is not positive.
    """
    figure = draw.blank("Best value so far", x="trial", y="value")
    if not outcome.finished:
        return draw.empty(figure, "no trial has a value")
    order = sorted(outcome.finished, key=lambda i: outcome.numbers[i])
    values = np.array([outcome.value(i) for i in order], dtype=np.float64)
    best = _improvements(outcome)
    improved = set(best)
    shown = [order[k] for k in draw.thinned(len(order), keep=[k for k, i in enumerate(order) if i in improved])]
    _add_outcomes(figure, outcome, shown)
    logarithmic = bool(values.min() > 0 and (draw.suits_log_axis(values) if log is None else log))
    _add_expectation(figure, outcome, positive=logarithmic)
    if best:
        _add_steps(figure, outcome, best, outcome.numbers[order[-1]])
    if logarithmic:
        figure.update_layout(yaxis=dict(type="log", dtick=draw.log_ticks(values)))
    # The latest best must be in view even if all other results are far from it.
    elif (found := draw.close_view(values.tolist(), [outcome.value(i) for i in best[-1:]])) is not None:
        draw.zoom_menu(figure, {"yaxis": found}, near=found.needed)
    draw.whole_numbers(figure, len(outcome))
    thin = f" {len(shown)} of {counted(len(order), 'result')} are drawn." if len(shown) < len(order) else ""
    draw.subtitle(figure, _summary(outcome, best) + draw.undrawable_note(values) + thin + _sample_note(outcome))
    return figure


def _sample_note(outcome: OutcomeData) -> str:
    """Say so if the expected best is that of some of the points only."""
    known = sum(value is not None for value in outcome.expected_best or ())
    some = 0 < known < len(outcome.finished)
    return f" The expected value is the best of {known} of the points, the better ones among them." if some else ""


def _improvements(outcome: OutcomeData) -> list[int]:
    """Return the indices of the eligible results that were better than all before them, by trial number."""
    order = sorted(outcome.eligible, key=lambda i: outcome.numbers[i])
    best = np.maximum.accumulate(outcome.direction.value * np.array([outcome.value(i) for i in order]))
    return [i for k, i in enumerate(order) if k == 0 or best[k] > best[k - 1]]


def _add_outcomes(figure: go.Figure, outcome: OutcomeData, indices: Sequence[int]) -> None:
    """Add results that can be the best as dots, and hollow ones for the others, if there are any."""
    eligible = set(outcome.eligible)
    kinds = [("results", True, dict(color=draw.FAINT, size=6))]
    if len(eligible) < len(outcome.finished):
        kinds.append(("constraints not met", False, dict(color=draw.RAW, size=7, symbol="circle-open")))
    for name, can_be_best, marker in kinds:
        drawn = [i for i in indices if (i in eligible) is can_be_best]
        note = "" if can_be_best else f"<br>{name}"
        hover = f"<b>trial %{{x}}</b><br>value %{{y:.5~g}}{note}"
        x, y = [outcome.numbers[i] for i in drawn], [outcome.value(i) for i in drawn]
        figure.add_trace(draw.dots(x, y, name, marker, hover))


def _add_expectation(figure: go.Figure, outcome: OutcomeData, *, positive: bool) -> None:
    pairs = zip(outcome.numbers, outcome.expected_best or (), strict=False)
    known = sorted((number_, value) for number_, value in pairs if value is not None)
    if not known:
        return
    at = draw.thinned(len(known), keep=())
    x, y = zip(*(known[k] for k in at), strict=True)
    y = [value if value > 0 or not positive else np.nan for value in y]
    look = dict(color=draw.CALIBRATED, width=2, dash="dashdot")
    figure.add_trace(draw.line(x, y, "expected at the best point", look, "after trial %{x}: %{y:.5~g} expected"))


def _add_steps(figure: go.Figure, outcome: OutcomeData, improvements: Sequence[int], end: int) -> None:
    """Add the step line up to the last trial, with a marker (and the parameters) at every improvement."""
    room = room_for(len(improvements))
    boxes = [f"<br>{params_text(outcome.params[i], room)}" for i in improvements]
    figure.add_trace(
        go.Scatter(
            x=[*(outcome.numbers[i] for i in improvements), end],
            y=draw.drawable([*(outcome.value(i) for i in improvements), outcome.value(improvements[-1])]),
            mode="lines+markers",
            name="best so far",
            line=dict(color=draw.BEST, width=2.5, shape="hv"),
            marker=dict(size=[8] * len(improvements) + [0], symbol="diamond"),
            customdata=[*boxes, ""],
            hovertemplate="<b>trial %{x}</b><br>best so far %{y:.5~g}%{customdata}<extra></extra>",
        )
    )


def _summary(outcome: OutcomeData, best: Sequence[int]) -> str:
    failed = len(outcome) - len(outcome.finished)
    verb = outcome.direction.name.capitalize()
    results = counted(len(outcome.finished), "result")
    if not best:
        text = f"{verb}: none of {results} meets all constraints yet."
    else:
        text = f"{verb}: {number(outcome.best_value, 6)} after {results}"
        last = outcome.numbers[best[-1]]
        text += f", improved {counted(len(best) - 1, 'time')}, last at trial {last}." if len(best) > 1 else "."
        if outcome.constrained:
            text += f" {met_text(len(outcome.eligible), ' of the results')}."
    return f"{text} {counted(failed, 'trial')} failed." if failed else text


@checked
def plot_hypervolume(data: ReportData) -> go.Figure:
    """Plot the hypervolume after each trial as a step line, with a mark at each result that increased it."""
    figure = draw.blank("Hypervolume over time", x="trials so far", y="hypervolume (larger is better)", height=380)
    if not data.results:
        return draw.empty(figure, "no trial has a value")
    if not data.met:
        return draw.empty(figure, "no result meets all constraints")
    volumes = data.hypervolumes
    if not np.isfinite(volumes).all():
        return draw.empty(figure, "the values are too large for a hypervolume to be computed")
    steps = np.flatnonzero(np.diff(volumes, prepend=0.0) > 0.0)
    shown = steps[draw.thinned(len(steps), keep=())].tolist()
    room = room_for(len(shown))
    boxes = [f"<b>trial {data.numbers[i]}</b><br>{params_text(data.params[i], room)}<br>" for i in shown]
    figure.add_trace(
        go.Scatter(
            x=[1, *(i + 1 for i in shown), len(data)],
            y=[float(volumes[0]), *volumes[shown].tolist(), float(volumes[-1])],
            mode="lines+markers",
            name="hypervolume",
            line=dict(color=draw.BEST, width=2.5, shape="hv"),
            marker=dict(size=[0, *[8] * len(shown), 0], symbol="diamond"),
            customdata=["", *boxes, ""],
            hovertemplate="%{customdata}hypervolume %{y:.5~g} after %{x} trials<extra></extra>",
            showlegend=False,
        )
    )
    figure.update_layout(yaxis=dict(rangemode="tozero"))
    draw.whole_numbers(figure, len(data))
    draw.subtitle(figure, _volume_summary(data, steps))
    return figure


def _volume_summary(data: ReportData, steps: np.ndarray) -> str:
    origin = "inferred from the front as it is now" if data.reference is None else "as given"
    point = f" Reference point, {origin}: {reference_text(data)}."
    if not steps.size:
        return f"No result is better than the reference point in every objective.{point}"
    last = data.numbers[int(steps[-1])]
    text = f"{number(float(data.hypervolumes[-1]), 6)} after {counted(len(data), 'trial')}"
    return f"{text}, {counted(len(steps), 'result')} increased it, the last one was trial {last}.{point}"
