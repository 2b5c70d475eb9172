"""Hypervolume over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibo import report
from calibo.report import Tradeoff
from calibo.report.volumes import reference_text

Trade = Callable[..., Tradeoff]
hypervolume_over_time: Any = report.hypervolume_over_time  # figures are too dynamic for a type checker


def test_the_line_is_the_volume_after_each_trial(simulated: Tradeoff) -> None:
    (line,) = hypervolume_over_time(simulated).data
    at = np.arange(1, len(simulated) + 1)
    heights = [line.y[np.searchsorted(line.x, k, side="right") - 1] for k in at]
    np.testing.assert_array_equal(heights, simulated.hypervolumes)
    assert line.line.shape == "hv"
    assert sum(size > 0 for size in line.marker.size) == np.sum(np.diff(simulated.hypervolumes, prepend=0.0) > 0)


def test_the_words(trade: Trade) -> None:
    values = [[1.0, 3.0, 9.0], [3.0, 1.0, 9.0]]
    given = hypervolume_over_time(trade(values, reference=(5.0, 5.0), names=("a<b", "c"))).layout
    assert given.title.subtitle.text == (
        "12 after 3 trials, 2 results added to it, the last one was trial 1. Reference point, as given: a&lt;b = 5, c = 5."
    )
    assert "inferred from the front as it is now" in hypervolume_over_time(trade(values)).layout.title.subtitle.text
    nothing = hypervolume_over_time(trade(values, reference=(0.0, 0.0)))
    assert nothing.layout.title.subtitle.text.startswith("No result is better than the reference point")
    assert list(nothing.data[0].y) == [0.0, 0.0]
    assert "larger is better" in given.yaxis.title.text
    assert reference_text(trade([[None], [None]])) == ""


def test_nothing_to_see(trade: Trade) -> None:
    for told, why in (
        (trade([[], []]), "no trial has a value"),
        (trade([[1.0], [1.0]], [[1.0]]), "no result meets all constraints"),
        (trade([[1e300, -1e300], [-1e300, 1e300]]), "too large"),
    ):
        assert why in hypervolume_over_time(told).layout.annotations[0].text


def test_one_trial(trade: Trade) -> None:
    (line,) = hypervolume_over_time(trade([[1.0], [2.0]])).data
    assert set(line.x) == {1} and len(set(line.y)) == 1
