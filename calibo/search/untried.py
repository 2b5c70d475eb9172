"""A point that has not been tried yet, where the search itself came up with none."""

from __future__ import annotations

import numpy as np

from calibo.data import Array
from calibo.search.base import is_taken
from calibo.spaces import Space

#: Points drawn before a small space is counted through.
_DRAWN = 1024


def untried_point(space: Space, taken: Array, rng: np.random.Generator) -> Array | None:
    """A random point, d, that is not among ``taken``, t x d; ``None`` if the space has no other."""
    if space.is_pool:
        every = space.enumerate()
        return None if every is None else _drawn(every, taken, rng)
    found = _drawn(space.sample(_DRAWN, rng), taken, rng)
    if found is not None or space.size is None or space.size > 10 * (len(taken) + _DRAWN):
        return found
    every = space.enumerate()
    return None if every is None else _drawn(every, taken, rng)


def _drawn(points: Array, taken: Array, rng: np.random.Generator) -> Array | None:
    free = points[~is_taken(points, taken)]
    return free[rng.integers(len(free))] if len(free) else None
