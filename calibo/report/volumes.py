"""Hypervolume over time: how far the whole front of several objectives has come."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from calibo.report.axes import outcome_name
from calibo.report.style import BEST, blank, empty, subtitle, whole_numbers
from calibo.report.thinning import thinned
from calibo.report.tradeoff import Tradeoff
from calibo.report.words import counted, number, params_text, room_for


def hypervolume_over_time(tradeoff: Tradeoff) -> go.Figure:
    """The hypervolume after each trial as a step line, with a mark at each result that added to it."""
    figure = blank("Hypervolume over time", x="trials so far", y="hypervolume (larger is better)", height=380)
    if not tradeoff.results:
        return empty(figure, "no trial has a value")
    if not tradeoff.met:
        return empty(figure, "no result meets all constraints")
    volumes = tradeoff.hypervolumes
    if not np.isfinite(volumes).all():
        return empty(figure, "the values are too large for a volume that a computer can hold")
    steps = np.flatnonzero(np.diff(volumes, prepend=0.0) > 0.0)
    shown = steps[thinned(len(steps), keep=())].tolist()
    room = room_for(len(shown))
    boxes = [f"<b>trial {tradeoff.numbers[i]}</b><br>{params_text(tradeoff.params[i], room)}<br>" for i in shown]
    figure.add_trace(
        go.Scatter(
            x=[1, *(i + 1 for i in shown), len(tradeoff)],
            y=[float(volumes[0]), *volumes[shown].tolist(), float(volumes[-1])],
            mode="lines+markers",
            name="hypervolume",
            line=dict(color=BEST, width=2.5, shape="hv"),
            marker=dict(size=[0, *[8] * len(shown), 0], symbol="diamond"),
            customdata=["", *boxes, ""],
            hovertemplate="%{customdata}hypervolume %{y:.5~g} after %{x} trials<extra></extra>",
            showlegend=False,
        )
    )
    figure.update_layout(yaxis=dict(rangemode="tozero"))
    whole_numbers(figure, len(tradeoff))
    subtitle(figure, _summary(tradeoff, steps))
    return figure


def reference_text(tradeoff: Tradeoff) -> str:
    """The reference point in words, escaped: "loss = 3.2, latency = 40"."""
    pairs = zip(tradeoff.objectives, tradeoff.reference_point or (), strict=False)
    return ", ".join(f"{outcome_name(story)} = {number(value)}" for story, value in pairs)


def _summary(tradeoff: Tradeoff, steps: np.ndarray) -> str:
    origin = "inferred from the front as it is now" if tradeoff.reference is None else "as given"
    point = f" Reference point, {origin}: {reference_text(tradeoff)}."
    if not steps.size:
        return f"No result is better than the reference point in every objective.{point}"
    last = tradeoff.numbers[int(steps[-1])]
    said = f"{number(float(tradeoff.hypervolumes[-1]), 6)} after {counted(len(tradeoff), 'trial')}"
    return f"{said}, {counted(len(steps), 'result')} added to it, the last one was trial {last}.{point}"
