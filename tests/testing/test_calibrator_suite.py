"""Our own recalibrators obey the distributions, and the distributions catch those that do not."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
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


class TestOnlineQuantileSlow(CalibratorSuite):
    tolerance = 0.1

    def recalibrator(self) -> Recalibrator:
        return OnlineQuantile(eta=0.01)


class TestIsotonic(CalibratorSuite):
    tolerance = 0.08

    def recalibrator(self) -> Recalibrator:
        return Isotonic()


class TestTemperature(CalibratorSuite):
    tolerance = 0.05

    def recalibrator(self) -> Recalibrator:
        return Temperature()


class _Regressors(CalibratorSuite):
    forecasts = 150

    @pytest.fixture(autouse=True)
    def quiet(self) -> Iterator[None]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            yield


class TestGaussianProcessRegressor(_Regressors):
    tolerance = 0.12

    def recalibrator(self) -> Recalibrator:
        return Regressor(GaussianProcessRegressor(RBF(0.3) + WhiteKernel(1e-3), alpha=1e-6))


class TestMLPRegressor(_Regressors):
    tolerance = 0.25

    def recalibrator(self) -> Recalibrator:
        return Regressor(MLPRegressor(hidden_layer_sizes=(16,), solver="lbfgs", max_iter=200))


@settings(max_examples=5)
@given(st.floats(0.001, 10.0), st.integers(1, 80), st.floats(0.1, 10.0), st.integers(0, 100))
def test_any_step_size_gives_a_usable_map(eta: float, n: int, factor: float, seed: int) -> None:
    class Laws(CalibratorSuite):
        def recalibrator(self) -> Recalibrator:
            return OnlineQuantile(eta=eta)

    distributions = Laws()
    distributions._sane(distributions.evidence(factor, n, seed))
    distributions.test_the_map_is_monotone()
    distributions.test_no_evidence_gives_the_identity()


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


class SloppyLaws(CalibratorSuite):
    sloppy = Sloppy()

    def recalibrator(self) -> Recalibrator:
        return self.sloppy


@pytest.mark.parametrize(
    "distribution",
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
def test_broken_recalibrators_are_caught(distribution: str) -> None:
    with pytest.raises(AssertionError):
        getattr(SloppyLaws(), distribution)()


def test_a_suite_without_a_recalibrator_says_so() -> None:
    with pytest.raises(NotImplementedError, match="override recalibrator"):
        CalibratorSuite().test_little_evidence_is_enough()
