"""Several models' distributions at the same points as one, by averaging their quantiles (Vincent's average)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtr

from calibo.arguments import check_fields
from calibo.checks import shown
from calibo.data import Array
from calibo.distributions.base import Distribution, infinite_beyond
from calibo.errors import RecipeError

_TINY = np.finfo(np.float64).tiny
#: Normal scores are sought within this size: beyond, all levels are 0 or 1.
_FARTHEST = 1e8
#: A search ends after so many steps, where a value is off by its rounding, or the bracket is as narrow as that.
_STEPS, _ROUNDING = 100, 4e-16
#: Scores of values that are closer to zero than this share of how far the nearer end of the bracket was are found.
_CLOSE = 1e-13


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
        low, high = np.clip(ends.min(axis=0), -_FARTHEST, _FARTHEST), np.clip(ends.max(axis=0), -_FARTHEST, _FARTHEST)
        sought = np.broadcast_to(np.asarray(y, dtype=np.float64), low.shape)
        finite = np.where(np.isfinite(sought), sought, 0.0)
        found = _increasing_root(self.at_scores, finite, low, high)
        return np.where(np.isfinite(sought), found, sought)

    def icdf(self, u: Array | float) -> Array:
        return infinite_beyond(self.at_levels(u), u, self.backed)

    def at_levels(self, u: Array | float) -> Array:
        return self._mean([part.at_levels(u) for part in self.parts])

    def at_scores(self, z: Array | float) -> Array:
        return self._mean([part.at_scores(z) for part in self.parts])

    @property
    def backed(self) -> tuple[float, float]:
        """The levels that are supported by the data of every part."""
        return max(part.backed[0] for part in self.parts), min(part.backed[1] for part in self.parts)

    @property
    def quantiles_are_quick(self) -> bool:
        return all(part.quantiles_are_quick for part in self.parts)

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


def _increasing_root(value: Callable[[Array], Array], sought: Array, low: Array, high: Array) -> Array:
    """Return where increasing functions have the values sought, between arguments where they are not above and not below.

    By Chandrupatla's method: inverse quadratic interpolation where it is safe, else halving. What is found stays, so that
    the result does not depend on what else is sought.
    """
    rounding = _ROUNDING * np.abs(sought)
    a, b = low.copy(), high.copy()
    at_a, at_b = np.minimum(value(a) - sought, 0.0), np.maximum(value(b) - sought, 0.0)
    close = np.maximum(rounding, _CLOSE * np.minimum(-at_a, at_b))
    c, at_c, share = a, at_a, np.full(np.shape(a), 0.5)
    found, done = np.where(-at_a < at_b, a, b), np.minimum(-at_a, at_b) <= 0.0
    for _ in range(_STEPS):
        if done.all():
            break
        x = a + share * (b - a)
        at_x = value(x) - sought
        same = (at_x < 0.0) == (at_a < 0.0)
        c, at_c = np.where(same, a, b), np.where(same, at_a, at_b)
        b, at_b = np.where(same, b, a), np.where(same, at_b, at_a)
        a, at_a = x, at_x
        found = np.where(done, found, np.where(np.abs(at_a) < np.abs(at_b), a, b))
        width = np.abs(b - a)
        narrow = _ROUNDING * np.maximum(np.abs(a), np.abs(b))
        done |= (np.minimum(np.abs(at_a), np.abs(at_b)) <= close) | (width <= narrow)
        share = _interpolated((a, b, c), (at_a, at_b, at_c))
        # Far enough from both ends for the bracket to become narrower.
        least = np.minimum(0.5, 0.5 * narrow / np.maximum(width, _TINY))
        share = np.clip(share, least, 1.0 - least)
    return found


def _interpolated(at: tuple[Array, Array, Array], values: tuple[Array, Array, Array]) -> Array:
    """Return where between a and b, as a share, the root of three points is by inverse quadratic interpolation.

    It is the middle where the interpolation would not be between them (Chandrupatla 1997).
    """
    a, b, c = at
    at_a, at_b, at_c = values
    with np.errstate(all="ignore"):
        xi, phi = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        safe = (np.square(phi) < xi) & (np.square(1.0 - phi) < 1.0 - xi)
        share = at_a / (at_b - at_a) * at_c / (at_b - at_c)
        share = share + (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
    return np.where(safe & np.isfinite(share), share, 0.5)
