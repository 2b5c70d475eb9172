"""Best so far: how the optimisation went, observed and expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from calibo import diagnostics
from calibo.report.ranges import drawable, log_ticks, log_worthwhile, undrawable_note, zoom
from calibo.report.story import Story
from calibo.report.style import BEST, CALIBRATED, FAINT, RAW, blank, empty, subtitle, whole_numbers, zoom_menu
from calibo.report.thinning import thinned
from calibo.report.words import counted, number, params_text, room_for


def best_so_far(story: Story, *, log: bool | None = None) -> go.Figure:
    """Best value after each trial as a step line, all outcomes as faint dots, and the expected best if it is known.

    Only results that meet the constraints can be the best; the others are hollow.

    Args:
        story: What to tell.
        log: Whether the value axis is logarithmic; by default if all values are positive and spread over a factor of
            a thousand. Ignored where a value is not positive.
    """
    figure = blank("Best value so far", x="trial", y="value")
    if not story.finished:
        return empty(figure, "no trial has a value")
    order = sorted(story.finished, key=lambda i: story.numbers[i])
    values = np.array([story.value(i) for i in order], dtype=np.float64)
    best = _improvements(story)
    improved = set(best)
    shown = [order[k] for k in thinned(len(order), keep=[k for k, i in enumerate(order) if i in improved])]
    _add_outcomes(figure, story, shown)
    logarithmic = bool(values.min() > 0 and (log_worthwhile(values) if log is None else log))
    _add_expectation(figure, story, positive=logarithmic)
    if best:
        _add_steps(figure, story, best, story.numbers[order[-1]])
    if logarithmic:
        figure.update_layout(yaxis=dict(type="log", dtick=log_ticks(values)))
    elif (found := zoom(values)) is not None:
        # The latest best must be in view even if all other results are far from it.
        pad, latest = 0.05 * (found.high - found.low), [story.value(i) for i in best[-1:]]
        low, high = min([found.low, *(v - pad for v in latest)]), max([found.high, *(v + pad for v in latest)])
        zoom_menu(figure, replace(found, low=low, high=high))
    whole_numbers(figure, len(story))
    thin = f" {len(shown)} of {counted(len(order), 'result')} are drawn." if len(shown) < len(order) else ""
    subtitle(figure, _summary(story, best) + undrawable_note(values) + thin)
    return figure


def _improvements(story: Story) -> list[int]:
    """Indices of the results that were better than all before them and can be the best, by trial number."""
    order = sorted(story.counting, key=lambda i: story.numbers[i])
    wanted = "minimize" if story.direction.value < 0 else "maximize"
    best = diagnostics.best_so_far([story.value(i) for i in order], direction=wanted) if order else np.empty(0)
    return [i for k, i in enumerate(order) if k == 0 or best[k] != best[k - 1]]


def _add_outcomes(figure: go.Figure, story: Story, indices: Sequence[int]) -> None:
    """Results that can be the best as dots; hollow ones for the others, if there are any."""
    counting = set(story.counting)
    kinds = [("results", True, dict(color=FAINT, size=6))]
    if len(counting) < len(story.finished):
        kinds.append(("constraints not met", False, dict(color=RAW, size=7, symbol="circle-open")))
    for name, wanted, marker in kinds:
        drawn = [i for i in indices if (i in counting) is wanted]
        figure.add_trace(
            go.Scatter(
                x=[story.numbers[i] for i in drawn],
                y=drawable([story.value(i) for i in drawn]),
                mode="markers",
                name=name,
                marker=marker,
                hovertemplate=f"<b>trial %{{x}}</b><br>value %{{y:.5~g}}{'' if wanted else '<br>' + name}<extra></extra>",
                showlegend=bool(drawn),
            )
        )


def _add_expectation(figure: go.Figure, story: Story, *, positive: bool) -> None:
    pairs = zip(story.numbers, story.expected_best or (), strict=False)
    known = sorted((number_, value) for number_, value in pairs if value is not None)
    if not known:
        return
    at = thinned(len(known), keep=())
    figure.add_trace(
        go.Scatter(
            x=[known[k][0] for k in at],
            y=drawable([known[k][1] if known[k][1] > 0 or not positive else np.nan for k in at]),
            mode="lines",
            name="expected at the best point",
            line=dict(color=CALIBRATED, width=2, dash="dashdot"),
            hovertemplate="after trial %{x}: %{y:.5~g} expected<extra></extra>",
        )
    )


def _add_steps(figure: go.Figure, story: Story, improvements: Sequence[int], end: int) -> None:
    """The step line, with a marker (and the parameters) at every improvement, carried on to the last trial."""
    room = room_for(len(improvements))
    boxes = [f"<br>{params_text(story.params[i], room)}" for i in improvements]
    figure.add_trace(
        go.Scatter(
            x=[*(story.numbers[i] for i in improvements), end],
            y=drawable([*(story.value(i) for i in improvements), story.value(improvements[-1])]),
            mode="lines+markers",
            name="best so far",
            line=dict(color=BEST, width=2.5, shape="hv"),
            marker=dict(size=[8] * len(improvements) + [0], symbol="diamond"),
            customdata=[*boxes, ""],
            hovertemplate="<b>trial %{x}</b><br>best so far %{y:.5~g}%{customdata}<extra></extra>",
        )
    )


def _summary(story: Story, best: Sequence[int]) -> str:
    failed = len(story) - len(story.finished)
    wanted = "Minimize" if story.direction.value < 0 else "Maximize"
    results = counted(len(story.finished), "result")
    if not best:
        said = f"{wanted}: none of {results} meets all constraints yet."
    else:
        said = f"{wanted}: {number(story.best_value, 6)} after {results}"
        last = story.numbers[best[-1]]
        said += f", improved {counted(len(best) - 1, 'time')}, last at trial {last}." if len(best) > 1 else "."
        if story.feasible is not None:
            said += f" {len(story.counting)} of them meet all constraints."
    return f"{said} {counted(failed, 'trial')} failed." if failed else said
