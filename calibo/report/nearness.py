"""Which results lie near a slice, and where on it: so that a fan is seen together with what it was learnt from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibo.data import Array
from calibo.report.ranges import few_choices, log_spaced, numeric
from calibo.report.story import Story

if TYPE_CHECKING:
    from calibo.optimize.slices import Slice

#: How far, on average over the other parameters and as a fraction of their ranges, a result may be off the slice.
_NEAR = 0.12
#: At most so many results are drawn.
_MOST = 60


def distances(story: Story) -> dict[str, Array]:
    """For each parameter, how far the finished trials are from the best point, as fractions of its range, in [0, 1]."""
    return {name: _distances(story, name) for name in story.best_params or ()}


def nearby(story: Story, piece: Slice, off: dict[str, Array]) -> list[tuple[Any, int]]:
    """The results near a slice: where each stands on its axis, and the trial's index; nearest first.

    Args:
        story: What is told.
        piece: The slice.
        off: What ``distances`` gives.
    """
    others = [column for name, column in off.items() if name != piece.name]
    distance = np.mean(others, axis=0) if others else np.zeros(len(story.finished))
    order = [k for k in np.argsort(distance, kind="stable").tolist() if distance[k] <= _NEAR]
    found = ((position(piece, story.params[i].get(piece.name)), i) for i in (story.finished[k] for k in order[:_MOST]))
    return [(x, i) for x, i in found if x is not None]


def position(piece: Slice, value: Any) -> Any:
    """Where a value stands on the slice's axis: a choice by its index, else as it is; ``None`` if it does not."""
    if not few_choices(piece.values):
        return value if numeric([value]) else None
    return next((k for k, choice in enumerate(piece.values) if _same(choice, value)), None)


def incumbent_position(story: Story, piece: Slice) -> Any:
    """Where the best point stands on the slice's axis, or ``None``."""
    return None if story.best_params is None else position(piece, story.best_params.get(piece.name))


def _distances(story: Story, name: str) -> Array:
    here = (story.best_params or {}).get(name)
    values: list[Any] = [story.params[i].get(name) for i in story.finished]
    grid: Sequence[Any] = next((piece.values for piece in story.slices if piece.name == name), values)
    if not (numeric([here]) and numeric(values) and numeric(grid)):
        return np.array([0.0 if _same(value, here) else 1.0 for value in values])
    ends = np.array([min(grid, default=0.0), max(grid, default=0.0)], dtype=np.float64)
    at = np.array([*values, here], dtype=np.float64)
    if log_spaced(grid) and at.min() > 0:
        ends, at = np.log(ends), np.log(at)
    half = at / 2.0 - at[-1] / 2.0  # halves, since the difference of two values near 1e308 would overflow
    length = ends[1] / 2.0 - ends[0] / 2.0
    return np.clip(np.abs(half[:-1]) / length, 0.0, 1.0) if length > 0 else np.zeros(len(values))


def _same(one: Any, other: Any) -> bool:
    """Equal and of one kind: True is not the choice 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
