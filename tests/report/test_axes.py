"""Axes of outcomes say what is wanted, and show what must be seen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from calibo.optimize import Direction
from calibo.report import Story
from calibo.report.axes import axis_title, close_view, outcome_name, scale, wanted


def test_titles_say_what_is_wanted(tell: Callable[..., Story]) -> None:
    assert axis_title(tell([1.0], title="loss")) == "loss (smaller is better)"
    assert axis_title(tell([1.0], title="a<b", direction=Direction.MAXIMIZE)) == "a&lt;b (larger is better)"
    assert wanted(tell([])) == "smaller is better"
    assert outcome_name(tell([], title="x" * 100)).endswith("…")


@pytest.mark.parametrize(
    ("values", "others", "kind"),
    [
        ([1.0, 1e4], [], "log"),
        ([1.0, 1e4], [2e4], "log"),
        ([1.0, 1e4], [0.0], "linear"),
        ([1.0, 10.0], [], "linear"),
        ([-1.0, 1e4], [], "linear"),
    ],
)
def test_the_scale(values: list[float], others: list[float], kind: str) -> None:
    assert scale(values, others)["type"] == kind


def test_a_close_view_has_all_that_must_be_seen() -> None:
    values = [*np.linspace(0.0, 1.0, 50).tolist(), 1e6]
    found = close_view(values, [-3.0, 2.5])
    assert found is not None and found.needed
    assert found.low < -3.0 and 2.5 < found.high < 10.0
    assert close_view(values[:-1], [0.5]) is None
