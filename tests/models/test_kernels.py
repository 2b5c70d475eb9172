"""Kernels: their values, and the derivative the likelihood gradient is built from."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.models import RBF, Kernel, Matern32, Matern52
from calibo.models.kernels import squared_distances

KERNELS = [Matern52(), Matern32(), RBF()]
NAMES = ["matern52", "matern32", "rbf"]


@pytest.mark.parametrize("kernel", KERNELS, ids=NAMES)
def test_one_at_home_and_nothing_far_away(kernel: Kernel) -> None:
    s = np.array([0.0, 1.0, 4.0, 1e6])
    k = kernel.correlation(s)
    assert k[0] == 1.0 and np.all(np.diff(k) < 0) and k[-1] == 0.0 and np.isfinite(kernel.with_derivative(s)).all()


def test_known_values() -> None:
    r = np.sqrt(5.0) * 0.3
    assert Matern52().correlation(np.array(0.09)) == pytest.approx((1 + r + r * r / 3) * np.exp(-r))
    r = np.sqrt(3.0) * 0.3
    assert Matern32().correlation(np.array(0.09)) == pytest.approx((1 + r) * np.exp(-r))
    assert RBF().correlation(np.array(0.09)) == pytest.approx(np.exp(-0.045))


@pytest.mark.parametrize("kernel", KERNELS, ids=NAMES)
def test_derivative_is_minus_twice_the_slope(kernel: Kernel) -> None:
    s, e = np.linspace(0.01, 9, 50), 1e-6
    slope = (kernel.correlation(s + e) - kernel.correlation(s - e)) / (2 * e)
    value, derivative = kernel.with_derivative(s)
    np.testing.assert_allclose(value, kernel.correlation(s), rtol=1e-14)
    np.testing.assert_allclose(derivative, -2 * slope, rtol=1e-6, atol=1e-9)


def test_squared_distances_of_near_points_are_exact() -> None:
    A = np.array([[1.0, 1.0]])
    np.testing.assert_allclose(squared_distances(A, A + [[1e-9, 0.0]]), 1e-18, rtol=1e-6)
