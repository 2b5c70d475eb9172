"""Which of many data stand for all of them."""

from __future__ import annotations

import numpy as np

from calibo.data import Array, Rows

#: Share of a representative subset that is taken from the best outcomes.
_BEST = 0.25
#: Up to this many data each of them is left out once, of more only so many.
_ALL_LEFT_OUT, _LEFT_OUT = 1000, 200
#: Points that are hashed at a time.
_AT_A_TIME = 4096
#: Multipliers of the hash of a point (those of SplitMix64).
_GOLDEN, _FIRST, _SECOND = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def representative(X: Array, y: Array, most: int) -> Rows:
    """Return at most ``most`` rows that stand for all data, increasing: the best quarter of them, the rest at random.

    Where a search has been matters most to it, and a random choice is as dense as the data are. The choice is by the points
    themselves and not by a generator, so that it does not depend on the order of the data, and hardly changes when a few
    are added.

    Args:
        X: `n x d` points.
        y: Outcomes, n, larger is better.
        most: Size of the subset.
    """
    if len(y) <= most:
        return np.arange(len(y))
    keys, count = point_keys(X), int(_BEST * most)
    best = np.empty(0, dtype=np.intp)
    if count:
        # Only those that may be among the best are sorted; ties are broken by the points.
        high = np.flatnonzero(y >= np.partition(y, len(y) - count)[len(y) - count])
        best = high[np.lexsort((keys[high], -y[high]))[:count]]
    rest = np.ones(len(y), dtype=bool)
    rest[best] = False
    others = np.flatnonzero(rest)
    drawn = others[np.argpartition(keys[others], most - count - 1)[: most - count]]
    return np.sort(np.concatenate([best, drawn]))


def point_keys(X: Array) -> np.ndarray:
    """Return pseudo-random whole numbers, n, that depend on the coordinates of `n x d` points alone."""
    # A sum with odd factors that differ by column, then mixed as by SplitMix64.
    factors = _mixed(_GOLDEN * np.arange(1, X.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    keys = np.empty(len(X), dtype=np.uint64)
    # Some at a time, which stay in the processor's cache.
    for start in range(0, len(X), _AT_A_TIME):
        some = slice(start, start + _AT_A_TIME)
        # Zeros of either sign are the same coordinate.
        bits = np.ascontiguousarray(X[some] + 0.0).view(np.uint64)
        keys[some] = _mixed(bits @ factors)
    return keys


def _mixed(keys: np.ndarray) -> np.ndarray:
    """Return whole numbers every bit of which depends on every bit of those given."""
    keys = (keys ^ (keys >> np.uint64(30))) * _FIRST
    keys = (keys ^ (keys >> np.uint64(27))) * _SECOND
    return keys ^ (keys >> np.uint64(31))


def left_out_rows(n: int) -> Rows:
    """Return which of n data are predicted from the others to learn how well a model predicts, increasing.

    All of them up to 1,000; of more, 200 evenly spread, since each costs as much as any other prediction.
    """
    return np.arange(n) if n <= _ALL_LEFT_OUT else np.linspace(0, n - 1, _LEFT_OUT).round().astype(np.intp)
