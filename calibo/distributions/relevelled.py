"""Relevelled distributions: the model's quantiles read at other levels (what OCBO believes)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.special import ndtr

from calibo.data import Array
from calibo.distributions.base import Distribution, infinite_beyond
from calibo.distributions.gaussian import Gaussian
from calibo.distributions.levels import LevelFunction, Levels, Tempered, backed_through
from calibo.distributions.normal import density, first_integral, log_first_integral
from calibo.distributions.quantile_table import QuantileTable


@dataclass(frozen=True)
class Relevelled(Distribution):
    """Y = mean + std Phi^-1(R(U)), U uniform: a mixture of truncated Gaussians, all in closed form.

    With h = (c - mean) / std and j the segment of R that holds Phi(h), the expected improvement is a suffix sum over the
    segments above j, which does not depend on x, plus the part of segment j above h: O(log K) per candidate.

    Attributes:
        base: The model's Gaussian distribution at q points, ... x q, whose dependence between points is kept as a copula.
        levels: The map R.
    """

    base: Gaussian
    levels: Levels

    def cdf(self, y: Array | float) -> Array:
        return self.levels.inverse(self.base.cdf(y))

    def icdf(self, u: Array | float) -> Array:
        return infinite_beyond(self.at_levels(u), u, self.levels.backed)

    def at_levels(self, u: Array | float) -> Array:
        return self.base.icdf(within_levels(self.levels.forward(u)))

    @property
    def backed(self) -> tuple[float, float]:
        return self.levels.backed

    @property
    def mean(self) -> Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.mean + self.base.std * self.levels.first_moment_above[0]

    @property
    def std(self) -> Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        variance = self.levels.second_moment - self.levels.first_moment_above[0] ** 2
        return self.base.std * np.sqrt(max(variance, 0.0))

    def pdf(self, y: Array | float) -> Array:
        """Density at ``y``, ... x q, of the part that has one (atoms, where R is flat, are left out)."""
        return self.levels.slope[self.levels.segment(self.base.cdf(y))] * self.base.pdf(y)

    def expected_improvement(self, c: Array | float) -> Array:
        h = (c - self.base.mean) / self.base.std
        j = self.levels.segment(ndtr(h))
        whole = self.levels.first_moment_above[j + 1] - h * self.levels.mass_above[j + 1]
        top = self.levels.z[j + 1]
        beyond = density(top) - h * ndtr(-top)
        return self.base.std * (whole + self.levels.slope[j] * np.maximum(first_integral(-h) - beyond, 0.0))

    def log_expected_improvement(self, c: Array | float) -> Array:
        """log E (Y - c)_+: in the last segment exactly the Gaussian's plus log slope, hence stable in the far tail."""
        h = (c - self.base.mean) / self.base.std
        levels = self.levels
        j = levels.segment(ndtr(h))
        log_g = log_first_integral(-h)
        top = levels.z[j + 1]
        inner = levels.slope[j] * np.maximum(np.exp(log_g) - density(top) + h * ndtr(-top), 0.0)
        whole = levels.first_moment_above[j + 1] - h * levels.mass_above[j + 1]
        with np.errstate(divide="ignore"):
            tail = np.log(levels.slope[j]) + log_g
            body = np.log(np.maximum(whole + inner, np.finfo(np.float64).tiny))
        return np.log(self.base.std) + np.where(np.isinf(top), tail, body)

    def probability_of_improvement(self, c: Array | float) -> Array:
        return np.exp(self.log_probability_of_improvement(c))

    def log_probability_of_improvement(self, c: Array | float) -> Array:
        """log P(Y > c): in the last segment the Gaussian's plus log slope, elsewhere of the mass above."""
        levels = self.levels
        j = levels.segment(self.base.cdf(c))
        with np.errstate(divide="ignore"):
            tail = np.log(levels.slope[j]) + self.base.log_probability_of_improvement(c)
            body = np.log(1.0 - self.cdf(c))
        return np.where(np.isinf(levels.z[j + 1]), tail, body)

    def copula_samples(self, base: Array) -> Array:
        return self.base.copula_samples(base)

    def over_samples(self) -> Relevelled:
        return Relevelled(self.base.over_samples(), self.levels)

    def negated(self) -> Relevelled:
        return Relevelled(self.base.negated(), self.levels.negated())


@dataclass(frozen=True)
class Composed(Distribution):
    """Any distribution read at other levels: cdf R^-1(F(y)), quantile F^-1(R(u)); moments by quadrature."""

    base: Distribution
    levels: LevelFunction

    def cdf(self, y: Array | float) -> Array:
        return self.levels.inverse(self.base.cdf(y))

    def icdf(self, u: Array | float) -> Array:
        return infinite_beyond(self.base.icdf(within_levels(self.levels.forward(u))), u, self.backed)

    def at_levels(self, u: Array | float) -> Array:
        return self.base.at_levels(within_levels(self.levels.forward(u)))

    @property
    def backed(self) -> tuple[float, float]:
        return backed_through(self.levels, self.base.backed)

    def copula_samples(self, base: Array) -> Array:
        return self.base.copula_samples(base)

    def over_samples(self) -> Composed:
        return Composed(self.base.over_samples(), _over_samples(self.levels))

    def negated(self) -> Composed:
        return Composed(self.base.negated(), _Mirrored(self.levels))


@dataclass(frozen=True)
class _Mirrored:
    """The level map of minus the outcome: p -> 1 - R(1 - p)."""

    levels: LevelFunction

    def forward(self, p: Array | float) -> Array:
        return 1.0 - self.levels.forward(1.0 - np.asarray(p))

    def inverse(self, r: Array | float) -> Array:
        return 1.0 - self.levels.inverse(1.0 - np.asarray(r))

    def over_samples(self) -> _Mirrored:
        return _Mirrored(_over_samples(self.levels))


@runtime_checkable
class HasPoints(Protocol):
    """A level function of its own at each of q points, ... x q."""

    def over_samples(self) -> LevelFunction:
        """The same functions with a dimension for samples before the points: ... x 1 x q."""
        ...


def _over_samples(levels: LevelFunction) -> LevelFunction:
    return levels.over_samples() if isinstance(levels, HasPoints) else levels


def within_levels(levels: Array) -> Array:
    """Levels kept off 0 and 1, where quantiles are infinite; a level map's ends reach them by rounding."""
    return np.clip(levels, 1e-300, 1.0 - 1e-16)


def relevel(distribution: Distribution, levels: LevelFunction) -> Distribution:
    """The distribution with its levels mapped, in the form with the best closed forms."""
    if isinstance(distribution, Gaussian) and isinstance(levels, Tempered):
        return distribution.scaled(levels.factor)
    if isinstance(distribution, Gaussian) and isinstance(levels, Levels):
        return Relevelled(distribution, levels)
    if isinstance(distribution, Relevelled) and isinstance(levels, Levels):
        return Relevelled(distribution.base, distribution.levels.after(levels))
    if isinstance(distribution, QuantileTable) and isinstance(levels, Levels):
        return distribution.relevelled(levels)
    return Composed(distribution, levels)
