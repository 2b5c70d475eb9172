"""The forecast report card shows what the diagnostics count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calibo import report
from calibo.data import Marginal
from calibo.diagnostics import covered
from calibo.report import Story

Find = Callable[[Any, str], Any]
forecast_card: Any = report.forecast_card  # figures are too dynamic for a type checker


def test_misses_are_those_of_the_diagnostics(real: Story, trace_of: Find) -> None:
    figure = forecast_card(real)
    inside = covered(real.distributions, real.outcomes, 0.8)
    numbers = np.array([real.numbers[i] for i in real.judged])
    misses = trace_of(figure, "outside 80 %")
    np.testing.assert_array_equal(misses.x, numbers[~inside])
    np.testing.assert_array_equal(misses.y, real.outcomes[~inside])
    np.testing.assert_array_equal(trace_of(figure, "inside 80 %").x, numbers[inside])
    assert misses.marker.symbol != trace_of(figure, "inside").marker.symbol
    assert figure.layout.title.subtitle.text.startswith(f"{(~inside).sum()} of {len(inside)} results fell outside")


@pytest.mark.parametrize("coverage", [0.8, 0.95])
def test_intervals_are_the_stamped_ones(real: Story, trace_of: Find, coverage: float) -> None:
    bars = trace_of(forecast_card(real), f"{100 * coverage:g} % interval")
    ends = np.array([distribution.interval(coverage) for distribution in real.distributions])
    np.testing.assert_array_equal(bars.y[0::3], ends[:, 0])
    np.testing.assert_array_equal(bars.y[1::3], ends[:, 1])
    assert all(gap is None for gap in bars.y[2::3])
    assert list(bars.x[0::3]) == [real.numbers[i] for i in real.judged]


def test_failures_and_trials_without_a_forecast_have_their_own_marks(real: Story, trace_of: Find) -> None:
    figure = forecast_card(real)
    assert list(trace_of(figure, "failed").x) == [7, 19]
    plain = [real.numbers[i] for i in real.finished if real.forecasts[i] is None]
    assert list(trace_of(figure, "no forecast").x) == plain


def test_hover_names_parameters_and_intervals(real: Story, trace_of: Find) -> None:
    dots = trace_of(forecast_card(real), "inside")
    said, params = dots.customdata[0]
    assert said.startswith("80 %: ") and " to " in said and "95 %: " in said
    assert "x0 = " in params and "x1 = " in params
    assert "trial %{x}" in dots.hovertemplate and "value %{y" in dots.hovertemplate


def test_one_extreme_value_is_marked_at_the_edge(tell: Callable[..., Story], trace_of: Find) -> None:
    values = [*np.linspace(-1.0, 1.0, 20).tolist(), 1e300]
    figure = forecast_card(tell(values))
    low, high = figure.layout.yaxis.range
    assert -10.0 < low < -1.0 and 1.0 < high < 10.0
    edge = trace_of(figure, "beyond")
    assert list(edge.x) == [20] and edge.marker.symbol == ("triangle-up",)
    assert trace_of(figure, "outside 80 %").y[-1] == 1e300
    everything = figure.layout.updatemenus[0].buttons[1]
    assert everything.args[1] == {"yaxis.autorange": True}
    assert figure.data[everything.args[2][0]].name == "beyond this view"


def test_huge_laws_do_not_break(tell: Callable[..., Story]) -> None:
    figure = forecast_card(tell([1.7e308, -1.7e308, 1e300], distributions=[Marginal(0.0, 1.7e308)] * 3))
    assert "2 results are beyond" in figure.layout.title.subtitle.text


def test_too_little_says_so(tell: Callable[..., Story]) -> None:
    assert "Not yet" in forecast_card(tell([])).layout.annotations[0].text
    assert "Not yet" in forecast_card(tell([1.0, 2.0], distributions=[None, None])).layout.title.subtitle.text


def test_many_trials_are_thinned_and_it_is_said(tell: Callable[..., Story], trace_of: Find) -> None:
    rng = np.random.default_rng(0)
    story = tell(rng.standard_normal(3000).tolist())
    figure = forecast_card(story)
    missed = int((~covered(story.distributions, story.outcomes, 0.8)).sum())
    drawn = len(trace_of(figure, "outside").x) + len(trace_of(figure, "inside").x)
    assert drawn == 600 and len(trace_of(figure, "outside").x) == min(missed, 450)
    assert "600 of 3000 trials are drawn" in figure.layout.title.subtitle.text


def test_intervals_without_an_end_are_drawn_from_edge_to_edge(real: Story, trace_of: Find) -> None:
    """A conformal forecast of few held-out results promises nothing at high levels, which must not look like no forecast."""
    place = real.judged[2]
    forecast = real.forecast(place)
    endless = replace(forecast.calibrated, backed=(0.2, 0.8))
    forecasts = list(real.forecasts)
    forecasts[place] = replace(forecast, stages=(*forecast.stages[:-1], endless))
    figure = forecast_card(replace(real, forecasts=tuple(forecasts)))
    for level in (80, 95):
        marks = trace_of(figure, f"no end at {level} %")
        assert list(marks.x) == [real.numbers[place]] * 2 + [None] and list(marks.y) == [0.0, 1.0, None]
        assert marks.yaxis == "y2" and marks.showlegend
    assert "-inf to inf" in str([trace.customdata for trace in figure.data])
    assert not trace_of(forecast_card(real), "no end at 80 %").showlegend
