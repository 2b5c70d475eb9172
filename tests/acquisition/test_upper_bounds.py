"""The upper quantile as an acquisition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calibo.acquisition import UpperBound, UpperQuantile
from calibo.acquisition.base import base_samples
from calibo.acquisition.upper_bounds import best_of_batch
from calibo.calibration import Calibrated, Conformal, ConformalBayes, LeaveOneOut, OnlineQuantile, Split
from calibo.data import Dataset
from calibo.errors import RecipeError
from calibo.models import GaussianProcess, Surrogate

RNG = np.random.default_rng
SURROGATES: list[Surrogate] = [
    GaussianProcess(),
    Calibrated(GaussianProcess(), by=OnlineQuantile(0.5), evidence=LeaveOneOut()),
    ConformalBayes(GaussianProcess(), 0.3),
]


def data(scale: float = 1.0) -> Dataset:
    X = RNG(0).random((12, 2))
    return Dataset(X=X, Y=scale * (np.sin(5 * X[:, 0]) - X[:, 1])[:, None])


@pytest.mark.parametrize("surrogate", SURROGATES, ids=["raw", "online", "conformal"])
@pytest.mark.parametrize("level", [0.6, 0.9, 0.99])
def test_single_points_are_the_quantile_and_sets_of_one_agree(surrogate: Surrogate, level: float) -> None:
    told, X = data(), RNG(1).random((30, 2))
    model = surrogate.fit(told, rng=RNG(0))
    acquisition = UpperQuantile(level).build(model, told, rng=RNG(0))
    expected = model.predict(X, latent=True).icdf(level)
    np.testing.assert_allclose(acquisition(X), expected)
    # Exactly: the stretch is made so, whatever the draws.
    np.testing.assert_allclose(acquisition(X[:, None, :]), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("surrogate", SURROGATES, ids=["raw", "online", "conformal"])
def test_more_points_are_worth_no_less(surrogate: Surrogate) -> None:
    told = data()
    acquisition = UpperQuantile(draws=512).build(surrogate.fit(told, rng=RNG(0)), told, rng=RNG(0))
    sets = RNG(1).random((20, 3, 2))
    values = np.stack([acquisition(sets[:, :q]) for q in (1, 2, 3)])
    assert np.all(np.diff(values, axis=0) >= -1e-9)


def test_a_pending_point_makes_a_repeat_worthless() -> None:
    told, X = data(), RNG(1).random((200, 2))
    model = GaussianProcess().fit(told, rng=RNG(0))
    free = UpperQuantile().build(model, told, rng=RNG(0))
    best = X[[int(np.argmax(free(X)))]]
    busy = UpperQuantile(draws=1024).build(model, replace(told, X_pending=best), rng=RNG(0))
    # With the best point pending another point adds something, that point itself nothing.
    assert int(np.argmax(busy(X))) != int(np.argmax(free(X)))
    assert float(busy(best)[0]) == pytest.approx(float(free(best)[0]), rel=1e-3, abs=1e-3)
    assert float(busy(X).max()) > float(busy(best)[0])


@pytest.mark.parametrize("scale", [2.0**-900, 2.0**-30, 2.0**30, 2.0**900])
def test_the_scale_of_the_outcomes_does_not_change_the_order(scale: float) -> None:
    X = RNG(1).random((40, 2))
    orders = []
    for s in (1.0, scale):
        told = replace(data(s), X_pending=np.array([[0.5, 0.5]]))
        acquisition = UpperQuantile().build(GaussianProcess().fit(told, rng=RNG(0)), told, rng=RNG(0))
        values = acquisition(X)
        assert np.isfinite(values).all()
        orders.append(np.argsort(values))
    np.testing.assert_array_equal(orders[0], orders[1])


@pytest.mark.parametrize("level", [0.5, 1.0, 0.0, 1.5, float("nan")])
def test_levels_outside_are_refused(level: float) -> None:
    with pytest.raises(RecipeError, match=r"between 0.5 and 1"):
        UpperQuantile(level)


def test_weights_multiply_the_distance_from_the_centre() -> None:
    """E max_j of center_j + b_j w_j |f_j - center_j| with E u_j the point's own value, written out."""
    told, sets = data(), RNG(3).random((6, 3, 2))
    model = ConformalBayes(GaussianProcess(), 0.3).fit(told, rng=RNG(0))
    distribution = model.predict(sets, latent=True)
    base = base_samples(1, 64, 3)
    f, log_weights = distribution.samples(base)
    weights = np.exp(log_weights)
    weights /= weights.mean(axis=1, keepdims=True)
    away = weights * np.abs(f - distribution.mean[:, None])
    value = distribution.icdf(0.8)
    u = distribution.mean[:, None] + ((value - distribution.mean) / away.mean(axis=1))[:, None] * away
    np.testing.assert_allclose(u.mean(axis=1), value)
    np.testing.assert_allclose(
        best_of_batch(distribution, distribution.mean, value, base), u.max(axis=-1).mean(axis=-1)
    )


def test_a_quantile_that_is_not_backed_still_orders_points() -> None:
    """A conformal distribution of few held-out results has infinite quantiles far out; a search cannot climb infinity."""
    surrogate = Calibrated(GaussianProcess(), by=Conformal(), evidence=Split(0.3))
    few = data().rows(np.arange(8))
    model = surrogate.fit(few, rng=RNG(0))
    X = RNG(1).random((20, 2))
    assert np.isinf(model.predict(X, latent=True).icdf(0.9)).all()
    values = UpperQuantile(0.9).build(model, few, rng=RNG(2))(X)
    assert np.isfinite(values).all() and len(np.unique(values)) == 20


@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_the_mean_plus_deviations(gamma: float) -> None:
    told = data()
    model = GaussianProcess().fit(told, rng=RNG(0))
    X = RNG(1).random((6, 2))
    rule = UpperBound(gamma)
    single = rule.build(model, told, rng=RNG(2))(X)
    distribution = model.predict(X, latent=True)
    np.testing.assert_allclose(single, distribution.mean + gamma * distribution.std)
    np.testing.assert_allclose(rule.build(model, told, rng=RNG(2))(X[:, None, :]), single, rtol=1e-9)
    pairs = np.stack([X, X[::-1]], axis=1)
    together = rule.build(model, told, rng=RNG(2))(pairs)
    assert (together >= np.maximum(single, single[::-1]) - 1e-9).all()
    with pytest.raises(RecipeError, match="positive number of deviations"):
        UpperBound(-gamma)
