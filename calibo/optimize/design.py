"""The initial design: Sobol points, any of which can be had by its number."""

from __future__ import annotations

import warnings

import numpy as np

from calibo.data import Array
from calibo.errors import RepeatWarning
from calibo.search.base import is_taken
from calibo.search.sobol import sobol_points
from calibo.search.untried import untried_point
from calibo.spaces import Space

#: Further points of the sequence looked at when one is taken already.
_SPARE = 64


def initial_size(d: int) -> int:
    """How many points are tried before a model is trusted with the choice: two per column, from 5 to 10."""
    return int(np.clip(2 * d, 5, 10))


def design_point(space: Space, *, seed: int, number: int, taken: Array) -> Array:
    """The ``number``-th point of the seed's Sobol sequence, d; if it is taken, a later one, or any that is not."""
    rng = np.random.default_rng([seed, number])
    points = space.repair(sobol_points(range(number, number + _SPARE), space.dimension, seed=seed))
    free = points[~is_taken(points, taken)]
    if len(free):
        return free[0]
    other = untried_point(space, taken, rng)
    if other is None:
        warnings.warn("every point of the space has been tried; suggesting one again", RepeatWarning, stacklevel=3)
        return points[0]
    return other
