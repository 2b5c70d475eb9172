"""Gaussian latent distributions in place of others."""

from __future__ import annotations

import numpy as np
import pytest

from calibo import Optimizer
from calibo.acquisition import ExpectedImprovement
from calibo.calibration import Calibrated, Conformal, ConformalBayes, OnlineQuantile, Split, Temperature
from calibo.data import Dataset
from calibo.distributions import Gaussian
from calibo.methods import conformal_trees
from calibo.models import GaussianMoments, GaussianProcess, Surrogate
from calibo.optimize import ModelBased
from calibo.spaces import Float
from calibo.testing import SurrogateSuite

CONFORMAL_GP = Calibrated(GaussianProcess(), by=Conformal(), evidence=Split())


class TestGaussianMoments(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return GaussianMoments(GaussianProcess())


def skewed(n: int = 60) -> Dataset:
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    return Dataset(X=X, Y=(np.sin(4.0 * X[:, 0]) + rng.exponential(0.3, n))[:, None])


@pytest.mark.parametrize("inner", [CONFORMAL_GP, conformal_trees()])
def test_moments_are_kept_and_measurements_are_untouched(inner: Surrogate) -> None:
    data, X = skewed(), np.random.default_rng(1).random((7, 2))
    plain, gaussian = (one.fit(data, rng=np.random.default_rng(0)) for one in (inner, GaussianMoments(inner)))
    distribution, given = gaussian.predict(X, latent=True), plain.predict(X, latent=True)
    assert isinstance(distribution, Gaussian)
    np.testing.assert_allclose(distribution.mean, given.mean)
    np.testing.assert_allclose(distribution.std, given.std)
    np.testing.assert_array_equal(
        gaussian.predict(X, latent=False).interval(0.8), plain.predict(X, latent=False).interval(0.8)
    )
    assert np.isinf(gaussian.predict(X, latent=False).icdf(0.995)).all()


def test_dependence_is_kept() -> None:
    data, X = skewed(), np.array([[0.5, 0.5], [0.5, 0.501], [0.0, 0.0]])
    model = GaussianMoments(CONFORMAL_GP).fit(data, rng=np.random.default_rng(0))
    draws = model.predict(X, latent=True).draws(np.random.default_rng(1).standard_normal((4000, 3)))
    correlation = np.corrcoef(draws.T)
    assert correlation[0, 1] > 0.9 > correlation[0, 2]


def test_a_search_with_it_tells_all_stages() -> None:
    method = ModelBased(Calibrated(GaussianMoments(CONFORMAL_GP), by=OnlineQuantile()), ExpectedImprovement())
    optimizer = Optimizer({"x": Float(0.0, 1.0)}, method, seed=0, n_initial=12)
    for _ in range(14):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, (suggestion.params["x"] - 0.3) ** 2)
    suggestion = optimizer.ask()
    forecast = suggestion.forecasts[0]
    assert forecast is not None
    assert len(forecast.stages) == 4
    assert list(forecast.stage_names) == ["GaussianProcess", "Conformal", "GaussianMoments", "OnlineQuantile"]


def test_forecasts_may_correct_conformal_sets_through_a_wrapper_but_not_what_they_have_corrected() -> None:
    gaussian = GaussianMoments(ConformalBayes(GaussianProcess()))
    assert gaussian.calibrated_without_forecasts
    assert not Calibrated(gaussian, by=Temperature()).calibrated_without_forecasts
