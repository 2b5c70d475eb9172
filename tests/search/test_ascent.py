"""Climbing: gradients against analytic ones, and the tops of known hills."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from calibo import Float, LinearConstraint, Mixture, ProductSpace
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
    np.testing.assert_allclose(ascend(hill, X, np.arange(d), 100), 0.3, atol=1e-2)
    border = ascend(lambda X: X[:, 0] - 2 * X[:, -1], X, np.arange(d), 50)
    np.testing.assert_allclose(border[:, [0, -1]], [[float(d > 1), 0.0]] * 4, atol=1e-9)


def test_each_start_climbs_a_hill() -> None:
    hills = lambda X: -np.square(np.square(X[:, 0] - 0.5) - 0.04)
    found = ascend(hills, np.array([[0.2], [0.25], [0.75], [0.9]]), np.arange(1), 100)
    np.testing.assert_allclose(np.abs(found - 0.5), 0.2, atol=1e-2)
    assert len(np.unique(found.round(1))) == 2


def test_columns_not_climbed_stay() -> None:
    X = RNG(0).random((5, 3))
    X[:, [0, 2]] = X[0, [0, 2]]
    found = ascend(hill, X, np.array([1]), 50)
    np.testing.assert_array_equal(found[:, [0, 2]], X[:, [0, 2]])
    np.testing.assert_allclose(found[:, 1], 0.3, atol=1e-4)


def test_a_start_that_cannot_win_is_dropped() -> None:
    X = np.array([[0.5, 0.3], [0.5, 0.9]])
    found = ascend(lambda X: hill(X) * (1.0 + X[:, 0] ** 2), X, np.array([0]), 50)
    assert abs(found[0, 0] - 0.3) < 1e-3 < abs(found[1, 0] - 0.3)


def test_a_bowl_takes_few_calls_as_its_curvature_is_known_from_the_first() -> None:
    calls: list[int] = []

    def bowl(X: np.ndarray) -> np.ndarray:
        calls.append(len(X))
        return -(np.square(X - 0.4) * [1.0, 100.0, 1e4]).sum(axis=-1)

    found = ascend(bowl, np.array([[0.3, 0.45, 0.41]]), np.arange(3), 50)
    np.testing.assert_allclose(found, 0.4, atol=1e-5)
    assert len(calls) <= 2


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


def blend(K: int, rows: int, seed: int) -> tuple[ProductSpace, np.ndarray, np.ndarray, list[tuple[np.ndarray, float]]]:
    """A mixture with further inequalities, and a concave response that is largest outside of it."""
    rng = RNG(seed)
    root = rng.standard_normal((K, K))
    further = [(row, float(row.mean()) + 0.01) for row in rng.standard_normal((rows, K))]
    names = [f"x{i}" for i in range(K)]
    constraints = [LinearConstraint(dict(zip(names, a, strict=True)), "<=", b) for a, b in further]
    space = ProductSpace({"m": Mixture(dict.fromkeys(names, (0, 1)))}, constraints=constraints)
    return space, root @ root.T / K + 0.05 * np.eye(K), 1.5 * rng.dirichlet(np.full(K, 0.3)) - 0.2, further


@pytest.mark.parametrize(("K", "rows"), [(3, 0), (5, 2), (10, 0), (10, 3), (20, 2)])
def test_climbs_slide_along_constraints_to_the_best_corner_or_edge(K: int, rows: int) -> None:
    space, Q, centre, further = blend(K, rows, seed=K)

    def response(X: np.ndarray) -> np.ndarray:
        return -(((X - centre) @ Q) * (X - centre)).sum(axis=-1)

    found = space.repair(ascend(response, space.sample(4, RNG(1)), np.arange(K), 50, space.region))
    assert space.valid(found).all()
    limits: list = [{"type": "eq", "fun": lambda x: x.sum() - 1.0}]
    limits += [{"type": "ineq", "fun": lambda x, a=a, b=b: b - a @ x} for a, b in further]
    start = space.sample(1, RNG(2))[0]
    options = {"ftol": 1e-13, "maxiter": 1000}
    best = minimize(lambda x: -response(x[None])[0], start, bounds=[(0, 1)] * K, constraints=limits, options=options)
    assert response(found).max() >= -best.fun - 1e-4


def test_many_bounds_are_met_at_once() -> None:
    """Steps that end at the first of many bounds, one after the other, would still be 6 % away after 50 of them."""
    K, rng = 40, RNG(1)
    names, rows = [f"x{i}" for i in range(K)], [rng.integers(1, 6, K).astype(float) for _ in range(3)]
    constraints = [LinearConstraint(dict(zip(names, a, strict=True)), "<=", float(a.mean())) for a in rows]
    space = ProductSpace({"m": Mixture(dict.fromkeys(names, (0.0, 0.2)))}, constraints=constraints)
    root = rng.normal(size=(K, K))
    Q = root @ np.diag(np.geomspace(0.01, 100.0, K)) @ root.T / K
    centre = space.sample(1, rng)[0] + 0.3 * rng.normal(size=K)

    def response(X: np.ndarray) -> np.ndarray:
        return -(((X - centre) @ Q) * (X - centre)).sum(axis=-1)

    start = space.sample(4, RNG(1))
    short, long = (response(ascend(response, start, np.arange(K), steps, space.region)).max() for steps in (50, 300))
    assert short >= 1.02 * long


def test_climbs_do_not_leave_through_a_predicate() -> None:
    space = ProductSpace({"a": Float(0, 1), "b": Float(0, 1)}, where=lambda p: p["a"] + p["b"] ** 2 <= 1)
    found = ascend(lambda X: X.sum(axis=-1), space.sample(4, RNG(0)), np.arange(2), 50, space.region)
    assert space.valid(found).all() and found.sum(axis=1).max() > 1.0
