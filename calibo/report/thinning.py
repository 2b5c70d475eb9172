"""Which of many trials a picture shows, so that a report stays small and quick to open."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

#: Up to so many trials, all are drawn.
MOST_TRIALS = 1000
#: With more, only so many are.
FEWER_TRIALS = 600
#: Points of a curve that nobody could tell apart.
CURVE_POINTS = 200


def evenly(count: int, most: int) -> npt.NDArray[np.intp]:
    """At most ``most`` of the indices 0, ..., count - 1, evenly spread, first and last among them."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.intp))


def thinned(count: int, keep: Sequence[int]) -> npt.NDArray[np.intp]:
    """Indices of the trials to be drawn, in order: all if they are few, else those to keep and some of the others.

    Args:
        count: How many trials there are.
        keep: Indices of the trials that matter most (misses); thinned too only where they alone are too many.
    """
    if count <= MOST_TRIALS:
        return np.arange(count)
    kept = np.asarray(sorted(keep), dtype=np.intp)
    others = np.setdiff1d(np.arange(count), kept)
    # A quarter of the room is for the others in any case, so that the picture is never of misses alone.
    kept = kept[evenly(kept.size, max(FEWER_TRIALS * 3 // 4, FEWER_TRIALS - others.size))]
    others = others[evenly(others.size, FEWER_TRIALS - kept.size)]
    return np.sort(np.concatenate([kept, others]))
