"""Maps of levels: which quantile of the model to read off when a calibrated quantile is asked for.

A calibrated quantile at level p is the model's own at level R(p), so the calibrated cdf is R^-1 of the model's cdf
(applying R to the cdf instead, an easy mistake, would correct in the wrong direction).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from calibo.data import Array
from calibo.distributions.normal import density
from calibo.errors import RecipeError

#: Steps of a level map below this are rounding, not density.
_SMALLEST_STEP = 1e-12


def checked_levels(levels: Sequence[float] | Array) -> Array:
    """The levels of a distribution between quantiles, K, or a ``RecipeError`` saying what is wrong with them."""
    try:
        p = np.asarray(levels, dtype=np.float64)
    except (TypeError, ValueError):
        p = np.empty(0)
    if p.ndim != 1 or p.size < 2 or not (np.diff(p) > 0.0).all() or not 0.0 < p[0] < 0.5 < p[-1] < 1.0:
        raise RecipeError(f"levels increase within (0, 1), from below one half to above it, got {levels!r}")
    return p


class LevelFunction(Protocol):
    """A non-decreasing map R of [0, 1] onto itself."""

    def forward(self, p: Array | float) -> Array:
        """R(p): the model's level behind the calibrated level p."""
        ...

    def inverse(self, r: Array | float) -> Array:
        """R^-1(r): the calibrated level of what the model calls level r."""
        ...


@dataclass(frozen=True)
class Tempered:
    """R(p) = Phi(factor Phi^-1(p)): every interval of a Gaussian grows by ``factor``."""

    factor: float

    def forward(self, p: Array | float) -> Array:
        return ndtr(self.factor * ndtri(p))

    def inverse(self, r: Array | float) -> Array:
        return ndtr(ndtri(r) / self.factor)


@dataclass(frozen=True, eq=False)
class Levels:
    """R piecewise linear through the knots (p_j, r_j), from (0, 0) to (1, 1).

    Attributes:
        p: Calibrated levels, K, strictly increasing from 0 to 1.
        r: The model's levels, K, non-decreasing from 0 to 1. Where r is flat the calibrated distribution has an atom.
        backed: The lowest and the highest calibrated level for which there is one of the model; quantiles beyond are
            infinite, though draws and moments go on using the map.
    """

    p: Array
    r: Array
    backed: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        p, r = np.asarray(self.p, dtype=np.float64), np.asarray(self.r, dtype=np.float64)
        if p.shape != r.shape or p.ndim != 1 or p.size < 2:
            raise RecipeError(f"levels p and r must be vectors of one length >= 2, got shapes {p.shape} and {r.shape}")
        if not (p[0] == r[0] == 0.0 and p[-1] == r[-1] == 1.0):
            raise RecipeError("a level map must start at (0, 0) and end at (1, 1): add the end knots")
        if not (np.all(np.diff(p) > 0.0) and np.all(np.diff(r) >= 0.0)):
            raise RecipeError("a level map needs strictly increasing p and non-decreasing r: project r first")
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "r", _without_dust(r))

    @classmethod
    def identity(cls) -> Levels:
        """The map that changes nothing."""
        return cls(np.array([0.0, 1.0]), np.array([0.0, 1.0]))

    @classmethod
    def clipped(cls, levels: Array, played: Array, smallest: float, backed: tuple[float, float] = (0.0, 1.0)) -> Levels:
        """The map handed to acquisition functions: played values clipped to [smallest, 1 - smallest], with end knots.

        Without the clipping mass would sit at plus and minus infinity and expected improvement would be infinite.
        """
        inner = np.clip(played, smallest, 1.0 - smallest)
        return cls(np.concatenate([[0.0], levels, [1.0]]), np.concatenate([[0.0], inner, [1.0]]), backed)

    def forward(self, p: Array | float) -> Array:
        return np.asarray(np.interp(p, self.p, self.r))

    def inverse(self, r: Array | float) -> Array:
        """R^-1(r), on a flat stretch its right end (so that the calibrated cdf is right-continuous)."""
        r = np.asarray(r, dtype=np.float64)
        j = self.segment(r)
        return self.p[j] + self.slope[j] * (r - self.r[j])

    def segment(self, r: Array) -> np.ndarray:
        """Index of the segment of positive width in r that holds each of ``r``."""
        found = np.searchsorted(self.r, r, side="right") - 1
        last = np.flatnonzero(np.diff(self.r) > 0.0)[-1]
        return np.clip(found, 0, last)

    def after(self, first: Levels) -> Levels:
        """The map p -> self(first(p)): what two calibrators, one around the other, amount to."""
        knots = np.union1d(first.p, first.inverse(self.p))
        knots = knots[(knots > _SMALLEST_STEP) & (knots < 1.0 - _SMALLEST_STEP)]
        p = np.concatenate([[0.0], knots, [1.0]])
        r = np.maximum.accumulate(self.forward(first.forward(p)))
        r[0], r[-1] = 0.0, 1.0
        return Levels(p, r, backed_through(first, self.backed))

    def negated(self) -> Levels:
        """The map for minus the outcome."""
        low, high = self.backed
        return Levels(1.0 - self.p[::-1], 1.0 - self.r[::-1], (1.0 - high, 1.0 - low))

    @cached_property
    def slope(self) -> Array:
        """dp/dr of each segment, K - 1: how much denser the calibrated distribution is than the model's; 0 for an atom."""
        dp, dr = np.diff(self.p), np.diff(self.r)
        return np.divide(dp, dr, out=np.zeros_like(dp), where=dr > 0.0)

    @cached_property
    def z(self) -> Array:
        """Normal scores of the knots, K; infinite at the ends."""
        return ndtri(self.r)

    @cached_property
    def mass_above(self) -> Array:
        """Calibrated probability above each knot, K."""
        return 1.0 - self.p

    @cached_property
    def first_moment_above(self) -> Array:
        """E[Z 1{above knot j}] of the relevelled standard normal Z, K (suffix sums, free of x)."""
        return _suffix_sums(np.diff(self.p), np.diff(self.r), -np.diff(density(self.z)), self.z[:-1])

    @cached_property
    def second_moment(self) -> float:
        """E[Z^2] of the relevelled standard normal."""
        finite = np.where(np.isfinite(self.z), self.z, 0.0)
        part = np.diff(self.r) - np.diff(finite * density(self.z))
        return float(_suffix_sums(np.diff(self.p), np.diff(self.r), part, np.square(self.z[:-1]))[0])


def backed_through(levels: LevelFunction, backed: tuple[float, float]) -> tuple[float, float]:
    """The levels that are backed once a map is put around what backs some; by point, those backed at every point."""
    low = 0.0 if backed[0] <= 0.0 else float(np.max(levels.inverse(backed[0])))
    high = 1.0 if backed[1] >= 1.0 else float(np.min(levels.inverse(backed[1])))
    own = levels.backed if isinstance(levels, Levels) else (0.0, 1.0)
    return max(low, own[0]), min(high, own[1])


def _without_dust(r: Array) -> Array:
    """The knots with steps too small to divide by (an isotonic projection's rounding) made exactly flat, K."""
    steps = np.diff(r)
    if not np.any((steps > 0.0) & (steps < _SMALLEST_STEP)):
        return r
    flat = np.concatenate([[0.0], np.cumsum(np.where(steps < _SMALLEST_STEP, 0.0, steps))])
    # Never up to 1 from below: that would be an atom at infinity.
    return np.concatenate([np.minimum(flat[:-1], r[:-1]), [1.0]])


def _suffix_sums(dp: Array, dr: Array, integral: Array, atom: Array) -> Array:
    """Sums from each knot to the end of dp/dr times a segment's integral, or dp times the value at an atom."""
    with np.errstate(invalid="ignore", divide="ignore"):
        terms = np.where(dr > 0.0, dp * integral / dr, dp * atom)
    return np.concatenate([np.cumsum(terms[::-1])[::-1], [0.0]])
