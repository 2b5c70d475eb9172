"""The power transform: its inverse, derivatives and tangents, against scipy's and by differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import boxcox1p

from calibo.distributions import OutcomeTransform, YeoJohnson
from calibo.distributions.transforms import inverse_power_transform, power_transform
from calibo.errors import RecipeError

powers = st.one_of(st.floats(0.0, 2.0), st.sampled_from([0.0, 1e-9, 0.5, 1.0, 2.0 - 1e-9, 2.0]))


@st.composite
def transforms(draw: st.DrawFn) -> OutcomeTransform:
    """Any power, unit and range, and the transform of minus the outcome."""
    unit = 10.0 ** draw(st.integers(-90, 90))
    low, high = sorted(draw(st.tuples(st.floats(-50.0, 50.0), st.floats(-50.0, 50.0))))
    location = unit * draw(st.floats(-3.0, 3.0))
    whole = YeoJohnson(draw(powers), location, unit, location + unit * low, location + unit * high)
    return whole.negated() if draw(st.booleans()) else whole


def unit_of(transform: OutcomeTransform) -> tuple[float, float]:
    """Location and unit of a transform, in its own sign."""
    if isinstance(transform, YeoJohnson):
        return transform.location, transform.scale
    location, scale = unit_of(transform.negated())
    return -location, scale


@given(power=powers, z=st.floats(-1e6, 1e6))
def test_the_definition_of_yeo_and_johnson(power: float, z: float) -> None:
    """By the one-parameter transform of Box and Cox on each side."""
    expected = boxcox1p(z, power) if z >= 0.0 else -boxcox1p(-z, 2.0 - power)
    found = power_transform(np.array([z]), power)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(inverse_power_transform(found, power), z, rtol=1e-6, atol=1e-12)


@given(transform=transforms(), standard=st.floats(-200.0, 200.0))
def test_the_inverse_undoes_it(transform: OutcomeTransform, standard: float) -> None:
    location, unit = unit_of(transform)
    y = location + unit * standard
    back = transform.inverse(transform.forward(y))
    assert abs(float(back) - y) <= 1e-7 * (unit * (1.0 + abs(standard)) + abs(location))


@given(transform=transforms(), standard=st.floats(-100.0, 100.0))
def test_derivatives_are_those_of_differences(transform: OutcomeTransform, standard: float) -> None:
    location, unit = unit_of(transform)
    # Away from the kinks, where the curvature jumps.
    kinks = [
        k for t in (transform, transform.negated()) if isinstance(t, YeoJohnson) for k in (t.low, t.high, t.location)
    ]
    standard += 1e-3 * any(abs(abs(location + unit * standard) - abs(k)) < 1e-4 * unit for k in kinks)
    y, step = location + unit * standard, 1e-5 * unit
    above, below = transform.forward(y + step), transform.forward(y - step)
    slope = np.exp(transform.log_derivative(y)) * unit
    np.testing.assert_allclose((above - below) / 2e-5, slope, rtol=1e-4, atol=1e-8 * (1.0 + abs(float(above))))
    bend = (transform.log_derivative(y + step) - transform.log_derivative(y - step)) / 2e-5
    np.testing.assert_allclose(transform.curvature(y) * unit, bend, rtol=1e-4, atol=1e-8)


@given(transform=transforms(), standard=st.lists(st.floats(-100.0, 100.0), min_size=2, max_size=9, unique=True))
def test_it_increases_and_is_linear_beyond_its_range(transform: OutcomeTransform, standard: list[float]) -> None:
    location, unit = unit_of(transform)
    y = np.unique(location + unit * np.sort(standard))
    assert (np.diff(transform.forward(y)) >= 0.0).all()
    if np.isfinite(transform.linear_above):
        beyond = transform.linear_above + unit * np.array([1.0, 2.0, 3.0])
        np.testing.assert_allclose(transform.curvature(beyond), 0.0)
        np.testing.assert_allclose(np.diff(transform.forward(beyond), 2), 0.0, atol=1e-6)


def test_a_power_of_one_changes_the_unit_only() -> None:
    transform, y = YeoJohnson(1.0, 3.0, 2.0, -10.0, 10.0), np.array([-40.0, 3.0, 7.0, 90.0])
    np.testing.assert_allclose(transform.forward(y), (y - 3.0) / 2.0)
    np.testing.assert_array_equal(transform.curvature(y), 0.0)


def test_minus_minus_the_outcome_is_the_outcome() -> None:
    transform = YeoJohnson(0.3, 1.0, 2.0, -5.0, 9.0)
    assert transform.negated().negated() is transform
    y = np.linspace(-20.0, 20.0, 9)
    np.testing.assert_allclose(transform.negated().forward(-y), -transform.forward(y))
    # A power and its mirror image: lambda becomes 2 - lambda.
    mirror = YeoJohnson(1.7, -1.0, 2.0, -9.0, 5.0)
    np.testing.assert_allclose(transform.negated().forward(y), mirror.forward(y), atol=1e-12)


@pytest.mark.parametrize(
    "wrong",
    [(2.1, 0.0, 1.0, 0.0, 1.0), (-0.1, 0.0, 1.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0, 1.0), (1.0, 0.0, 1.0, 2.0, 1.0)],
)
def test_wrong_settings_are_refused(wrong: tuple[float, ...]) -> None:
    with pytest.raises(RecipeError, match="the power must lie in"):
        YeoJohnson(*wrong)
