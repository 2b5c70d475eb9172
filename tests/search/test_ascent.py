"""Climbing: gradients against analytic ones, and the tops of known hills."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.search.ascent import ascend, central_differences

RNG = np.random.default_rng


def hill(X: np.ndarray) -> np.ndarray:
    return -np.square(X - 0.3).sum(axis=-1)


def wavy(X: np.ndarray) -> np.ndarray:
    return np.sin(7 * X[:, 0]) * np.cos(3 * X[:, 1]) + X[:, 2] ** 3


def test_gradients_against_the_analytic_ones_in_one_call() -> None:
    X = RNG(0).random((20, 3)) * 0.9 + 0.05
    X[0, 2], X[1, 2] = 0.0, 1.0  # one-sided at the bounds
    calls: list[np.ndarray] = []

    def counted(points: np.ndarray) -> np.ndarray:
        calls.append(points)
        return wavy(points)

    values, gradient = central_differences(counted, X, np.array([2, 0]))
    np.testing.assert_allclose(values, wavy(X))
    np.testing.assert_allclose(gradient[:, 0], 3 * X[:, 2] ** 2, atol=1e-4)
    np.testing.assert_allclose(gradient[:, 1], 7 * np.cos(7 * X[:, 0]) * np.cos(3 * X[:, 1]), atol=1e-8)
    assert [len(points) for points in calls] == [20 * 5] and calls[0].min() >= 0 and calls[0].max() <= 1


@pytest.mark.parametrize("d", [1, 2, 20])
def test_the_top_of_a_hill(d: int) -> None:
    X = RNG(0).random((4, d))
    np.testing.assert_allclose(ascend(hill, X, np.arange(d), 100), 0.3, atol=1e-4)
    border = ascend(lambda X: X[:, 0] - 2 * X[:, -1], X, np.arange(d), 50)
    np.testing.assert_allclose(border[:, [0, -1]], [[float(d > 1), 0.0]] * 4, atol=1e-9)


def test_each_start_climbs_a_hill() -> None:
    hills = lambda X: -np.square(np.square(X[:, 0] - 0.5) - 0.04)
    found = ascend(hills, np.array([[0.2], [0.25], [0.75], [0.9]]), np.arange(1), 100)
    np.testing.assert_allclose(np.abs(found - 0.5), 0.2, atol=1e-3)
    assert len(np.unique(found.round(2))) == 2


def test_columns_not_climbed_stay() -> None:
    X = RNG(0).random((5, 3))
    found = ascend(hill, X, np.array([1]), 50)
    np.testing.assert_array_equal(found[:, [0, 2]], X[:, [0, 2]])
    np.testing.assert_allclose(found[:, 1], 0.3, atol=1e-4)


def test_never_worse_than_the_start() -> None:
    X = RNG(0).random((8, 3))
    found = ascend(lambda x: np.sin(200 * x).sum(axis=-1), X, np.arange(3), 5)
    assert np.all(np.sin(200 * found).sum(axis=-1) >= np.sin(200 * X).sum(axis=-1))


@pytest.mark.parametrize("bad", [np.nan, -np.inf, np.inf])
def test_one_bad_start_does_not_stop_the_others(bad: float) -> None:
    def holed(X: np.ndarray) -> np.ndarray:
        return np.where(X[:, 0] > 0.95, bad, hill(X))

    found = ascend(holed, np.array([[0.99, 0.5], [0.8, 0.8], [0.1, 0.9]]), np.arange(2), 100)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[1:], 0.3, atol=1e-3)


@pytest.mark.parametrize(("scale", "offset"), [(1e-300, 0.0), (1e-9, 0.0), (1e290, 0.0), (1.0, 1e3), (1.0, 1e6)])
def test_hills_of_any_height_and_on_a_plateau(scale: float, offset: float) -> None:
    found = ascend(lambda X: offset + scale * hill(X), RNG(0).random((4, 2)), np.arange(2), 100)
    np.testing.assert_allclose(found, 0.3, atol=1e-2 if offset else 1e-3)


def test_nothing_to_climb() -> None:
    X = RNG(0).random((2, 2))
    assert ascend(hill, X, np.array([], dtype=int), 10) is X
    assert ascend(hill, X[:0], np.arange(2), 10).shape == (0, 2)
    np.testing.assert_array_equal(ascend(lambda x: np.zeros(len(x)), X, np.arange(2), 10), X)
