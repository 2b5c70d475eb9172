from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibo.acquisition import Feasibility, FirstFeasible
from calibo.data import Dataset
from calibo.models import GaussianProcess

RNG = np.random.default_rng


def slack_models(n: int = 8, noise: float = 0.0) -> tuple[Dataset, tuple]:
    X = RNG(0).random((n, 2)) * [0.5, 1.0]
    Y = np.column_stack([X[:, 0] - 0.7, 0.9 - X[:, 1]]) + noise * RNG(1).standard_normal((n, 2))
    data = Dataset(X=X, Y=Y)
    return data, tuple(GaussianProcess().fit(data.outcome(i), rng=RNG(0)) for i in range(2))


def test_feasibility_is_that_of_a_measurement_and_constraints_are_independent() -> None:
    _, models = slack_models(40, noise=0.3)
    X = RNG(2).random((20, 2))
    distributions = [model.predict(X, latent=False) for model in models]
    expected = np.prod([1.0 - distribution.cdf(0.0) for distribution in distributions], axis=0)
    np.testing.assert_allclose(Feasibility(models)(X), expected)
    latent = np.prod([1.0 - model.predict(X, latent=True).cdf(0.0) for model in models], axis=0)
    assert np.abs(latent - expected).max() > 0.005


def test_far_from_feasible_the_logarithm_slopes() -> None:
    _, models = slack_models()
    near, far = Feasibility(models).log(np.array([[0.45, 0.5], [0.01, 0.5]]))
    assert np.isfinite([near, far]).all() and near > far


def test_a_first_feasible_point_is_not_a_copy_of_one_that_is_awaited() -> None:
    data, models = slack_models()
    met = Feasibility(models)
    X = RNG(3).random((400, 2))
    free = FirstFeasible(met, data.X_pending, seed=1)
    np.testing.assert_allclose(free(X), met.log(X))
    np.testing.assert_allclose(free(X[:, None, :]), met.log(X))
    best = X[[int(np.argmax(met.log(X)))]]
    for busy in (FirstFeasible(met, best, seed=1)(X), free(np.stack([np.repeat(best, len(X), axis=0), X], axis=1))):
        assert busy[np.argmax(met.log(X))] < met.log(best)[0] - 1.0
        # And it is a probability of both: never above that of one by more than sampling error.
        assert (np.exp(busy) <= met(X) + 0.2).all()


def test_joint_draws_agree_with_counting() -> None:
    data, models = slack_models(12, noise=0.2)
    pending, X = np.array([[0.6, 0.3]]), RNG(4).random((10, 2))
    value = np.exp(FirstFeasible(Feasibility(models), pending, seed=2, draws=4096)(X))
    met = np.ones((10, 20_000, 2), dtype=bool)
    for place, model in enumerate(models):
        distribution = model.predict(np.stack([np.repeat(pending, 10, axis=0), X], axis=1), latent=True)
        met &= distribution.draws(RNG(place).standard_normal((20_000, 2))) >= 0.0
    counted = (met[..., 1] & ~met[..., 0]).mean(axis=1)
    np.testing.assert_allclose(value, counted, atol=0.03)
    assert replace(data).feasible.shape == (12,)
