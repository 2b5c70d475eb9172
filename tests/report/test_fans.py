"""The fan draws the slices as they are, on an axis that suits the parameter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibo import report
from calibo.errors import RecipeError
from calibo.report import Story

Find = Callable[[Any, str], Any]
fan: Any = report.fan  # figures are too dynamic for a type checker


def piece_of(story: Story, name: str) -> Any:
    return next(piece for piece in story.slices if piece.name == name)


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95])
def test_bands_are_the_calibrated_intervals(real: Story, coverage: float) -> None:
    figure, piece = fan(real, parameter="x1"), piece_of(real, "x1")
    low, high = [t for t in figure.data if t.legendgroup == f"fan {coverage}"]
    np.testing.assert_array_equal(low.x, piece.values)
    np.testing.assert_array_equal(low.y, piece.calibrated.interval(coverage)[0])
    np.testing.assert_array_equal(high.y, piece.calibrated.interval(coverage)[1])
    assert high.fill == "tonexty"


def test_the_raw_model_is_a_dashed_outline(real: Story) -> None:
    piece = piece_of(real, "x1")
    outline = [t for t in fan(real, parameter="x1").data if t.legendgroup == "raw"]
    np.testing.assert_array_equal([t.y for t in outline], piece.raw.interval(0.8))
    assert {t.line.dash for t in outline} == {"dash"}


def test_the_acquisition_is_below_on_the_same_axis(real: Story, trace_of: Find) -> None:
    figure = fan(real, parameter="x1")
    below = trace_of(figure, "acquisition")
    np.testing.assert_array_equal(below.y, piece_of(real, "x1").acquisition)
    assert below.yaxis == "y2" and below.xaxis in (None, "x")
    assert figure.layout.yaxis2.domain[1] < figure.layout.yaxis.domain[0]


def test_all_slices_can_be_chosen(mixed: Story) -> None:
    figure = fan(mixed)
    buttons = figure.layout.updatemenus[0].buttons
    assert {b.label for b in buttons} == {"lr", "layers", "act"}
    for button in buttons:
        visible = button.args[0]["visible"]
        assert len(visible) == len(figure.data)
        assert button.args[1]["xaxis.title.text"] == button.label
    first = [t for t in figure.data if t.visible]
    assert [t for t, shown in zip(figure.data, buttons[0].args[0]["visible"], strict=True) if shown] == first


def test_axes_suit_the_parameter(mixed: Story) -> None:
    rate = fan(mixed, parameter="lr").layout.xaxis
    assert (rate.type, rate.dtick) == ("log", 1)
    assert fan(mixed, parameter="layers").layout.xaxis.ticktext == ("1", "2", "3", "4", "5", "6")
    choices = fan(mixed, parameter="act").layout.xaxis
    assert choices.ticktext == ("relu", "tanh", "gelu") and choices.tickvals == (0, 1, 2)


def test_choices_are_bars_side_by_side(mixed: Story, trace_of: Find) -> None:
    piece = piece_of(mixed, "act")
    bars = trace_of(fan(mixed, parameter="act"), "calibrated 80 %")
    low, high = piece.calibrated.interval(0.8)
    np.testing.assert_array_equal(bars.y[0::3], low)
    np.testing.assert_array_equal(bars.y[1::3], high)


def test_the_best_point_and_its_neighbours(mixed: Story, real: Story, trace_of: Find) -> None:
    best = trace_of(fan(mixed, parameter="act"), "best")
    assert mixed.best_params is not None
    assert best.x == (["relu", "tanh", "gelu"].index(mixed.best_params["act"]),) and best.y == (mixed.best_value,)
    near = trace_of(fan(real, parameter="x1"), "results nearby")
    assert real.best_params is not None
    for trial in near.customdata:
        assert abs(real.params[trial]["x0"] - real.best_params["x0"]) <= 0.12 * 15.0 + 1e-9


def test_in_one_dimension_every_result_is_near(uncalibrated: Story, trace_of: Find) -> None:
    figure = fan(uncalibrated)
    assert len(trace_of(figure, "results nearby").x) == len(uncalibrated)
    assert not figure.layout.updatemenus
    assert not [t for t in figure.data if "raw" in (t.name or "")]


def test_nothing_to_show(tell: Callable[..., Story]) -> None:
    assert "no model" in fan(tell([1.0])).layout.annotations[0].text
    with pytest.raises(RecipeError, match="no slice along 'z' in the story; there are x0, x1|there are none"):
        fan(tell([1.0]), parameter="z")


def test_many_slices_are_limited_to_the_telling_ones(real: Story, tell: Callable[..., Story]) -> None:
    from dataclasses import replace

    many = tuple(replace(real.slices[i % 2], name=f"p{i}") for i in range(30))
    figure = fan(tell([1.0], slices=many))
    assert len(figure.layout.updatemenus[0].buttons) == 10
    assert "20 parameters that matter less are left out" in figure.layout.title.subtitle.text
    assert len(next(t for t in figure.data if t.name == "calibrated median").x) == 40
