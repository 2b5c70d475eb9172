"""Where the optimum lies, which parameters matter, the map, and why a point was suggested, on a page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibo.optimize.slices import Plane
from calibo.report import insight
from calibo.report.insight import Insight, Map, Share, optimum_panel, why_panel

# Figures are too dynamic for a type checker.
plot_importance: Any = insight.plot_importance
plot_map: Any = insight.plot_map


def test_shares_are_drawn_with_their_intervals() -> None:
    figure = plot_importance(Insight(importance=(Share("<x>", 0.7, 0.5, 0.8), Share("y", 0.1, 0.0, 0.2))))
    assert list(figure.data[1].x) == [0.7, 0.1] and list(figure.data[0].x)[:2] == [0.5, 0.8]
    assert list(figure.layout.yaxis.ticktext) == ["&lt;x&gt;", "y"]
    many = plot_importance(Insight(importance=tuple(Share(f"p{i}", 0.0, 0.0, 0.1) for i in range(23))))
    assert many.layout.title.subtitle.text == "3 parameters left out."


@pytest.mark.parametrize("larger", [True, False])
def test_the_better_the_darker(larger: bool) -> None:
    places = (np.array([0.25, 0.75]), np.array([0.0, 0.5, 1.0]))
    plane = Plane(("a", "b"), ((1, 2), (0.1, 1.0, 10.0)), places, np.array([[0.0, 1.0], [2.0, np.nan], [4.0, 3.0]]))
    figure = plot_map(Insight(map=Map(plane, (0.25, 1.0), ((0.75, 0.0),))), larger_is_better=larger)
    rows = figure.data[:3]
    darkness = [3 * 255 - sum(bytes.fromhex(colour[1:])) for row in rows for colour in row.marker.color]
    assert (darkness[4] > darkness[0]) is larger, "4 against 0"
    assert rows[1].y[1] is None, "no bar where the space has no point"
    assert list(figure.layout.yaxis.ticktext) == ["0.1", "1", "10"]
    assert [trace.name for trace in figure.data[3:]] == ["measured", "best"]
    assert ("from 4 (dark)" if larger else "from 0 (dark)") in figure.layout.title.subtitle.text
    nothing = Plane(("a", "b"), ((1, 2), (1, 2)), (places[0], places[0]), np.full((2, 2), np.nan))
    assert (
        "is possible"
        in plot_map(Insight(map=Map(nothing, (0, 0), ())), larger_is_better=True).layout.annotations[0].text
    )


def test_words_are_escaped_and_what_is_not_known_is_left_out() -> None:
    told = Insight(optimum=("By the model:", "its <x> lies here"), why=(("near <it>", "a & b"),), trial=7)
    assert (
        "&lt;x&gt;" in optimum_panel(told) and "near &lt;it&gt;" in why_panel(told) and "Why trial 7" in why_panel(told)
    )
    assert optimum_panel(Insight()) == why_panel(Insight()) == ""
