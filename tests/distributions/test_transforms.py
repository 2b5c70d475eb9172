"""The transform of the lower tail: its inverse, derivatives and tangent, against scipy's and by differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import boxcox1p
from scipy.stats import yeojohnson

from calibo.distributions import HalfRank, LowerTailPower, OutcomeTransform, YeoJohnson
from calibo.errors import RecipeError

powers = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1e-9, 0.5, 1.0 - 1e-9, 1.0]))


@st.composite
def transforms(draw: st.DrawFn) -> OutcomeTransform:
    """Any power, unit and depth, and the transform of minus the outcome."""
    unit = 10.0 ** draw(st.integers(-90, 90))
    location = unit * draw(st.floats(-3.0, 3.0))
    whole = LowerTailPower(draw(powers), location, unit, location - unit * draw(st.floats(0.0, 50.0)))
    return whole.negated() if draw(st.booleans()) else whole


def inside(transform: OutcomeTransform) -> tuple[LowerTailPower, float]:
    """The transform itself, or the one inside, and its sign."""
    if isinstance(transform, LowerTailPower):
        return transform, 1.0
    return inside(transform.negated())[0], -1.0


def at(transform: OutcomeTransform, standard: float) -> tuple[float, float]:
    """An outcome so many units above the location, and the unit."""
    own, sign = inside(transform)
    return sign * own.location + own.scale * standard, own.scale


@given(power=powers, z=st.floats(-1e6, 1e6))
def test_the_definition(power: float, z: float) -> None:
    """Linear above; below, the one-parameter transform of Box and Cox turned upside down."""
    found = LowerTailPower(power, 0.0, 1.0, -1e7).forward(z)
    np.testing.assert_allclose(found, z if z >= 0.0 else -boxcox1p(-z, power), rtol=1e-6)


@given(transform=transforms(), standard=st.floats(-200.0, 200.0))
def test_the_inverse_undoes_it(transform: OutcomeTransform, standard: float) -> None:
    y, unit = at(transform, standard)
    back = transform.inverse(transform.forward(y))
    assert abs(float(back) - y) <= 1e-9 * (unit * (1.0 + abs(standard)) + abs(y))


@given(transform=transforms(), standard=st.floats(-100.0, 100.0))
def test_derivatives_are_those_of_differences(transform: OutcomeTransform, standard: float) -> None:
    own, sign = inside(transform)
    depth = (own.location - own.low) / own.scale
    # Away from the location and the lowest outcome, where the curvature jumps.
    standard += 1e-3 * (abs(standard) < 1e-4 or abs(sign * standard + depth) < 1e-4)
    y, unit = at(transform, standard)
    step = 1e-5 * unit
    above, below = transform.forward(y + step), transform.forward(y - step)
    slope = np.exp(transform.log_derivative(y)) * unit
    np.testing.assert_allclose((above - below) / 2e-5, slope, rtol=1e-4, atol=1e-8 * (1.0 + abs(float(above))))
    bend = (transform.log_derivative(y + step) - transform.log_derivative(y - step)) / 2e-5
    np.testing.assert_allclose(transform.curvature(y) * unit, bend, rtol=1e-4, atol=1e-8)


@given(transform=transforms(), standard=st.lists(st.floats(-100.0, 100.0), min_size=2, max_size=9, unique=True))
def test_it_increases(transform: OutcomeTransform, standard: list[float]) -> None:
    y = np.unique([at(transform, z)[0] for z in standard])
    assert (np.diff(transform.forward(y)) >= 0.0).all()


def test_it_is_linear_above_the_location_and_below_the_lowest_outcome() -> None:
    transform = LowerTailPower(0.0, 3.0, 2.0, -9.0)
    assert (transform.linear_above, transform.kinks) == (3.0, (-9.0,))
    np.testing.assert_allclose(transform.forward(np.array([3.0, 5.0, 103.0])), [0.0, 1.0, 50.0])
    lowest = -np.log1p(6.0)
    np.testing.assert_allclose(transform.forward(np.array([-9.0, -23.0])), [lowest, lowest - 1.0])
    np.testing.assert_array_equal(transform.curvature(np.array([-10.0, 3.1])), 0.0)
    assert transform.negated().linear_above == np.inf


def test_a_power_of_one_changes_the_unit_only() -> None:
    transform, y = LowerTailPower(1.0, 3.0, 2.0, -10.0), np.array([-40.0, 3.0, 7.0, 90.0])
    np.testing.assert_allclose(transform.forward(y), (y - 3.0) / 2.0)
    np.testing.assert_array_equal(transform.curvature(y), 0.0)


def test_minus_minus_the_outcome_is_the_outcome() -> None:
    transform = LowerTailPower(0.3, 1.0, 2.0, -5.0)
    assert transform.negated().negated() is transform
    y = np.linspace(-20.0, 20.0, 9)
    np.testing.assert_allclose(transform.negated().forward(-y), -transform.forward(y))


@pytest.mark.parametrize(
    "wrong", [(1.1, 0.0, 1.0, -1.0), (-0.1, 0.0, 1.0, -1.0), (0.5, 0.0, 0.0, -1.0), (0.5, 0.0, 1.0, 0.1)]
)
def test_wrong_settings_are_refused(wrong: tuple[float, ...]) -> None:
    with pytest.raises(RecipeError, match="the power must lie in"):
        LowerTailPower(*wrong)


@st.composite
def half_ranks(draw: st.DrawFn) -> HalfRank:
    """Knots at any distances, in any unit."""
    unit = 10.0 ** draw(st.integers(-90, 90))
    gaps = np.array(draw(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=8)))
    rises = np.array(draw(st.lists(st.floats(1e-2, 2.0), min_size=len(gaps), max_size=len(gaps))))
    location = unit * draw(st.floats(-3.0, 3.0))
    values = np.append(location - unit * np.cumsum(gaps)[::-1], location)
    return HalfRank(location, unit * draw(st.floats(0.1, 10.0)), values, np.append(-np.cumsum(rises)[::-1], 0.0))


class TestHalfRank:
    TRANSFORM = HalfRank(2.0, 4.0, np.array([-10.0, -1.0, 0.0, 2.0]), np.array([-1.5, -1.0, -0.5, 0.0]))

    def test_it_is_linear_above_the_location_and_between_the_knots(self) -> None:
        y = np.array([10.0, 2.0, 1.0, -0.5, -5.5, -10.0])
        np.testing.assert_allclose(self.TRANSFORM.forward(y), [2.0, 0.0, -0.25, -0.75, -1.25, -1.5])
        assert self.TRANSFORM.linear_above == 2.0 and not self.TRANSFORM.curvature(y).any()

    def test_below_the_lowest_knot_it_goes_on_with_the_slope_over_the_lowest_ones(self) -> None:
        slope = (0.0 + 1.5) / 12.0
        np.testing.assert_allclose(self.TRANSFORM.forward(-18.0), -1.5 - 8.0 * slope)

    @given(transform=half_ranks(), share=st.floats(-0.5, 1.5))
    def test_the_inverse_undoes_it(self, transform: HalfRank, share: float) -> None:
        y = transform.values[0] + share * (transform.location - transform.values[0])
        back = float(transform.inverse(transform.forward(y)))
        assert abs(back - y) <= 1e-8 * (np.ptp(transform.values) + abs(y))

    @given(transform=half_ranks())
    def test_the_steps_are_the_slopes_of_the_inverse(self, transform: HalfRank) -> None:
        steps = transform.slope_steps
        ends = np.concatenate([[steps.at[0] - 1.0], steps.at, [steps.at[-1] + 1.0]])
        slopes = np.diff(transform.inverse(ends)) / np.diff(ends)
        np.testing.assert_allclose(slopes, steps.slope, rtol=1e-6)

    def test_its_derivative_is_taken_over_neighbouring_knots(self) -> None:
        """So many to each side of the next knot above as the root of their number: here two of four."""
        np.testing.assert_allclose(np.exp(self.TRANSFORM.log_derivative(np.array([3.0, -0.5]))), [0.25, 1.5 / 12.0])

    @pytest.mark.parametrize(
        ("values", "scores", "scale"),
        [
            ([1.0, 1.0], [-1.0, 0.0], 1.0),
            ([0.0, 1.0], [-1.0, 0.5], 1.0),
            ([0.0, 1.0], [-1.0, 0.0], 0.0),
            ([1.0], [0.0], 1.0),
        ],
    )
    def test_knots_that_do_not_fit_are_refused(self, values: list[float], scores: list[float], scale: float) -> None:
        with pytest.raises(RecipeError, match="increasing knots that end at the location"):
            HalfRank(1.0, scale, np.array(values), np.array(scores))


class TestYeoJohnson:
    @given(power=st.one_of(st.floats(0.01, 1.99), st.sampled_from([0.0, 1.0, 2.0])), z=st.floats(-50.0, 50.0))
    def test_the_definition(self, power: float, z: float) -> None:
        found = YeoJohnson(power, 0.0, 1.0, -100.0, 100.0).forward(z)
        np.testing.assert_allclose(found, yeojohnson(np.array([z]), power)[0], rtol=1e-9, atol=1e-12)

    @given(power=st.floats(0.0, 2.0), unit=st.integers(-90, 90), z=st.floats(-40.0, 40.0))
    def test_the_inverse_undoes_it_and_derivatives_are_those_of_differences(
        self, power: float, unit: int, z: float
    ) -> None:
        scale = 10.0**unit
        transform = YeoJohnson(power, 3.0 * scale, scale, -7.0 * scale, 15.0 * scale)
        # Away from the places where the curvature is not smooth.
        z += 1e-3 * (min(abs(z), abs(z + 10.0), abs(z - 12.0)) < 1e-4)
        y, step = (3.0 + z) * scale, 1e-5 * scale
        assert abs(float(transform.inverse(transform.forward(y))) - y) <= 1e-8 * scale * (4.0 + abs(z))
        above, below = transform.forward(y + step), transform.forward(y - step)
        slope = np.exp(transform.log_derivative(y)) * scale
        np.testing.assert_allclose((above - below) / 2e-5, slope, rtol=1e-4, atol=1e-8 * (1.0 + abs(float(above))))
        bend = (transform.log_derivative(y + step) - transform.log_derivative(y - step)) / 2e-5
        np.testing.assert_allclose(transform.curvature(y) * scale, bend, rtol=1e-4, atol=1e-7)

    def test_it_is_linear_beyond_the_outcomes_seen(self) -> None:
        transform = YeoJohnson(0.0, 0.0, 1.0, -3.0, 7.0)
        assert (transform.linear_above, transform.kinks) == (7.0, (-3.0, 0.0))
        np.testing.assert_allclose(np.diff(transform.forward(np.array([7.0, 15.0]))), [1.0])
        np.testing.assert_array_equal(transform.curvature(np.array([-3.1, 7.1])), 0.0)

    @pytest.mark.parametrize(
        "wrong", [(2.1, 0.0, 1.0, -1.0, 1.0), (1.0, 0.0, 0.0, -1.0, 1.0), (1.0, 2.0, 1.0, -1.0, 1.0)]
    )
    def test_wrong_settings_are_refused(self, wrong: tuple[float, ...]) -> None:
        with pytest.raises(RecipeError, match=r"the power must lie in \[0, 2\]"):
            YeoJohnson(*wrong)
