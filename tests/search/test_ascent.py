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


def test_gradient_against_the_analytic_one() -> None:
    X = RNG(0).random((20, 3)) * 0.9 + 0.05
    values, gradient = central_differences(wavy, X, np.arange(3))
    exact = np.column_stack(
        [
            7 * np.cos(7 * X[:, 0]) * np.cos(3 * X[:, 1]),
            -3 * np.sin(7 * X[:, 0]) * np.sin(3 * X[:, 1]),
            3 * X[:, 2] ** 2,
        ]
    )
    np.testing.assert_allclose(values, wavy(X))
    np.testing.assert_allclose(gradient, exact, atol=1e-8)


def test_some_columns_only_and_in_one_call() -> None:
    calls: list[int] = []

    def counted(X: np.ndarray) -> np.ndarray:
        calls.append(len(X))
        return wavy(X)

    _, gradient = central_differences(counted, RNG(0).random((4, 3)), np.array([2, 0]))
    assert gradient.shape == (4, 2) and calls == [4 * 5]


def test_one_sided_at_the_bounds() -> None:
    X = np.array([[0.0, 1.0, 0.0]])
    seen: list[np.ndarray] = []

    def watched(points: np.ndarray) -> np.ndarray:
        seen.append(points)
        return hill(points)

    _, gradient = central_differences(watched, X, np.arange(3))
    np.testing.assert_allclose(gradient, [[0.6, -1.4, 0.6]], atol=1e-4)
    assert seen[0].min() >= 0 and seen[0].max() <= 1


@pytest.mark.parametrize("d", [1, 2, 6, 20])
def test_the_top_of_a_hill(d: int) -> None:
    X = RNG(0).random((4, d))
    np.testing.assert_allclose(ascend(hill, X, np.arange(d), 100), 0.3, atol=1e-4)


def test_a_top_on_the_border() -> None:
    found = ascend(lambda X: X[:, 0] - 2 * X[:, 1], RNG(0).random((3, 2)), np.arange(2), 50)
    np.testing.assert_allclose(found, [[1.0, 0.0]] * 3, atol=1e-9)


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


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e-9, 1.0, 1e9, 1e290])
def test_hills_of_any_height(scale: float) -> None:
    found = ascend(lambda X: scale * hill(X), RNG(0).random((4, 2)), np.arange(2), 100)
    np.testing.assert_allclose(found, 0.3, atol=1e-3)


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_hills_on_a_plateau(offset: float) -> None:
    """Outcomes far from zero: what counts is the rise, not the height above the sea."""
    found = ascend(lambda X: offset + hill(X), RNG(0).random((4, 2)), np.arange(2), 100)
    np.testing.assert_allclose(found, 0.3, atol=1e-2)


def test_nothing_to_climb() -> None:
    X = RNG(0).random((2, 2))
    assert ascend(hill, X, np.array([], dtype=int), 10) is X
    assert ascend(hill, X[:0], np.arange(2), 10).shape == (0, 2)
    np.testing.assert_array_equal(ascend(lambda x: np.zeros(len(x)), X, np.arange(2), 10), X)
