"""Noisy expected improvement: against joint draws from the definition, and its limits."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from calibo.acquisition import ExpectedImprovement, NoisyExpectedImprovement
from calibo.acquisition.improvement import contenders
from calibo.calibration import ConformalBayes
from calibo.calibration.conformal_bayes import ConformalModel
from calibo.data import Array, Dataset
from calibo.distributions import Gaussian
from calibo.models import GaussianProcess, Model, Surrogate
from calibo.models.gp_posterior import Posterior

RNG = np.random.default_rng
SURROGATES: list[Surrogate] = [GaussianProcess(), ConformalBayes(GaussianProcess(), 0.3)]


def data(n: int = 10, noise: float = 0.3, scale: float = 1.0) -> Dataset:
    X = RNG(0).random((n, 2))
    y = np.sin(5 * X[:, 0]) - X[:, 1] + noise * RNG(1).standard_normal(n)
    return Dataset(X=X, Y=scale * y[:, None])


def joint(model: Posterior, X: Array, draws: int, seed: int) -> Array:
    """Joint draws of f at the points, draws x q, from the mean and covariance written out."""
    scaled = [(P / model.theta.lengthscales) for P in (X, model.X)]

    def covariance(A: Array, B: Array) -> Array:
        r = np.sqrt(5.0 * np.square(A[:, None] - B[None]).sum(-1))
        return model.theta.outputscale * (1 + r + r**2 / 3) * np.exp(-r)

    cross = covariance(scaled[0], scaled[1])
    A = covariance(scaled[1], scaled[1]) + np.diag(model.noise)
    mean = model.theta.mean + cross @ np.linalg.solve(A, model.units.forward(model.y) - model.theta.mean)
    K = covariance(scaled[0], scaled[0]) - cross @ np.linalg.solve(A, cross.T)
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return model.units.backward(mean + RNG(seed).standard_normal((draws, len(X))) @ root.T)


def test_equals_joint_draws_from_the_definition() -> None:
    told = data()
    model = GaussianProcess().fit(told, rng=RNG(0))
    X, draws = RNG(2).random((12, 2)), 40_000
    f = joint(model, np.vstack([X, told.X]), draws, 3)
    gain = np.maximum(f[:, :12] - f[:, 12:].max(axis=1, keepdims=True), 0.0)
    acquisition = NoisyExpectedImprovement(draws=16_384, contenders=10).build(model, told, rng=RNG(4))
    width = 0.01 * told.Y.std()
    error = 5.0 * gain.std(axis=0) * np.sqrt(1 / draws + 1 / 16_384)
    # Smoothing by softplus adds at most width log 2.
    assert (np.abs(np.exp(acquisition(X)) - gain.mean(axis=0)) < error + width * np.log(2)).all()
    assert gain.mean(axis=0).max() > 5 * width


def test_a_conformal_law_weights_the_candidate_in_its_joint_draws() -> None:
    """p(f) p_alpha / p at the candidate alone, everything else given f(x): importance weights on joint draws."""
    told = data()
    base = GaussianProcess().fit(told, rng=RNG(0))
    model = ConformalModel(base, 0.3, ConformalBayes(GaussianProcess(), 0.3).fit(told, rng=RNG(0)).score)  # type: ignore[union-attr]
    draws = 40_000
    acquisition = NoisyExpectedImprovement(draws=16_384, contenders=10).build(model, told, rng=RNG(4))
    checked = 0
    for x in RNG(2).random((6, 1, 2)):
        f = joint(base, np.vstack([x, told.X]), draws, 3)
        distribution, plain = model.predict(x, latent=True), base.predict(x, latent=True)
        weights = np.array(
            np.exp(distribution.over_samples().logpdf(f[:, :1]) - plain.over_samples().logpdf(f[:, :1]))
        )[:, 0]
        assert weights.mean() == pytest.approx(1.0, abs=0.05)
        gain = weights / weights.mean() * np.maximum(f[:, 0] - f[:, 1:].max(axis=1), 0.0)
        error = 5.0 * gain.std() * np.sqrt(1 / draws + 1 / 16_384)
        assert abs(float(np.exp(acquisition(x)[0])) - gain.mean()) < error + 0.01 * told.Y.std()
        checked += abs(weights - 1.0).max() > 0.1
    assert checked >= 3


def test_without_noise_it_is_improvement_over_the_best() -> None:
    told = replace(data(noise=0.0), Y_var=np.zeros((10, 1)))
    model = GaussianProcess().fit(told, rng=RNG(0))
    X = RNG(2).random((40, 2))
    plain = np.exp(ExpectedImprovement().build(model, told, rng=RNG(1))(X))
    noisy = np.exp(NoisyExpectedImprovement(draws=8192).build(model, told, rng=RNG(1))(X))
    np.testing.assert_allclose(noisy, plain, atol=0.02 * plain.max() + 0.01 * told.Y.std())
    assert plain.max() > 0.02


@pytest.mark.parametrize("surrogate", SURROGATES, ids=["gp", "conformal"])
def test_more_pending_points_lower_it(surrogate: Surrogate) -> None:
    told, X = data(), RNG(2).random((30, 2))
    model = surrogate.fit(told, rng=RNG(0))
    pending = RNG(3).random((3, 2))
    values = [
        NoisyExpectedImprovement().build(model, replace(told, X_pending=pending[:k]), rng=RNG(1))(X) for k in range(4)
    ]
    # Pending points come first in the joint draws, so a candidate's own draws differ: up to sampling error.
    worth = np.exp(values)
    assert all((after <= before + 0.1).all() for before, after in itertools.pairwise(worth))
    assert worth[3].mean() < worth[0].mean() and (values[3] < values[0] - 1e-6).any()


@pytest.mark.parametrize("surrogate", SURROGATES, ids=["gp", "conformal"])
def test_sets_of_points(surrogate: Surrogate) -> None:
    told, sets = data(), RNG(2).random((20, 3, 2))
    acquisition = NoisyExpectedImprovement().build(surrogate.fit(told, rng=RNG(0)), told, rng=RNG(1))
    np.testing.assert_allclose(acquisition(sets[:, 0]), acquisition(sets[:, :1]))
    one, two, three = (np.exp(acquisition(sets[:, :q])) for q in (1, 2, 3))
    # The rivals' draws differ between sets of different sizes, so up to sampling error.
    assert (two > one - 0.03).all() and (three > two - 0.03).all() and three.mean() > two.mean() > one.mean()


def test_the_same_seed_gives_the_same_values() -> None:
    told, X = data(), RNG(2).random((20, 2))
    model = GaussianProcess().fit(told, rng=RNG(0))
    first, second, other = (NoisyExpectedImprovement().build(model, told, rng=RNG(s))(X) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


class Known(Model):
    """A model that knows its distribution at four points."""

    mean = np.array([0.0, 3.0, 2.9, 3.05])

    def predict(self, X: Array, *, latent: bool) -> Gaussian:
        return Gaussian(self.mean, np.array([0.1, 0.3, 0.3, 0.3]))


def test_contenders_are_those_that_may_be_the_best() -> None:
    X = np.arange(4.0)[:, None]
    kept = contenders(Known(), X, 10, 0)
    assert sorted(kept[:, 0]) == [1.0, 2.0, 3.0]
    # The most frequent winner first; with room for one, that one.
    np.testing.assert_array_equal(contenders(Known(), X, 1, 0), kept[:1])
    assert kept[0, 0] == 3.0


@pytest.mark.parametrize("scale", [2.0**-600, 2.0**-100, 2.0**100, 2.0**600])
def test_the_scale_of_the_outcomes_does_not_matter(scale: float) -> None:
    X, orders = RNG(1).random((40, 2)), []
    for s in (1.0, scale):
        told = data(scale=s)
        values = NoisyExpectedImprovement().build(GaussianProcess().fit(told, rng=RNG(0)), told, rng=RNG(0))(X)
        assert np.isfinite(values).all()
        orders.append(np.argsort(values))
    np.testing.assert_array_equal(orders[0], orders[1])


def test_one_datum_and_repeated_data() -> None:
    for told in (data(1), Dataset(X=np.repeat(data(3).X, 5, axis=0), Y=RNG(0).standard_normal((15, 1)))):
        model = GaussianProcess().fit(told, rng=RNG(0))
        assert np.isfinite(NoisyExpectedImprovement().build(model, told, rng=RNG(0))(RNG(1).random((10, 2)))).all()
