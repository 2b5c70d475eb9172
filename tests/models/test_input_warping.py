"""Kumaraswamy's warping: a map of the unit interval onto itself, its derivatives, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.errors import RecipeError
from calibo.models import InputWarping
from calibo.models.gp_posterior import Features
from calibo.models.input_warping import WarpedFeatures

RNG = np.random.default_rng


@given(st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
def test_it_maps_the_interval_onto_itself_in_order(log_a: float, log_b: float) -> None:
    x = np.linspace(0.0, 1.0, 41)[:, None]
    w = WarpedFeatures((0,), Features((0,)), np.array([log_a]), np.array([log_b]))(x)[:, 0]
    assert w[0] == 0.0 and w[-1] == 1.0 and np.all(np.diff(w) >= 0.0)
    np.testing.assert_allclose(w, 1 - (1 - x[:, 0] ** np.exp(log_a)) ** np.exp(log_b), atol=1e-12)


def test_without_parameters_it_is_the_identity() -> None:
    X = np.vstack([np.zeros(3), np.ones(3), RNG(0).random((20, 3))])
    X[:, 1] = 0.5
    same = WarpedFeatures((0, 2, 0), Features((0, 2, 0)), np.zeros(2), np.zeros(2))
    np.testing.assert_allclose(same(X), Features((0, 2, 0))(X), rtol=1e-14)


def test_choices_and_points_outside_stay_as_they_are() -> None:
    warped = WarpedFeatures((0, 3, 0), Features((0, 3, 0)), np.array([0.5, 0.0]), np.array([0.0, 0.9]))
    X = np.array([[-0.2, 0.5, 1.3], [0.4, 0.9, 0.6]])
    plain, found = Features((0, 3, 0))(X), warped(X)
    np.testing.assert_array_equal(found[0], plain[0])
    np.testing.assert_array_equal(found[:, 1:4], plain[:, 1:4])
    assert (found[1, [0, 4]] != plain[1, [0, 4]]).all()
    np.testing.assert_array_equal(warped.numeric, [0, 2])
    np.testing.assert_array_equal(
        warped.pulled(np.zeros((1, 3)), np.zeros((1, 3)), np.arange(5.0)[None, :]), [[0.0, 4.0]]
    )


@given(st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
def test_derivatives_against_differences(log_a: float, log_b: float) -> None:
    x = np.array([[0.0], [1e-6], [0.2], [0.5], [0.93], [1.0], [1.4]])

    def warped(a: float, b: float) -> np.ndarray:
        return WarpedFeatures((0,), Features((0,)), np.array([a]), np.array([b]))(x)

    by_a, by_b = WarpedFeatures((0,), Features((0,)), np.array([log_a]), np.array([log_b])).derivatives(x)
    e = 1e-6
    np.testing.assert_allclose(by_a, (warped(log_a + e, log_b) - warped(log_a - e, log_b)) / (2 * e), atol=1e-7)
    np.testing.assert_allclose(by_b, (warped(log_a, log_b + e) - warped(log_a, log_b - e)) / (2 * e), atol=1e-7)


def test_the_prior_is_normal_around_the_identity() -> None:
    warping, raw, e = InputWarping(0.4), np.array([0.3, -0.2]), 1e-6
    value, gradient = warping.prior(raw)
    assert value == pytest.approx((0.09 + 0.04) / 0.32) and warping.prior(np.zeros(2))[0] == 0.0
    numeric = [(warping.prior(raw + s)[0] - warping.prior(raw - s)[0]) / (2 * e) for s in e * np.eye(2)]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6)
    assert warping.size((0, 3, 0)) == 4 and len(warping.bounds((0, 3, 0))) == 4


@pytest.mark.parametrize("spread", [0.0, -1.0, "wide"])
def test_a_spread_is_positive(spread: float) -> None:
    with pytest.raises(RecipeError, match="spread"):
        InputWarping(spread)
