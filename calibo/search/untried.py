"""A point that has not been tried yet, where the search itself came up with none."""

from __future__ import annotations

import numpy as np

from calibo.data import Array
from calibo.search.base import is_taken
from calibo.spaces import PoolSpace, ProductSpace

#: Points drawn before a small space is counted through.
_DRAWN = 1024


def untried_point(space: ProductSpace | PoolSpace, taken: Array, rng: np.random.Generator) -> Array | None:
    """A random point, d, that is not among ``taken``, t x d; ``None`` if the space has no other."""
    if isinstance(space, PoolSpace):
        return _drawn(space.X, taken, rng)
    found = _drawn(space.sample(_DRAWN, rng), taken, rng)
    if found is not None or space.size is None or space.size > 10 * (len(taken) + _DRAWN):
        return found
    grids = [column.position(np.arange(column.cells or 0)) for column in space.columns]
    every = np.stack([g.ravel() for g in np.meshgrid(*grids, indexing="ij")], axis=1)
    return _drawn(every[space.valid(every)], taken, rng)


def _drawn(points: Array, taken: Array, rng: np.random.Generator) -> Array | None:
    free = points[~is_taken(points, taken)]
    return free[rng.integers(len(free))] if len(free) else None
