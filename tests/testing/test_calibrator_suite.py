"""calibo's recalibrators pass the suite, and the suite catches those that are wrong."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.neural_network import MLPRegressor

from calibo.calibration import Evidence, Isotonic, LevelMap, OnlineQuantile, Recalibrator, Regressor, Temperature
from calibo.data import Array
from calibo.distributions import Distribution, Gaussian
from calibo.testing.calibrator_suite import CalibratorSuite


class TestOnlineQuantile(CalibratorSuite):
    # Steps of eta never settle: a level p wanders by about sqrt(eta p (1 - p) / 2).
    tolerance = 0.2

    def recalibrator(self) -> Recalibrator:
        return OnlineQuantile(eta=0.05)


class TestIsotonic(CalibratorSuite):
    tolerance = 0.08

    def recalibrator(self) -> Recalibrator:
        return Isotonic()


class TestTemperature(CalibratorSuite):
    tolerance = 0.05

    def recalibrator(self) -> Recalibrator:
        return Temperature()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
class TestGaussianProcessRegressor(CalibratorSuite):
    forecasts = 150
    tolerance = 0.12

    def recalibrator(self) -> Recalibrator:
        return Regressor(GaussianProcessRegressor(RBF(0.3) + WhiteKernel(1e-3), alpha=1e-6))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
class TestMLPRegressor(CalibratorSuite):
    forecasts = 150
    tolerance = 0.25

    def recalibrator(self) -> Recalibrator:
        return Regressor(MLPRegressor(hidden_layer_sizes=(16,), solver="lbfgs", max_iter=200))


@dataclass
class Sloppy:
    """A recalibrator that fails the suite: it remembers, draws, sorts the evidence in place and corrects backwards."""

    seen: list[float] = field(default_factory=list)

    def fit(self, evidence: Evidence) -> LevelMap:
        self.seen.extend(np.abs(evidence.scores))
        evidence.y.sort()
        factor = 1.0 / (np.mean(self.seen) + 0.01 * np.random.rand())  # noqa: NPY002

        def backwards(distribution: Distribution, X: Array) -> Distribution:
            return Gaussian(distribution.mean, np.full_like(distribution.mean, -factor))

        return backwards


class SloppySuite(CalibratorSuite):
    sloppy = Sloppy()

    def recalibrator(self) -> Recalibrator:
        return self.sloppy


@pytest.mark.parametrize(
    "name",
    [
        "test_calibrated_forecasts_stay_as_they_are",
        "test_overconfident_forecasts_get_wider_intervals",
        "test_the_map_is_monotone",
        "test_latent_and_measured_distributions_are_mapped_alike",
        "test_it_is_deterministic",
        "test_the_evidence_is_not_changed",
        "test_it_owns_no_state",
    ],
)
def test_broken_recalibrators_are_caught(name: str) -> None:
    with pytest.raises(AssertionError):
        getattr(SloppySuite(), name)()


def test_a_suite_without_a_recalibrator_says_so() -> None:
    with pytest.raises(NotImplementedError, match="override recalibrator"):
        CalibratorSuite().test_little_evidence_is_enough()
