"""Distributions read back from stored marginals: the numbers of each marginal, at every point at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from calibo.data import STORED_LEVELS, Array, Marginal
from calibo.distributions import Distribution, Gaussian, Levels, Relevelled, StoredDistribution, from_marginals
from calibo.testing import DistributionSuite

Z = ndtri(np.array(STORED_LEVELS))
GAUSSIAN = Marginal(2.0, 0.5)
SKEWED = Marginal(0.0, 1.0, tuple(np.exp(Z)), (0.05, 0.9))
ATOM = Marginal(0.0, 1.0, tuple(np.maximum(Z, 0.25)))
STEPS = Marginal(0.0, 1.0, tuple(np.floor(2 * Z) / 2))
POINT = Marginal(3.0, 0.0, (3.0,) * len(STORED_LEVELS))
ALL = (GAUSSIAN, SKEWED, ATOM, STEPS, POINT)


class TestStored(DistributionSuite):
    """The quantiles of Gaussians, between which linear normal scores are exact."""

    def distribution(self, *batch: int) -> Distribution:
        mean, std = np.array([0.0, 2.0, -1.0]), np.array([1.0, 0.3, 2.0])
        quantiles = mean[:, None] + std[:, None] * Z
        shapes: tuple[Array, ...] = (mean, std, quantiles, np.zeros(3, dtype=bool), np.tile([0.0, 1.0], (3, 1)))
        return StoredDistribution(*(np.broadcast_to(a, (*batch, *a.shape)) for a in shapes))


@settings(max_examples=20)
@given(y=st.floats(-60, 60), u=st.floats(1e-9, 1 - 1e-9))
def test_the_numbers_are_those_of_the_marginals(y: float, u: float) -> None:
    distribution = from_marginals(ALL)
    for value in (y, *SKEWED.quantiles[::16], 0.25, np.nextafter(0.25, 0), 0.5, np.nextafter(0.5, 0), 3.0):  # type: ignore[index]
        np.testing.assert_array_equal(distribution.cdf(value), [m.cdf(value) for m in ALL])
    for level in (u, *STORED_LEVELS[::16], 0.05, 0.9):
        np.testing.assert_array_equal(distribution.icdf(level), [m.icdf(level) for m in ALL])


def test_one_value_per_point_and_batches_of_values() -> None:
    distribution = from_marginals(ALL)
    y = np.array([[2.5, 1.0, 0.25, 0.5, 3.5], [2.0, -4.0, 9.0, 0.4, 1.0]])
    expected = [[m.cdf(v) for m, v in zip(ALL, row, strict=True)] for row in y]
    np.testing.assert_array_equal(distribution.cdf(y), expected)
    assert distribution.normal_scores(27.0)[0] == 50.0  # where the cdf is 1 the score still differs


def test_marginals_come_back_and_negate() -> None:
    distribution = from_marginals(ALL)
    assert distribution.marginals() == ALL and distribution.backed == (0.05, 0.9)
    assert distribution.negated().marginals() == tuple(m.negated() for m in ALL)


def test_gaussian_marginals_give_a_gaussian() -> None:
    distribution = from_marginals((GAUSSIAN, Marginal(1.0, 3.0)))
    assert isinstance(distribution, Gaussian) and distribution.marginals() == (GAUSSIAN, Marginal(1.0, 3.0))
    assert from_marginals(()).mean.shape == (0,)


def test_normal_scores_of_other_distributions_are_finite_far_out() -> None:
    identity = Relevelled(
        Gaussian(np.array([2.0]), np.array([0.5])), Levels(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    )
    for z in (-30.0, -3.0, 0.0, 1.0, 30.0):
        assert identity.normal_scores(2.0 + 0.5 * z)[0] == pytest.approx(z, abs=1e-9)
    assert np.isfinite(identity.normal_scores(np.array([[-1e6], [1e6]]))).all()
