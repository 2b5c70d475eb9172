"""calibo's surrogates pass the suite, and the suite catches those that are wrong."""

from __future__ import annotations

import random

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as SklearnRBF
from sklearn.gaussian_process.kernels import WhiteKernel

from calibo.calibration import Calibrated, Isotonic, LeaveOneOut, OnlineQuantile
from calibo.data import Array, Dataset
from calibo.distributions import Distribution, Gaussian
from calibo.models import GaussianProcess, InputWarping, IntegratedGP, Matern32, Model, NoisePrior, Surrogate
from calibo.models.scikit import ScikitSurrogate
from calibo.testing.surrogate_suite import SurrogateSuite


class TestGaussianProcess(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return GaussianProcess()


class TestGaussianProcessWithAllParts(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return GaussianProcess(Matern32(), warping=InputWarping(), trend="quadratic", noise=NoisePrior.wide())


class TestIntegratedGaussianProcess(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return IntegratedGP()


class TestRandomForest(SurrogateSuite):
    order_matters = True

    def surrogate(self) -> Surrogate:
        return ScikitSurrogate(RandomForestRegressor(10))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
class TestScikitGaussianProcess(SurrogateSuite):
    tolerance = 1e-3

    def surrogate(self) -> Surrogate:
        return ScikitSurrogate(GaussianProcessRegressor(SklearnRBF(0.5) + WhiteKernel(0.1)))


class TestCalibratedLeaveOneOut(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return Calibrated(GaussianProcess(), by=Isotonic(), evidence=LeaveOneOut())


class TestCalibratedOnline(SurrogateSuite):
    order_matters = True

    def surrogate(self) -> Surrogate:
        return Calibrated(GaussianProcess(), by=OnlineQuantile(), evidence=LeaveOneOut())


class TestCalibratedWithoutEvidence(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return Calibrated(GaussianProcess(), by=OnlineQuantile())


class Sloppy(Model, Surrogate):
    """A surrogate that fails the suite: global randomness, noise on the wrong side, absolute units, first row first."""

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Sloppy:
        self.first = float(data.Y[0, 0]) + random.random()
        self.scale = float(1.0 / data.Y.std())
        data.Y[0] = 7.0
        return self

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        n = X.reshape(-1, X.shape[-1]).shape[0]
        return Gaussian(np.full(n, self.first), np.full(n, (2.0 if latent else 1.0) * self.scale))


class SloppySuite(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return Sloppy()


@pytest.mark.parametrize(
    "name",
    [
        "test_batches_are_consistent_with_flat_points",
        "test_a_measurement_is_less_certain_than_its_mean",
        "test_the_same_seed_gives_the_same_predictions",
        "test_global_generators_are_left_alone",
        "test_the_data_are_not_changed",
        "test_units_of_the_outcomes_do_not_matter",
        "test_the_order_of_the_points_does_not_matter",
        "test_choices_are_distinguished_and_unordered",
        "test_few_points",
        "test_huge_and_tiny_outcomes",
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_broken_surrogates_are_caught(name: str) -> None:
    state = random.getstate()
    try:
        with pytest.raises((AssertionError, ValueError, ZeroDivisionError)):
            getattr(SloppySuite(), name)()
    finally:
        random.setstate(state)


def test_a_suite_without_a_surrogate_says_so() -> None:
    with pytest.raises(NotImplementedError, match="override surrogate"):
        SurrogateSuite().test_few_points()
