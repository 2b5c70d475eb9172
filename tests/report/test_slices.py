"""Predictions along parameters: intervals, axes, and the results nearby."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calibo import report as public
from calibo.distributions import Gaussian
from calibo.errors import RecipeError
from calibo.optimize.slices import Slice
from calibo.report import OutcomeData
from calibo.report.slices import best_position, distances, nearby, position

Find = Callable[[Any, str], Any]
Outcome = Callable[..., OutcomeData]
plot_slices: Any = public.plot_slices  # figures are too dynamic for a type checker
GRID = np.linspace(0.0, 10.0, 21).tolist()


def piece_of(data: OutcomeData, name: str) -> Any:
    return next(piece for piece in data.slices if piece.name == name)


def test_intervals_raw_model_and_acquisition(real: OutcomeData, trace_of: Find) -> None:
    figure, piece = plot_slices(real, parameter="x1"), piece_of(real, "x1")
    for coverage in (0.5, 0.8, 0.95):
        low, high = [t for t in figure.data if t.legendgroup == f"interval {coverage}"]
        np.testing.assert_array_equal(low.x, piece.values)
        np.testing.assert_array_equal([low.y, high.y], piece.calibrated.interval(coverage))
        assert high.fill == "tonexty"
    outline = [t for t in figure.data if t.legendgroup == "raw"]
    np.testing.assert_array_equal([t.y for t in outline], piece.raw.interval(0.8))
    assert {t.line.dash for t in outline} == {"dash"}
    below = trace_of(figure, "acquisition")
    np.testing.assert_array_equal(below.y, piece.acquisition)
    assert below.yaxis == "y2" and below.xaxis in (None, "x")
    assert figure.layout.yaxis2.domain[1] < figure.layout.yaxis.domain[0]


def test_all_slices_can_be_chosen(mixed: OutcomeData) -> None:
    figure = plot_slices(mixed)
    buttons = figure.layout.updatemenus[0].buttons
    assert {b.label for b in buttons} == {"lr", "layers", "act"}
    for button in buttons:
        assert len(button.args[0]["visible"]) == len(figure.data)
        assert button.args[1]["xaxis.title.text"] == button.label
    first = [t for t in figure.data if t.visible]
    assert [t for t, shown in zip(figure.data, buttons[0].args[0]["visible"], strict=True) if shown] == first


def test_axes_suit_the_parameter(mixed: OutcomeData, trace_of: Find) -> None:
    rate = plot_slices(mixed, parameter="lr").layout.xaxis
    assert (rate.type, rate.dtick) == ("log", 1)
    assert plot_slices(mixed, parameter="layers").layout.xaxis.ticktext == ("1", "2", "3", "4", "5", "6")
    figure = plot_slices(mixed, parameter="act")
    choices = figure.layout.xaxis
    assert choices.ticktext == ("relu", "tanh", "gelu") and choices.tickvals == (0, 1, 2)
    bars = trace_of(figure, "calibrated 80 %")
    low, high = piece_of(mixed, "act").calibrated.interval(0.8)
    np.testing.assert_array_equal(bars.y[0::3], low)
    np.testing.assert_array_equal(bars.y[1::3], high)
    best = trace_of(figure, "best")
    assert mixed.best_params is not None
    assert best.x == (choices.ticktext.index(mixed.best_params["act"]),) and best.y == (mixed.best_value,)


def test_results_nearby(real: OutcomeData, uncalibrated: OutcomeData, trace_of: Find) -> None:
    near = trace_of(plot_slices(real, parameter="x1"), "results nearby")
    assert real.best_params is not None
    for trial in near.customdata:
        assert abs(real.params[trial]["x0"] - real.best_params["x0"]) <= 0.12 * 15.0 + 1e-9
    figure = plot_slices(uncalibrated)  # in one dimension every result is near
    assert len(trace_of(figure, "results nearby").x) == len(uncalibrated)
    assert not figure.layout.updatemenus
    assert not [t for t in figure.data if "raw" in (t.name or "")]


def test_no_slices_and_many(outcome: Outcome, real: OutcomeData) -> None:
    assert "no model" in plot_slices(outcome([1.0])).layout.annotations[0].text
    with pytest.raises(RecipeError, match="there is no slice along 'z'; there are none"):
        plot_slices(outcome([1.0]), parameter="z")
    many = tuple(replace(real.slices[i % 2], name=f"p{i}") for i in range(30))
    figure = plot_slices(outcome([1.0], slices=many))
    assert len(figure.layout.updatemenus[0].buttons) == 10
    assert "20 parameters with less effect are left out" in figure.layout.title.subtitle.text
    assert len(next(t for t in figure.data if t.name == "calibrated median").x) == 40


def _slice(name: str, values: Sequence[Any]) -> Slice:
    g = len(values)
    distribution = Gaussian(np.zeros(g), np.ones(g))
    return Slice(name, tuple(values), distribution, distribution, np.zeros(g))


def _data(outcome: Outcome, points: Sequence[dict[str, Any]], *slices: Slice, values: Any = None) -> OutcomeData:
    """Data whose best point is the first."""
    return outcome([float(i) for i in range(len(points))] if values is None else values, params=points, slices=slices)


def test_distances_are_fractions_of_the_range(outcome: Outcome) -> None:
    points = tuple({"x": x, "y": y} for x, y in ((5.0, 1.0), (6.0, 3.0), (0.0, 1.0), (40.0, 1.0)))
    off = distances(_data(outcome, points, _slice("x", GRID)))
    np.testing.assert_allclose(off["x"], [0.0, 0.1, 0.5, 1.0])
    np.testing.assert_allclose(off["y"], [0.0, 1.0, 0.0, 0.0])  # without a slice, of the range of what was tried
    points = tuple({"x": x} for x in (1e-2, 1e-1, 1e-4, 1.0))
    off = distances(_data(outcome, points, _slice("x", np.geomspace(1e-4, 1.0, 30).tolist())))
    np.testing.assert_allclose(off["x"], [0.0, 0.25, 0.5, 0.5])
    points = tuple({"c": c} for c in (1, True, "a", 1, None))
    assert distances(_data(outcome, points))["c"].tolist() == [0.0, 1.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("values", "off"),
    [([3.0, 3.0, 3.0], [0.0, 0.0, 0.0]), ([-1.7e308, 1.7e308, 0.0], [0.0, 1.0, 0.5]), ([0.0, 5e-324], [0.0, 0.0])],
    ids=["constant", "huge", "tiny"],
)
def test_degenerate_ranges(outcome: Outcome, values: list[float], off: list[float]) -> None:
    np.testing.assert_allclose(distances(_data(outcome, tuple({"x": x} for x in values)))["x"], off)


def test_nearest_first_and_without_failures(outcome: Outcome) -> None:
    points = tuple({"x": float(i), "y": y} for i, y in enumerate((5.0, 6.0, 8.0, 5.5, 5.1)))
    data = _data(outcome, points, _slice("x", GRID), _slice("y", GRID), values=[0.0, 1.0, 2.0, 3.0, None])
    off = distances(data)
    # Along x only the distance in y counts: 0, 0.1, 0.3 and 0.05 of its range, of which 0.12 is near.
    assert nearby(data, data.slices[0], off) == [(0.0, 0), (3.0, 3), (1.0, 1)]
    assert [i for _, i in nearby(data, data.slices[1], off)] == [0, 1]
    # Over several other parameters the mean decides.
    points = ({"x": 1.0, "y": 5.0, "z": 5.0}, {"x": 2.0, "y": 7.0, "z": 5.0}, {"x": 3.0, "y": 7.0, "z": 6.0})
    data = _data(outcome, points, *(_slice(name, GRID) for name in "xyz"))
    assert nearby(data, data.slices[0], distances(data)) == [(1.0, 0), (2.0, 1)]
    many = _data(outcome, tuple({"x": i / 20} for i in range(200)), _slice("x", GRID))
    assert len(nearby(many, many.slices[0], distances(many))) == 60


def test_positions(outcome: Outcome) -> None:
    line, choices = _slice("x", GRID), _slice("c", ["a", 1, True, None])
    assert position(line, 2.5) == 2.5
    assert position(line, "a") is None and position(line, None) is None and position(line, True) is None
    assert [position(choices, one) for one in ("a", 1, True, None, "b", False)] == [0, 1, 2, 3, None, None]
    nothing = outcome([None], slices=(line,))
    assert distances(nothing) == {} and nearby(nothing, line, {}) == [] and best_position(nothing, line) is None
