"""Weights multiply what a point adds, and the probabilities of feasibility."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.acquisition import Feasibility, FirstFeasible, Weight, log_of, weighted, weighted_last
from calibo.data import Dataset
from calibo.models import GaussianProcess

RNG = np.random.default_rng
X = np.array([[0.1], [0.5], [0.9]])
NONE = np.empty((0, 1))


def chance(points: np.ndarray) -> np.ndarray:
    return 1.0 - points[:, 0]


def constant(value: float):  # noqa: ANN201
    return lambda x: np.full(len(x), value)


def by_chance(acquisition, floor: float = 0.0, *, logarithmic: bool = False, pending=NONE, **options):  # noqa: ANN001, ANN003, ANN201
    return weighted(acquisition, [Weight(log_of(chance), floor, **options)], logarithmic=logarithmic, pending=pending)


def test_logarithms_are_added() -> None:
    acquisition = by_chance(lambda x: np.log(x[:, 0]), -5.0, logarithmic=True)
    np.testing.assert_allclose(np.exp(acquisition(X)), X[:, 0] * (1 - X[:, 0]))


def test_a_value_counts_by_its_gain_over_the_floor() -> None:
    np.testing.assert_allclose(by_chance(constant(3.0), 1.0)(X), 2.0 * (1 - X[:, 0]))
    # A loss does not shrink because its measurement is likely to fail.
    np.testing.assert_allclose(by_chance(constant(-1.0), 1.0)(X), -2.0 / (1 - X[:, 0]))


def test_a_certain_failure_is_finite() -> None:
    for logarithmic in (True, False):
        weights = [Weight(log_of(lambda p: np.zeros(len(p))))]
        assert np.isfinite(weighted(constant(2.0), weights, logarithmic=logarithmic, pending=NONE)(X)).all()


@pytest.mark.parametrize("logarithmic", [True, False])
def test_of_a_batch_what_the_last_point_adds_is_weighted_last(logarithmic: bool) -> None:
    """The best of a set, whose points but the last are the same: what the last one adds to it, times its chance."""

    def best(x: np.ndarray) -> np.ndarray:
        value = x.reshape(len(x), -1).max(axis=1)
        return np.log(value) if logarithmic else value

    sets = np.array([[[0.3], [0.2]], [[0.3], [0.5]], [[0.3], [0.9]]])
    values = by_chance(best, logarithmic=logarithmic)(sets)
    expected = np.array([0.0, 0.2 * 0.5, 0.6 * 0.1])
    np.testing.assert_allclose(np.exp(values) if logarithmic else values, expected, atol=1e-12)


def test_of_a_value_what_it_adds_to_pending_points_is_weighted_last() -> None:
    pending = np.array([[0.4]])

    def best(x: np.ndarray) -> np.ndarray:
        return np.maximum(x[:, 0], 0.4)

    values = by_chance(best, floor=-7.0, pending=pending)(X)
    np.testing.assert_allclose(values, [0.0, 0.1 * 0.5, 0.5 * 0.1], atol=1e-12)


def test_several_weights_count_each_from_its_own_floor() -> None:
    weights = [Weight(log_of(chance), 1.0, losses_grow=False), Weight(log_of(chance), -2.0)]
    values = weighted(constant(3.0), weights, logarithmic=False, pending=NONE)(X)
    first = 2.0 * (1 - X[:, 0])
    np.testing.assert_allclose(values, (first + 3.0) * (1 - X[:, 0]))


def test_weighted_last_looks_at_the_last_points() -> None:
    sets = np.stack([X, X[::-1]])
    np.testing.assert_allclose(np.exp(weighted_last(constant(0.0), [log_of(chance)])(sets)), [0.1, 0.9])


def test_where_losses_do_not_grow_the_floor_is_what_is_left() -> None:
    """Out of distribution the value is the floor itself, whether the point's own lies above or below."""
    for value in (3.0, -3.0):
        acquisition = by_chance(constant(value), 1.0, losses_grow=False)
        np.testing.assert_allclose(acquisition(X), (value - 1.0) * (1 - X[:, 0]))


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


def test_a_first_feasible_point_is_not_a_copy_of_a_pending_one() -> None:
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
    _, models = slack_models(12, noise=0.2)
    pending, X = np.array([[0.6, 0.3]]), RNG(4).random((10, 2))
    value = np.exp(FirstFeasible(Feasibility(models), pending, seed=2, draws=4096)(X))
    met = np.ones((10, 20_000, 2), dtype=bool)
    for place, model in enumerate(models):
        distribution = model.predict(np.stack([np.repeat(pending, 10, axis=0), X], axis=1), latent=True)
        met &= distribution.draws(RNG(place).standard_normal((20_000, 2))) >= 0.0
    counted = (met[..., 1] & ~met[..., 0]).mean(axis=1)
    np.testing.assert_allclose(value, counted, atol=0.03)
