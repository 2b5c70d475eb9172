"""The Gaussian distribution against SciPy, and its joint draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from calibo.distributions import Gaussian
from calibo.distributions.gaussian import stable_cholesky

GAUSSIAN = Gaussian(np.array([0.0, 2.0, -5.0]), np.array([1.0, 0.1, 3.0]))
finite = st.floats(-1e6, 1e6)


def test_against_scipy() -> None:
    y = np.array([0.3, 2.2, -9.0])
    np.testing.assert_allclose(GAUSSIAN.cdf(y), norm.cdf(y, GAUSSIAN.mean, GAUSSIAN.std))
    np.testing.assert_allclose(GAUSSIAN.pdf(y), norm.pdf(y, GAUSSIAN.mean, GAUSSIAN.std))
    np.testing.assert_allclose(GAUSSIAN.logpdf(1e3), norm.logpdf(1e3, GAUSSIAN.mean, GAUSSIAN.std))
    np.testing.assert_allclose(GAUSSIAN.probability_of_improvement(y), norm.sf(y, GAUSSIAN.mean, GAUSSIAN.std))
    z = (GAUSSIAN.mean - y) / GAUSSIAN.std
    expected = GAUSSIAN.std * (z * norm.cdf(z) + norm.pdf(z))
    np.testing.assert_allclose(GAUSSIAN.expected_improvement(y), expected)


@given(mean=finite, std=st.floats(1e-6, 1e6), a=st.floats(1e-3, 1e3), b=finite, h=st.floats(-5, 5))
def test_improvement_is_affine(mean: float, std: float, a: float, b: float, h: float) -> None:
    distribution, c = Gaussian(np.array([mean]), np.array([std])), mean + h * std
    changed = Gaussian(np.array([a * mean + b]), np.array([a * std]))
    # c rounds to about 1e-16 of the largest number around, which counts in units of std.
    slack = 1e-9 + 1e-13 * (abs(a * mean) + abs(b) + abs(mean) * a) / (a * std)
    np.testing.assert_allclose(
        changed.log_expected_improvement(a * c + b),
        distribution.log_expected_improvement(c) + np.log(a),
        atol=20 * slack,
        rtol=1e-9,
    )


def test_negated_and_scaled() -> None:
    distribution = Gaussian(GAUSSIAN.mean, GAUSSIAN.std, noise_std=0.5)
    turned, wide = distribution.negated(), distribution.scaled(2.0)
    np.testing.assert_array_equal(turned.mean, -GAUSSIAN.mean)
    np.testing.assert_array_equal([wide.mean, wide.std], [GAUSSIAN.mean, 2 * GAUSSIAN.std])
    assert turned.noise_std == 0.5 and wide.noise_std == 1.0


def test_joint_draws_have_the_given_correlation() -> None:
    correlation = np.array([[1.0, 0.8, -0.3], [0.8, 1.0, 0.1], [-0.3, 0.1, 1.0]])
    distribution = Gaussian(GAUSSIAN.mean, GAUSSIAN.std, lambda: correlation)
    base = np.random.default_rng(1).standard_normal((40_000, 3))
    draws, log_weights = distribution.samples(base)
    # 40 000 draws: standard errors of a correlation are at most .005, so six of them.
    np.testing.assert_allclose(np.corrcoef(draws.T), correlation, atol=0.03)
    np.testing.assert_allclose(draws.mean(axis=0), GAUSSIAN.mean, atol=0.1)
    np.testing.assert_allclose(draws.std(axis=0), GAUSSIAN.std, rtol=0.03)
    assert log_weights.shape == draws.shape
    turned = np.corrcoef(distribution.negated().samples(base)[0].T)
    np.testing.assert_allclose(turned, correlation, atol=0.03)


def test_the_correlation_is_put_off_until_draws_are_asked_for() -> None:
    def never() -> np.ndarray:
        raise AssertionError("computed too early")

    distribution = Gaussian(np.zeros(2), np.ones(2), never).negated().scaled(2.0)
    assert distribution.cdf(0.0) is not distribution.icdf(0.2) and distribution.marginals()
    assert np.isfinite(distribution.log_expected_improvement(1.0)).all()
    with pytest.raises(AssertionError, match="too early"):
        distribution.samples(np.zeros((1, 2)))


def test_cholesky_of_singular_and_batched_matrices() -> None:
    ones = np.ones((4, 4))
    np.testing.assert_allclose((f := stable_cholesky(ones)) @ f.T, ones, atol=1e-6)
    batch = np.stack([np.eye(4), 1e-300 * np.eye(4)])
    np.testing.assert_allclose(stable_cholesky(batch)[0], np.eye(4))
    assert stable_cholesky(np.zeros((2, 0, 0))).shape == (2, 0, 0)
    with pytest.raises(np.linalg.LinAlgError, match="far from positive"):
        stable_cholesky(-np.eye(2))


def test_one_bad_matrix_of_a_batch_leaves_the_others_as_they_are() -> None:
    good, singular = np.array([[2.0, 0.5], [0.5, 1.0]]), np.ones((2, 2))
    factors = stable_cholesky(np.stack([good, singular]))
    np.testing.assert_allclose(factors[0] @ factors[0].T, good, atol=1e-9)


def test_the_measurement_of_a_latent_value_has_its_noise() -> None:
    mean, std = np.zeros((2, 3)), np.full((2, 3), 3.0)
    for noise in (4.0, np.full((2, 3), 4.0)):
        measured = Gaussian(mean, std, noise_std=noise).measurement
        np.testing.assert_allclose(measured.std, 5.0)
        assert measured.measurement is measured
    assert (plain := Gaussian(mean, std)).measurement is plain


def test_a_factor_for_each_point() -> None:
    scaled = Gaussian(np.zeros((2, 3)), np.ones((2, 3)), noise_std=0.5).scaled(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(scaled.std, [[1.0, 2.0, 3.0]] * 2)
    np.testing.assert_allclose(scaled.over_samples().noise_std, [[0.5, 1.0, 1.5]])
    np.testing.assert_allclose(scaled.measurement.std, np.hypot(scaled.std, scaled.noise_std))


def test_scaled_scales_the_noise_too() -> None:
    scaled = Gaussian(np.array([1.0]), np.array([2.0]), noise_std=0.5).scaled(3.0)
    assert (scaled.mean[0], scaled.std[0], scaled.noise_std) == (1.0, 6.0, 1.5)
