"""The distribution interpolated between known quantiles, for quantile regressors and conformal calibrators.

Notation: K knots (v_j, p_j), P(Y <= v_j) = p_j; c an incumbent; s the scale of a tail.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from calibo.arguments import check_fields
from calibo.data import Array
from calibo.distributions.base import Distribution, infinite_beyond
from calibo.distributions.gaussian import Gaussian
from calibo.distributions.level_maps import Levels, checked_levels, pick
from calibo.distributions.normal import density
from calibo.errors import RecipeError

_SMALLEST_LEVEL = 1e-16
#: Ratio of the levels at the ends of a chord that stands for a piece of a tail.
_CHORD = 1.15
#: Knots of a level map nearer to 0 or 1 than this are rounding.
_SMALLEST_KNOT = 1e-12
#: A tail is at least so wide, relative to the values, so that nothing is divided by 0.
_NARROWEST, _SMALLEST_VALUE = 1e-12, 1e-50


_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False, repr=False)
class QuantileTable(Distribution):
    """Distribution whose cdf is linear between K quantiles, with an exponential tail beyond the first and the last.

    All is exact (Chen 2025, section 3.3, but for the tails, which there are uniform up to the largest float and make
    samples of astronomical size):

    - E (Y - c)_+ is the integral of 1 - F above c: trapezoids between the knots, and (1 - p_K) s beyond.
    - The scale of a tail is the one a Gaussian with the same distance from the median to the last quantile has there:
      s = (v_K - median) M(z) / z, with z = Phi^-1(p_K) and Mills' ratio M(z) = (1 - Phi(z)) / phi(z).
    - Equal quantiles make an atom.

    Beyond the levels supported by data, quantiles, and so the ends of intervals, are infinite; samples, moments and
    improvement go on using the tails there, which are then a guess.

    Attributes:
        levels: p, strictly increasing within (0, 1), on both sides of one half, ``K``.
        values: v, non-decreasing along the last dimension, ``... x q x K``.
        backed: Lowest and highest level supported by data.
        copula: A distribution whose dependence between the points is kept in joint samples; ``None`` for independent points.
        tails: Scales of the lower and the upper tail, ``... x q`` each; ``None`` for a Gaussian's as above.
    """

    levels: Array
    values: Array
    backed: tuple[float, float] = (0.0, 1.0)  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
    copula: Distribution | None = None
    tails: tuple[Array, Array] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        p, v = checked_levels(self.levels), np.asarray(self.values, dtype=np.float64)
        if v.shape[-1:] != p.shape:
            raise RecipeError(
                f"a quantile table needs one value per level, got levels of shape {p.shape} and values of shape {v.shape}"
            )
        if not (np.isfinite(v).all() and (v[..., 1:] >= v[..., :-1]).all()):
            raise RecipeError(
                "the values of a quantile table must be finite and non-decreasing: sort them, or use QuantileTable.nested"
            )
        object.__setattr__(self, "levels", p)
        object.__setattr__(self, "values", v)

    @classmethod
    def nested(
        cls,
        levels: Array,
        values: Array,
        *,
        backed: tuple[float, float] = (0.0, 1.0),
        copula: Distribution | None = None,
    ) -> QuantileTable:
        """Return the table of quantiles that may cross, with every interval widened to contain those inside it.

        So each keeps its coverage. (Sorting would give the outer end of an inner interval to the outer one instead.)
        A pair of quantiles in the wrong order is replaced by the middle between them.

        Args:
            levels: ``K``, increasing within (0, 1).
            values: ``... x q x K``, in any order.
            backed: As for the class.
            copula: As for the class.
        """
        p = np.asarray(levels, dtype=np.float64)
        below, above = int(np.searchsorted(p, 0.5)), int(np.searchsorted(p, 0.5, side="right"))
        # The median where there is one, else the middle of the innermost pair: no interval excludes it.
        # Of outcomes near the largest float the sums behind the values overflow; means are taken of halves.
        values = np.clip(values, -_LARGEST, _LARGEST)
        around = values[..., below:above] if below < above else values[..., below - 1 : below + 1]
        middle = 0.5 * around[..., :1] + 0.5 * around[..., -1:]
        upper = np.maximum.accumulate(np.concatenate([middle, values[..., above:]], axis=-1), axis=-1)[..., 1:]
        lower = np.minimum.accumulate(np.concatenate([middle, values[..., :below][..., ::-1]], axis=-1), axis=-1)
        inner = values[..., below:above]
        return cls(p, np.concatenate([lower[..., :0:-1], inner, upper], axis=-1), backed, copula)

    @cached_property
    def _scales(self) -> tuple[Array, Array]:
        """Scales of the lower and the upper tail, ``... x q`` each."""
        if self.tails is not None:
            return self.tails
        first, last = self.values[..., 0], self.values[..., -1]
        middle = self._between(np.full(first.shape, 0.5))
        least = _NARROWEST * np.maximum(np.maximum(np.abs(first), np.abs(last)), _SMALLEST_VALUE)
        lower = (middle - first) * _gaussian_scale(1.0 - self.levels[0])
        upper = (last - middle) * _gaussian_scale(self.levels[-1])
        return np.maximum(lower, least), np.maximum(upper, least)

    def _between(self, u: Array) -> Array:
        """Return quantiles at levels, ``... x q``, within the outer ones."""
        p = self.levels
        j = np.clip(np.searchsorted(p, u, side="right") - 1, 0, len(p) - 2)
        low, high = pick(self.values, j), pick(self.values, j + 1)
        return low + (u - p[j]) / (p[j + 1] - p[j]) * (high - low)

    def at_levels(self, u: Array | float) -> Array:
        u = np.asarray(u, dtype=np.float64)
        p, (lower, upper) = self.levels, self._scales
        inner = self._between(np.clip(u, p[0], p[-1]))
        below = np.log(np.maximum(np.minimum(u / p[0], 1.0), _SMALLEST_LEVEL)) * lower
        above = -np.log(np.maximum(np.minimum((1.0 - u) / (1.0 - p[-1]), 1.0), _SMALLEST_LEVEL)) * upper
        return inner + below + above

    def icdf(self, u: Array | float) -> Array:
        """Return quantiles at level ``u``, ``... x q``; infinite beyond the levels supported by data."""
        return infinite_beyond(self.at_levels(u), u, self.backed)

    def cdf(self, y: Array | float) -> Array:
        y = np.asarray(y, dtype=np.float64)
        p, (lower, upper) = self.levels, self._scales
        first, last = self.values[..., 0], self.values[..., -1]
        below = p[0] * np.exp(np.minimum(y - first, 0.0) / lower)
        above = 1.0 - (1.0 - p[-1]) * np.exp(-np.maximum(y - last, 0.0) / upper)
        return np.where(y < first, below, np.where(y >= last, above, self._segment(y)[2]))

    def _segment(self, y: Array) -> tuple[npt.NDArray[np.intp], Array, Array]:
        """Return index and right end of the segment of y (the nearest, if y lies beyond), and the cdf at y; ... x q each."""
        p = self.levels
        j = np.clip((self.values <= y[..., None]).sum(axis=-1) - 1, 0, len(p) - 2)
        low, high = pick(self.values, j), pick(self.values, j + 1)
        width = high - low
        share = np.divide(y - low, width, out=np.ones(j.shape), where=width > 0.0)
        return j, high, p[j] + np.clip(share, 0.0, 1.0) * (p[j + 1] - p[j])

    @cached_property
    def _improvement_at_knots(self) -> Array:
        """E (Y - v_j)_+, ``... x q x K``."""
        p = self.levels
        steps = np.diff(self.values, axis=-1) * (1.0 - 0.5 * (p[1:] + p[:-1]))
        beyond = ((1.0 - p[-1]) * self._scales[1])[..., None]
        inner = np.cumsum(steps[..., ::-1], axis=-1)[..., ::-1]
        return np.concatenate([inner + beyond, beyond], axis=-1)

    @cached_property
    def mean(self) -> Array:
        first = self.values[..., 0]
        return first + self._improvement_at_knots[..., 0] - self.levels[0] * self._scales[0]

    @cached_property
    def std(self) -> Array:
        p, (lower, upper) = self.levels, self._scales
        v = self.values - self.mean[..., None]
        # In units of the largest, whose square need not be a float.
        unit = np.maximum(np.abs(v).max(axis=-1), np.maximum(lower, upper))
        v, lower, upper = v / unit[..., None], lower / unit, upper / unit
        a, b = v[..., :-1], v[..., 1:]
        inner = (np.diff(p) * (a * a + a * b + b * b)).sum(axis=-1) / 3.0
        below = p[0] * (np.square(v[..., 0] - lower) + np.square(lower))
        above = (1.0 - p[-1]) * (np.square(v[..., -1] + upper) + np.square(upper))
        return unit * np.sqrt(inner + below + above)

    def log_expected_improvement(self, c: Array | float) -> Array:
        c = np.asarray(c, dtype=np.float64)
        p, (lower, upper) = self.levels, self._scales
        first, last = self.values[..., 0], self.values[..., -1]
        at_knots = self._improvement_at_knots
        j, right, level = self._segment(c)
        inner = pick(at_knots, j + 1) + np.maximum(right - c, 0.0) * (1.0 - 0.5 * (level + p[j + 1]))
        # Below the first knot: the integral of 1 - F from c to there, which is exponentially close to the distance.
        short = np.maximum(first - c, 0.0)
        below = at_knots[..., 0] + short + p[0] * lower * np.expm1(-short / lower)
        body = np.log(np.where(c < first, below, inner))
        tail = np.log((1.0 - p[-1]) * upper) - np.maximum(c - last, 0.0) / upper
        return np.where(c >= last, tail, body)

    def probability_of_improvement(self, c: Array | float) -> Array:
        return np.exp(self.log_probability_of_improvement(c))

    def log_probability_of_improvement(self, c: Array | float) -> Array:
        c = np.asarray(c, dtype=np.float64)
        last = self.values[..., -1]
        tail = np.log1p(-self.levels[-1]) - np.maximum(c - last, 0.0) / self._scales[1]
        return np.where(c >= last, tail, np.log1p(-np.minimum(self.cdf(c), self.levels[-1])))

    def copula_samples(self, base: Array) -> Array:
        return base if self.copula is None else self.copula.copula_samples(base)

    def over_samples(self) -> QuantileTable:
        lower, upper = self._scales
        tails = lower[..., None, :], upper[..., None, :]
        return QuantileTable(self.levels, self.values[..., None, :, :], self.backed, tails=tails)

    def negated(self) -> QuantileTable:
        low, high = self.backed
        flipped = None if self.copula is None else self.copula.negated()
        lower, upper = self._scales
        levels, backed = 1.0 - self.levels[::-1], (1.0 - high, 1.0 - low)
        return QuantileTable(levels, -self.values[..., ::-1], backed, flipped, (upper, lower))

    def relevelled(self, levels: Levels) -> QuantileTable:
        """Return the table read at other levels: again linear between knots, those of the map and those of the table.

        Where the map has knots within a tail, chords stand for the tail between them (to within .003 of its scale). Beyond
        the outermost knots the map is linear through (0, 0) and (1, 1), so that tails keep their scales.
        """
        read = np.concatenate([self.levels, _chords(levels.r, self.levels[0])])
        read = np.concatenate([read, 1.0 - _chords(1.0 - levels.r[::-1], 1.0 - self.levels[-1])])
        knots = np.unique(np.concatenate([levels.p, levels.inverse(read)]))
        knots = knots[(knots > _SMALLEST_KNOT) & (knots < 1.0 - _SMALLEST_KNOT)]
        read = np.clip(levels.forward(knots), _SMALLEST_LEVEL, 1.0 - _SMALLEST_LEVEL)
        values = np.moveaxis(self.over_samples().at_levels(read[:, None]), -2, -1)
        backed = levels.backed_through(self.backed)
        return QuantileTable(knots, np.maximum.accumulate(values, axis=-1), backed, self.copula, self._scales)

    def gaussian(self) -> Gaussian:
        """Return the Gaussian distribution with the same mean and standard deviation."""
        copula = self.copula
        correlation = copula.correlation if isinstance(copula, Gaussian) else None
        return Gaussian(self.mean, self.std, correlation)


def _chords(r: Array, first: float) -> Array:
    """Return levels that cut the lower tail, below ``first``, as far out as a map's knots ``r`` reach, into short chords."""
    inside = r[(r > _SMALLEST_LEVEL) & (r < first)]
    if not inside.size:
        return inside
    count = int(np.ceil(np.log(first / inside[0]) / np.log(_CHORD)))
    return np.geomspace(inside[0], first, count + 1)


def _gaussian_scale(p: float) -> float:
    """Return M(z) / z at z = Phi^-1(p), p > 1/2: a Gaussian's tail beyond level p, in distances from its median."""
    z = float(ndtri(p))
    return (1.0 - p) / (float(density(np.asarray(z))) * z)
