"""Outcomes of any size become standard ones and come back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.errors import DataError
from calibo.models.standardization import Standardization, all_alike, single_outcome

outcomes = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8).map(np.array)


@given(outcomes)
def test_there_and_back(y: np.ndarray) -> None:
    units = Standardization.of(y)
    np.testing.assert_allclose(units.backward(units.forward(y)), y, rtol=1e-12, atol=1e-12 * np.abs(y).max())


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e30, 1e300])
def test_mean_zero_and_variance_one_at_any_scale(scale: float) -> None:
    y = scale * np.array([1.0, 2.0, -0.5, 0.0])
    z = Standardization.of(y).forward(y)
    assert z.mean() == pytest.approx(0.0, abs=1e-12) and z.std() == pytest.approx(1.0)


@pytest.mark.parametrize("y", [[5.0], [0.0], [1e300] * 3, [-1e-300] * 4, [0.0] * 3, [5e-324]])
def test_equal_outcomes_get_a_usable_scale(y: list[float]) -> None:
    units = Standardization.of(np.array(y))
    np.testing.assert_allclose(units.forward(np.array(y)), 0.0, atol=1e-12)
    assert units.scale > 0 and units.unit > 0
    assert float(units.backward_std(np.array(1e-9))) > 0


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e12, 1e300])
def test_outcomes_that_differ_by_rounding_are_alike(scale: float) -> None:
    y = scale * np.array([1.0, 1.0 + 4e-16, 1.0])
    assert all_alike(np.column_stack([y, np.zeros(3)])) and Standardization.of(y).scale == 1.0
    assert not all_alike(np.column_stack([y, y * np.array([1.0, 1.0, 1.0 + 1e-12])]))


def test_nothing_to_standardise() -> None:
    assert Standardization.of(np.array([])) == Standardization(1.0, 0.0, 1.0)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_variances_scale_with_the_square(scale: float) -> None:
    y = scale * np.array([0.0, 1.0, 3.0])
    units = Standardization.of(y)
    expected = (0.1 / np.std([0.0, 1.0, 3.0])) ** 2
    np.testing.assert_allclose(units.forward_variance(np.array([(0.1 * scale) ** 2])), expected, rtol=1e-9)
    assert np.isnan(units.forward_variance(np.array([np.nan]))[0])


def test_standard_deviations_never_vanish() -> None:
    units = Standardization.of(np.array([0.0, 1.0]))
    assert float(units.backward_std(np.array(0.0))) > 0
    assert float(units.backward_std(np.array(2.0))) == pytest.approx(1.0)


@given(st.integers(-20, 20), st.floats(-8, 8))
def test_an_affine_change_of_outcomes_leaves_the_standard_ones(power: int, shift: float) -> None:
    y = np.array([0.3, -1.2, 2.5, 0.9])
    changed = 2.0**power * (y + shift)
    np.testing.assert_allclose(
        Standardization.of(changed).forward(changed), Standardization.of(y).forward(y), atol=1e-12
    )


def test_one_outcome_at_a_time() -> None:
    np.testing.assert_array_equal(single_outcome(np.array([[1.0], [2.0]])), [1.0, 2.0])
    with pytest.raises(DataError, match="models one outcome, got 2"):
        single_outcome(np.zeros((3, 2)))
