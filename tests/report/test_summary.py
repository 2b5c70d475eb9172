"""Numbers and sentences of the report."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from calibo.report import OutcomeData, ReportData
from calibo.report.summary import (
    facts,
    headline,
    met_text,
    number,
    params_text,
    room_for,
)
from calibo.trials import Direction

Outcome = Callable[..., OutcomeData]
Report = Callable[..., ReportData]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.123456, "0.1235"), (1e300, "1e+300"), (7, "7"), (True, "True"), ("relu", "relu"), (None, "None"), (2.0, "2")],
)
def test_numbers(value: object, text: str) -> None:
    assert number(value) == text


def test_parameters_in_a_hover_box() -> None:
    text = params_text({f"p{i}": i for i in range(50)}, room=30)
    assert text.startswith("p0 = 0<br>p1 = 1")
    assert text.endswith("more") and len(text) < 80
    assert "<script" not in params_text({"<script>alert(1)</script>": "<img src=x>"})
    assert room_for(10) > room_for(500) > room_for(1500) >= 50


def test_facts(report: Report, simulated: ReportData) -> None:
    assert facts(simulated) == [
        "method cbo",
        "loss minimized",
        "speed maximized",
        "cost minimized",
        "2 constraints",
        "45 trials",
        "2 failed",
    ]
    assert facts(report([[1.0, None]])) == ["method ocbo", "objective 0 minimized", "2 trials", "1 failed"]
    counted = facts(report([[1.0]], names=(), pruned=2, running=1))
    assert counted == ["method ocbo", "minimized", "1 trial", "2 pruned", "1 running"]
    assert facts(report([[1.0, 2.0]] * 8, [[None, 0.0]]))[-4:] == [
        "2 more objectives",
        "1 constraint",
        "2 trials",
        "1 without all constraints",
    ]


def test_headline_of_one_objective(report: Report) -> None:
    data = report([[3.0, 1.0]], names=())
    assert headline(data) == f"Smallest value so far: 1, after 2 results. {data.objectives[0].calibration.headline()}"
    assert headline(report([[]])).startswith("No trial has a value yet. ")


def test_headline_with_constraints(report: Report) -> None:
    values, limits = [[1.0, 2.0, 3.0, None]], [[1.0, -1.0, 0.0, None]]
    assert headline(report(values, limits)).startswith(
        "Smallest value that meets all constraints: 2 (2 of 3 results do). "
    )
    largest = headline(report(values, limits, directions=(Direction.MAXIMIZE,)))
    assert largest.startswith("Largest value that meets all constraints: 3 ")
    assert headline(report([[1.0]], [[1.0]])).startswith("None of 1 result meets all constraints yet. ")
    assert headline(report([[]], [[]])).startswith("No trial has a value yet. ")


def test_headline_of_a_front(report: Report, simulated: ReportData) -> None:
    text = headline(simulated)
    assert text.startswith(f"The Pareto front has {len(simulated.front)} trials, out of 43 results, of which ")
    assert "Its hypervolume is " in text and text.endswith(simulated.feasibility.headline())
    assert headline(report([[1.0, 2.0], [2.0, 1.0]], distributions=[None] * 2)) == (
        "The Pareto front has 2 trials, out of 2 results. Its hypervolume is 0.21. "
        "Can the intervals be trusted? Too early to say for objective 0 and objective 1."
    )
    assert headline(report([[], []])).startswith("No trial has a value yet. ")
    assert headline(report([[1.0], [1.0]], [[1.0]])).startswith(
        "None of 1 result meets all constraints yet, so there is no Pareto front. "
    )
    assert "the hypervolume is 0." in headline(report([[1.0], [1.0]], reference=(0.0, 0.0)))
    assert "too large for a computer" in headline(report([[1e300, -1e300], [-1e300, 1e300]]))


def test_calibration_of_each_objective(report: Report) -> None:
    rng = np.random.default_rng(3)
    right, wide = rng.standard_normal(60).tolist(), [0.0] * 60
    narrow = (3.0 * rng.standard_normal(60)).tolist()
    assert (
        "Can the intervals be trusted? So far yes for a and d; no for b (too narrow); "
        "yes for c, but they are wider than they need to be."
        in headline(report([right, narrow, wide, right], names=("a", "b", "c", "d")))
    )


def test_one_result_meets_and_several_meet() -> None:
    assert [met_text(count) for count in (1, 3)] == ["1 meets all constraints", "3 meet all constraints"]
