"""The shipped distributions pass the suite, and the suite catches distributions that are wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.data import Array
from calibo.distributions import Composed, Distribution, Gaussian, Levels, Relevelled, Tempered, relevel
from calibo.testing.distribution_suite import DistributionSuite

MEAN = np.array([0.3, -2.0, 5.0])
STD = np.array([1.0, 0.2, 3.0])
CORRELATION = np.array([[1.0, 0.7, -0.2], [0.7, 1.0, 0.1], [-0.2, 0.1, 1.0]])
LEVELS = Levels(np.array([0.0, 0.1, 0.3, 0.5, 0.8, 0.95, 1.0]), np.array([0.0, 0.02, 0.25, 0.6, 0.75, 0.99, 1.0]))
WITH_ATOM = Levels(np.array([0.0, 0.2, 0.42, 0.8, 1.0]), np.array([0.0, 0.3, 0.3, 0.9, 1.0]))


def gaussian(*batch: int) -> Gaussian:
    return Gaussian(
        np.broadcast_to(MEAN, (*batch, 3)).copy(),
        np.broadcast_to(STD, (*batch, 3)).copy(),
        lambda: np.broadcast_to(CORRELATION, (*batch, 3, 3)),
    )


class TestGaussian(DistributionSuite):
    def distribution(self, *batch: int) -> Distribution:
        return gaussian(*batch)


class TestTempered(DistributionSuite):
    def distribution(self, *batch: int) -> Distribution:
        return relevel(gaussian(*batch), Tempered(1.7))


class TestRelevelled(DistributionSuite):
    def distribution(self, *batch: int) -> Distribution:
        return Relevelled(gaussian(*batch), LEVELS)


class TestRelevelledWithAnAtom(DistributionSuite):
    atoms = True

    def distribution(self, *batch: int) -> Distribution:
        return Relevelled(gaussian(*batch), WITH_ATOM)


class TestComposed(DistributionSuite):
    # Improvement and moments of a composed distribution are themselves quadrature, over a distribution with kinks.
    tolerance = 1e-2

    def distribution(self, *batch: int) -> Distribution:
        return Composed(Relevelled(gaussian(*batch), LEVELS), Tempered(1.3))


@st.composite
def level_maps(draw: st.DrawFn) -> Levels:
    """Level maps without atoms, of 1 to 8 inner knots."""
    k = draw(st.integers(1, 8))
    steps = st.lists(st.floats(0.02, 1.0), min_size=k + 1, max_size=k + 1)
    p, r = (np.cumsum(draw(steps)) for _ in range(2))
    return Levels(np.concatenate([[0.0], p[:-1] / p[-1], [1.0]]), np.concatenate([[0.0], r[:-1] / r[-1], [1.0]]))


TESTS = [name for name in dir(DistributionSuite) if name.startswith("test_")]


@settings(max_examples=10)
@given(level_maps())
def test_any_relevelled_distribution(levels: Levels) -> None:
    class Suite(DistributionSuite):
        # The suite's own quadrature is no better than this on steep maps; the closed forms are exact to 1e-13.
        tolerance = 2e-4

        def distribution(self, *batch: int) -> Distribution:
            return Relevelled(gaussian(*batch), levels)

    for name in TESTS:
        getattr(Suite(), name)()


@dataclass(frozen=True)
class Sloppy(Distribution):
    """A wrong distribution: a cdf of another scale, quantiles that fall, samples that ignore their base."""

    q: int = 2

    def cdf(self, y: Array | float) -> Array:
        return 1.1 / (1.0 + np.exp(-np.asarray(y, dtype=float)))

    def icdf(self, u: Array | float) -> Array:
        return np.broadcast_to(np.sin(9.0 * np.asarray(u)), np.broadcast_shapes(np.shape(u), (self.q,))).copy()

    def normal_scores(self, y: Array | float) -> Array:
        return np.zeros(self.q)

    @property
    def median_and_spread(self) -> tuple[Array, Array]:
        return np.zeros(self.q), np.ones(self.q)

    def samples(self, base: Array) -> tuple[Array, Array]:
        return np.random.default_rng().random(base.shape), np.zeros(len(base))

    def expected_improvement(self, c: Array | float) -> Array:
        return np.ones(self.q)

    def log_expected_improvement(self, c: Array | float) -> Array:
        return np.full(self.q, -np.inf)

    def over_samples(self) -> Distribution:
        return self

    def negated(self) -> Distribution:
        return self


class SloppySuite(DistributionSuite):
    def distribution(self, *batch: int) -> Distribution:
        return Sloppy()


#: Tests that even the wrong one passes, because it inherits what they check.
PASSED = {
    "test_interval_ends_are_quantiles",
    "test_mean_and_std_equal_quadrature",
    "test_negated_twice_is_the_identity",
    "test_stored_form_keeps_the_quantiles",
}


@pytest.mark.parametrize("name", sorted(set(TESTS) - PASSED))
def test_wrong_distributions_are_caught(name: str) -> None:
    with pytest.raises(AssertionError):
        getattr(SloppySuite(), name)()


def test_a_suite_without_a_distribution_says_so() -> None:
    with pytest.raises(NotImplementedError, match="override distribution"):
        DistributionSuite().test_cdf_inverts_icdf()
