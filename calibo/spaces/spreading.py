"""Sequences of points that fill any set evenly, each determined by its number.

Sobol points are even on a cube; what a projection makes of them on a simplex is not. Here each point of the sequence is the
one, among many random points of the set, that brings the distribution of the sequence nearest to that of all of them: a
greedy minimum of the energy distance (Mak and Joseph 2018 call its optima support points; the greedy sequence is kernel
herding, Chen et al. 2010).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from calibo.data import Array
from calibo.spaces.encoding import one_hot

#: Length of a sequence, after which another begins, and how many random points it is chosen from.
BLOCK, _CANDIDATES = 128, 512


def spread_points(
    numbers: range,
    sample: Callable[[int, np.random.Generator], Array],
    categories: Sequence[int],
    *,
    seed: int,
    known: dict[tuple[int, int], Array],
) -> Array:
    """Return points of the seed's sequence, len(numbers) x d.

    Args:
        numbers: Numbers of the points, from 0 on.
        sample: Draws feasible points: (count, generator) -> count x d.
        categories: Number of choices of each categorical column, 0 for a numeric one, d.
        seed: Determines the sequence.
        known: Sequences made before, by seed and block; new ones are added.
    """
    found: list[Array] = []
    for block in range(numbers.start // BLOCK, -(-numbers.stop // BLOCK)):
        first, last = max(numbers.start - block * BLOCK, 0), min(numbers.stop - block * BLOCK, BLOCK)
        if (seed, block) not in known:
            candidates = sample(_CANDIDATES, np.random.default_rng([seed, block, 0x5E7]))
            known[seed, block] = candidates[_herded(candidates, categories)]
        found.append(known[seed, block][first:last])
    return np.vstack(found)


def _herded(candidates: Array, categories: Sequence[int]) -> np.ndarray:
    """Return the numbers of the candidates, N x d, of one block, in the order in which they fill their set."""
    from scipy.spatial.distance import cdist

    # Two choices of a categorical column are 1 apart.
    nominal = np.repeat(np.array(categories) > 0, [max(1, k) for k in categories])
    points = one_hot(candidates, categories) * np.where(nominal, 0.5**0.5, 1.0)
    distances = cdist(points, points)
    potential, pull = distances.mean(axis=1), np.zeros(len(points))
    chosen = np.empty(BLOCK, dtype=np.intp)
    free = np.ones(len(points), dtype=bool)
    for t in range(BLOCK):
        chosen[t] = int(np.argmin(np.where(free, potential - pull / (t + 1.0), np.inf)))
        free[chosen[t]] = False
        pull += distances[chosen[t]]
    return chosen
