"""Distributions side by side: each point keeps its own numbers, in the order that is asked for."""

from __future__ import annotations

import numpy as np

from calibo.distributions import Gaussian, QuantileTable, Stacked, stacked

NORMAL = Gaussian(np.array([0.0, 2.0]), np.array([1.0, 0.5]))
TABLE = QuantileTable(
    np.array([0.1, 0.5, 0.9]), np.array([[-1.0, 0.0, 2.0], [3.0, 3.5, 4.0], [0.0, 1.0, 2.0]]), (0.1, 0.9)
)
ORDER = np.array([4, 0, 3, 1])


def test_every_point_keeps_its_distribution() -> None:
    both = stacked([NORMAL, TABLE], ORDER)
    assert isinstance(both, Stacked) and both.backed == (0.1, 0.9)
    y = np.array([0.7, -0.3, 3.6, 2.2])
    parts = [(TABLE, 2), (NORMAL, 0), (TABLE, 1), (NORMAL, 1)]
    for name in ("cdf", "normal_scores"):
        expected = [getattr(part, name)(value)[i] for (part, i), value in zip(parts, y, strict=True)]
        np.testing.assert_array_equal(getattr(both, name)(y), expected)
        np.testing.assert_array_equal(getattr(both, name)(0.4), [getattr(part, name)(0.4)[i] for part, i in parts])
    for name in ("mean", "std", "median"):
        np.testing.assert_array_equal(getattr(both, name), [getattr(part, name)[i] for part, i in parts])
    levels = np.array([0.05, 0.5, 0.8])
    values = both.over_samples().at_levels(levels[:, None])
    np.testing.assert_array_equal(values, [[part.at_levels(u)[i] for part, i in parts] for u in levels])
    np.testing.assert_array_equal(both.icdf(0.05), [part.icdf(0.05)[i] for part, i in parts])
    np.testing.assert_allclose(both.negated().icdf(0.3), -both.icdf(0.7))


def test_gaussians_stay_gaussian_and_one_part_stays_itself() -> None:
    found = stacked([NORMAL, NORMAL], np.array([3, 0]))
    assert isinstance(found, Gaussian)
    np.testing.assert_array_equal(found.mean, [2.0, 0.0])
    assert stacked([TABLE]) is TABLE and stacked([TABLE], np.arange(3)) is TABLE
