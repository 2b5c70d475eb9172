"""Several models' distributions at the same points as one, by averaging their quantiles (Vincent's average)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from calibo.arguments import check_fields
from calibo.checks import shown
from calibo.data import Array
from calibo.distributions.base import Distribution
from calibo.errors import RecipeError

#: A search for normal scores ends when a value is off by less than this share of how far the nearer end was, or after so many
#: steps.
_CLOSE, _STEPS = 1e-14, 80
#: Relative width of a bracket that rounding leaves.
_ROUNDING = 4e-16
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False, repr=False)
class QuantileAverage(Distribution):
    """Distribution whose quantiles are the weighted means of those of several distributions, of any kind.

    Of calibrated parts of one form it is calibrated, where their mixture would be too wide. Quantiles are in closed form.
    The normal score of a value lies between those of the parts, and is found by a search that all values share. Dependence
    between points is that of the first part.

    Attributes:
        parts: The distributions, each ``... x q``, two or more.
        weights: Positive, of sum 1.
    """

    parts: tuple[Distribution, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        check_fields(self)
        if len(self.parts) < 2 or len(self.parts) != len(self.weights):
            raise RecipeError(
                f"an average has a weight for each of two or more parts, got {len(self.parts)} and {len(self.weights)}"
            )
        if min(self.weights) <= 0.0 or abs(sum(self.weights) - 1.0) > 1e-9:
            raise RecipeError(f"weights must be positive, and their sum 1, got {shown(self.weights)}")

    def cdf(self, y: Array | float) -> Array:
        return ndtr(self.normal_scores(y))

    def normal_scores(self, y: Array | float) -> Array:
        ends = np.array(np.broadcast_arrays(*(part.normal_scores(y) for part in self.parts)))
        return _increasing_root(lambda z: self.at_scores(z) - y, ends.min(axis=0), ends.max(axis=0))

    def icdf(self, u: Array | float) -> Array:
        return self.at_levels(u)

    def at_levels(self, u: Array | float) -> Array:
        return self.at_scores(ndtri(u))

    def at_scores(self, z: Array | float) -> Array:
        return self._mean([part.at_scores(z) for part in self.parts])

    @cached_property
    def mean(self) -> Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._mean([part.mean for part in self.parts])

    @property
    def spread(self) -> Array:
        return self._mean([part.spread for part in self.parts])

    @property
    def median_and_spread(self) -> tuple[Array, Array]:
        medians, spreads = zip(*(part.median_and_spread for part in self.parts), strict=True)
        return self._mean(medians), self._mean(spreads)

    def copula_samples(self, base: Array) -> Array:
        return self.parts[0].copula_samples(base)

    def probability_of_improvement(self, c: Array | float) -> Array:
        return ndtr(-self.normal_scores(c))

    def log_probability_of_improvement(self, c: Array | float) -> Array:
        return log_ndtr(-self.normal_scores(c))

    def over_samples(self) -> QuantileAverage:
        return QuantileAverage(tuple(part.over_samples() for part in self.parts), self.weights)

    def negated(self) -> QuantileAverage:
        return QuantileAverage(tuple(part.negated() for part in self.parts), self.weights)

    def _mean(self, values: Sequence[Array]) -> Array:
        return np.asarray(sum(w * value for w, value in zip(self.weights, values, strict=True)))


def _increasing_root(excess: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Return where increasing functions are 0, between values where they are not above and not below it.

    Regula falsi; the value at an end that stays is made smaller (as by Anderson and Bjorck), so that both ends close in.
    """
    below, above = np.minimum(excess(low), 0.0), np.maximum(excess(high), 0.0)
    y, close, before = low, _CLOSE * np.minimum(-below, above), np.zeros(np.shape(low), dtype=bool)
    for step in range(_STEPS):
        gap = above - below
        # A few halvings, for functions over orders of magnitude.
        share = np.where(gap > 0.0, -below / np.where(gap > 0.0, gap, 1.0), 0.5) if step % 4 < 3 else 0.5
        y = low + share * (high - low)
        found = excess(y)
        if np.all((np.abs(found) <= close) | (high - low <= _ROUNDING * np.maximum(-low, high))):
            break
        left = found < 0.0
        # An end that stays for a second time: by how much the value at the other one has become less.
        less = 1.0 - found / np.where(left, np.minimum(below, -_TINY), np.maximum(above, _TINY))
        less = np.where((left == before) & (step > 0), np.where(less > 0.0, less, 0.5), 1.0)
        low, high = np.where(left, y, low), np.where(left, high, y)
        below, above, before = np.where(left, found, less * below), np.where(left, less * above, found), left
    return y
