"""Utilities of an outcome over a threshold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.classifiers import Improvement, Power, Probability
from calibo.classifiers.utilities import checked_utilities
from calibo.errors import DataError, RecipeError

Y = np.array([-1.0, 0.0, 0.5, 2.0])


def test_values() -> None:
    np.testing.assert_array_equal(Improvement()(Y, 0.0), [0.0, 0.0, 0.5, 2.0])
    np.testing.assert_array_equal(Probability()(Y, 0.0), [0.0, 0.0, 1.0, 1.0])
    np.testing.assert_allclose(Power(2.0)(Y, 0.0) * 4.0, [0.0, 0.0, 0.25, 4.0])


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.floats(-1e6, 1e6))
def test_the_power_family_joins_both(outcomes: list[float], tau: float) -> None:
    y = np.array(outcomes)
    np.testing.assert_array_equal(Power(0.0)(y, tau), Probability()(y, tau))
    gain = Improvement()(y, tau)
    np.testing.assert_allclose(Power(1.0)(y, tau) * gain.max(), gain, rtol=1e-12, atol=1e-300)


def test_powers_of_huge_gains_are_finite() -> None:
    assert np.isfinite(Power(8.0)(np.array([1e300, -1e300, 3.0]), 0.0)).all()


@pytest.mark.parametrize("exponent", [-0.1, np.nan, np.inf])
def test_bad_exponents(exponent: float) -> None:
    with pytest.raises(RecipeError, match="exponent"):
        Power(exponent)


@pytest.mark.parametrize("utility", [lambda y, tau: y - tau, lambda y, tau: np.where(y > 1, np.inf, 0.0)])
def test_what_is_no_utility_is_named(utility: object) -> None:
    with pytest.raises(DataError, match="finite and not negative"):
        checked_utilities(utility, Y, 1.0)  # type: ignore[arg-type]


def test_a_utility_gives_one_value_for_each_outcome() -> None:
    with pytest.raises(DataError, match="must give 4 values"):
        checked_utilities(lambda y, tau: y[:2], Y, 1.0)
