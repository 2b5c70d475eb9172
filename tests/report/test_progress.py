"""Best so far, observed and expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibo import diagnostics, report
from calibo.optimize import Direction
from calibo.report import Story

Find = Callable[[Any, str], Any]
best_so_far: Any = report.best_so_far  # figures are too dynamic for a type checker


def staircase(line: Any, at: list[int]) -> list[float]:
    """A step line's height at trials."""
    return [line.y[np.searchsorted(line.x, n, side="right") - 1] for n in at]


def test_the_line_is_that_of_the_diagnostics(real: Story, trace_of: Find) -> None:
    line = trace_of(best_so_far(real), "best so far")
    numbers = [real.numbers[i] for i in real.finished]
    expected = diagnostics.best_so_far([real.value(i) for i in real.finished])
    np.testing.assert_array_equal(staircase(line, numbers), expected)
    assert line.line.shape == "hv" and line.y[-1] == real.best_value


def test_all_results_are_faint_dots(real: Story, trace_of: Find) -> None:
    dots = trace_of(best_so_far(real), "results")
    assert list(dots.y) == [real.value(i) for i in real.finished]
    assert dots.mode == "markers"


def test_the_expectation_if_known(real: Story, trace_of: Find, tell: Callable[..., Story]) -> None:
    expected = trace_of(best_so_far(real), "expected")
    assert real.expected_best is not None
    assert list(expected.y) == [v for v in real.expected_best if v is not None]
    assert "expected at the best point" not in [t.name for t in best_so_far(tell([1.0, 2.0])).data]


def test_on_a_log_scale_a_negative_expectation_is_a_gap(tell: Callable[..., Story], trace_of: Find) -> None:
    figure = best_so_far(tell([1.0, 0.1], expected_best=(0.5, -0.1)), log=True)
    assert trace_of(figure, "expected").y == (0.5, None)


def test_larger_may_be_better_and_order_may_differ(tell: Callable[..., Story], trace_of: Find) -> None:
    story = tell([3.0, 1.0, 2.0], numbers=(2, 0, 1), direction=Direction.MAXIMIZE)
    figure = best_so_far(story)
    assert trace_of(figure, "best so far").y == (1.0, 2.0, 3.0, 3.0)
    assert figure.layout.title.subtitle.text == "Maximize: 3 after 3 results, improved 2 times, last at trial 2."


def test_what_does_not_meet_the_constraints_is_hollow_and_never_best(
    tell: Callable[..., Story], trace_of: Find
) -> None:
    figure = best_so_far(tell([3.0, 1.0, 2.0, 2.5], feasible=(True, False, True, True)))
    assert trace_of(figure, "best so far").y == (3.0, 2.0, 2.0)
    hollow = trace_of(figure, "constraints not met")
    assert (hollow.x, hollow.y, hollow.marker.symbol) == ((1,), (1.0,), "circle-open")
    assert trace_of(figure, "results").x == (0, 2, 3)
    assert figure.layout.title.subtitle.text == (
        "Minimize: 2 after 4 results, improved 1 time, last at trial 2. 3 of them meet all constraints."
    )


def test_none_meets_the_constraints(tell: Callable[..., Story], trace_of: Find) -> None:
    figure = best_so_far(tell([3.0, 1.0], feasible=(False, False)))
    assert figure.layout.title.subtitle.text == "Minimize: none of 2 results meets all constraints yet."
    assert "best so far" not in [trace.name for trace in figure.data]
    assert len(trace_of(figure, "constraints not met").x) == 2
    assert len(best_so_far(tell([3.0, 1.0], feasible=(True, True))).data) == 2


@pytest.mark.parametrize(
    ("values", "log", "kind"),
    [
        ([1.0, 1e-2, 1e-6], None, "log"),
        ([1.0, 0.5, 0.2], None, None),
        ([1.0, 0.5, 0.2], True, "log"),
        ([1.0, 1e-2, 1e-6], False, None),
        ([1.0, -1.0, 1e6], True, None),
    ],
)
def test_the_scale(tell: Callable[..., Story], values: list[float], log: bool | None, kind: str | None) -> None:
    assert best_so_far(tell(values), log=log).layout.yaxis.type == kind


def test_the_best_stays_in_view(tell: Callable[..., Story]) -> None:
    values = [*np.linspace(100.0, 101.0, 40).tolist(), -1e6]
    low, high = best_so_far(tell(values)).layout.yaxis.range
    assert low < -1e6 and high > 101.0


def test_failures_are_counted_and_nothing_is_said_of_nothing(tell: Callable[..., Story]) -> None:
    assert "2 trials failed" in best_so_far(tell([1.0, None, None])).layout.title.subtitle.text
    assert "Not yet" in best_so_far(tell([None])).layout.annotations[0].text
