"""Relevelled distributions: the model's quantiles read at other levels (OCBO, and OCBO-L with a map of its own per point)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
from scipy.special import ndtr

from calibo.data import Array
from calibo.distributions.base import Distribution, infinite_beyond
from calibo.distributions.gaussian import Gaussian
from calibo.distributions.level_maps import LevelFunction, Levels, pick
from calibo.distributions.normal import density, first_integral, log_first_integral


@dataclass(frozen=True, repr=False)
class Composed(Distribution):
    """Any distribution read at other levels: cdf R^-1(F(y)), quantile F^-1(R(u)); moments by quadrature.

    Attributes:
        base: The model's distribution at q points, ``... x q``, whose dependence between points is kept as a copula.
        levels: The map R, or the maps R_x of ``... x q`` points.
    """

    base: Distribution
    levels: LevelFunction
    #: Smallest level read from the base: as far out as the largest, 1 - 1e-16, which a level map reaches by rounding.
    _smallest: ClassVar[float] = 1e-16

    def cdf(self, y: Array | float) -> Array:
        return self.levels.inverse(self.base.cdf(y))

    def icdf(self, u: Array | float) -> Array:
        return infinite_beyond(self.base.icdf(self._model_level(u)), u, self.backed)

    def at_levels(self, u: Array | float) -> Array:
        return self.base.at_levels(self._model_level(u))

    def _model_level(self, u: Array | float) -> Array:
        return np.clip(self.levels.forward(u), self._smallest, 1.0 - 1e-16)

    def log_expected_improvement(self, c: Array | float) -> Array:
        """Return log E (Y - c)_+ as the integral of P(Y > y) over y > c: unlike quantiles, the cdf is in closed form."""
        top = self.at_levels(1.0 - 1e-9)
        # Of a threshold in the upper tail, an eighth of the upper half's width holds all of the improvement.
        length = np.maximum(top - c, 0.125 * (top - self.at_levels(0.5)))
        total = sum(w * self.probability_of_improvement(c + length * u) for u, w in zip(*_above(), strict=True))
        return np.log(np.maximum(length * total, np.finfo(np.float64).tiny))

    @property
    def backed(self) -> tuple[float, float]:
        return self.levels.backed_through(self.base.backed)

    def copula_samples(self, base: Array) -> Array:
        return self.base.copula_samples(base)

    @property
    def measurement(self) -> Distribution:
        inner = self.base.measurement
        return self if inner is self.base else type(self)(inner, self.levels)  # pyright: ignore[reportArgumentType]

    def over_samples(self) -> Self:
        return type(self)(self.base.over_samples(), self.levels.over_samples())

    def negated(self) -> Self:
        return type(self)(self.base.negated(), self.levels.negated())


@dataclass(frozen=True, repr=False)
class Relevelled(Composed):
    """Y = mean + std Phi^-1(R(U)), U uniform: a mixture of truncated Gaussians, all in closed form.

    With h = (c - mean) / std and j the segment of R that holds Phi(h), the expected improvement is a suffix sum over the
    segments above j plus the part of segment j above h. If all points share one map the suffix sums do not depend on x, and
    a candidate costs O(log K).
    """

    base: Gaussian
    levels: Levels
    _smallest: ClassVar[float] = 1e-300

    @property
    def mean(self) -> Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.mean + self.base.std * self.levels.first_moment_above[..., 0]

    @property
    def std(self) -> Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        variance = self.levels.second_moment - np.square(self.levels.first_moment_above[..., 0])
        return self.base.std * np.sqrt(np.maximum(variance, 0.0))

    def pdf(self, y: Array | float) -> Array:
        """Return the density at ``y``, ``... x q``, without the atoms, where R is flat."""
        return pick(self.levels.slope, self.levels.segment(self.base.cdf(y))) * self.base.pdf(y)

    def expected_improvement(self, c: Array | float) -> Array:
        h, slope, top, above = self._parts(c)
        beyond = density(top) - h * ndtr(-top)
        return self.base.std * (above + slope * np.maximum(first_integral(-h) - beyond, 0.0))

    def log_expected_improvement(self, c: Array | float) -> Array:
        """Return log E (Y - c)_+: in the last segment exactly the Gaussian's plus log slope, hence stable in the far tail."""
        h, slope, top, above = self._parts(c)
        log_g = log_first_integral(-h)
        inner = slope * np.maximum(np.exp(log_g) - density(top) + h * ndtr(-top), 0.0)
        body = np.log(np.maximum(above + inner, np.finfo(np.float64).tiny))
        return np.log(self.base.std) + np.where(np.isinf(top), np.log(slope) + log_g, body)

    def _parts(self, c: Array | float) -> tuple[Array, Array, Array, Array]:
        """Return h, slope and upper end (a normal score) of the segment that holds it, and the improvement above that."""
        h = (c - self.base.mean) / self.base.std
        j = self.levels.segment(ndtr(h))
        above = pick(self.levels.first_moment_above, j + 1) - h * (1.0 - self.levels.p[j + 1])
        return h, pick(self.levels.slope, j), pick(self.levels.z, j + 1), above

    def probability_of_improvement(self, c: Array | float) -> Array:
        return np.exp(self.log_probability_of_improvement(c))

    def log_probability_of_improvement(self, c: Array | float) -> Array:
        """Return log P(Y > c): in the last segment the Gaussian's plus log slope, elsewhere that of the mass above."""
        levels, level = self.levels, self.base.cdf(c)
        j = levels.segment(level)
        slope = pick(levels.slope, j)
        with np.errstate(divide="ignore"):
            tail = np.log(slope) + self.base.log_probability_of_improvement(c)
            body = np.log(1.0 - (levels.p[j] + slope * (level - pick(levels.r, j))))
        return np.where(np.isinf(pick(levels.z, j + 1)), tail, body)


@lru_cache(maxsize=1)
def _above() -> tuple[Array, Array]:
    """Return nodes and weights of an integral over (0, 1), denser near 0: Gauss-Legendre in the square root."""
    x, w = np.polynomial.legendre.leggauss(64)
    root = 0.5 * (x + 1.0)
    return root**2, w * root
