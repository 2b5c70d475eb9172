"""The figure of the Pareto front: marks, step line, menus and ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibo import report as public
from calibo.data import Marginal
from calibo.report import ReportData
from calibo.trials import Direction

Report = Callable[..., ReportData]
Find = Callable[[Any, str], Any]
plot_pareto_front: Any = public.plot_pareto_front  # figures are too dynamic for a type checker
MIN, MAX = Direction.MINIMIZE, Direction.MAXIMIZE


def polygon_area(x: Any, y: Any) -> float:
    """Of a closed polygon, by the shoelace formula."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))) / 2.0


def test_every_result_is_drawn_once(simulated: ReportData, trace_of: Find) -> None:
    figure = plot_pareto_front(simulated)
    best, others, unmet = (trace_of(figure, name) for name in ("on the Pareto", "dominated", "constraints not"))
    assert best.x == tuple(simulated.objectives[0].value(i) for i in simulated.front)
    assert best.y == tuple(simulated.objectives[1].value(i) for i in simulated.front)
    assert len(others.x) == len(simulated.met) - len(simulated.front)
    assert len(unmet.x) == len(simulated.results) - len(simulated.met)
    assert "open" in unmet.marker.symbol and best.marker.symbol == "diamond"
    reference = trace_of(figure, "reference")
    assert (*reference.x, *reference.y) == simulated.reference_point[:2]  # pyright: ignore[reportOptionalSubscript]


def test_hover_boxes(report: Report, trace_of: Find) -> None:
    data = report([[1.0, 0.5], [2.0, 0.25]], [[-1.0, 0.5]], names=("a<b", "speed"), limits=("mem & co",))
    figure = plot_pareto_front(data)
    (fine,), (broken,) = trace_of(figure, "on the").customdata, trace_of(figure, "constraints not").customdata
    assert fine == "<b>trial 0</b><br>a&lt;b: 1<br>speed: 2<br>x = 0"
    assert "not met: mem &amp; co (0.5 is above 0)" in broken


@pytest.mark.parametrize(("directions", "given"), [((MIN, MIN), False), ((MIN, MAX), True), ((MAX, MAX), False)])
def test_the_shaded_area_is_the_hypervolume(report: Report, directions: tuple[Direction, ...], given: bool) -> None:
    rng = np.random.default_rng(4)
    values = [rng.standard_normal(30).tolist() for _ in range(2)]
    reference = tuple(-0.3 * direction.value for direction in directions) if given else None
    data = report(values, directions=directions, reference=reference)
    area, stairs = plot_pareto_front(data).data[:2]
    assert polygon_area(area.x, area.y) == pytest.approx(data.hypervolumes[-1], rel=1e-12)
    on_stairs = set(zip(stairs.x, stairs.y, strict=True))
    assert {(values[0][i], values[1][i]) for i in data.front} <= on_stairs
    # Only steps: one of the two values stays from corner to corner.
    assert all(a == c or b == d for (a, b), (c, d) in zip(*_pairs(stairs), strict=True))


def _pairs(stairs: Any) -> tuple[list[Any], list[Any]]:
    corners = list(zip(stairs.x, stairs.y, strict=True))
    return corners[:-1], corners[1:]


def test_menus_choose_two_of_more_objectives(simulated: ReportData) -> None:
    figure = plot_pareto_front(simulated)
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


def test_forecasts_of_the_latest_results(simulated: ReportData, trace_of: Find) -> None:
    crosses = trace_of(plot_pareto_front(simulated), "80 % forecasts of the latest 5 results")
    assert crosses.visible == "legendonly"
    first = simulated.objectives[0].forecast(40).calibrated
    other = simulated.objectives[1].forecast(40).calibrated
    assert crosses.x[:3] == (*first.interval(0.8), None) and crosses.y[:3] == (other.mean, other.mean, None)
    assert crosses.x[3:5] == (first.mean, first.mean) and crosses.y[3:5] == other.interval(0.8)
    assert len(crosses.x) == 5 * 6


def test_log_axis_with_forecasts_below_zero(report: Report, trace_of: Find) -> None:
    data = report([[1.0, 10.0, 1e4], [3.0, 2.0, 1.0]], distributions=[Marginal(0.0, 50.0)] * 3, reference=(1e5, 4.0))
    figure = plot_pareto_front(data)
    assert figure.layout.xaxis.type == "log"
    assert min(v for v in trace_of(figure, "80 %").x if v is not None) == 1.0


def test_outliers_are_out_of_view_at_first(report: Report) -> None:
    rng = np.random.default_rng(0)
    values = [[*rng.uniform(-1, 1, 40).tolist(), 1e6], [*rng.uniform(-1, 1, 40).tolist(), 0.5]]
    figure = plot_pareto_front(report(values))
    (menu,) = figure.layout.updatemenus
    assert [b.label for b in menu.buttons] == ["most results", "everything"] and menu.active == 0
    assert figure.layout.xaxis.range[1] < 10.0 and figure.layout.yaxis.autorange
    assert menu.buttons[1].args[1]["xaxis.autorange"] is True
    assert "1 result is far from the others and out of view at first." in figure.layout.title.subtitle.text
    assert not plot_pareto_front(report([v[:-1] for v in values])).layout.updatemenus
    three = plot_pareto_front(report([*values, values[0]]))
    assert three.layout.xaxis.range[1] < 10.0
    assert three.layout.updatemenus[0].buttons[1].args[1]["xaxis.autorange"] is True


def test_sentences(report: Report) -> None:
    def text(data: ReportData) -> str:
        return plot_pareto_front(data).layout.title.subtitle.text

    assert text(report([[1.0, 2.0], [1.0, 2.0]])) == "1 of 2 results is on the front."
    assert text(report([[1.0, 2.0], [2.0, 1.0]], [[0.0, 0.0]])) == "2 of 2 that meet all constraints are on the front."
    assert text(report([[1.0], [1.0]], [[1.0]])) == "None of 1 result meets all constraints yet, so there is no front."
    for values, reason in (([[None], [1.0]], "no trial has a value"), ([[1.0]], "at least two objectives")):
        assert reason in plot_pareto_front(report(values)).layout.annotations[0].text
    assert "1 result is beyond" in text(report([[1e305, 1.0], [0.0, 1.0]]))


def test_thinning_keeps_the_front(report: Report, trace_of: Find) -> None:
    rng = np.random.default_rng(1)
    data = report([rng.random(2000).tolist(), rng.random(2000).tolist()])
    figure = plot_pareto_front(data)
    assert len(trace_of(figure, "on the").x) == len(data.front)
    assert len(trace_of(figure, "dominated").x) + len(data.front) == 600
    assert "600 of 2000 results are drawn." in figure.layout.title.subtitle.text
