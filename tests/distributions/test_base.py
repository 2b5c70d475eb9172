"""What every distribution gets for free, by quadrature, against the closed forms of the normal distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibo.data import Array
from calibo.distributions import Distribution, Gaussian
from calibo.testing import DistributionSuite


@dataclass(frozen=True)
class Bare(Distribution):
    """A distribution that gives only what it must; the normal one, so that closed forms are at hand."""

    distribution: Gaussian

    def cdf(self, y: Array | float) -> Array:
        return self.distribution.cdf(y)

    def icdf(self, u: Array | float) -> Array:
        return self.distribution.icdf(u)

    def over_samples(self) -> Bare:
        return Bare(self.distribution.over_samples())

    def negated(self) -> Bare:
        return Bare(self.distribution.negated())


class TestBare(DistributionSuite):
    tolerance = 2e-3

    def distribution(self, *batch: int) -> Bare:
        return Bare(Gaussian(np.broadcast_to([0.0, 3.0], (*batch, 2)), np.broadcast_to([1.0, 0.2], (*batch, 2))))


GAUSSIAN = Gaussian(np.array([0.0, 3.0, -1e6, 1e-9]), np.array([1.0, 0.2, 1e3, 1e-12]))
BARE = Bare(GAUSSIAN)


def test_moments() -> None:
    np.testing.assert_allclose(BARE.mean, GAUSSIAN.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(BARE.std, GAUSSIAN.std, rtol=1e-9)
    np.testing.assert_allclose(BARE.median, GAUSSIAN.mean)


def test_moments_of_batches_and_extreme_sizes() -> None:
    mean, std = (
        np.array([[0.0, 1e300, 1e-300], [1e8, -1e300, 0.0]]),
        np.array([[1.0, 1e299, 1e-300], [1.0, 1e290, 1e-308]]),
    )
    bare = Bare(Gaussian(mean, std))
    assert (np.abs(bare.mean - mean) <= 1e-9 * std + 1e-15 * np.abs(mean)).all()
    np.testing.assert_allclose(bare.std, std, rtol=1e-5)


@given(st.floats(-4, 4))
def test_improvement(h: float) -> None:
    c = GAUSSIAN.mean + h * GAUSSIAN.std
    np.testing.assert_allclose(BARE.expected_improvement(c), GAUSSIAN.expected_improvement(c), rtol=2e-3)
    np.testing.assert_allclose(
        BARE.probability_of_improvement(c), GAUSSIAN.probability_of_improvement(c), rtol=1e-9, atol=1e-14
    )


def test_samples_without_dependence_are_the_base_samples() -> None:
    base = np.random.default_rng(0).standard_normal((50, 4))
    draws, log_weights = BARE.samples(base)
    np.testing.assert_allclose(draws, GAUSSIAN.mean + GAUSSIAN.std * base, rtol=1e-9)
    np.testing.assert_array_equal(log_weights, 0.0)


def test_samples_of_extreme_scores_are_finite() -> None:
    assert np.isfinite(BARE.samples(np.array([[-40.0] * 4, [40.0] * 4]))[0]).all()


def test_repr_is_short() -> None:
    assert repr(Gaussian(np.array([0.0, 3.0]), np.array([1.0, 0.25]))) == "Gaussian(0 +- 1, 3 +- 0.25)"
    assert repr(Gaussian(np.zeros((5, 2)), np.ones((5, 2)))) == "Gaussian(5 x 2 points)"
