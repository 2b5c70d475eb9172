"""Quantiles of flat-set distributions are inverse to their probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.distributions import FlatSet, Gaussian


def distribution(seed: int, J: int, spread: float, noise: float, inside: float) -> FlatSet:
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.standard_normal() + spread * rng.standard_normal((3, 2 * J)), axis=1)
    std = rng.uniform(0.2, 2.0, 3)
    return FlatSet(Gaussian(rng.standard_normal(3), std, noise_std=noise), ends[:, ::2], ends[:, 1::2], inside)


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(1, 3),
    st.sampled_from([1e-3, 0.3, 2.0, 15.0]),
    st.sampled_from([0.0, 1e-4, 0.3, 3.0]),
    st.floats(0.05, 0.95),
    st.floats(1e-6, 1 - 1e-6),
)
def test_the_probability_of_a_quantile(seed: int, J: int, spread: float, noise: float, inside: float, u: float) -> None:
    believed = distribution(seed, J, spread, noise, inside)
    y = believed.icdf(u)
    assert np.isfinite(y).all()
    # Mass that is next to nothing outside the set goes to the set, which may move levels by that much.
    np.testing.assert_allclose(believed.cdf(y), u, atol=2e-8)
    levels = np.array([0.001, 0.2, 0.5, 0.7, 0.999])
    quantiles = np.stack([believed.icdf(v) for v in levels])
    assert (np.diff(quantiles, axis=0) >= 0.0).all()


@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_both_tails_keep_their_digits(noise: float) -> None:
    believed = distribution(1, 2, 0.5, noise, 0.7)
    mirror = believed.negated()
    for u in (1e-3, 1e-6, 1e-9, 1e-12):
        np.testing.assert_allclose(mirror.icdf(u), -believed.icdf(1.0 - u), rtol=1e-4)
        np.testing.assert_allclose(
            np.log(believed.probability_of_improvement(believed.icdf(1.0 - u))), np.log(u), rtol=1e-4
        )


def test_levels_broadcast_over_draws() -> None:
    for noise in (0.0, 0.4):
        believed = distribution(2, 2, 0.5, noise, 0.7)
        u = np.random.default_rng(0).random((5, 3))
        together = believed.over_samples().icdf(u)
        for i in range(5):
            np.testing.assert_allclose(together[i], believed.icdf(u[i]), atol=1e-9)
