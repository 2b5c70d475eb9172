"""Best value so far and hypervolume over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibo import diagnostics
from calibo import report as public
from calibo.report import OutcomeData, ReportData
from calibo.trials import Direction

Find = Callable[[Any, str], Any]
Outcome = Callable[..., OutcomeData]
Report = Callable[..., ReportData]
# Figures are too dynamic for a type checker.
plot_best_so_far: Any = public.plot_best_so_far
plot_hypervolume: Any = public.plot_hypervolume


def heights(line: Any, at: Any) -> list[float]:
    """Values of a step line."""
    return [line.y[np.searchsorted(line.x, n, side="right") - 1] for n in at]


def test_lines_and_dots(real: OutcomeData, trace_of: Find) -> None:
    figure = plot_best_so_far(real)
    line = trace_of(figure, "best so far")
    values = [real.value(i) for i in real.finished]
    np.testing.assert_array_equal(
        heights(line, [real.numbers[i] for i in real.finished]), diagnostics.best_so_far(values)
    )
    assert line.line.shape == "hv" and line.y[-1] == real.best_value
    dots = trace_of(figure, "results")
    assert list(dots.y) == values and dots.mode == "markers"
    assert real.expected_best is not None
    assert list(trace_of(figure, "expected").y) == [v for v in real.expected_best if v is not None]


def test_on_a_log_scale_a_negative_expectation_is_a_gap(outcome: Outcome, trace_of: Find) -> None:
    figure = plot_best_so_far(outcome([1.0, 0.1], expected_best=(0.5, -0.1)), log=True)
    assert trace_of(figure, "expected").y == (0.5, None)


def test_maximization_in_any_order(outcome: Outcome, trace_of: Find) -> None:
    figure = plot_best_so_far(outcome([3.0, 1.0, 2.0], numbers=(2, 0, 1), direction=Direction.MAXIMIZE))
    assert trace_of(figure, "best so far").y == (1.0, 2.0, 3.0, 3.0)
    assert figure.layout.title.subtitle.text == "Maximize: 3 after 3 results, improved 2 times, last at trial 2."


def test_infeasible_results_are_hollow_and_never_best(outcome: Outcome, trace_of: Find) -> None:
    figure = plot_best_so_far(outcome([3.0, 1.0, 2.0, 2.5], feasible=(True, False, True, True)))
    assert trace_of(figure, "best so far").y == (3.0, 2.0, 2.0)
    hollow = trace_of(figure, "constraints not met")
    assert (hollow.x, hollow.y, hollow.marker.symbol) == ((1,), (1.0,), "circle-open")
    assert trace_of(figure, "results").x == (0, 2, 3)
    assert figure.layout.title.subtitle.text == (
        "Minimize: 2 after 4 results, improved 1 time, last at trial 2. 3 of the results meet all constraints."
    )
    nothing = plot_best_so_far(outcome([3.0, 1.0], feasible=(False, False)))
    assert nothing.layout.title.subtitle.text == "Minimize: none of 2 results meets all constraints yet."
    assert "best so far" not in [trace.name for trace in nothing.data]


@pytest.mark.parametrize(
    ("values", "log", "kind"),
    [
        ([1.0, 1e-2, 1e-6], None, "log"),
        ([1.0, 0.5, 0.2], None, None),
        ([1.0, 0.5, 0.2], True, "log"),
        ([1.0, -1.0, 1e6], True, None),
    ],
)
def test_log_axis(outcome: Outcome, values: list[float], log: bool | None, kind: str | None) -> None:
    assert plot_best_so_far(outcome(values), log=log).layout.yaxis.type == kind


def test_the_best_stays_in_view(outcome: Outcome) -> None:
    low, high = plot_best_so_far(outcome([*np.linspace(100.0, 101.0, 40).tolist(), -1e6])).layout.yaxis.range
    assert low < -1e6 and high > 101.0


def test_failures_and_no_results(outcome: Outcome) -> None:
    assert "2 trials failed" in plot_best_so_far(outcome([1.0, None, None])).layout.title.subtitle.text
    assert "Not yet" in plot_best_so_far(outcome([None])).layout.annotations[0].text


def test_hypervolume_after_each_trial(simulated: ReportData, report: Report) -> None:
    (line,) = plot_hypervolume(simulated).data
    np.testing.assert_array_equal(heights(line, np.arange(1, len(simulated) + 1)), simulated.hypervolumes)
    assert line.line.shape == "hv"
    assert sum(size > 0 for size in line.marker.size) == np.sum(np.diff(simulated.hypervolumes, prepend=0.0) > 0)
    (line,) = plot_hypervolume(report([[1.0], [2.0]])).data
    assert set(line.x) == {1} and len(set(line.y)) == 1


def test_hypervolume_sentences(report: Report) -> None:
    values = [[1.0, 3.0, 9.0], [3.0, 1.0, 9.0]]
    given = plot_hypervolume(report(values, reference=(5.0, 5.0), names=("a<b", "c"))).layout
    assert given.title.subtitle.text == (
        "12 after 3 trials, 2 results increased it, the last one was trial 1. "
        "Reference point, as given: a&lt;b = 5, c = 5."
    )
    assert "larger is better" in given.yaxis.title.text
    assert "inferred from the front as it is now" in plot_hypervolume(report(values)).layout.title.subtitle.text
    nothing = plot_hypervolume(report(values, reference=(0.0, 0.0)))
    assert nothing.layout.title.subtitle.text.startswith("No result is better than the reference point")
    assert list(nothing.data[0].y) == [0.0, 0.0]
    for data, why in (
        (report([[], []]), "no trial has a value"),
        (report([[1.0], [1.0]], [[1.0]]), "no result meets all constraints"),
        (report([[1e300, -1e300], [-1e300, 1e300]]), "too large"),
    ):
        assert why in plot_hypervolume(data).layout.annotations[0].text
