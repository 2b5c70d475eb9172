"""The distribution of an outcome whose transformed value has a known distribution."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from scipy.special import ndtr

from calibo.data import Array
from calibo.distributions.base import Distribution, infinite_beyond
from calibo.distributions.transforms import OutcomeTransform, SlopeSteps

#: Level six standard deviations above the median of a normal distribution.
_TOP = float(ndtr(6.0))
#: Panels of the integral over shortfalls, in standard deviations from the mean, and nodes in each of them.
_EDGES, _NODES = np.array([-12.0, -5.0, -2.5, -1.25, 0.0, 1.25, 2.5, 5.0, 12.0]), 5


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

    def at_scores(self, z: Array | float) -> Array:
        return self.transform.inverse(self.base.at_scores(z))

    @property
    def backed(self) -> tuple[float, float]:
        return self.base.backed

    @property
    def measurement(self) -> Distribution:
        inner = self.base.measurement
        return self if inner is self.base else Transformed(inner, self.transform)

    @property
    def quantiles_are_quick(self) -> bool:
        return self.base.quantiles_are_quick

    @cached_property
    def mean(self) -> Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Expected value, ``... x q``: by quantiles if these are quick, else by shortfalls of W."""
        if self.quantiles_are_quick:
            return super().mean
        if self.transform.linear_above < np.inf:
            return self._mean_by_shortfall()
        mirrored = self.transform.negated()
        return -Transformed(self.base.negated(), mirrored).mean if mirrored.linear_above < np.inf else super().mean

    def _mean_by_shortfall(self) -> Array:
        """Return the expected value, for g that is linear above some outcome.

        With h the inverse of g and b a value that W hardly exceeds, or above which h is linear, E h(W) is
        h(b) + h'(b) (E W - b) plus the integral of h''(w) E (w - W)_+ over w < b, where h is not linear.
        """
        transform, base = self.transform, self.base
        middle, width = base.mean, base.std
        lowest = transform.forward(transform.kinks[0]) if transform.kinks else -np.inf
        end = np.clip(middle + _EDGES[-1] * width, lowest, transform.forward(transform.linear_above))
        y = transform.inverse(end)
        mean = y + np.exp(-transform.log_derivative(y)) * (middle - end)
        if np.all(middle + _EDGES[0] * width >= end):
            return mean
        # Panels and their nodes stand before the points, ... x (panels nodes) x q, for one call.
        edges = np.clip(middle[..., None, :] + width[..., None, :] * _EDGES[:, None], lowest, end[..., None, :])
        nodes, weights = _unit_interval(_NODES)
        length = np.repeat(np.diff(edges, axis=-2), _NODES, axis=-2)
        w = np.repeat(edges[..., :-1, :], _NODES, axis=-2) + length * np.tile(nodes, len(_EDGES) - 1)[:, None]
        y = transform.inverse(w)
        bend = -transform.curvature(y) * np.exp(-2.0 * transform.log_derivative(y))
        shortfall = np.maximum(base.over_samples().expected_improvement(w) + w - middle[..., None, :], 0.0)
        return mean + np.einsum("s,...sq->...q", np.tile(weights, len(_EDGES) - 1), length * bend * shortfall)

    def log_expected_improvement(self, c: Array | float) -> Array:
        """Return log E (Y - c)_+: exactly where g is linear above c, else with a correction for the curved part.

        With h the derivative of the inverse of g, the integral of h(w) P(W > w) over w > g(c) is, by parts,
        h(g(c)) E (W - g(c))_+ plus the integral of h'(w) E (W - w)_+. The first term is exact and leads in the tail; the
        second is smooth however narrow the distribution is.
        """
        start, c = self.transform.linear_above, np.asarray(c, dtype=np.float64)
        if start == np.inf:
            return super().log_expected_improvement(c)
        low = self.transform.forward(c)
        if self.transform.slope_steps is not None:
            return self._piecewise(low, self.transform.slope_steps)
        leading = self.base.log_expected_improvement(low) - self.transform.log_derivative(c)
        if np.all(c >= start):
            return leading
        return leading + np.log(self._correction(c, low))

    def _piecewise(self, low: Array, steps: SlopeSteps) -> Array:
        """Return the log of the improvement above g(c) under a piecewise linear inverse, ``... x q``, exactly.

        With slopes h of the inverse it is h E (W - g(c))_+ plus, for each change of slope above g(c) at some w, that change
        times E (W - w)_+.
        """
        place = np.searchsorted(steps.at, low, side="right")
        slope, above = steps.slope[place], range(int(np.min(place)), len(steps.at))
        leading = self.base.log_expected_improvement(low)
        if not above:
            return leading + np.log(slope)
        share = np.ones(np.broadcast_shapes(np.shape(leading), np.shape(low)))
        changes = np.diff(steps.slope)
        for k in above:
            change = np.where(steps.at[k] > low, changes[k] / slope, 0.0)
            share = share + change * np.exp(self.base.log_expected_improvement(steps.at[k]) - leading)
        # Between the improvements under the smallest and the largest slope; rounding must not leave them.
        least, most = steps.slope.min() / slope, steps.slope.max() / slope
        return leading + np.log(slope) + np.log(np.clip(share, least, most))

    def _correction(self, c: Array, low: Array) -> Array:
        """Return the ratio of the improvement to its leading term, ``... x q``."""
        transform, base = self.transform, self.base
        middle, top = base.at_levels(0.5), base.at_levels(_TOP)
        # Beyond, improvement is negligible beside that at g(c): two standard deviations above it, or in the upper tail.
        end = np.maximum(top, low + (top - middle) / 3.0)
        end = np.clip(end, low, np.maximum(transform.forward(transform.linear_above), low))
        leading, slope = base.log_expected_improvement(low), transform.log_derivative(c)

        def change(w: Array) -> Array:
            """Return h'(w) E (W - w)_+ over the leading term."""
            y = transform.inverse(w)
            share = np.exp(base.log_expected_improvement(w) - leading + slope - 2.0 * transform.log_derivative(y))
            return -transform.curvature(y) * share

        ratio = np.ones(np.shape(end))
        edges = [low, *(np.clip(transform.forward(kink), low, end) for kink in transform.kinks), end]
        for first, last in pairwise(edges):
            if np.any(last > first):
                nodes = zip(*_unit_interval(12), strict=True)
                ratio = ratio + (last - first) * sum(w * change(first + (last - first) * u) for u, w in nodes)
        # h changes monotonically, so that the ratio lies between 1 and that of the slopes at the two ends.
        limit = np.exp(slope - transform.log_derivative(transform.linear_above))
        return np.clip(ratio, np.minimum(limit, 1.0), np.maximum(limit, 1.0))

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


@lru_cache(maxsize=2)
def _unit_interval(count: int) -> tuple[Array, Array]:
    """Return nodes and weights of an integral over (0, 1) (Gauss-Legendre)."""
    x, w = np.polynomial.legendre.leggauss(count)
    return 0.5 * (x + 1.0), 0.5 * w
