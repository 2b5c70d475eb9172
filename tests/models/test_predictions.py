"""Distinct points of batches, correlations, and distributions of quantiles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from calibo.models.predictions import distinct_points, normal_quantiles, quantile_distribution
from calibo.models.standardization import Standardization

LEVELS = np.array([0.1, 0.5, 0.9])
PLAIN = Standardization(1.0, 0.0, 1.0)


@pytest.mark.parametrize("shape", [(5, 2), (1, 3, 2), (7, 1, 2), (7, 4, 2), (2, 3, 4, 2), (0, 2), (0, 3, 2), (3, 0, 2)])
def test_points_and_index_give_the_sets(shape: tuple[int, ...]) -> None:
    X = np.random.default_rng(0).random(shape)
    points, index = distinct_points(X)
    np.testing.assert_array_equal(points[index], X)


def test_what_stands_in_every_set_is_there_once() -> None:
    rng = np.random.default_rng(0)
    own, shared = rng.random((50, 1, 3)), rng.random((4, 3))
    sets = np.concatenate([own, np.broadcast_to(shared, (50, 4, 3))], axis=1)
    points, index = distinct_points(sets)
    assert len(points) == 50 + 4
    np.testing.assert_array_equal(points[index], sets)


def test_quantiles_that_cross_are_rearranged() -> None:
    distribution = quantile_distribution(LEVELS, np.array([[0.5, -1.0, 0.0]]), PLAIN)
    np.testing.assert_allclose(distribution.values, [[-1.0, 0.0, 0.5]], atol=1e-5)


@pytest.mark.parametrize("units", [PLAIN, Standardization(1e6, 0.5, 1e-3)], ids=["standardised", "shifted"])
def test_no_distribution_is_a_point(units: Standardization) -> None:
    """Equal quantiles are spread by a millionth of the outcomes' standard deviation, in any units."""
    distribution = quantile_distribution(LEVELS, np.full((2, 3), 0.25), units)
    spread = np.diff(distribution.values, axis=-1) / (units.unit * units.scale)
    np.testing.assert_allclose(spread, 1e-6 * ndtri(0.9), rtol=1e-4)


def test_rounding_makes_no_quantile_fall() -> None:
    """So far from zero a millionth of the standard deviation is below the last bit."""
    distribution = quantile_distribution(
        LEVELS, np.random.default_rng(0).standard_normal((50, 3)), Standardization(1.0, 1e9, 1e-8)
    )
    assert (np.diff(distribution.values, axis=-1) >= 0.0).all()


def test_without_a_regression_it_is_normal() -> None:
    distribution = normal_quantiles(LEVELS, (2, 4), Standardization(2.0, 1.0, 3.0))
    np.testing.assert_allclose(distribution.values, np.broadcast_to(2.0 + 6.0 * ndtri(LEVELS), (2, 4, 3)))


def test_no_points_have_an_empty_distribution() -> None:
    for distribution in (normal_quantiles(LEVELS, (0,), PLAIN), quantile_distribution(LEVELS, np.empty((0, 3)), PLAIN)):
        assert distribution.values.shape == (0, 3) and distribution.mean.shape == distribution.std.shape == (0,)
