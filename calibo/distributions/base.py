"""The predictive distribution of an outcome (or of a latent value) at each of q points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import ndtr, ndtri, ndtri_exp

from calibo.data import STORED_LEVELS, Array, Marginal

#: Levels are kept this far from 0 and 1 when normal scores are turned into levels, so that samples stay finite.
_SMALLEST_LEVEL = 1e-16
#: Rounding allowed for when a level is compared with those supported by data.
_SLACK = 1e-9
_TINY = np.finfo(np.float64).tiny
#: The largest float, but for a little that is left for rounding of means.
_LARGEST = np.finfo(np.float64).max * (1.0 - 1e-12)
#: Levels of the quantiles one standard deviation below and above the median of a normal distribution.
_ONE_BELOW, _ONE_ABOVE = float(ndtr(-1.0)), float(ndtr(1.0))


def infinite_beyond(values: Array, u: Array | float, backed: tuple[Array | float, Array | float]) -> Array:
    """Return quantiles at levels ``u``, ``... x q``, made infinite where the level is not supported by data."""
    low, high = backed
    if np.all(low <= 0.0) and np.all(high >= 1.0):
        return values
    u = np.asarray(u)
    return np.where(u < low - _SLACK, -np.inf, np.where(u > high + _SLACK, np.inf, values))


def within_floats(values: Array) -> Array:
    """Return values, any shape, with infinite ones as the largest float: of outcomes near it, predictions lie beyond."""
    return np.clip(values, -_LARGEST, _LARGEST)


class Distribution(ABC):
    """Predictive distributions of one outcome at q points, with batch dimensions in front: arrays are ``... x q``.

    Subclasses give ``cdf`` and ``icdf``; everything else is derived from these by quadrature over levels and overridden
    where a closed form exists. Improvement always means larger values: outcomes are maximized inside calibo.
    """

    @abstractmethod
    def cdf(self, y: Array | float) -> Array:
        """Return the marginal probabilities of a value at or below ``y``, ``... x q``."""

    @abstractmethod
    def icdf(self, u: Array | float) -> Array:
        """Return the marginal quantiles at level ``u`` in (0, 1), ``... x q``."""

    @abstractmethod
    def over_samples(self) -> Distribution:
        """Return the same marginals with a dimension for samples before the points: ``... x 1 x q``."""

    @abstractmethod
    def negated(self) -> Distribution:
        """Return the distribution of minus the outcome, marginally."""

    def normal_scores(self, y: Array | float) -> Array:
        """Return the normal scores Phi^-1(F(y)): standard normal if the distribution is right, finite far out in the tails.

        Args:
            y: Values, broadcastable with ``... x q``.

        Returns:
            ``... x q`` scores.
        """
        p = self.cdf(y)
        upper = -ndtri_exp(self.log_probability_of_improvement(y))
        return np.where(p > 0.5, upper, ndtri(np.maximum(p, _TINY)))

    def copula_samples(self, base: Array) -> Array:
        """Return standard normal samples with the dependence between the points, a Gaussian copula.

        Args:
            base: Independent standard normal samples, ``S x q``.

        Returns:
            ``... x S x q`` samples; ``base`` itself if the points are independent.
        """
        return base

    def draws(self, base: Array) -> Array:
        """Return joint samples of equal weight.

        Args:
            base: Independent standard normal samples, ``S x q``.

        Returns:
            ``... x S x q`` samples, with these marginals and the copula of ``copula_samples``.
        """
        levels = np.clip(ndtr(self.copula_samples(base)), _SMALLEST_LEVEL, 1.0 - _SMALLEST_LEVEL)
        return self.over_samples().at_levels(levels)

    def at_levels(self, u: Array | float) -> Array:
        """Return finite values at levels ``u`` in (0, 1), ``... x q``, for samples and moments.

        Quantiles, unless quantiles are infinite beyond the levels supported by data.
        """
        return self.icdf(u)

    def at_scores(self, z: Array | float) -> Array:
        """Return the finite values at normal scores ``z``, ``... x q``: those at levels Phi(z).

        Here not farther out than levels can be told from 0 and 1; distributions in closed form override it.
        """
        return self.at_levels(np.clip(ndtr(z), _TINY, 1.0 - _SMALLEST_LEVEL))

    def samples(self, base: Array) -> tuple[Array, Array]:
        """Return joint samples and their log weights.

        Args:
            base: Independent standard normal samples, ``S x q``, or others for each batch, ``... x S x q``.

        Returns:
            ``... x S x q`` samples, and the log weights of each point's samples, ``... x S x q``, or ``S x q`` where they are
            equal, as they are unless a distribution is sampled by weighting the samples of another. They have mean 1 at
            every point.
        """
        return self.draws(base), np.zeros(base.shape[-2:])

    @property
    def backed(self) -> tuple[float, float]:
        """Lowest and highest level supported by data; quantiles beyond are infinite."""
        return 0.0, 1.0

    @property
    def quantiles_are_quick(self) -> bool:
        """Whether quantiles need no search, so that moments are well computed from many of them."""
        return True

    @property
    def measurement(self) -> Distribution:
        """Distribution of a measurement of this value: of a latent value with known noise the noisy one, else itself."""
        return self

    @cached_property
    def _table(self) -> Array:
        """Values at ``STORED_LEVELS`` and at the nodes of the quadrature over levels, ``... x (L + nodes) x q``."""
        with np.errstate(over="ignore"):
            return within_floats(self.over_samples().at_levels(_table_levels()))

    @property
    def _at_nodes(self) -> Array:
        return self._table[..., len(STORED_LEVELS) :, :]

    @cached_property
    def mean(self) -> Array:
        """Expected value, ``... x q``."""
        return np.einsum("s,...sq->...q", level_quadrature()[1], self._at_nodes)

    @cached_property
    def std(self) -> Array:
        """Standard deviation, ``... x q``."""
        # Half of the deviations, since the whole, and in units of the largest, since squares need not be floats.
        away = 0.5 * self._at_nodes - 0.5 * self.mean[..., None, :]
        unit = np.maximum(np.abs(away).max(axis=-2), _TINY)
        square = np.einsum("s,...sq->...q", level_quadrature()[1], np.square(away / unit[..., None, :]))
        with np.errstate(over="ignore"):
            return within_floats(2.0 * (unit * np.sqrt(square)))

    @property
    def median(self) -> Array:
        """Quantile at level one half, ``... x q``."""
        return self.icdf(0.5)

    @property
    def spread(self) -> Array:
        """Half the distance of the quantiles one standard deviation below and above a normal distribution's median.

        ``... x q``. It is the standard deviation of a normal distribution, and hardly depends on the tails of others.
        """
        return 0.5 * self.at_levels(_ONE_ABOVE) - 0.5 * self.at_levels(_ONE_BELOW)

    @property
    def median_and_spread(self) -> tuple[Array, Array]:
        """Finite median and ``spread``, each ``... x q``: both by one call, which is quicker."""
        levels = np.array([_ONE_BELOW, 0.5, _ONE_ABOVE])[:, None]
        below, median, above = np.moveaxis(self.over_samples().at_levels(levels), -2, 0)
        return median, 0.5 * above - 0.5 * below

    def interval(self, coverage: float) -> tuple[Array, Array]:
        """Return the lower and upper ends, each ``... x q``, of the central interval of probability ``coverage``."""
        tail = (1.0 - coverage) / 2.0
        return self.icdf(tail), self.icdf(1.0 - tail)

    def expected_improvement(self, c: Array | float) -> Array:
        """Return E (Y - c)_+, ``... x q``."""
        return np.exp(self.log_expected_improvement(c))

    def log_expected_improvement(self, c: Array | float) -> Array:
        """Return log E (Y - c)_+, ``... x q``; here by quadrature over the levels above ``cdf(c)``."""
        nodes, weights = level_quadrature()
        below = self.cdf(c)
        total = np.zeros(np.shape(below))
        for u, w in zip(nodes, weights, strict=True):
            level = np.minimum(below + (1.0 - below) * u, 1.0 - _SMALLEST_LEVEL)
            total = total + w * (1.0 - below) * np.maximum(self.at_levels(level) - c, 0.0)
        return np.log(np.maximum(total, _TINY))

    def probability_of_improvement(self, c: Array | float) -> Array:
        """Return P(Y > c), ``... x q``."""
        return 1.0 - self.cdf(c)

    def log_probability_of_improvement(self, c: Array | float) -> Array:
        """Return log P(Y > c), ``... x q``."""
        return np.log(np.maximum(self.probability_of_improvement(c), _TINY))

    def marginals(self) -> tuple[Marginal, ...]:
        """Return the q marginals in the form that is stored; only without batch dimensions."""
        quantiles = self._table[: len(STORED_LEVELS)].T
        rows = zip(within_floats(self.mean), within_floats(self.std), quantiles, strict=True)
        backed = None if self.backed == (0.0, 1.0) else self.backed
        return tuple(Marginal(float(m), float(s), tuple(float(v) for v in q), backed) for m, s, q in rows)

    def __repr__(self) -> str:
        """Name, shape and, of a few points, mean and standard deviation."""
        mean, std = np.asarray(self.mean), np.asarray(self.std)
        if mean.ndim != 1 or not 0 < mean.size <= 4:
            return f"{type(self).__name__}({' x '.join(map(str, mean.shape))} points)"
        each = ", ".join(f"{m:.4g} +- {s:.4g}" for m, s in zip(mean, std, strict=True))
        return f"{type(self).__name__}({each})"


@lru_cache(maxsize=1)
def _table_levels() -> Array:
    """Return ``STORED_LEVELS`` and the nodes of the quadrature over levels, as a column."""
    return np.concatenate([STORED_LEVELS, level_quadrature()[0]])[:, None]


@lru_cache(maxsize=1)
def level_quadrature() -> tuple[Array, Array]:
    """Return nodes and weights of an integral over levels in (0, 1): Gauss-Legendre in the normal score, for the tails."""
    x, w = np.polynomial.legendre.leggauss(96)
    z, half = 8.0 * x, 8.0
    weights = w * half * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    return ndtr(z), weights / weights.sum()
