"""Roots of many increasing functions at once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from calibo.data import Array
from calibo.distributions.root import increasing_root


def test_roots_of_cubics_elementwise() -> None:
    c = np.linspace(-50.0, 50.0, 101)
    root = increasing_root(
        lambda y: y**3 + y - c,
        lambda y, _: 3 * y**2 + 1,
        np.full(101, -10.0),
        np.full(101, 10.0),
        np.zeros(101),
        np.ones(101),
    )
    np.testing.assert_allclose(root**3 + root, c, atol=1e-11)


def test_normal_quantiles_from_a_bad_start() -> None:
    u = np.array([1e-12, 0.01, 0.5, 0.99, 1 - 1e-9])
    root = increasing_root(
        lambda y: ndtr(y) - u,
        lambda y, _: np.exp(-0.5 * y**2) / np.sqrt(2 * np.pi),
        *(np.full(5, -40.0), np.full(5, 40.0), np.full(5, 35.0), np.ones(5)),
    )
    np.testing.assert_allclose(root[1:], ndtri(u[1:]), atol=1e-6)
    np.testing.assert_allclose(root, ndtri(u), atol=1e-3)


@pytest.mark.parametrize("slope", [0.0, np.nan, np.inf, -1.0])
def test_a_useless_slope_leaves_bisection(slope: float) -> None:
    target = np.array([0.1, 0.7])

    def step(y: Array) -> Array:
        return np.where(y < target, -1.0, 1.0)

    root = increasing_root(step, lambda y, _: np.full(2, slope), np.zeros(2), np.ones(2), np.full(2, 0.5), np.ones(2))
    np.testing.assert_allclose(root, target, atol=1e-6)


def test_arguments_are_left_alone_and_shapes_kept() -> None:
    low, high, start = np.full((2, 3), -1.0), np.ones((2, 3)), np.full((2, 3), 5.0)
    root = increasing_root(lambda y: y - 0.25, lambda y, _: np.ones_like(y), low, high, start, np.ones((2, 3)))
    np.testing.assert_allclose(root, 0.25)
    assert (low == -1.0).all() and (high == 1.0).all() and (start == 5.0).all()
