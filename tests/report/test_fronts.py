"""The Pareto front: who is drawn how, the stairs, the menus, and views that no outlier flattens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibo import report
from calibo.data import Marginal
from calibo.optimize import Direction
from calibo.report import Tradeoff

Trade = Callable[..., Tradeoff]
Find = Callable[[Any, str], Any]
front: Any = report.front  # figures are too dynamic for a type checker
MIN, MAX = Direction.MINIMIZE, Direction.MAXIMIZE


def polygon_area(x: Any, y: Any) -> float:
    """Of a closed polygon, by the shoelace formula."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))) / 2.0


def test_every_result_is_drawn_once(simulated: Tradeoff, trace_of: Find) -> None:
    figure = front(simulated)
    best, others, unmet = (trace_of(figure, name) for name in ("on the Pareto", "dominated", "constraints not"))
    assert best.x == tuple(simulated.objectives[0].value(i) for i in simulated.front)
    assert best.y == tuple(simulated.objectives[1].value(i) for i in simulated.front)
    assert len(others.x) == len(simulated.met) - len(simulated.front)
    assert len(unmet.x) == len(simulated.results) - len(simulated.met)
    assert "open" in unmet.marker.symbol and best.marker.symbol == "diamond"
    reference = trace_of(figure, "reference")
    assert (*reference.x, *reference.y) == simulated.reference_point[:2]  # pyright: ignore[reportOptionalSubscript]


def test_hover_boxes_say_it_all(trade: Trade, trace_of: Find) -> None:
    told = trade([[1.0, 0.5], [2.0, 0.25]], [[-1.0, 0.5]], names=("a<b", "speed"), limits=("mem & co",))
    figure = front(told)
    (fine,), (broken,) = trace_of(figure, "on the").customdata, trace_of(figure, "constraints not").customdata
    assert fine == "<b>trial 0</b><br>a&lt;b: 1<br>speed: 2<br>x = 0"
    assert "not met: mem &amp; co (0.5 is above 0)" in broken


@pytest.mark.parametrize("directions", [(MIN, MIN), (MIN, MAX), (MAX, MIN), (MAX, MAX)])
@pytest.mark.parametrize("given", [False, True])
def test_the_shaded_area_is_the_hypervolume(trade: Trade, directions: tuple[Direction, ...], given: bool) -> None:
    rng = np.random.default_rng(4)
    values = [rng.standard_normal(30).tolist() for _ in range(2)]
    reference = tuple(-0.3 * direction.value for direction in directions) if given else None
    told = trade(values, directions=directions, reference=reference)
    area, stairs = front(told).data[:2]
    assert polygon_area(area.x, area.y) == pytest.approx(told.hypervolumes[-1], rel=1e-12)
    on_stairs = set(zip(stairs.x, stairs.y, strict=True))
    assert {(values[0][i], values[1][i]) for i in told.front} <= on_stairs
    # Only steps: one of the two values stays from corner to corner.
    assert all(a == c or b == d for (a, b), (c, d) in zip(*_pairs(stairs), strict=True))


def _pairs(stairs: Any) -> tuple[list[Any], list[Any]]:
    corners = list(zip(stairs.x, stairs.y, strict=True))
    return corners[:-1], corners[1:]


def test_axes_say_what_is_wanted(trade: Trade) -> None:
    layout = front(trade([[1.0, 2.0], [1.0, 2.0]], directions=(MIN, MAX), names=("loss", "speed"))).layout
    assert layout.xaxis.title.text == "loss (smaller is better)"
    assert layout.yaxis.title.text == "speed (larger is better)"


def test_of_more_objectives_two_are_chosen(simulated: Tradeoff) -> None:
    figure = front(simulated)
    across, up = figure.layout.updatemenus
    assert [b.label for b in across.buttons] == ["across: loss", "across: speed", "across: cost"]
    assert (across.active, up.active, across.x < up.x) == (0, 1, True)
    assert "stairs" not in [trace.name for trace in figure.data]
    places, changes = up.buttons[2].args
    assert len(places["y"]) == len(figure.data)
    for trace, y in zip(figure.data, places["y"], strict=True):
        assert len(trace.x) == len(y)
    assert list(places["y"][2]) == [simulated.objectives[2].value(i) for i in simulated.front]
    assert changes["yaxis.title.text"] == "cost (smaller is better)"
    # The first choices are what is drawn.
    for trace, x in zip(figure.data, across.buttons[0].args[0]["x"], strict=True):
        assert list(trace.x) == list(x)


def test_forecasts_of_the_latest_are_there_for_a_click(simulated: Tradeoff, trace_of: Find) -> None:
    crosses = trace_of(front(simulated), "80 % forecasts of the latest 5 results")
    assert crosses.visible == "legendonly"
    first = simulated.objectives[0].forecast(40).calibrated
    other = simulated.objectives[1].forecast(40).calibrated
    assert crosses.x[:3] == (*first.interval(0.8), None) and crosses.y[:3] == (other.mean, other.mean, None)
    assert crosses.x[3:5] == (first.mean, first.mean) and crosses.y[3:5] == other.interval(0.8)
    assert len(crosses.x) == 5 * 6


def test_a_log_axis_takes_no_end_below_zero(trade: Trade, trace_of: Find) -> None:
    told = trade([[1.0, 10.0, 1e4], [3.0, 2.0, 1.0]], distributions=[Marginal(0.0, 50.0)] * 3, reference=(1e5, 4.0))
    figure = front(told)
    assert figure.layout.xaxis.type == "log"
    assert min(v for v in trace_of(figure, "80 %").x if v is not None) == 1.0


def test_outliers_do_not_flatten_the_rest(trade: Trade) -> None:
    rng = np.random.default_rng(0)
    values = [[*rng.uniform(-1, 1, 40).tolist(), 1e6], [*rng.uniform(-1, 1, 40).tolist(), 0.5]]
    figure = front(trade(values))
    (menu,) = figure.layout.updatemenus
    assert [b.label for b in menu.buttons] == ["most results", "everything"] and menu.active == 0
    assert figure.layout.xaxis.range[1] < 10.0 and figure.layout.yaxis.autorange
    assert menu.buttons[1].args[1]["xaxis.autorange"] is True
    assert "1 result is so far away as to be out of view at first." in figure.layout.title.subtitle.text
    assert not front(trade([v[:-1] for v in values])).layout.updatemenus
    three = front(trade([*values, values[0]]))
    assert three.layout.xaxis.range[1] < 10.0
    assert three.layout.updatemenus[0].buttons[1].args[1]["xaxis.autorange"] is True


def test_the_words(trade: Trade) -> None:
    def said(told: Tradeoff) -> str:
        return front(told).layout.title.subtitle.text

    assert said(trade([[1.0, 2.0], [1.0, 2.0]])) == "1 of 2 results is on the front."
    assert said(trade([[1.0, 2.0], [2.0, 1.0]], [[0.0, 0.0]])) == "2 of 2 that meet all constraints are on the front."
    assert said(trade([[1.0], [1.0]], [[1.0]])) == "None of 1 result meets all constraints yet, so there is no front."
    assert "1 result is beyond" in said(trade([[1e305, 1.0], [0.0, 1.0]]))


def test_nothing_to_see(trade: Trade) -> None:
    assert "no trial has a value" in front(trade([[None], [1.0]])).layout.annotations[0].text
    assert "at least two objectives" in front(trade([[1.0]])).layout.annotations[0].text


def test_of_many_results_the_front_is_kept(trade: Trade, trace_of: Find) -> None:
    rng = np.random.default_rng(1)
    told = trade([rng.random(2000).tolist(), rng.random(2000).tolist()])
    figure = front(told)
    assert len(trace_of(figure, "on the").x) == len(told.front)
    assert len(trace_of(figure, "dominated").x) + len(told.front) == 600
    assert "600 of 2000 results are drawn." in figure.layout.title.subtitle.text
