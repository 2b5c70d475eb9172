"""The spread of forecasts relative to the outcomes before: nothing depends on what comes later; and the groups by it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.data import FAR_ABOVE, NEAR_BELOW
from calibo.distributions import Gaussian
from calibo.distributions.relative_spread import groups_of, log_spread, log_spread_before, running_std

outcomes = st.lists(
    st.one_of(st.floats(-5, 5), st.sampled_from([0.0, 1.0, 1e-300, -1e300, 1e300, 1.7e308, -1.7e308, 1e13])),
    min_size=1,
    max_size=25,
).map(np.array)


def forecasts(y: np.ndarray) -> Gaussian:
    return Gaussian(np.zeros(len(y)), np.ones(len(y)))


#: Not so small that 1e-250 times as much would be none.
ordinary = st.floats(1e-40, 1e6) | st.floats(-1e6, -1e-40) | st.just(0.0)


@given(y=st.lists(ordinary, max_size=30).map(np.array), factor=st.sampled_from([1.0, 1e-250, 1e250]))
def test_standard_deviations_of_the_first_outcomes(y: np.ndarray, factor: float) -> None:
    expected = [0.0, *(float(np.std(y[: i + 1])) for i in range(len(y)))]
    size = float(np.max(np.abs(y), initial=0.0))
    np.testing.assert_allclose(running_std(factor * y) / factor, expected, rtol=1e-7, atol=1e-9 * size)


def test_a_small_spread_on_a_large_mean_is_not_lost() -> None:
    y = 1e8 + np.array([0.0, 1.0, 2.0, 3.0])
    assert running_std(y)[-1] == pytest.approx(np.std([0.0, 1.0, 2.0, 3.0]), rel=1e-6)
    np.testing.assert_array_equal(running_std(np.full(7, 0.1)), 0.0)


@settings(max_examples=200)
@given(y=outcomes, later=outcomes, cut=st.integers(0, 25))
def test_later_outcomes_do_not_change_earlier_reaches(y: np.ndarray, later: np.ndarray, cut: int) -> None:
    """Not even outcomes of another order of magnitude, and not by a last bit."""
    whole = np.concatenate([y[:cut], later])
    first = min(cut, len(y)) + 1
    changed = np.concatenate([y[:cut], -3.0 - 0.5 * later[::-1]])
    one, other = (log_spread_before(forecasts(v), v)[:first] for v in (whole, changed))
    np.testing.assert_array_equal(one, other)
    assert np.isfinite(log_spread_before(forecasts(whole), whole)).all()


def test_a_forecast_at_an_edge_belongs_to_the_nearer_group() -> None:
    spreads = np.log([1e-9, NEAR_BELOW, NEAR_BELOW * 1.01, FAR_ABOVE, FAR_ABOVE * 1.01])
    assert groups_of(spreads).tolist() == [0, 0, 1, 1, 2]
    assert groups_of(spreads, (0.5,)).tolist() == [0, 0, 0, 1, 1]


def test_without_a_scale_every_forecast_is_far() -> None:
    assert groups_of(log_spread(Gaussian(np.zeros(2), np.array([1e-9, 1.0])), 0.0)).tolist() == [2, 2]
