"""The law between the quantiles that a regression says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri

from calibo.surrogates.quantile_law import normal_law, quantile_law
from calibo.surrogates.standardization import Standardization

LEVELS = np.array([0.1, 0.5, 0.9])
PLAIN = Standardization(1.0, 0.0, 1.0)


def test_quantiles_that_cross_are_rearranged() -> None:
    law = quantile_law(LEVELS, np.array([[0.5, -1.0, 0.0]]), PLAIN)
    np.testing.assert_allclose(law.values, [[-1.0, 0.0, 0.5]], atol=1e-5)


@pytest.mark.parametrize("units", [PLAIN, Standardization(1e6, 0.5, 1e-3)], ids=["standardised", "shifted"])
def test_no_law_is_a_point(units: Standardization) -> None:
    """Equal quantiles are spread by a millionth of the outcomes' standard deviation, in any units."""
    law = quantile_law(LEVELS, np.full((2, 3), 0.25), units)
    spread = np.diff(law.values, axis=-1) / (units.unit * units.scale)
    np.testing.assert_allclose(spread, 1e-6 * ndtri(0.9), rtol=1e-4)


def test_rounding_makes_no_quantile_fall() -> None:
    """So far from zero a millionth of the standard deviation is below the last bit."""
    law = quantile_law(LEVELS, np.random.default_rng(0).standard_normal((50, 3)), Standardization(1.0, 1e9, 1e-8))
    assert (np.diff(law.values, axis=-1) >= 0.0).all()


def test_without_a_regression_the_law_is_normal() -> None:
    law = normal_law(LEVELS, (2, 4), Standardization(2.0, 1.0, 3.0))
    np.testing.assert_allclose(law.values, np.broadcast_to(2.0 + 6.0 * ndtri(LEVELS), (2, 4, 3)))


def test_no_points_have_an_empty_law() -> None:
    for law in (normal_law(LEVELS, (0,), PLAIN), quantile_law(LEVELS, np.empty((0, 3)), PLAIN)):
        assert law.values.shape == (0, 3) and law.mean.shape == law.std.shape == (0,)
