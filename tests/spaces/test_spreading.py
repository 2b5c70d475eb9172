"""Sequences that fill sets evenly."""

from __future__ import annotations

import numpy as np

from calibo import Categorical, Float, Mixture, ProductSpace
from calibo.spaces.spreading import BLOCK

SPACE = ProductSpace({"m": Mixture(dict.fromkeys("abcd", (0, 1))), "x": Float(0, 1), "k": Categorical(["u", "v", "w"])})
NONE = np.empty((0, 6))


def test_each_point_is_determined_by_its_number() -> None:
    points = SPACE.spread(NONE, range(BLOCK + 20), seed=3)
    assert SPACE.valid(points).all() and len(np.unique(points, axis=0)) == len(points)
    for first, last in ((0, 5), (7, 9), (BLOCK - 2, BLOCK + 4)):
        np.testing.assert_array_equal(SPACE.spread(NONE, range(first, last), seed=3), points[first:last])
    assert not np.array_equal(SPACE.spread(NONE, range(5), seed=4), points[:5])


def test_sequences_are_more_even_than_random_points() -> None:
    def unevenness(points: np.ndarray) -> float:
        """Energy distance to many random points."""
        every = SPACE.sample(1500, np.random.default_rng(9))
        between = np.linalg.norm(points[:, None] - every[None], axis=2).mean()
        return float(2 * between - np.linalg.norm(points[:, None] - points[None], axis=2).mean())

    spread = [unevenness(SPACE.spread(NONE, range(16), seed=s)) for s in range(5)]
    drawn = [unevenness(SPACE.sample(16, np.random.default_rng(s))) for s in range(5)]
    assert max(spread) < np.median(drawn)


def test_choices_are_used_evenly() -> None:
    chosen = SPACE.spread(NONE, range(12), seed=0)[:, 5]
    assert sorted(np.unique(chosen, return_counts=True)[1].tolist()) == [4, 4, 4]
