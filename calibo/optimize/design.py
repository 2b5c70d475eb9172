"""The initial design: Sobol points, each determined by its number."""

from __future__ import annotations

import numpy as np

from calibo.data import Array
from calibo.search.base import coincides, new_point
from calibo.search.sobol import sobol_points
from calibo.spaces import Space

#: Further points of the sequence that are tried if one must be avoided.
_SPARE = 64


def initial_size(d: int) -> int:
    """Return the default size of the initial design: two points per column, from 5 to 10."""
    return int(np.clip(2 * d, 5, 10))


def design_point(space: Space, *, seed: int, number: int, avoid: Array) -> Array:
    """Return the ``number``-th point of the seed's Sobol sequence, `d`; if it must be avoided, a later or a random one."""
    rng = np.random.default_rng([seed, number])
    numbers = range(number, number + _SPARE)
    points = space.spread(sobol_points(numbers, space.dimension, seed=seed), numbers, seed=seed)
    free = points[~coincides(points, avoid)]
    return free[0] if len(free) else new_point(space, avoid, rng, otherwise=lambda: points[0])
