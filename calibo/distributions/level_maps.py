"""Level maps: which quantile of the model to read when a calibrated quantile is asked for.

A calibrated quantile at level p is the model's own quantile at level R(p), so the calibrated cdf is R^-1 of the model's
cdf. (Applying R to the cdf, an easy mistake, would correct in the wrong direction.)

Notation: K knots of a map; q points with batch dimensions in front, ``... x q``; Phi the standard normal cdf.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from calibo.arguments import check_fields, checked, rearranged
from calibo.checks import shown
from calibo.data import Array
from calibo.distributions.normal import density
from calibo.errors import RecipeError

#: Steps of a level map below this are rounding, not density.
_SMALLEST_STEP = 1e-12


@checked
def checked_levels(levels: Sequence[float] | Array) -> Array:
    """Return the levels of quantiles as an array, K.

    Args:
        levels: Increasing numbers in (0, 1), on both sides of one half.

    Raises:
        RecipeError: If they are anything else.
    """
    try:
        p = np.asarray(levels, dtype=np.float64)
    except (TypeError, ValueError):
        p = np.empty(0)
    if p.ndim != 1 or p.size < 2 or not (np.diff(p) > 0.0).all() or not 0.0 < p[0] < 0.5 < p[-1] < 1.0:
        raise RecipeError(f"levels must increase within (0, 1), from below one half to above it, got {shown(levels)}")
    return p


def pick(values: Array, index: np.ndarray) -> Array:
    """Return the entry ``index``, ``...``, of values ``K``, shared by all points, or of values ``... x K``."""
    if values.ndim == 1:
        return values[index]
    if index.ndim == 0:
        return values[..., index]
    if values.size == values.shape[-1] and index.ndim >= values.ndim - 1:
        # Of a single point, which need not be broadcast.
        return values.reshape(-1)[index]
    shape = np.broadcast_shapes(values.shape[:-1], index.shape)
    whole = np.broadcast_to(values, (*shape, values.shape[-1]))
    return np.take_along_axis(whole, np.broadcast_to(index, shape)[..., None], axis=-1)[..., 0]


class LevelFunction(ABC):
    """A non-decreasing map R of [0, 1] onto itself: one for all points, or one for each of ``... x q`` points."""

    @abstractmethod
    def forward(self, p: Array | float) -> Array:
        """Return R(p), the model's level behind the calibrated level p."""

    @abstractmethod
    def inverse(self, r: Array | float) -> Array:
        """Return R^-1(r), the calibrated level of the model's level r."""

    def over_samples(self) -> LevelFunction:
        """Return the same maps with a dimension for samples before the points: ``... x 1 x q``."""
        return self

    def negated(self) -> LevelFunction:
        """Return the map for minus the outcome, p -> 1 - R(1 - p)."""
        return _Mirrored(self)

    def backed_through(self, backed: tuple[float, float]) -> tuple[float, float]:
        """Return the calibrated levels supported by data at every point, given those of the distribution it is applied to."""
        low = 0.0 if backed[0] <= 0.0 else float(np.max(self.inverse(backed[0])))
        high = 1.0 if backed[1] >= 1.0 else float(np.min(self.inverse(backed[1])))
        return low, high


@dataclass(frozen=True)
class _Mirrored(LevelFunction):
    """The level map of minus the outcome."""

    levels: LevelFunction

    def forward(self, p: Array | float) -> Array:
        return 1.0 - self.levels.forward(1.0 - np.asarray(p))

    def inverse(self, r: Array | float) -> Array:
        return 1.0 - self.levels.inverse(1.0 - np.asarray(r))

    def over_samples(self) -> LevelFunction:
        return _Mirrored(self.levels.over_samples())

    def negated(self) -> LevelFunction:
        return self.levels


@dataclass(frozen=True, eq=False)
class Tempered(LevelFunction):
    """R(p) = Phi(factor Phi^-1(p)): every interval of a Gaussian grows by ``factor``, a number or ``... x q`` numbers."""

    factor: Array | float

    def forward(self, p: Array | float) -> Array:
        return ndtr(self.factor * ndtri(p))

    def inverse(self, r: Array | float) -> Array:
        return ndtr(ndtri(r) / self.factor)

    def over_samples(self) -> Tempered:
        return self if np.ndim(self.factor) == 0 else Tempered(np.asarray(self.factor)[..., None, :])


@dataclass(frozen=True, eq=False)
class Levels(LevelFunction):
    """R piecewise linear through the knots (p_j, r_j), from (0, 0) to (1, 1).

    Attributes:
        p: Calibrated levels, ``K``, strictly increasing from 0 to 1.
        r: The model's levels, non-decreasing from 0 to 1: ``K`` if all points share one map, ``... x q x K`` if each has its
            own. Where r is flat the calibrated distribution has an atom.
        backed: Lowest and highest calibrated level supported by data; quantiles beyond are infinite, though samples and
            moments go on using the map.
    """

    p: Array
    r: Array
    backed: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        check_fields(self)
        p, r = np.asarray(self.p, dtype=np.float64), np.asarray(self.r, dtype=np.float64)
        if p.ndim != 1 or p.size < 2 or r.ndim < 1 or r.shape[-1] != p.size:
            raise RecipeError(f"p must have K >= 2 entries and r shape K or ... x K, got {p.shape} and {r.shape}")
        if not (p[0] == 0.0 and p[-1] == 1.0 and np.all(r[..., 0] == 0.0) and np.all(r[..., -1] == 1.0)):
            raise RecipeError("a level map must start at (0, 0) and end at (1, 1): add the end knots")
        steps = np.diff(r)
        if not (np.all(np.diff(p) > 0.0) and np.all(steps >= 0.0)):
            raise RecipeError("a level map needs strictly increasing p and non-decreasing r: project r first")
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "r", _without_rounding_steps(r, steps))

    @classmethod
    def identity(cls) -> Levels:
        """Return the map that changes nothing."""
        return cls(np.array([0.0, 1.0]), np.array([0.0, 1.0]))

    @classmethod
    def clipped(cls, levels: Array, r: Array, smallest: float, backed: tuple[float, float] = (0.0, 1.0)) -> Levels:
        """Return the map through r clipped to [smallest, 1 - smallest], with end knots, for acquisition functions.

        Without the clipping mass would sit at plus and minus infinity and expected improvement would be infinite.

        Args:
            levels: Calibrated levels, ``K``, inside (0, 1).
            r: The model's levels, ``K`` or ``... x q x K``.
            smallest: Distance kept from 0 and 1.
            backed: As for the class.
        """
        whole = np.empty((*r.shape[:-1], r.shape[-1] + 2))
        whole[..., 0], whole[..., -1] = 0.0, 1.0
        np.clip(r, smallest, 1.0 - smallest, out=whole[..., 1:-1])
        return cls(np.concatenate([[0.0], levels, [1.0]]), whole, backed)

    @property
    def shared(self) -> bool:
        """Whether all points share one map."""
        return self.r.ndim == 1

    def forward(self, p: Array | float) -> Array:
        if self.shared:
            return np.asarray(np.interp(p, self.p, self.r))
        p = np.asarray(p, dtype=np.float64)
        j = np.clip(np.searchsorted(self.p, p, side="right") - 1, 0, self.p.size - 2)
        low, high = pick(self.r, j), pick(self.r, j + 1)
        return low + (high - low) * ((p - self.p[j]) / (self.p[j + 1] - self.p[j]))

    def inverse(self, r: Array | float) -> Array:
        """Return R^-1(r), on a flat stretch its right end (so that the calibrated cdf is right-continuous)."""
        r = np.asarray(r, dtype=np.float64)
        j = self.segment(r)
        return self.p[j] + pick(self.slope, j) * (r - pick(self.r, j))

    def segment(self, r: Array) -> np.ndarray:
        """Return the index of the segment of positive width in r that holds each of ``r``, ``... x q``."""
        if self.shared:
            found = np.searchsorted(self.r[1:-1], r, side="right")
        else:
            found = (self.r[..., 1:-1] <= np.asarray(r)[..., None]).sum(axis=-1)
        return found if self._last is None else np.minimum(found, self._last)

    @cached_property
    def _last(self) -> Array | None:
        """Index of the last segment of positive width in r, ``... x q``; ``None`` if it is the last one everywhere."""
        if np.all(self.r[..., -2] < 1.0):
            return None
        return self.p.size - 2 - np.argmax((np.diff(self.r) > 0.0)[..., ::-1], axis=-1)

    def after(self, first: Levels) -> Levels:
        """Return the map p -> self(first(p)), for one calibrator around another; both shared by all points."""
        knots = np.union1d(first.p, first.inverse(self.p))
        knots = knots[(knots > _SMALLEST_STEP) & (knots < 1.0 - _SMALLEST_STEP)]
        p = np.concatenate([[0.0], knots, [1.0]])
        r = np.maximum.accumulate(self.forward(first.forward(p)))
        r[0], r[-1] = 0.0, 1.0
        return Levels(p, r, first.backed_through(self.backed))

    def over_samples(self) -> Levels:
        return self if self.shared else rearranged(self, r=self.r[..., None, :, :])

    def negated(self) -> Levels:
        low, high = self.backed
        return Levels(1.0 - self.p[::-1], 1.0 - self.r[..., ::-1], (1.0 - high, 1.0 - low))

    def backed_through(self, backed: tuple[float, float]) -> tuple[float, float]:
        low, high = super().backed_through(backed)
        return max(low, self.backed[0]), min(high, self.backed[1])

    @cached_property
    def slope(self) -> Array:
        """dp/dr of each segment, ``[... x q x] (K - 1)``: calibrated over model density; 0 for an atom."""
        dr = np.diff(self.r)
        return np.divide(np.diff(self.p), dr, out=np.zeros_like(dr), where=dr > 0.0)

    @cached_property
    def z(self) -> Array:
        """Normal scores of the knots, ``[... x q x] K``; infinite at the ends."""
        return ndtri(self.r)

    @cached_property
    def first_moment_above(self) -> Array:
        """E[Z 1{above knot j}] of the relevelled standard normal Z, ``[... x q x] K``."""
        return self._above(-np.diff(density(self.z)), self.z[..., :-1])

    @cached_property
    def second_moment(self) -> Array:
        """E[Z^2] of the relevelled standard normal, ``[... x q]``."""
        finite = np.where(np.isfinite(self.z), self.z, 0.0)
        part = np.diff(self.r) - np.diff(finite * density(self.z))
        return self._above(part, np.square(self.z[..., :-1]))[..., 0]

    def _above(self, integral: Array, atom: Array) -> Array:
        """Return sums from each knot to the end of dp/dr times a segment's integral, or of dp times the value at an atom."""
        terms = self.slope * integral
        flat = self.slope == 0.0
        if flat.any():
            terms[flat] = (np.diff(self.p) * atom)[flat]
        sums = np.zeros(self.r.shape)
        np.cumsum(terms[..., ::-1], axis=-1, out=sums[..., -2::-1])
        return sums


@dataclass(frozen=True, eq=False)
class FlatLevels(LevelFunction):
    """The level map of LOCBO's flat-set distribution, at each point (Kim et al. 2025, eq. 28, in normal scores).

    With w = Phi^-1(1 - lambda / 2), a model's level r is calibrated to
      (alpha / lambda) r                                          below lambda / 2,
      alpha / 2 + (1 - alpha) (Phi^-1(r) + w) / (2 w)             between, where the distribution is flat in normal scores,
      1 - (alpha / lambda) (1 - r)                                above 1 - lambda / 2.
    Applied to a Gaussian this is the flat-set distribution itself; applied to another distribution, one whose normal scores
    have it. At lambda = 1 the middle is an atom of mass 1 - alpha at the median.

    Attributes:
        threshold: lambda, ``... x q``, in (0, 1].
        alpha: Mass outside the interval, in (0, 1).
    """

    threshold: Array
    alpha: float

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0.0 < self.alpha < 1.0:
            raise RecipeError(f"alpha must lie in (0, 1), got {self.alpha!r}")
        threshold = np.asarray(self.threshold)
        if not np.all((threshold > 0.0) & (threshold <= 1.0)):
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
        return rearranged(self, threshold=self.threshold[..., None, :])


def _without_rounding_steps(r: Array, steps: Array) -> Array:
    """Return the knots, ``... x K``, with steps of rounding size (of isotonic projections) made flat."""
    small = (steps > 0.0) & (steps < _SMALLEST_STEP)
    if not small.any():
        return r
    # Each knot takes the value of the last knot before it that a real step led to.
    start = np.concatenate([np.ones((*r.shape[:-1], 1), dtype=bool), ~small & (steps > 0.0)], axis=-1)
    source = np.maximum.accumulate(np.where(start, np.arange(r.shape[-1]), 0), axis=-1)
    flat = np.take_along_axis(r, source, axis=-1)
    flat[..., -1] = 1.0
    return flat
