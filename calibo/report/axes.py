"""Axes of outcomes: their titles, which say what is wanted, and the stretch of them that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from calibo.report.ranges import Zoom, log_ticks, log_worthwhile, zoom
from calibo.report.story import Story
from calibo.report.words import safe, shortened


def outcome_name(story: Story) -> str:
    """An outcome's name, cut if it is too long, as a figure or a page shows it literally."""
    return safe(shortened(story.title))


def wanted(story: Story) -> str:
    """Which values of an objective are wanted, in words."""
    return "smaller is better" if story.direction.value < 0 else "larger is better"


def axis_title(story: Story) -> str:
    """Title of an objective's axis: "loss (smaller is better)"."""
    return f"{outcome_name(story)} ({wanted(story)})"


def scale(values: Sequence[float], others: Sequence[float]) -> dict[str, object]:
    """Kind of an axis: logarithmic if the values are worth it and nothing else that must be drawn forbids it.

    Args:
        values: The results drawn, n.
        others: What else must be seen.
    """
    if log_worthwhile(values) and all(v > 0.0 for v in others):
        return {"type": "log", "dtick": log_ticks(values)}
    return {"type": "linear", "dtick": None}


def close_view(values: Sequence[float], needed: Sequence[float]) -> Zoom | None:
    """A range of most results and all of what must be in view, or ``None`` if everything can as well be shown.

    Args:
        values: The results drawn, n.
        needed: What must be in view.
    """
    found = zoom(values)
    if found is None:
        return None
    pad = 0.05 * (found.high - found.low)
    low = min([found.low, *(v - pad for v in needed)])
    high = max([found.high, *(v + pad for v in needed)])
    return replace(found, low=low, high=high)
