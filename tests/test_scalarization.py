"""The augmented Tchebycheff function, against its formula written out."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.pareto import pareto_front
from calibo.scalarization import Tchebycheff

RNG = np.random.default_rng
Y = RNG(0).normal(size=(12, 3)) * [1.0, 10.0, 0.1]


def by_hand(Y: np.ndarray, worst: np.ndarray, weights: np.ndarray, rho: float) -> np.ndarray:
    """Return -(max_j w_j g_j + rho sum_j w_j g_j) of each row, `n`, with g_j in units of the front's extent."""
    best = pareto_front(Y).max(axis=0)
    gaps = weights * (best - Y) / (best - worst)
    return -np.array([row.max() + rho * row.sum() for row in gaps])


@pytest.mark.parametrize("reference", [(), (-5.0, -40.0, -0.5)], ids=["front", "reference"])
def test_it_is_its_formula(reference: tuple[float, ...]) -> None:
    weights = RNG(4).dirichlet(np.ones(3))
    worst = np.asarray(reference) if reference else pareto_front(Y).min(axis=0)
    found = Tchebycheff(0.2).scalarize(Y, reference, rng=RNG(4))
    np.testing.assert_allclose(found, by_hand(Y, worst, weights, 0.2), rtol=1e-12)


def test_units_of_objectives_do_not_matter() -> None:
    scaled = Tchebycheff().scalarize(Y * [1e3, 1e-6, 7.0] + [5.0, 0.0, -2.0], (), rng=RNG(1))
    np.testing.assert_allclose(scaled, Tchebycheff().scalarize(Y, (), rng=RNG(1)), rtol=1e-9)


def test_a_dominated_point_is_never_better() -> None:
    worse = np.vstack([Y, Y[3] - [0.1, 1.0, 0.01]])
    for seed in range(20):
        values = Tchebycheff().scalarize(worse, (), rng=RNG(seed))
        assert values[-1] < values[3]


def test_outcomes_of_any_size_and_a_front_of_one_point_are_finite() -> None:
    huge = np.array([[1.7e308, -1.7e308], [-1.7e308, 1.7e308], [0.0, 0.0]])
    assert np.isfinite(Tchebycheff().scalarize(huge, (), rng=RNG(0))).all()
    assert np.isfinite(Tchebycheff().scalarize(np.array([[1.0, 2.0]]), (), rng=RNG(0))).all()
