"""The page of several outcomes: words on top, each outcome in a part of its own, escaped, and small."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calibo.data import Forecast, Marginal
from calibo.optimize import Direction
from calibo.report import Story, Tradeoff
from calibo.report.page import headline, page
from calibo.report.sections import CONSTRAINT_SECTIONS, SECTIONS

Trade = Callable[..., Tradeoff]


def embedded(text: str) -> dict[str, Any]:
    """The figures inside a page, by the names of their elements."""
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    figures = json.loads(found.group(1))
    assert set(figures) == set(re.findall(r'<div class="figure" id="([^"]*)"', text))
    return figures


def test_all_parts_are_there(simulated: Tradeoff) -> None:
    text = page(simulated, script="")
    figures = embedded(text)
    assert {"pareto-front", "hypervolume", "feasibility"} <= set(figures)
    for k in range(3):
        names = {section.name for section in SECTIONS} - {"fan"}
        assert {n.removeprefix(f"objective-{k}-") for n in figures if n.startswith(f"objective-{k}-")} == names
    for k in range(2):
        names = {section.name for section in CONSTRAINT_SECTIONS}
        assert {n.removeprefix(f"constraint-{k}-") for n in figures if n.startswith(f"constraint-{k}-")} == names
    for story in simulated.outcomes:
        for sentence in story.calibration.sentences():
            assert sentence[1:] in text
        assert f"Forecast report card: {story.title}" in text
    assert text.count('<details class="card outcome">') == 5
    assert "Pareto-optimal trials" in text and "Best parameters" not in text
    assert (
        "method cbo · loss minimized · speed maximized · cost minimized · 2 constraints · 45 trials · 2 failed" in text
    )


def test_axes_of_the_outcomes_say_what_is_wanted(simulated: Tradeoff) -> None:
    figures = embedded(page(simulated, script=""))
    titles = [
        figures[f"{k}-forecast-card"]["layout"]["yaxis"]["title"]["text"] for k in ("objective-1", "constraint-0")
    ]
    assert titles == ["speed (larger is better)", "memory (met at or below 0)"]
    assert figures["constraint-0-forecast-card"]["layout"]["shapes"][0]["y0"] == 0
    assert figures["objective-0-best-so-far"]["layout"]["yaxis"]["title"]["text"] == "loss (smaller is better)"
    assert figures["objective-0-coverage-over-time"]["layout"]["yaxis"]["title"]["text"] == "share inside the interval"


def test_a_fan_where_there_is_a_model(simulated: Tradeoff, real: Story) -> None:
    first = replace(simulated.objectives[0], slices=real.slices)
    told = replace(simulated, objectives=(first, *simulated.objectives[1:]))
    assert [name for name in embedded(page(told, script="")) if name.endswith("fan")] == ["objective-0-fan"]


def test_the_headline_of_a_front(trade: Trade, simulated: Tradeoff) -> None:
    said = headline(simulated)
    assert said.startswith(f"The Pareto front has {len(simulated.front)} trials, out of 43 results, of which ")
    assert "Its hypervolume is " in said and said.endswith(simulated.feasibility.headline())
    assert headline(trade([[1.0, 2.0], [2.0, 1.0]], distributions=[None] * 2)) == (
        "The Pareto front has 2 trials, out of 2 results. Its hypervolume is 0.21. "
        "Can the intervals be believed? Too early to say for objective 0 and objective 1."
    )
    assert headline(trade([[], []])).startswith("No trial has a value yet. ")
    assert headline(trade([[1.0], [1.0]], [[1.0]])).startswith(
        "None of 1 result meets all constraints yet, so there is no Pareto front. "
    )
    assert "the hypervolume is 0." in headline(trade([[1.0], [1.0]], reference=(0.0, 0.0)))
    assert "too large for a computer" in headline(trade([[1e300, -1e300], [-1e300, 1e300]]))


def test_each_objective_gets_its_own_answer(trade: Trade) -> None:
    rng = np.random.default_rng(3)
    right, tiny = rng.standard_normal(60).tolist(), [0.0] * 60
    narrow = (3.0 * rng.standard_normal(60)).tolist()
    told = trade([right, narrow, tiny, right], names=("a", "b", "c", "d"))
    assert (
        "Can the intervals be believed? So far yes for a and d; no for b (too narrow); "
        "yes for c, but they are wider than they need to be." in headline(told)
    )


def test_one_objective_with_constraints(trade: Trade) -> None:
    told = trade([[1.0, 2.0, 3.0, None]], [[1.0, -1.0, 0.0, None]], names=("loss",))
    text = page(told, script="")
    assert headline(told).startswith("Smallest value that meets all constraints: 2 (2 of 3 results do). ")
    assert "Best parameters" in text and "Pareto" not in text
    figures = embedded(text)
    assert not {"pareto-front", "hypervolume"} & set(figures) and "feasibility" in figures
    assert '<details class="card outcome" open>' in text
    names = [trace["name"] for trace in figures["objective-0-best-so-far"]["data"]]
    assert "constraints not met" in names
    largest = trade([[1.0, 2.0, 3.0, None]], [[1.0, -1.0, 0.0, None]], directions=(Direction.MAXIMIZE,))
    assert headline(largest).startswith("Largest value that meets all constraints: 3 ")
    nobody = trade([[1.0]], [[1.0]])
    assert headline(nobody).startswith("None of 1 result meets all constraints yet. ")
    assert "No result meets all constraints yet." in page(nobody, script="")
    assert headline(trade([[]], [[]])).startswith("No trial has a value yet. ")


def test_one_objective_alone_is_an_ordinary_story(tell: Callable[..., Story]) -> None:
    story = tell([3.0, 1.0, None], title="value")
    told = Tradeoff(title="Study", method="turbo", objectives=(story,))
    assert page(told, script="") == page(replace(story, title="Study", method="turbo"), script="")
    assert headline(told) == headline(story)


@pytest.mark.parametrize("evil", ['"><img onerror=x><script>alert(1)</script>', "</title></script> a & b"])
def test_users_text_is_escaped(trade: Trade, evil: str) -> None:
    params = tuple({evil: evil} for _ in range(6))
    more = dict(title=evil, method=evil, params=params, limits=(evil,))
    for count, limits in ((1, [0.0] * 6), (3, [0.0, 1.0] * 3)):
        values = [[0.1 * i for i in range(6)], [-0.1 * i for i in range(6)], [0.0] * 6][:count]
        text = page(trade(values, [limits], names=(evil,) * count, **more), script="")
        found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', text, re.DOTALL)
        assert found is not None
        markup = text.replace(found.group(1), "")
        assert evil not in markup and "<" not in found.group(1)
        assert markup.count("<script") == 3 and markup.count("</script") == 3
        shown = json.dumps([_texts(figure) for figure in embedded(text).values()])
        assert "<img" not in shown and "<script" not in shown


def _texts(figure: dict[str, Any]) -> list[Any]:
    """All that a figure shows as text and reads as a dialect of HTML."""
    axes = [figure["layout"].get(axis, {}).get("title", {}).get("text") for axis in ("xaxis", "yaxis")]
    menus = [b["label"] for menu in figure["layout"].get("updatemenus", []) for b in menu["buttons"]]
    return [axes, menus, [[trace.get("name"), trace.get("customdata")] for trace in figure["data"]]]


def test_two_thousand_trials_of_many_outcomes_stay_small() -> None:
    rng, n = np.random.default_rng(0), 2000
    params = tuple({f"parameter_{j}": v for j, v in enumerate(row)} for row in rng.random((n, 8)).tolist())

    def outcome(title: str, shift: float) -> Story:
        values = tuple((rng.standard_normal(n) + shift).tolist())
        forecasts = (Forecast((Marginal(shift, 0.5), Marginal(shift, 1.0))),) * n
        told = dict(title=title, method="ocbo", direction=Direction.MINIMIZE, numbers=tuple(range(n)))
        return Story(**told, params=params, values=values, forecasts=forecasts)  # pyright: ignore[reportArgumentType]

    objectives = tuple(outcome(f"objective {k}", 0.0) for k in range(3))
    told = Tradeoff(title="Large", method="ocbo", objectives=objectives, constraints=(outcome("limit", -1.0),))
    text = page(told, script="")
    assert len(text.encode()) < 1_300_000  # less than a third of the script that draws it
    assert "600 of 2000 results are drawn" in text


def test_extreme_and_degenerate_studies(trade: Trade) -> None:
    huge = [1e300, -1e300, 1e308, 5.0, None]
    stories = [
        trade([huge, huge[::-1]], [[-1e300, -1.0, 0.0, 1e300, None]], distributions=[Marginal(0.0, 1e308)] * 5),
        trade([[0.0] * 12] * 2, [[0.0] * 12], distributions=[Marginal(0.0, 0.0)] * 12),
        trade([[], []], [[]]),
        trade([[1.0], [1e-300]]),
        trade([[1.0], [2.0], [3.0], [4.0]], [[1.0]]),
        trade([[1.0, 2.0, 3.0]] * 2, [[0.0] * 3], distributions=[None] * 3),
    ]
    for told in stories:
        embedded(page(told, script=""))
