"""Projections on polytopes and random walks in them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from calibo.data import Array
from calibo.spaces.polytope import Polytope

RNG = np.random.default_rng


def polytope(A: list[Array], lower: list[float], upper: list[float]) -> Polytope:
    matrix = np.array(A, dtype=np.float64)
    return Polytope(matrix, np.array(lower), np.array(upper), np.abs(matrix).max(axis=1))


def simplex(K: int, extra: int = 0) -> Polytope:
    rows = [RNG(K + i).standard_normal(K) for i in range(extra)]
    upper = [1.0, *(float(row.mean()) + 0.02 for row in rows)]
    return polytope([np.ones(K), *rows], [1.0, *[-np.inf] * extra], upper)


@pytest.mark.parametrize(("K", "extra"), [(3, 0), (5, 2), (10, 3)])
def test_projections_are_the_nearest_points(K: int, extra: int) -> None:
    shape, Y = simplex(K, extra), RNG(0).random((6, K))
    metric = np.broadcast_to(np.linspace(1.0, 2.0, K), Y.shape)
    V, _, found = shape.project(Y, metric, np.zeros_like(Y), np.full_like(Y, 0.6))
    assert found.all() and np.abs(shape.excess(V)).max() < 1e-12
    limits = [{"type": "eq", "fun": lambda v: v.sum() - 1.0}]
    limits += [{"type": "ineq", "fun": lambda v, i=i: shape.upper[i] - shape.A[i] @ v} for i in range(1, 1 + extra)]
    for y, v, s in zip(Y, V, metric, strict=True):
        best = minimize(
            lambda x, y=y, s=s: (((x - y) / s) ** 2).sum(),
            np.full(K, 1 / K),
            bounds=[(0, 0.6)] * K,
            constraints=limits,
            options={"ftol": 1e-14, "maxiter": 500},
        )
        np.testing.assert_allclose(v, best.x, atol=1e-5)


def test_a_box_that_rows_cannot_be_met_in_is_reported() -> None:
    Y = np.full((2, 3), 0.5)
    high = np.array([[1.0, 1.0, 1.0], [0.2, 0.2, 0.2]])
    assert simplex(3).project(Y, np.ones_like(Y), np.zeros_like(Y), high)[2].tolist() == [True, False]


def test_fixed_columns_stay() -> None:
    Y, low, high = np.full((1, 3), 0.9), np.array([[0.25, 0.0, 0.0]]), np.array([[0.25, 1.0, 1.0]])
    np.testing.assert_allclose(simplex(3).project(Y, np.ones_like(Y), low, high)[0], [[0.25, 0.375, 0.375]])


def test_more_rows_than_columns_may_meet() -> None:
    shape = simplex(3, 4)
    Y = 3 * RNG(1).standard_normal((300, 3))
    V, _, found = shape.project(Y, np.ones_like(Y), np.zeros_like(Y), np.ones_like(Y))
    assert found.mean() > 0.98 and np.abs(shape.excess(V[found])).max() < 1e-11


def test_quick_projections_are_the_nearest_points_where_they_are_found() -> None:
    shape = simplex(20, 3)
    Y = 1 / 20 + 0.02 * RNG(1).standard_normal((200, 20))
    box = np.ones_like(Y), np.zeros_like(Y), np.ones_like(Y)
    V, multipliers, found = shape.project(Y, *box, quick=True)
    exact, _, known = shape.project(Y, *box)
    assert found.mean() > 0.8 and known.all()
    assert np.abs(V[found] - exact[found]).max() < 1e-9
    assert (multipliers[found][:, ~shape.equal] >= 0.0).all()


@pytest.mark.parametrize("K", [3, 10])
def test_walks_stay_inside_and_become_uniform(K: int) -> None:
    shape, n = simplex(K), 2000
    start = np.full((n, K), 1.0 / K)
    low, high = np.zeros_like(start), np.ones_like(start)
    V = shape.walk(start, np.ones_like(start), low, high, 60 + 4 * K, RNG(0))
    assert V.min() >= 0 and np.abs(shape.excess(V)).max() < 1e-12
    # Uniform on the simplex, every amount is beta distributed: P(amount > t) = (1 - t) ** (K - 1).
    for t in (0.05, 0.2, 0.4):
        expected = (1 - t) ** (K - 1)
        assert np.mean(t < V) == pytest.approx(expected, abs=5 * (expected / (n * K)) ** 0.5 + 0.005)


def test_walks_keep_inequalities() -> None:
    shape = simplex(6, 3)
    Y = RNG(0).random((400, 6))
    box = np.zeros_like(Y), np.ones_like(Y)
    V = shape.walk(shape.project(Y, np.ones_like(Y), *box)[0], np.ones_like(Y), *box, 30, RNG(0))
    assert np.abs(shape.excess(V)).max() < 1e-11 and len(np.unique(V, axis=0)) == 400


def test_walks_in_few_columns_become_uniform_within_each_slice() -> None:
    # Three of twelve columns move, others for every point, one is fixed at .1; what is left of the sum is .9.
    n, K = 4000, 12
    moving = RNG(1).permuted(np.tile(np.arange(1, K), (n, 1)), axis=1)[:, :3]
    low, high, start = np.zeros((n, K)), np.zeros((n, K)), np.zeros((n, K))
    low[:, 0] = high[:, 0] = start[:, 0] = 0.1
    np.put_along_axis(high, moving, 1.0, axis=1)
    np.put_along_axis(start, moving, 0.3, axis=1)
    V = simplex(K).walk(start, np.ones_like(start), low, high, 40, RNG(0))
    assert np.abs(V.sum(axis=1) - 1.0).max() < 1e-12 and (low <= V).all() and (high >= V).all()
    shares = np.take_along_axis(V, moving, axis=1) / 0.9
    # Moments of Dirichlet(1, 1, 1): means of 4,000 points are within 5 standard errors.
    assert shares.mean(axis=0) == pytest.approx([1 / 3] * 3, abs=5 * (1 / 18 / n) ** 0.5)
    assert np.square(shares).mean(axis=0) == pytest.approx([1 / 6] * 3, abs=5 * (0.04 / n) ** 0.5)


def test_walks_in_few_columns_keep_inequalities() -> None:
    shape, n = polytope([np.ones(9), np.arange(9.0)], [1.0, -np.inf], [1.0, 3.5]), 300
    low, high = np.zeros((n, 9)), np.zeros((n, 9))
    high[:, [1, 2, 8]] = 1.0
    high[: n // 2, [0, 4, 8]], high[: n // 2, [1, 2]] = 1.0, 0.0
    start = shape.project(np.zeros((n, 9)), np.ones((n, 9)), low, high)[0]
    V = shape.walk(start, np.ones_like(start), low, high, 30, RNG(0))
    assert np.abs(shape.excess(V)).max() < 1e-12 and (low <= V).all() and (high >= V).all()
    # The inequality is met nearly with equality by some, and column 8 takes all values that it leaves.
    assert 3.4 < (V @ np.arange(9.0)).max() <= 3.5 + 1e-12 and V[:, 8].std() > 0.05


@pytest.mark.parametrize("K", [3, 10])
def test_walks_along_a_sample_leave_uniform_points_uniform(K: int) -> None:
    n, shape = 4000, simplex(K)
    start, sample = RNG(1).dirichlet(np.ones(K), n), RNG(2).dirichlet(np.ones(K), 500)
    V = shape.walk_along(start, sample, np.zeros_like(start), np.ones_like(start), 20, RNG(0))
    assert np.abs(V.sum(axis=1) - 1.0).max() < 1e-12 and V.min() >= 0.0
    error = ((K - 1) / K**2 / (K + 1) / n) ** 0.5
    assert V.mean(axis=0) == pytest.approx([1 / K] * K, abs=5 * error)
    assert np.square(V).mean() == pytest.approx(2 / K / (K + 1), rel=0.05)
    # They forget where they began as fast as walks in random directions do.
    walked = shape.walk(start, np.ones_like(start), np.zeros_like(start), np.ones_like(start), 20, RNG(0))
    kept, before = (float(np.corrcoef(one.ravel(), start.ravel())[0, 1]) for one in (V, walked))
    assert kept < before + 0.05


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_fixed_columns_count_once_where_points_move_in_different_numbers_of_columns(sign: float) -> None:
    # Column 0 is fixed at 1; the row leaves [0, .5] to column 1, which half of the points move in alone.
    n, K = 2000, 6
    row = np.zeros(K)
    row[:2] = sign, 1.0
    shape = polytope([row], [-np.inf], [sign + 0.5])
    low, high, start = np.zeros((n, K)), np.zeros((n, K)), np.zeros((n, K))
    low[:, 0] = high[:, 0] = start[:, 0] = 1.0
    high[:, 1], start[:, 1] = 1.0, 0.25
    high[: n // 2, 2:4] = 1.0
    alone = shape.walk(start, np.ones_like(start), low, high, 30, RNG(0))[n // 2 :, 1]
    assert alone.max() <= 0.5 and alone.mean() == pytest.approx(0.25, abs=5 * 0.5 / 12**0.5 / (n // 2) ** 0.5)
