"""The distribution of an outcome whose transformed value has a known distribution."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from calibo.data import Array
from calibo.distributions.base import Distribution, infinite_beyond
from calibo.distributions.transforms import OutcomeTransform


@dataclass(frozen=True, eq=False, repr=False)
class Transformed(Distribution):
    """Distribution of Y = g^-1(W), where W has a distribution of its own.

    Attributes:
        base: Distribution of W at q points, ``... x q``.
        transform: g, an increasing transform of outcomes.
    """

    base: Distribution
    transform: OutcomeTransform

    def cdf(self, y: Array | float) -> Array:
        return self.base.cdf(self.transform.forward(y))

    def normal_scores(self, y: Array | float) -> Array:
        return self.base.normal_scores(self.transform.forward(y))

    def icdf(self, u: Array | float) -> Array:
        return infinite_beyond(self.at_levels(u), u, self.backed)

    def at_levels(self, u: Array | float) -> Array:
        return self.transform.inverse(self.base.at_levels(u))

    @property
    def backed(self) -> tuple[float, float]:
        return self.base.backed

    @property
    def measurement(self) -> Distribution:
        inner = self.base.measurement
        return self if inner is self.base else Transformed(inner, self.transform)

    def log_expected_improvement(self, c: Array | float) -> Array:
        """Return log E (Y - c)_+: exactly where g is linear above c, plus the integral of P(Y > y) over the curved part."""
        start, c = self.transform.linear_above, np.asarray(c, dtype=np.float64)
        if not np.isfinite(start):
            return super().log_expected_improvement(c)
        from_there = np.maximum(c, start)
        linear = self.base.log_expected_improvement(self.transform.forward(from_there))
        linear = linear - self.transform.log_derivative(from_there)
        length = np.maximum(start - c, 0.0)
        if not np.any(length > 0.0):
            return linear
        nodes, weights = _unit_interval()
        log_tails = [
            np.log(w) + self.log_probability_of_improvement(c + length * u) for u, w in zip(nodes, weights, strict=True)
        ]
        with np.errstate(divide="ignore"):
            return np.logaddexp(linear, np.log(length) + np.logaddexp.reduce(log_tails))

    def probability_of_improvement(self, c: Array | float) -> Array:
        return self.base.probability_of_improvement(self.transform.forward(c))

    def log_probability_of_improvement(self, c: Array | float) -> Array:
        return self.base.log_probability_of_improvement(self.transform.forward(c))

    def copula_samples(self, base: Array) -> Array:
        return self.base.copula_samples(base)

    def draws(self, base: Array) -> Array:
        return self.transform.inverse(self.base.draws(base))

    def samples(self, base: Array) -> tuple[Array, Array]:
        values, log_weights = self.base.samples(base)
        return self.transform.inverse(values), log_weights

    def over_samples(self) -> Transformed:
        return Transformed(self.base.over_samples(), self.transform)

    def negated(self) -> Transformed:
        return Transformed(self.base.negated(), self.transform.negated())


@lru_cache(maxsize=1)
def _unit_interval() -> tuple[Array, Array]:
    """Return nodes and weights of an integral over (0, 1) (Gauss-Legendre)."""
    x, w = np.polynomial.legendre.leggauss(12)
    return 0.5 * (x + 1.0), 0.5 * w
