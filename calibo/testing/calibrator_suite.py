"""Tests that every recalibrator must pass, to inherit::

class TestMyRecalibrator(CalibratorSuite):
    def recalibrator(self):
        return MyRecalibrator(...)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.calibration import Calibrated, Evidence, Recalibrator
from calibo.calibration.base import identity
from calibo.data import Array, Dataset
from calibo.distributions import Distribution, Gaussian
from calibo.models import Model, Surrogate
from calibo.testing.randomness import global_state

_LEVELS = np.linspace(0.02, 0.98, 49)


class CalibratorSuite:
    """Tests for pytest; a subclass whose name starts with `Test` gives the recalibrator under test.

    Attributes:
        forecasts: How many past forecasts the evidence holds.
        tolerance: How far from the identity, in probability, a map learned from calibrated forecasts may be: the sampling
            error of that many forecasts and of the recalibrator.
        finite: Whether all quantiles are finite whatever the evidence; those of a conformal recalibrator are not.
        equivariant: Whether a distribution of other units is mapped to the same distribution in those units.
    """

    forecasts: int = 400
    tolerance: float = 0.1
    finite: bool = True
    equivariant: bool = True

    def recalibrator(self) -> Recalibrator:
        """Return the recalibrator under test; always a new one or always the same."""
        raise NotImplementedError("override recalibrator() to return the recalibrator under test")

    def evidence(self, factor: float, n: int | None = None, seed: int = 0) -> Evidence:
        """Return Gaussian forecasts whose outcomes spread `factor` times as far: 1 is calibrated, 3 overconfident."""
        rng = np.random.default_rng(seed)
        n = self.forecasts if n is None else n
        mean, std = rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)
        return Evidence(rng.random((n, 2)), mean + factor * std * rng.standard_normal(n), Gaussian(mean, std))

    def test_no_evidence_gives_the_identity(self) -> None:
        rng = np.random.default_rng(0)
        data = Dataset(X=rng.random((5, 2)), Y=rng.random((5, 1)))
        model = Calibrated(_Fixed(), by=self.recalibrator()).fit(data, rng=rng)
        for latent in (True, False):
            calibrated, raw = (m.predict(data.X, latent=latent) for m in (model, _Fixed()))
            if self.recalibrator().without_evidence() is not identity:
                np.testing.assert_allclose(calibrated.median, raw.median)
                assert np.isinf(calibrated.interval(0.5)).all(), "without evidence intervals must be infinite"
                continue
            for u in _LEVELS:
                np.testing.assert_allclose(calibrated.icdf(float(u)), raw.icdf(float(u)), err_msg=f"level {u}")

    def test_calibrated_forecasts_stay_as_they_are(self) -> None:
        for seed in range(3):
            levels = self._levels(self.evidence(1.0, seed=seed))
            error = float(np.max(np.abs(levels - _LEVELS)))
            assert error <= self.tolerance, f"uniform PITs moved a level by {error:.2f}, more than {self.tolerance}"

    def test_overconfident_forecasts_get_wider_intervals(self) -> None:
        assert self._width(self.evidence(3.0)) > 1.3, "80 % intervals that were far too narrow must grow"

    def test_underconfident_forecasts_get_narrower_intervals(self) -> None:
        assert self._width(self.evidence(1.0 / 3.0)) < 0.8, "80 % intervals that were far too wide must shrink"

    def test_biased_forecasts_are_not_made_worse(self) -> None:
        evidence = self.evidence(1.0)
        shifted = Evidence(evidence.X, evidence.y + 1.0, evidence.distribution)
        raw = np.mean((shifted.pit >= 0.1) & (shifted.pit <= 0.9))
        low, high = self._distribution(shifted).interval(0.8)
        z = shifted.scores
        after = np.mean((z >= low[0]) & (z <= high[0]))
        assert abs(after - 0.8) <= abs(raw - 0.8) + 0.02, f"coverage went from {raw:.2f} to {after:.2f}, expected 0.80"

    def test_the_map_is_monotone(self) -> None:
        for factor, n in ((1.0, 40), (3.0, 7), (0.2, self.forecasts), (10.0, 25)):
            distribution = self._distribution(self.evidence(factor, n))
            quantiles = distribution.over_samples().icdf(np.linspace(0.001, 0.999, 333)[:, None])[..., 0]
            assert np.isfinite(quantiles).all() or not self.finite, f"quantiles are not finite: {quantiles}"
            quantiles = quantiles[np.isfinite(quantiles)]
            assert (np.diff(quantiles) >= -1e-12).all(), "calibrated quantiles must not fall as the level rises"

    def test_the_cdf_matches_the_quantiles(self) -> None:
        distribution = self._distribution(self.evidence(2.0))
        for u in _LEVELS:
            y = distribution.icdf(float(u))
            if not self.finite and not np.isfinite(y).all():
                continue
            above = distribution.cdf(y + 1e-7)[0]
            assert above >= u - 1e-6, f"P(Y <= quantile at {u:.2f}) = {above:.4f}"

    def test_latent_and_measured_distributions_are_mapped_alike(self) -> None:
        if not self.equivariant:
            return
        level_map = self.recalibrator().fit(self.evidence(2.0))
        X = np.full((2, 2), 0.5)
        for std in (0.1, 5.0):
            distribution = level_map(Gaussian(np.zeros(2), np.full(2, std)), X)
            reference = level_map(Gaussian(np.zeros(2), np.ones(2)), X)
            np.testing.assert_allclose(distribution.icdf(0.8), std * reference.icdf(0.8), rtol=1e-9)

    def test_it_is_deterministic(self) -> None:
        before = global_state()
        first, second = (self._levels(self.evidence(2.0, 60)) for _ in range(2))
        np.testing.assert_array_equal(first, second)
        assert global_state() == before, "a global generator was used: recalibrators do not draw, or draw from a seed"

    def test_the_evidence_is_not_changed(self) -> None:
        evidence = self.evidence(2.0, 60)
        X, y, mean = evidence.X.copy(), evidence.y.copy(), evidence.distribution.mean.copy()
        self.recalibrator().fit(evidence)
        np.testing.assert_array_equal(evidence.X, X)
        np.testing.assert_array_equal(evidence.y, y)
        np.testing.assert_array_equal(evidence.distribution.mean, mean)

    def test_it_owns_no_state(self) -> None:
        recalibrator = self.recalibrator()
        X = np.zeros((1, 2))
        unit = Gaussian(np.zeros(1), np.ones(1))
        before = recalibrator.fit(self.evidence(2.0, 60))(unit, X).icdf(0.9)
        recalibrator.fit(self.evidence(0.3, 200, seed=1))
        after = recalibrator.fit(self.evidence(2.0, 60))(unit, X).icdf(0.9)
        np.testing.assert_array_equal(before, after, err_msg="what was fitted before must not matter")

    def test_little_evidence_is_enough(self) -> None:
        for n in (1, 2, 3):
            self._sane(self.evidence(1.0, n))

    def test_outcomes_far_outside_are_survived(self) -> None:
        for sign in (-1.0, 1.0):
            evidence = self.evidence(1.0, 12)
            self._sane(Evidence(evidence.X, evidence.y + sign * 1e6, evidence.distribution))

    def test_equal_outcomes_are_survived(self) -> None:
        evidence = self.evidence(1.0, 12)
        self._sane(Evidence(evidence.X, np.zeros(12), Gaussian(np.zeros(12), np.ones(12))))

    def _sane(self, evidence: Evidence) -> None:
        distribution = self._distribution(evidence)
        ends = distribution.interval(0.8) if self.finite else ()
        values = np.concatenate(
            [distribution.mean, distribution.std, *ends, distribution.log_expected_improvement(1.0)]
        )
        assert np.isfinite(values).all(), f"mean, std, interval and log EI must be finite, got {values}"

    def _distribution(self, evidence: Evidence) -> Distribution:
        """Return the standard normal distribution after calibration, at one point."""
        return self.recalibrator().fit(evidence)(Gaussian(np.zeros(1), np.ones(1)), np.full((1, 2), 0.5))

    def _levels(self, evidence: Evidence) -> Array:
        """Return the calibrated levels of the model's `_LEVELS`."""
        distribution, raw = self._distribution(evidence), Gaussian(np.zeros(1), np.ones(1))
        return np.array([distribution.cdf(raw.icdf(float(u)))[0] for u in _LEVELS])

    def _width(self, evidence: Evidence) -> float:
        """Return the width of the calibrated 80 % interval as a multiple of the raw one's."""
        low, high = self._distribution(evidence).interval(0.8)
        raw_low, raw_high = Gaussian(np.zeros(1), np.ones(1)).interval(0.8)
        return float((high[0] - low[0]) / (raw_high[0] - raw_low[0]))


@dataclass(frozen=True)
class _Fixed(Model, Surrogate):
    """A surrogate, and its model, that predicts standard normal outcomes whatever the data."""

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Model:
        return self

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        return Gaussian(np.zeros(X.shape[:-1]), np.full(X.shape[:-1], 0.5 if latent else 1.0))
