"""Tests that every predictive distribution passes, as a suite to inherit::

    class TestMyDistribution(DistributionSuite):
        def distribution(self, *batch):
            return MyDistribution(np.broadcast_to(mean, (*batch, 3)), ...)

Notation: q points, S levels or samples; u a level, c an incumbent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import ndtr
from scipy.stats import qmc

from calibo.data import STORED_LEVELS, Array
from calibo.distributions import Distribution

#: Levels at which quantiles are compared.
_LEVELS = np.array([0.001, 0.01, 0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95, 0.99, 0.999])
#: Levels whose quantiles are the incumbents of improvement.
_INCUMBENTS = (0.001, 0.1, 0.35, 0.5, 0.8, 0.95, 0.999)


class DistributionSuite:
    """Conformance tests of a ``Distribution``, for pytest.

    Derive a class whose name starts with ``Test`` and override ``distribution``.

    Attributes:
        atoms: Whether some values have positive probability; then the cdf need not invert the quantiles.
        tolerance: Largest difference between closed forms and quadrature: in standard deviations (improvement, mean),
            relative (standard deviation) or in probability.
        draws: Number of joint samples.
        panels: Number of panels of the quadrature, four nodes each; a smooth distribution needs fewer than one with kinks.
    """

    atoms: bool = False
    tolerance: float = 1e-5
    draws: int = 4096
    panels: int = 3000

    def distribution(self, *batch: int) -> Distribution:
        """Return the distribution under test at q >= 2 points, ``batch x q``; every entry of the batch holds the same q."""
        raise NotImplementedError("override distribution(*batch) and return the predictive distribution under test")

    def test_arrays_have_one_entry_per_point(self) -> None:
        distribution = self.distribution()
        q = np.shape(distribution.mean)[-1]
        for name, array in self._arrays(distribution).items():
            assert array.shape == (q,), f"{name} has shape {array.shape}, expected {(q,)}"
            assert array.dtype == np.float64, f"{name} is {array.dtype}, expected float64"
            assert np.isfinite(array).all(), f"{name} is not finite: {array}"

    def test_cdf_inverts_icdf(self) -> None:
        distribution = self.distribution()
        for u in _LEVELS:
            y = distribution.icdf(float(u))
            if self.atoms:
                # The value of an atom is known to rounding only, so its probability is taken just above it.
                back = distribution.cdf(y + 1e-9 * distribution.std)
                assert (back >= u - 1e-9).all(), f"P(Y <= quantile at {u}) = {back} is below {u}"
            else:
                np.testing.assert_allclose(distribution.cdf(y), u, rtol=0, atol=1e-9, err_msg=f"cdf(icdf({u}))")

    def test_icdf_is_monotone(self) -> None:
        q = _quantiles(self.distribution(), np.linspace(1e-6, 1.0 - 1e-6, 2001))
        slack = 1e-12 * np.abs(q).max()
        assert (np.diff(q, axis=0) >= -slack).all(), "quantiles must not fall as the level rises"

    def test_cdf_is_monotone(self) -> None:
        distribution = self.distribution()
        grid = np.linspace(-6.0, 6.0, 401)[:, None] * distribution.std + distribution.median
        p = distribution.over_samples().cdf(grid)
        assert (np.diff(p, axis=0) >= -1e-12).all() and p.min() >= 0.0 and p.max() <= 1.0

    def test_median_and_spread_are_those_of_the_quantiles(self) -> None:
        for batch in ((), (2,)):
            distribution = self.distribution(*batch)
            below, middle, above = (distribution.at_levels(float(ndtr(z))) for z in (-1.0, 0.0, 1.0))
            median, spread = distribution.median_and_spread
            self._close(median, middle, distribution.std, "median")
            for found in (spread, distribution.spread):
                self._close(found, 0.5 * (above - below), distribution.std, "spread")

    def test_mean_and_std_equal_quadrature(self) -> None:
        distribution = self.distribution()
        expectation = self._expectations(distribution)
        mean = expectation(lambda y: y)
        std = np.sqrt(expectation(lambda y: np.square(y - mean)))
        self._close(distribution.mean, mean, std, "mean")
        np.testing.assert_allclose(distribution.std, std, rtol=self.tolerance, err_msg="std")

    def test_expected_improvement_equals_quadrature(self) -> None:
        distribution = self.distribution()
        expectation = self._expectations(distribution)
        for u in _INCUMBENTS:
            c = distribution.icdf(u)
            reference = expectation(lambda y, c=c: np.maximum(y - c, 0.0))
            self._close(distribution.expected_improvement(c), reference, distribution.std, f"EI over quantile {u}")

    def test_probability_of_improvement_equals_quadrature(self) -> None:
        distribution = self.distribution()
        c = np.stack([distribution.icdf(u) + 1e-7 * distribution.std for u in _INCUMBENTS])
        expected = 1.0 - _level_of(distribution, c)
        for u, one, reference in zip(_INCUMBENTS, c, expected, strict=True):
            self._close(distribution.probability_of_improvement(one), reference, 1.0, f"PI over quantile {u}")

    def test_log_expected_improvement_agrees(self) -> None:
        distribution = self.distribution()
        for u in _INCUMBENTS:
            c = distribution.icdf(u)
            log_ei, ei = distribution.log_expected_improvement(c), distribution.expected_improvement(c)
            np.testing.assert_allclose(np.exp(log_ei), ei, rtol=1e-6, err_msg=f"exp(log EI) at the quantile of {u}")

    def test_log_expected_improvement_is_finite_far_out(self) -> None:
        distribution = self.distribution()
        incumbents = (distribution.median + k * distribution.std for k in (3, 6, 12, 40, 200, 1000))
        far = np.stack([distribution.log_expected_improvement(c) for c in incumbents])
        assert np.isfinite(far).all(), f"log EI must stay finite far above the median, got {far}"
        assert (np.diff(far, axis=0) <= 1e-9).all(), "log EI must not rise with the incumbent"

    def test_negated_twice_is_the_identity(self) -> None:
        distribution = self.distribution()
        back = distribution.negated().negated()
        for u in _LEVELS:
            np.testing.assert_allclose(back.icdf(float(u)), distribution.icdf(float(u)), rtol=1e-9, atol=1e-12)

    def test_negated_mirrors_the_quantiles(self) -> None:
        distribution = self.distribution()
        mirrored = distribution.negated()
        self._close(mirrored.mean, -distribution.mean, distribution.std, "mean of the negated distribution")
        for u in _LEVELS:
            quantile = -distribution.icdf(float(u))
            self._close(mirrored.icdf(1.0 - float(u)), quantile, distribution.std, f"negated quantile {u}")

    def test_improvement_of_the_negated_distribution_is_the_shortfall(self) -> None:
        distribution = self.distribution()
        expectation = self._expectations(distribution)
        for u in _INCUMBENTS:
            c = distribution.icdf(u)
            shortfall = expectation(lambda y, c=c: np.maximum(c - y, 0.0))
            found = distribution.negated().expected_improvement(-c)
            self._close(found, shortfall, distribution.std, f"E (c - Y)+, c at level {u}")

    def test_normal_scores_are_those_of_the_cdf(self) -> None:
        distribution = self.distribution()
        for u in _LEVELS:
            y = distribution.icdf(float(u)) + 1e-9 * distribution.std
            np.testing.assert_allclose(ndtr(distribution.normal_scores(y)), distribution.cdf(y), atol=1e-9)
        far = [distribution.normal_scores(distribution.median + k * distribution.std) for k in (-1e3, 1e3)]
        assert np.isfinite(far).all(), f"normal scores must stay finite far from the median, got {far}"

    def test_interval_ends_are_quantiles(self) -> None:
        distribution = self.distribution()
        low, high = distribution.interval(0.8)
        np.testing.assert_allclose(low, distribution.icdf(0.1), rtol=1e-12)
        np.testing.assert_allclose(high, distribution.icdf(0.9), rtol=1e-12)
        np.testing.assert_allclose(distribution.median, distribution.icdf(0.5), rtol=1e-12)

    def test_draws_have_the_marginals(self) -> None:
        distribution = self.distribution()
        q = distribution.mean.shape[-1]
        base = qmc.MultivariateNormalQMC(np.zeros(q), rng=np.random.default_rng(0)).random(self.draws)
        values, log_weights = distribution.samples(np.asarray(base, dtype=np.float64))
        assert values.shape == log_weights.shape == (self.draws, q)
        weights = np.exp(log_weights)
        np.testing.assert_allclose(weights.mean(axis=0), 1.0, atol=0.05, err_msg="weights have mean 1")
        weights /= weights.sum(axis=0)
        for u in _LEVELS:
            edge = distribution.icdf(float(u)) + 1e-9 * distribution.std
            share, tolerance = (weights * (values <= edge)).sum(axis=0), 2.0 / np.sqrt(self.draws)
            np.testing.assert_allclose(share, distribution.cdf(edge), atol=tolerance, err_msg=f"level {u}")

    def test_the_same_base_gives_the_same_draws(self) -> None:
        base = np.random.default_rng(1).standard_normal((16, self.distribution().mean.shape[-1]))
        np.testing.assert_array_equal(self.distribution().samples(base)[0], self.distribution().samples(base)[0])

    def test_batches_are_consistent(self) -> None:
        single, batched = self.distribution(), self.distribution(2, 3)
        for name, array in self._arrays(batched).items():
            expected = np.broadcast_to(self._arrays(single)[name], (2, 3, single.mean.shape[-1]))
            np.testing.assert_allclose(array, expected, rtol=1e-12, err_msg=f"{name} in a batch")
        base = np.random.default_rng(2).standard_normal((8, single.mean.shape[-1]))
        values = batched.samples(base)[0]
        expected = np.broadcast_to(single.samples(base)[0], (2, 3, 8, single.mean.shape[-1]))
        np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12, err_msg="draws in a batch")

    def test_stored_form_keeps_the_quantiles(self) -> None:
        distribution = self.distribution()
        stored = distribution.marginals()
        for u in STORED_LEVELS:
            values = np.array([marginal.icdf(u) for marginal in stored])
            self._close(values, distribution.icdf(u), distribution.std, f"stored quantile at {u}")
        moments = np.array([(m.mean, m.std) for m in stored]).T
        np.testing.assert_allclose(moments, [distribution.mean, distribution.std], rtol=1e-5, atol=1e-8)

    def _expectations(self, distribution: Distribution) -> Callable[[Callable[[Array], Array]], Array]:
        """Return the map from a function to E function(Y), ``q``, through the quantiles, which are evaluated once."""
        levels, weights = _score_quadrature(self.panels)
        values = _quantiles(distribution, levels)
        return lambda function: weights @ function(values)

    def _arrays(self, distribution: Distribution) -> dict[str, Array]:
        c = distribution.icdf(0.7)
        return {
            "mean": distribution.mean,
            "std": distribution.std,
            "median": distribution.median,
            "cdf": distribution.cdf(c),
            "icdf": distribution.icdf(0.3),
            "expected_improvement": distribution.expected_improvement(c),
            "log_expected_improvement": distribution.log_expected_improvement(c),
            "probability_of_improvement": distribution.probability_of_improvement(c),
        }

    def _close(self, value: Array, reference: Array, scale: Array | float, what: str) -> None:
        error = np.max(np.abs(value - reference) / scale)
        assert error <= self.tolerance, f"{what}: {value} is not {reference} (error {error:.2g}, in units of the scale)"


@lru_cache(maxsize=4)
def _score_quadrature(panels: int) -> tuple[Array, Array]:
    """Return levels and weights of an integral over (0, 1): Gauss-Legendre on panels of normal scores."""
    x, w = np.polynomial.legendre.leggauss(4)
    edges = np.linspace(-8.1, 8.1, panels + 1)
    half = 0.5 * np.diff(edges)
    z = (0.5 * (edges[1:] + edges[:-1])[:, None] + half[:, None] * x).ravel()
    weights = (half[:, None] * w).ravel() * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    return ndtr(z), weights / weights.sum()


def _quantiles(distribution: Distribution, levels: Array) -> Array:
    """Return quantiles at S levels, ``S x q``."""
    return distribution.over_samples().icdf(levels[:, None])


def _level_of(distribution: Distribution, c: Array) -> Array:
    """Return sup {u: icdf(u) <= c}, ``S x q``, by bisection."""
    distribution = distribution.over_samples()
    low, high = np.zeros_like(c), np.ones_like(c)
    for _ in range(50):
        middle = np.clip(0.5 * (low + high), 1e-16, 1.0 - 1e-16)
        below = distribution.icdf(middle) <= c
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low
