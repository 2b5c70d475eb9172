"""The predictive distribution: what is believed of an outcome (or of a latent value) at each of q points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import ndtr, ndtri, ndtri_exp

from calibo.data import STORED_LEVELS, Array, Marginal

#: Levels are kept this far from 0 and 1 when normal scores are turned into levels, so that samples stay finite.
_SMALLEST_LEVEL = 1e-16
#: Rounding allowed for when a level is compared with those that are backed.
_SLACK = 1e-9


def infinite_beyond(values: Array, u: Array | float, backed: tuple[float, float]) -> Array:
    """Quantiles at levels ``u``, ... x q, infinite where the level is not backed."""
    low, high = backed
    if low <= 0.0 and high >= 1.0:
        return values
    u = np.asarray(u)
    return np.where(u < low - _SLACK, -np.inf, np.where(u > high + _SLACK, np.inf, values))


class Distribution(ABC):
    """The distributions of one outcome at q points, with batch dimensions in front: every marginal array has shape ... x q.

    Subclasses give ``cdf`` and ``icdf``; what can be derived from these is derived here by quadrature over levels and
    overridden where a closed form exists. Improvement always means larger values: the sign is turned at the door.
    """

    @abstractmethod
    def cdf(self, y: Array | float) -> Array:
        """Marginal probability of a value at or below ``y``, ... x q."""

    @abstractmethod
    def icdf(self, u: Array | float) -> Array:
        """Marginal quantile at level ``u`` in (0, 1), ... x q."""

    def normal_scores(self, y: Array | float) -> Array:
        """Return the normal scores Phi^-1(F(y)): standard normal if the distribution is right, finite far out in the tails.

        Args:
            y: Values, broadcastable with ``... x q``.

        Returns:
            ``... x q`` scores.
        """
        p = self.cdf(y)
        upper = -ndtri_exp(self.log_probability_of_improvement(y))
        return np.where(p > 0.5, upper, ndtri(np.maximum(p, np.finfo(np.float64).tiny)))

    def copula_samples(self, base: Array) -> Array:
        """Return standard normal samples with the dependence between the points, a Gaussian copula.

        Args:
            base: Independent standard normal samples, ``S x q``.

        Returns:
            ``... x S x q`` samples; ``base`` itself if the points are independent.
        """
        return base

    def draws(self, base: Array) -> Array:
        """Joint draws of equal weight, ... x S x q, from standard normal base samples, S x q: marginals by a copula."""
        levels = np.clip(ndtr(self.copula_samples(base)), _SMALLEST_LEVEL, 1.0 - _SMALLEST_LEVEL)
        return self.over_samples().at_levels(levels)

    def at_levels(self, u: Array | float) -> Array:
        """Finite values at levels ``u`` in (0, 1), ... x q, for draws; quantiles, unless a distribution promises none far out."""
        return self.icdf(u)

    def samples(self, base: Array) -> tuple[Array, Array]:
        """Joint draws, ... x S x q, and the log-weights of each point's draws, ... x S x q, from base samples, S x q.

        The weights have mean 1 at every point; they are equal unless a distribution is sampled by weighting another's draws.
        """
        return self.draws(base), np.zeros(base.shape)

    @property
    def backed(self) -> tuple[float, float]:
        """The lowest and the highest level that evidence backs; quantiles beyond are infinite."""
        return 0.0, 1.0

    @abstractmethod
    def over_samples(self) -> Distribution:
        """The same marginals with a dimension for samples before the points: ... x 1 x q."""

    @abstractmethod
    def negated(self) -> Distribution:
        """The distribution of minus the outcome, marginally."""

    @cached_property
    def mean(self) -> Array:
        """Expected value, ... x q."""
        nodes, weights = _level_quadrature()
        return sum(w * self.at_levels(u) for u, w in zip(nodes, weights, strict=True))  # pyright: ignore[reportReturnType]

    @cached_property
    def std(self) -> Array:
        """Standard deviation, ... x q."""
        nodes, weights = _level_quadrature()
        square = sum(w * np.square(self.at_levels(u) - self.mean) for u, w in zip(nodes, weights, strict=True))
        return np.sqrt(square)

    @property
    def median(self) -> Array:
        """Quantile at level one half, ... x q."""
        return self.icdf(0.5)

    def interval(self, coverage: float) -> tuple[Array, Array]:
        """Central interval of probability ``coverage``: lower and upper ends, each ... x q."""
        tail = (1.0 - coverage) / 2.0
        return self.icdf(tail), self.icdf(1.0 - tail)

    def expected_improvement(self, c: Array | float) -> Array:
        """E (Y - c)_+, ... x q."""
        return np.exp(self.log_expected_improvement(c))

    def log_expected_improvement(self, c: Array | float) -> Array:
        """log E (Y - c)_+, ... x q: here by quadrature over the levels above ``cdf(c)``."""
        nodes, weights = _level_quadrature()
        below = self.cdf(c)
        total = np.zeros(np.shape(below))
        for u, w in zip(nodes, weights, strict=True):
            level = np.minimum(below + (1.0 - below) * u, 1.0 - _SMALLEST_LEVEL)
            total = total + w * (1.0 - below) * np.maximum(self.at_levels(level) - c, 0.0)
        return np.log(np.maximum(total, np.finfo(np.float64).tiny))

    def probability_of_improvement(self, c: Array | float) -> Array:
        """P(Y > c), ... x q."""
        return 1.0 - self.cdf(c)

    def log_probability_of_improvement(self, c: Array | float) -> Array:
        """log P(Y > c), ... x q."""
        return np.log(np.maximum(self.probability_of_improvement(c), np.finfo(np.float64).tiny))

    def marginals(self) -> tuple[Marginal, ...]:
        """The q distributions in the form that is stored; only without batch dimensions."""
        quantiles = self.over_samples().at_levels(np.asarray(STORED_LEVELS)[:, None]).T
        rows = zip(self.mean, self.std, quantiles, strict=True)
        backed = None if self.backed == (0.0, 1.0) else self.backed
        return tuple(Marginal(float(m), float(s), tuple(float(v) for v in q), backed) for m, s, q in rows)


@lru_cache(maxsize=1)
def _level_quadrature() -> tuple[Array, Array]:
    """Nodes and weights of an integral over levels in (0, 1): Gauss-Legendre in the normal score, which tames the tails."""
    x, w = np.polynomial.legendre.leggauss(96)
    z, half = 8.0 * x, 8.0
    weights = w * half * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    return ndtr(z), weights / weights.sum()
