"""Draws of the regret: against closed forms and brute force, and what counts as a candidate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from calibo.calibration import Calibrated, ConditionalQuantile, StoredAndLeaveOneOut, Temperature
from calibo.data import Array, Dataset
from calibo.models import GaussianProcess, Model, SuccessModel
from calibo.optimize.regret import CAREFUL, QUICK, WIDENING, Belief, no_narrower
from calibo.spaces import Categorical, Float, Int, PoolSpace, as_space

#: Four standard errors of a share of 512 draws: missed by one right estimate in 16,000.
TOLERANCE = 4 * 0.5 / np.sqrt(512)


def pool(rows: int) -> PoolSpace:
    x = np.linspace(0.0, 1.0, rows)
    return PoolSpace([{"x": float(a), "y": float((7.0 * a) % 1.0)} for a in x])


def fitted(data: Dataset) -> Model:
    return GaussianProcess().fit(data, rng=np.random.default_rng(0))


def noisy(space: PoolSpace, rows: list[int], seed: int) -> Dataset:
    rng, X = np.random.default_rng(seed), space.X[rows]
    return Dataset(X=X, Y=np.sin(5.0 * X[:, :1]) + X[:, 1:] + 0.3 * rng.standard_normal((len(rows), 1)))


def test_two_points_have_a_closed_form() -> None:
    space = PoolSpace([{"x": 0.0}, {"x": 1.0}])
    data = Dataset(X=space.X[[0, 0, 0, 1, 0]], Y=np.array([[1.0], [1.4], [0.8], [0.3], [1.1]]))
    model = fitted(data)
    both = model.predict(space.X, latent=True)
    correlation = both.correlation()[0, 1]  # pyright: ignore[reportAttributeAccessIssue]
    spread = np.sqrt(both.std[0] ** 2 + both.std[1] ** 2 - 2 * correlation * both.std[0] * both.std[1])
    regret = Belief(data, space, (model,), widening=1.0).regret(CAREFUL, rng=np.random.default_rng(1))
    wider = Belief(data, space, (model,)).regret(CAREFUL, rng=np.random.default_rng(1))
    for epsilon in (0.0, 0.1, 0.5):
        score = (epsilon + both.mean[0] - both.mean[1]) / spread
        score_wider = score / WIDENING
        assert regret.probability_below(epsilon) == pytest.approx(norm.cdf(score), abs=TOLERANCE)
        assert wider.probability_below(epsilon) == pytest.approx(norm.cdf(score_wider), abs=TOLERANCE)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_pool_agrees_with_brute_force(seed: int) -> None:
    space = pool(40)
    data = noisy(space, [0, 5, 11, 18, 26, 31, 39, 20, 21], seed)
    model = fitted(data)
    every = model.predict(space.X, latent=True)
    covariance = every.correlation() * np.outer(every.std, every.std)  # pyright: ignore[reportAttributeAccessIssue]
    draws = np.random.default_rng(9).multivariate_normal(every.mean, covariance, size=100_000)
    belief = Belief(data, space, (model,), widening=1.0)
    regret = belief.regret(CAREFUL, rng=np.random.default_rng(seed))
    row = int(np.flatnonzero((data.X[belief.recommended()] == space.X).all(axis=1))[0])
    exact = draws.max(axis=1) - draws[:, row]
    for epsilon in (0.05, 0.2, 0.5):
        assert regret.probability_below(epsilon) == pytest.approx(np.mean(exact <= epsilon), abs=TOLERANCE)
    assert regret.probability_below(regret.bound(0.9)) >= 0.9
    assert (regret.draws >= 0.0).all()


def test_the_recommended_point_is_the_best_expected_one() -> None:
    """A lucky measurement beside four unlucky ones of the same point is not recommended."""
    space = pool(12)
    data = Dataset(X=space.X[[2, 2, 2, 2, 2, 8, 8, 8]], Y=np.array([[3.0], [0], [0], [0], [0], [1.5], [1.6], [1.4]]))
    belief = Belief(data, space, (fitted(data),))
    assert (data.X[belief.recommended()] == space.X[8]).all()
    assert belief.regret(QUICK, rng=np.random.default_rng(0)).row == belief.recommended()


def test_infeasible_points_do_not_count() -> None:
    """The slack is negative to the right of 0.5, where the objective goes on rising."""
    space = PoolSpace([{"x": float(x)} for x in np.linspace(0.0, 1.0, 41)])
    X = space.X[::4]
    Y = np.column_stack([3.0 * X[:, 0], 0.5 - X[:, 0]])
    data = Dataset(X=X, Y=Y, constraints=1)
    models = tuple(fitted(data.outcome(i)) for i in range(2))
    free = Belief(data.without_constraints(), space, models[:1])
    bound = Belief(data, space, models)
    assert X[bound.recommended(), 0] <= 0.5 < X[free.recommended(), 0]
    regret = bound.regret(CAREFUL, rng=np.random.default_rng(0))
    # Whatever is better by more than the next rows up to 0.5 is infeasible.
    assert regret.probability_below(0.3) > 0.95


def test_success_is_drawn_with_its_probability() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((30, 2))
    fails = X[:, 0] > 0.6
    data = Dataset(X=X[~fails], Y=X[~fails, :1], X_failed=X[fails])
    model = SuccessModel.of(data, rng=rng)
    points = rng.random((25, 2))
    drawn = model.drawn(points, rng.standard_normal((4096, 26)))
    # Four standard errors.
    np.testing.assert_allclose(drawn.mean(axis=0), model(points), atol=4 * 0.5 / np.sqrt(4096))


def test_points_that_fail_do_not_count() -> None:
    space = as_space({"x": Float(0.0, 1.0)})
    X = np.linspace(0.0, 1.0, 21)[:, None]
    fails = X[:, 0] > 0.5
    data = Dataset(X=X[~fails], Y=4.0 * X[~fails], X_failed=X[fails])
    model = fitted(data)
    unaware = Belief(data, space, (model,)).regret(QUICK, rng=np.random.default_rng(0))
    success = SuccessModel.of(data, rng=np.random.default_rng(0))
    aware = Belief(data, space, (model,), success).regret(QUICK, rng=np.random.default_rng(0))
    assert aware.bound(0.8) < 0.5 * unaware.bound(0.8)


def bumps(X: Array) -> Array:
    return np.sin(9.0 * X[:, :1]) * np.cos(7.0 * X[:, 1:2])


def test_more_effort_finds_no_smaller_regret() -> None:
    space = as_space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)})
    X = space.sample(14, np.random.default_rng(3))
    data = Dataset(X=X, Y=bumps(X))
    belief = Belief(data, space, (fitted(data),))
    quick, careful = (belief.regret(e, rng=np.random.default_rng(0)) for e in (QUICK, CAREFUL))
    for level in (0.3, 0.6, 0.9):
        assert careful.bound(level) >= 0.9 * quick.bound(level)


def test_a_mixed_space_and_the_same_draws_again() -> None:
    space = as_space({"x": Float(0.0, 1.0), "k": Int(0, 40), "c": Categorical(["a", "b", "c"])})
    X = space.sample(16, np.random.default_rng(5))
    data = Dataset(X=X, Y=bumps(X), categories=space.categories)
    belief = Belief(data, space, (fitted(data),))
    one, two = (belief.regret(CAREFUL, rng=np.random.default_rng(4)).draws for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert np.isfinite(one).all()


@pytest.mark.parametrize("by", [Temperature(), ConditionalQuantile()])
def test_nowhere_narrower_than_the_raw_model(by: Temperature | ConditionalQuantile) -> None:
    rng = np.random.default_rng(1)
    X = rng.random((20, 2))
    data = Dataset(X=X, Y=bumps(X))
    model = Calibrated(GaussianProcess(), by=by, evidence=StoredAndLeaveOneOut()).fit(data, rng=rng)
    points = rng.random((200, 2))
    raw, shown = model.stages[0].predict(points, latent=True), model.predict(points, latent=True)
    found = no_narrower(model, points)
    np.testing.assert_allclose(found.std, np.maximum(raw.std, shown.std), rtol=1e-6)
    assert (shown.std > 1.01 * raw.std).any() or (shown.std < 0.99 * raw.std).any()
