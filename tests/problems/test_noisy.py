"""Noisy problems: size and source of the noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calibo.data import Array
from calibo.errors import DataError, RecipeError
from calibo.problems import ackley, with_noise
from calibo.testing.randomness import global_state


def growing(X: Array) -> Array:
    """Noise that grows with the distance from the origin, as in the LOCBO paper."""
    return np.sqrt((np.linalg.norm(X, axis=1) + 1) / 10)


def test_noise_may_depend_on_the_point() -> None:
    noisy = with_noise(ackley(2, bound=10.0), growing)
    X = np.repeat([[0.0, 0.0], [6.0, 8.0]], 20_000, axis=0)
    errors = noisy(X, np.random.default_rng(1)) - noisy.problem(X)
    assert errors[:20_000].std() == pytest.approx(np.sqrt(0.1), rel=0.03)
    assert errors[20_000:].std() == pytest.approx(np.sqrt(1.1), rel=0.03)
    np.testing.assert_allclose(noisy.noise_std(X), growing(X))
    np.testing.assert_allclose(with_noise(ackley(2), 0.5).noise_std(X), 0.5)
    assert abs(errors[:20_000].mean()) < 0.01


def test_the_generator_is_all_the_randomness() -> None:
    noisy, X, before = with_noise(ackley(2), 1.0), np.ones((5, 2)), global_state()
    rng = np.random.default_rng(7)
    first = noisy(X, rng)
    np.testing.assert_array_equal(first, noisy(X, np.random.default_rng(7)))
    assert not np.array_equal(first, noisy(X, rng)) and global_state() == before


def test_the_problems_own_noise_is_the_default() -> None:
    assert with_noise(replace(ackley(2), noise_std=0.3)).std == 0.3
    X = np.ones((3, 2))
    np.testing.assert_array_equal(with_noise(ackley(2))(X, np.random.default_rng(0)), ackley(2)(X))


def test_objective_by_name() -> None:
    noisy = with_noise(ackley(2), 0.1)
    value = noisy.objective({"x0": 1.0, "x1": 2.0}, np.random.default_rng(4))
    assert value == noisy([[1.0, 2.0]], np.random.default_rng(4))[0]
    assert type(value) is float


def test_mistakes_are_explained() -> None:
    for std in (-0.1, float("nan"), float("inf")):
        with pytest.raises(RecipeError, match="0 means no noise"):
            with_noise(ackley(2), std)
    with pytest.raises(DataError, match="3 standard deviations"):
        with_noise(ackley(2), lambda X: X)(np.ones((3, 2)), np.random.default_rng(0))
