"""The initial design: scrambled Sobol points, any of which can be had by its number."""

from __future__ import annotations

import numpy as np

from calibo.candidates.base import is_taken
from calibo.data import Array
from calibo.space import PoolSpace, ProductSpace, Space

#: Further points of the sequence looked at when one is taken already.
_SPARE = 64


def initial_size(d: int) -> int:
    """How many points are tried before a model is trusted with the choice: two per column, from 5 to 10."""
    return int(np.clip(2 * d, 5, 10))


def design_point(space: Space, *, seed: int, number: int, taken: Array) -> Array:
    """The ``number``-th point of the seed's scrambled Sobol sequence, d, or a later one if it is taken."""
    from scipy.stats import qmc

    d = _columns(space)
    sobol = qmc.Sobol(d, scramble=True, rng=np.random.default_rng([seed, 0x50B01]))
    if number:
        sobol.fast_forward(number)
    points = _snapped(space, sobol.random(1))
    if is_taken(points, taken)[0]:
        spare = _snapped(space, sobol.random(_SPARE))
        free = spare[~is_taken(spare, taken)]
        points = free if len(free) else points
    return points[0]


def _columns(space: Space) -> int:
    if isinstance(space, (ProductSpace, PoolSpace)):
        return len(space.categories)
    return space.sample(1, np.random.default_rng(0)).shape[1]


def _snapped(space: Space, U: Array) -> Array:
    return space.snap(U) if isinstance(space, (ProductSpace, PoolSpace)) else U
