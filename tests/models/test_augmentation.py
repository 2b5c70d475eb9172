"""What one more measurement changes in a Gaussian process, against fits of the augmented data from scratch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.data import Array, Dataset
from calibo.models import GaussianProcess
from calibo.models.gp_posterior import Features, Hyperparameters, Posterior
from calibo.models.kernels import RBF, Matern52
from calibo.models.standardization import Standardization
from calibo.models.trend import TRENDS, PolynomialTrend

RNG = np.random.default_rng


def random_posterior(seed: int, n: int, d: int, uneven: bool) -> Posterior:
    rng = RNG(seed)
    theta = Hyperparameters(
        rng.uniform(0.2, 1.0, d), rng.uniform(0.3, 3.0), rng.uniform(0.01, 0.3), rng.standard_normal(), 0.7
    )
    noise = rng.uniform(0.01, 1.0, n) if uneven else np.full(n, theta.noise)
    kernel = Matern52() if seed % 2 else RBF()
    units = Standardization(3.0, -0.5, 0.7)
    trend = PolynomialTrend.named(TRENDS[seed % 3], (0,) * d)
    X, y = rng.random((n, d)), rng.standard_normal(n)
    return Posterior(kernel, Features((0,) * d), theta, X, y, noise, units, trend=trend)


def refitted(model: Posterior, x: Array, y: float) -> Posterior:
    """The posterior of the data and one more measurement, y standardised."""
    return replace(
        model,
        X=np.vstack([model.X, x]),
        y=np.append(model.y, model.units.backward(np.array(y))),
        noise=np.append(model.noise, model.theta.noise),
    )


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 3), st.booleans(), st.floats(-4.0, 4.0))
def test_duals_and_precisions_of_the_augmented_data(seed: int, n: int, d: int, uneven: bool, y: float) -> None:
    model = random_posterior(seed, n, d, uneven)
    X = RNG(seed + 1).random((4, d))
    augmentation = model.augmented(X, latent=False)[1]
    for i in range(4):
        whole = refitted(model, X[i], y)
        precision = np.linalg.inv(whole.covariance)
        dual = precision @ (whole.units.forward(whole.y) - whole.theta.mean)
        e = (y - augmentation.mean[i]) / augmentation.total[i]
        np.testing.assert_allclose(augmentation.dual - augmentation.influence[i] * e, dual[:-1], rtol=1e-8, atol=1e-8)
        assert e == pytest.approx(dual[-1], rel=1e-8, abs=1e-8)
        np.testing.assert_allclose(augmentation.augmented_precision[i], np.diagonal(precision)[:-1], rtol=1e-8)
        assert 1.0 / augmentation.total[i] == pytest.approx(precision[-1, -1], rel=1e-8)


@pytest.mark.parametrize("latent", [True, False])
@pytest.mark.parametrize("shape", [(5,), (3, 2), (2, 2, 3)])
def test_the_law_is_the_one_of_predict(latent: bool, shape: tuple[int, ...]) -> None:
    model = random_posterior(3, 6, 2, True)
    X = RNG(0).random((*shape, 2))
    distribution, augmentation = model.augmented(X, latent=latent)
    expected = model.predict(X, latent=latent)
    np.testing.assert_allclose(distribution.mean, expected.mean)
    np.testing.assert_allclose(distribution.std, expected.std)
    base = RNG(1).standard_normal((4, shape[-1]))
    np.testing.assert_allclose(distribution.draws(base), expected.draws(base))
    # Whatever the distribution is of, the augmentation is by a measurement.
    np.testing.assert_allclose(model.units.backward(augmentation.mean)[augmentation.index], distribution.mean)
    std = model.units.backward_std(np.sqrt(augmentation.variance if latent else augmentation.total))
    np.testing.assert_allclose(std[augmentation.index], distribution.std)


def test_points_shared_by_sets_are_augmented_once() -> None:
    model = random_posterior(3, 6, 2, False)
    sets = np.concatenate([RNG(0).random((7, 1, 2)), np.broadcast_to(RNG(1).random((2, 2)), (7, 2, 2))], axis=1)
    augmentation = model.augmented(sets, latent=False)[1]
    assert augmentation.index.shape == (7, 3) and len(augmentation.mean) == 9
    alone = model.augmented(sets[4], latent=False)[1]
    np.testing.assert_allclose(augmentation.influence[augmentation.index[4]], alone.influence)


def test_a_known_noise_of_nothing_is_still_some_noise() -> None:
    X = RNG(0).random((8, 2))
    model = GaussianProcess().fit(Dataset(X=X, Y=X[:, :1], Y_var=np.zeros((8, 1))), rng=RNG(0))
    augmentation = model.augmented(X, latent=False)[1]
    assert augmentation.own_noise > 0.0 and (augmentation.noise > 0.0).all()
