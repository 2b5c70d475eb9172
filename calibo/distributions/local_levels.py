"""Level maps that differ from point to point, and the Gaussian distribution read through one (what OCBO-L believes).

Notation: q points with batch dimensions in front, ... x q; K knots of a map.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from calibo.data import Array
from calibo.distributions.base import Distribution
from calibo.distributions.gaussian import Gaussian
from calibo.distributions.normal import density, first_integral, log_first_integral
from calibo.distributions.relevelled import Composed, within_levels
from calibo.errors import RecipeError

#: Steps of a level map below this are rounding, not density.
_SMALLEST_STEP = 1e-12


@dataclass(frozen=True, eq=False)
class LocalLevels:
    """At each point a map R, piecewise linear through the knots (p_j, r_j), from (0, 0) to (1, 1); a level function.

    Attributes:
        p: Calibrated levels, K, strictly increasing from 0 to 1, the same at every point.
        r: The model's levels, ... x q x K, non-decreasing from 0 to 1, strictly inside (0, 1) but at the ends. Where r is
            flat the calibrated distribution has an atom.
    """

    p: Array
    r: Array

    def __post_init__(self) -> None:
        p, r = np.asarray(self.p, dtype=np.float64), np.asarray(self.r, dtype=np.float64)
        if p.ndim != 1 or p.size < 2 or r.ndim < 1 or r.shape[-1] != p.size:
            raise RecipeError(f"p must have K >= 2 entries and r shape ... x K, got shapes {p.shape} and {r.shape}")
        if not (p[0] == 0.0 and p[-1] == 1.0 and np.all(r[..., 0] == 0.0) and np.all(r[..., -1] == 1.0)):
            raise RecipeError("a level map must start at (0, 0) and end at (1, 1): add the end knots")
        steps = np.diff(r)
        if not (np.all(np.diff(p) > 0.0) and np.all(steps >= 0.0)):
            raise RecipeError("a level map needs strictly increasing p and non-decreasing r: project r first")
        if not (np.all(steps[..., 0] > _SMALLEST_STEP) and np.all(steps[..., -1] > _SMALLEST_STEP)):
            raise RecipeError("the inner knots of a local level map must lie inside (0, 1): clip r first")
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "r", _without_dust(r, steps))

    @classmethod
    def clipped(cls, levels: Array, played: Array, smallest: float) -> LocalLevels:
        """The map handed to acquisition functions: played values, ... x q x K, clipped off 0 and 1, with end knots."""
        r = np.empty((*played.shape[:-1], played.shape[-1] + 2))
        r[..., 0], r[..., -1] = 0.0, 1.0
        np.clip(played, smallest, 1.0 - smallest, out=r[..., 1:-1])
        return cls(np.concatenate([[0.0], levels, [1.0]]), r)

    def forward(self, p: Array | float) -> Array:
        p = np.asarray(p, dtype=np.float64)
        j = np.clip(np.searchsorted(self.p, p, side="right") - 1, 0, self.p.size - 2)
        low, high = pick(self.r, j), pick(self.r, j + 1)
        return low + (high - low) * ((p - self.p[j]) / (self.p[j + 1] - self.p[j]))

    def inverse(self, r: Array | float) -> Array:
        """R^-1(r), on a flat stretch its right end (so that the calibrated cdf is right-continuous)."""
        r = np.asarray(r, dtype=np.float64)
        j = self.segment(r)
        return self.p[j] + pick(self.slope, j) * (r - pick(self.r, j))

    def segment(self, r: Array) -> np.ndarray:
        """Index of the segment of positive width in r that holds each of ``r``, ... x q."""
        return (self.r[..., 1:-1] <= np.asarray(r)[..., None]).sum(axis=-1)

    def over_samples(self) -> LocalLevels:
        """The same maps with a dimension for samples before the points: ... x 1 x q x K."""
        return LocalLevels(self.p, self.r[..., None, :, :])

    def negated(self) -> LocalLevels:
        """The maps for minus the outcome."""
        return LocalLevels(1.0 - self.p[::-1], 1.0 - self.r[..., ::-1])

    @cached_property
    def slope(self) -> Array:
        """dp/dr of each segment, ... x q x (K - 1); 0 for an atom."""
        dr = np.diff(self.r)
        return np.divide(np.diff(self.p), dr, out=np.zeros_like(dr), where=dr > 0.0)

    @cached_property
    def z(self) -> Array:
        """Normal scores of the knots, ... x q x K; infinite at the ends."""
        return ndtri(self.r)

    @cached_property
    def first_moment_above(self) -> Array:
        """E[Z 1{above knot j}] of the relevelled standard normal Z, ... x q x K."""
        return self._above(-np.diff(density(self.z)), self.z[..., :-1])

    @cached_property
    def second_moment(self) -> Array:
        """E[Z^2] of the relevelled standard normal, ... x q."""
        finite = np.where(np.isfinite(self.z), self.z, 0.0)
        part = np.diff(self.r) - np.diff(finite * density(self.z))
        return self._above(part, np.square(self.z[..., :-1]))[..., 0]

    def _above(self, integral: Array, atom: Array) -> Array:
        """Sums from each knot to the end of dp/dr times a segment's integral, or dp times the value at an atom."""
        terms = np.where(self.slope > 0.0, self.slope * integral, 0.0)
        flat = self.slope == 0.0
        if flat.any():
            terms[flat] = (np.diff(self.p) * atom)[flat]
        sums = np.zeros(self.r.shape)
        np.cumsum(terms[..., ::-1], axis=-1, out=sums[..., -2::-1])
        return sums


@dataclass(frozen=True)
class LocallyRelevelled(Distribution):
    """Y = mean + std Phi^-1(R_x(U)), U uniform, with a level map of its own at each point; all in closed form.

    With h = (c - mean) / std and j the segment of R_x that holds Phi(h), improvement is the sum over the segments above
    j plus the part of segment j above h, as for ``Relevelled``.

    Attributes:
        base: The model's Gaussian distribution at q points, ... x q, whose dependence between points is kept as a copula.
        levels: The maps R_x, ... x q x K.
    """

    base: Gaussian
    levels: LocalLevels

    def cdf(self, y: Array | float) -> Array:
        return self.levels.inverse(self.base.cdf(y))

    def icdf(self, u: Array | float) -> Array:
        return self.base.icdf(within_levels(self.levels.forward(u)))

    @property
    def mean(self) -> Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.mean + self.base.std * self.levels.first_moment_above[..., 0]

    @property
    def std(self) -> Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        variance = self.levels.second_moment - np.square(self.levels.first_moment_above[..., 0])
        return self.base.std * np.sqrt(np.maximum(variance, 0.0))

    def pdf(self, y: Array | float) -> Array:
        """Density at ``y``, ... x q, of the part that has one (atoms, where R is flat, are left out)."""
        return pick(self.levels.slope, self.levels.segment(self.base.cdf(y))) * self.base.pdf(y)

    def expected_improvement(self, c: Array | float) -> Array:
        h, slope, top, above = self._parts(c)
        beyond = density(top) - h * ndtr(-top)
        return self.base.std * (above + slope * np.maximum(first_integral(-h) - beyond, 0.0))

    def log_expected_improvement(self, c: Array | float) -> Array:
        """log E (Y - c)_+: in the last segment exactly the Gaussian's plus log slope, hence stable in the far tail."""
        h, slope, top, above = self._parts(c)
        log_g = log_first_integral(-h)
        inner = slope * np.maximum(np.exp(log_g) - density(top) + h * ndtr(-top), 0.0)
        body = np.log(np.maximum(above + inner, np.finfo(np.float64).tiny))
        return np.log(self.base.std) + np.where(np.isinf(top), np.log(slope) + log_g, body)

    def _parts(self, c: Array | float) -> tuple[Array, Array, Array, Array]:
        """h; the slope and upper end, in scores, of the segment that holds it; improvement by segments above, ... x q."""
        h = (c - self.base.mean) / self.base.std
        j = self.levels.segment(ndtr(h))
        above = pick(self.levels.first_moment_above, j + 1) - h * (1.0 - self.levels.p[j + 1])
        return h, pick(self.levels.slope, j), pick(self.levels.z, j + 1), above

    def probability_of_improvement(self, c: Array | float) -> Array:
        return np.exp(self.log_probability_of_improvement(c))

    def log_probability_of_improvement(self, c: Array | float) -> Array:
        """log P(Y > c): in the last segment the Gaussian's plus log slope, elsewhere of the mass above."""
        j = self.levels.segment(self.base.cdf(c))
        tail = np.log(pick(self.levels.slope, j)) + self.base.log_probability_of_improvement(c)
        last = j == self.levels.p.size - 2
        return np.where(last, tail, np.log(np.where(last, 1.0, 1.0 - self.cdf(c))))

    def copula_samples(self, base: Array) -> Array:
        return self.base.copula_samples(base)

    def over_samples(self) -> LocallyRelevelled:
        return LocallyRelevelled(self.base.over_samples(), self.levels.over_samples())

    def negated(self) -> LocallyRelevelled:
        return LocallyRelevelled(self.base.negated(), self.levels.negated())


@dataclass(frozen=True, eq=False)
class FlatLevels:
    """The level map of LOCBO's flat-set distribution, at each point (Kim et al. 2025, eq. 28, in normal scores).

    With w = Phi^-1(1 - lambda / 2), a model's level r is calibrated to
      (alpha / lambda) r                                          below lambda / 2,
      alpha / 2 + (1 - alpha) (Phi^-1(r) + w) / (2 w)             between, where the distribution is flat in normal scores,
      1 - (alpha / lambda) (1 - r)                                above 1 - lambda / 2.
    Of a Gaussian distribution this is the flat-set distribution itself; of any other, one whose normal scores have it. At lambda = 1 the
    middle is an atom of mass 1 - alpha at the median.

    Attributes:
        threshold: lambda, ... x q, in (0, 1].
        alpha: Mass outside the interval, in (0, 1).
    """

    threshold: Array
    alpha: float

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise RecipeError(f"alpha must lie in (0, 1), got {self.alpha!r}")
        if not np.all((self.threshold > 0.0) & (self.threshold <= 1.0)):
            raise RecipeError("thresholds must lie in (0, 1]: clip them first")

    @cached_property
    def _half_width(self) -> Array:
        return -ndtri(0.5 * self.threshold)

    def forward(self, p: Array | float) -> Array:
        p, shrink = np.asarray(p, dtype=np.float64), self.threshold / self.alpha
        middle = ndtr(self._half_width * (2.0 * p - 1.0) / (1.0 - self.alpha))
        low, high = p < 0.5 * self.alpha, p > 1.0 - 0.5 * self.alpha
        return np.where(low, shrink * p, np.where(high, 1.0 - shrink * (1.0 - p), middle))

    def inverse(self, r: Array | float) -> Array:
        r, stretch = np.asarray(r, dtype=np.float64), self.alpha / self.threshold
        low, high = r < 0.5 * self.threshold, r >= 1.0 - 0.5 * self.threshold
        inside = ndtri(np.where(low | high, 0.5, r)) / np.maximum(self._half_width, np.finfo(np.float64).tiny)
        middle = 0.5 + 0.5 * (1.0 - self.alpha) * inside
        return np.where(low, stretch * r, np.where(high, 1.0 - stretch * (1.0 - r), middle))

    def over_samples(self) -> FlatLevels:
        """The same maps with a dimension for samples before the points: ... x 1 x q."""
        return FlatLevels(self.threshold[..., None, :], self.alpha)


def relevel_locally(distribution: Distribution, levels: LocalLevels) -> Distribution:
    """The distribution with its levels mapped at each point, in closed form for a Gaussian."""
    return (
        LocallyRelevelled(distribution, levels)
        if isinstance(distribution, Gaussian)
        else Composed(distribution, levels)
    )


def pick(values: Array, index: np.ndarray) -> Array:
    """values[..., index] entry by entry: ... x K and ... -> ..., with broadcasting."""
    shape = np.broadcast_shapes(values.shape[:-1], index.shape)
    whole = np.broadcast_to(values, (*shape, values.shape[-1]))
    return np.take_along_axis(whole, np.broadcast_to(index, shape)[..., None], axis=-1)[..., 0]


def _without_dust(r: Array, steps: Array) -> Array:
    """The knots with steps too small to divide by made exactly flat, ... x K; the end knots are never joined."""
    dust = (steps > 0.0) & (steps < _SMALLEST_STEP)
    if not dust.any():
        return r
    # Each knot takes the value of the last knot before it that a real step led to.
    start = np.concatenate([np.ones((*r.shape[:-1], 1), dtype=bool), ~dust & (steps > 0.0)], axis=-1)
    source = np.maximum.accumulate(np.where(start, np.arange(r.shape[-1]), 0), axis=-1)
    return np.take_along_axis(r, source, axis=-1)
