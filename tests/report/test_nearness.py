"""Results near a slice: measured in fractions of the ranges, and placed on its axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from calibo.distributions import Gaussian
from calibo.optimize.slices import Slice
from calibo.report import Story
from calibo.report.nearness import distances, incumbent_position, nearby, position

GRID = np.linspace(0.0, 10.0, 21).tolist()


def _slice(name: str, values: Sequence[Any]) -> Slice:
    g = len(values)
    distribution = Gaussian(np.zeros(g), np.ones(g))
    return Slice(name, tuple(values), distribution, distribution, np.zeros(g))


def _story(tell: Callable[..., Story], points: Sequence[dict[str, Any]], *slices: Slice, values: Any = None) -> Story:
    """The first point is the best one."""
    return tell([float(i) for i in range(len(points))] if values is None else values, params=points, slices=slices)


def test_distances_are_fractions_of_the_slices_range(tell: Callable[..., Story]) -> None:
    points = tuple({"x": x, "y": y} for x, y in ((5.0, 1.0), (6.0, 3.0), (0.0, 1.0)))
    off = distances(_story(tell, points, _slice("x", GRID)))
    np.testing.assert_allclose(off["x"], [0.0, 0.1, 0.5])
    np.testing.assert_allclose(off["y"], [0.0, 1.0, 0.0])  # without a slice, of the range of what was tried


def test_distances_on_a_logarithmic_axis(tell: Callable[..., Story]) -> None:
    points = tuple({"x": x} for x in (1e-2, 1e-1, 1e-4, 1.0))
    off = distances(_story(tell, points, _slice("x", np.geomspace(1e-4, 1.0, 30).tolist())))
    np.testing.assert_allclose(off["x"], [0.0, 0.25, 0.5, 0.5])


def test_a_choice_is_the_same_or_not(tell: Callable[..., Story]) -> None:
    points = tuple({"c": c} for c in (1, True, "a", 1, None))
    assert distances(_story(tell, points))["c"].tolist() == [0.0, 1.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("values", "off"),
    [([3.0, 3.0, 3.0], [0.0, 0.0, 0.0]), ([-1.7e308, 1.7e308, 0.0], [0.0, 1.0, 0.5]), ([0.0, 5e-324], [0.0, 0.0])],
    ids=["constant", "huge", "tiny"],
)
def test_degenerate_ranges(tell: Callable[..., Story], values: list[float], off: list[float]) -> None:
    found = distances(_story(tell, tuple({"x": x} for x in values)))["x"]
    np.testing.assert_allclose(found, off)


def test_beyond_the_slice_is_as_far_as_can_be(tell: Callable[..., Story]) -> None:
    off = distances(_story(tell, tuple({"x": x} for x in (2.0, 40.0)), _slice("x", GRID)))
    assert off["x"].tolist() == [0.0, 1.0]


def test_nothing_tried_nothing_measured(tell: Callable[..., Story]) -> None:
    story = tell([None], slices=(_slice("x", GRID),))
    assert distances(story) == {}
    assert nearby(story, story.slices[0], {}) == []
    assert incumbent_position(story, story.slices[0]) is None


def test_the_near_ones_nearest_first_and_without_the_failed(tell: Callable[..., Story]) -> None:
    points = tuple({"x": float(i), "y": y} for i, y in enumerate((5.0, 6.0, 8.0, 5.5, 5.1)))
    story = _story(tell, points, _slice("x", GRID), _slice("y", GRID), values=[0.0, 1.0, 2.0, 3.0, None])
    off = distances(story)
    # Along x only the distance in y counts: 0, 0.1, 0.3 and 0.05 of its range, of which 0.12 is near.
    assert nearby(story, story.slices[0], off) == [(0.0, 0), (3.0, 3), (1.0, 1)]
    assert [i for _, i in nearby(story, story.slices[1], off)] == [0, 1]


def test_the_mean_over_the_other_parameters_decides(tell: Callable[..., Story]) -> None:
    points = ({"x": 1.0, "y": 5.0, "z": 5.0}, {"x": 2.0, "y": 7.0, "z": 5.0}, {"x": 3.0, "y": 7.0, "z": 6.0})
    story = _story(tell, points, *(_slice(name, GRID) for name in "xyz"))
    assert nearby(story, story.slices[0], distances(story)) == [(1.0, 0), (2.0, 1)]


def test_no_more_are_drawn_than_can_be_seen(tell: Callable[..., Story]) -> None:
    story = _story(tell, tuple({"x": i / 20} for i in range(200)), _slice("x", GRID))
    assert len(nearby(story, story.slices[0], distances(story))) == 60


def test_positions() -> None:
    line, choices = _slice("x", GRID), _slice("c", ["a", 1, True, None])
    assert position(line, 2.5) == 2.5
    assert position(line, "a") is None and position(line, None) is None and position(line, True) is None
    assert [position(choices, one) for one in ("a", 1, True, None, "b", False)] == [0, 1, 2, 3, None, None]


def test_the_best_point_has_its_position(tell: Callable[..., Story]) -> None:
    story = _story(tell, ({"x": 2.0, "c": "b"}, {"x": 3.0, "c": "a"}))
    assert incumbent_position(story, _slice("x", GRID)) == 2.0
    assert incumbent_position(story, _slice("c", ["a", "b"])) == 1
    assert incumbent_position(story, _slice("gone", GRID)) is None
