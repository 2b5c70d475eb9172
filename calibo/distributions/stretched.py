"""Gaussian distributions with stretched normal scores, alike on both sides of the median, which may be moved.

Notation: K knots; q points with batch dimensions in front, ``... x q``; zeta a calibrated normal score, s + T(zeta) the
model's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from calibo.arguments import check_fields, rearranged
from calibo.data import Array
from calibo.distributions.gaussian import Gaussian
from calibo.distributions.level_maps import LevelFunction, pick
from calibo.distributions.normal import density, first_integral, log_first_integral
from calibo.distributions.relevelled import Composed
from calibo.errors import RecipeError


@dataclass(frozen=True, eq=False)
class StretchedScores(LevelFunction):
    """R(p) = Phi(s + T(Phi^-1(p))) with T odd, increasing and linear between knots: T(0) = 0, and the last slope beyond.

    Without a shift s a central interval stays central, and the median stays the median. In normal scores, unlike in levels,
    intervals can grow by any factor without rounding.

    Attributes:
        knots: Normal scores zeta_1 < ... < zeta_K, all positive.
        values: T(zeta_1) < ... < T(zeta_K), all positive, ``K`` for all points or ``... x q x K``.
        shift: s, the model's normal score of the median, finite: a number for all points or ``... x q``.
    """

    knots: Array
    values: Array
    shift: Array | float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        if np.ndim(self.values) < 1 or np.ndim(self.knots) != 1 or not isinstance(self.values, np.ndarray):
            raise RecipeError("stretched scores are an array of values for a row of knots")
        if not (np.diff(self._whole) > 0.0).all():
            raise RecipeError("stretched scores must be positive and increase from knot to knot")
        if not np.isfinite(self.shift).all():
            raise RecipeError(f"the shift of stretched scores must be finite, got {self.shift!r}")

    @cached_property
    def _whole(self) -> Array:
        """T at 0 and the knots, ``[... x q x] (K + 1)``."""
        return np.concatenate([np.zeros((*self.values.shape[:-1], 1)), self.values], axis=-1)

    @cached_property
    def _from(self) -> Array:
        """0 and the knots, ``K + 1``."""
        return np.concatenate([[0.0], self.knots])

    @cached_property
    def slopes(self) -> Array:
        """Slope of T in each segment, the last one being that beyond the last knot, ``[... x q x] (K + 1)``."""
        inner = np.diff(self._whole) / np.diff(self._from)
        return np.concatenate([inner, inner[..., -1:]], axis=-1)

    def stretch(self, zeta: Array | float) -> Array:
        """Return s + T(zeta), ``... x q``."""
        size = np.abs(np.asarray(zeta, dtype=np.float64))
        j = np.searchsorted(self.knots, size, side="right")
        return self.shift + np.sign(zeta) * (pick(self._whole, j) + pick(self.slopes, j) * (size - self._from[j]))

    def compress(self, score: Array | float) -> Array:
        """Return T^-1(score - s), ``... x q``."""
        away = np.asarray(score, dtype=np.float64) - self.shift
        size = np.abs(away)
        j = (self.values <= size[..., None]).sum(axis=-1)
        return np.sign(away) * (self._from[j] + (size - pick(self._whole, j)) / pick(self.slopes, j))

    def forward(self, p: Array | float) -> Array:
        return ndtr(self.stretch(ndtri(p)))

    def inverse(self, r: Array | float) -> Array:
        return ndtr(self.compress(ndtri(r)))

    def over_samples(self) -> StretchedScores:
        shift = self.shift if np.ndim(self.shift) == 0 else np.asarray(self.shift)[..., None, :]
        values = self.values if self.values.ndim == 1 else self.values[..., None, :, :]
        return rearranged(self, values=values, shift=shift)

    def negated(self) -> StretchedScores:
        return StretchedScores(self.knots, self.values, -self.shift)

    @cached_property
    def second_moment(self) -> Array:
        """E[T(Z)^2] of a standard normal Z, ``[... x q]``."""
        ends = np.concatenate([self._from, [np.inf]])
        mass, finite = ndtr(-ends), np.where(np.isfinite(ends), ends, 0.0)
        weight = mass[:-1] - mass[1:]
        first = density(ends[:-1]) - density(ends[1:])
        second = weight + (finite * density(ends))[:-1] - (finite * density(ends))[1:]
        offset = self._whole - self.slopes * self._from
        return 2.0 * (offset**2 * weight + 2.0 * offset * self.slopes * first + self.slopes**2 * second).sum(axis=-1)


@dataclass(frozen=True, repr=False)
class Stretched(Composed):
    """Y = mean + std (s + T(Z)), Z standard normal: moments, tails and improvement in closed form.

    Attributes:
        base: The model's Gaussian distribution, ``... x q``.
        levels: The stretched normal scores.
    """

    base: Gaussian
    levels: StretchedScores

    def cdf(self, y: Array | float) -> Array:
        return ndtr(self.normal_scores(y))

    def normal_scores(self, y: Array | float) -> Array:
        return self.levels.compress(self.base.normal_scores(y))

    def icdf(self, u: Array | float) -> Array:
        return self.at_scores(ndtri(u))

    def at_scores(self, z: Array | float) -> Array:
        return self.base.mean + self.base.std * self.levels.stretch(z)

    def at_levels(self, u: Array | float) -> Array:
        return self.icdf(u)

    @property
    def mean(self) -> Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.mean + self.base.std * self.levels.shift

    @property
    def std(self) -> Array:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.std * np.sqrt(self.levels.second_moment)

    def expected_improvement(self, c: Array | float) -> Array:
        return np.exp(self.log_expected_improvement(c))

    def log_expected_improvement(self, c: Array | float) -> Array:
        """Return log E (Y - c)_+, the integral of T' times the upper tail of Z above T^-1: all terms are positive."""
        start = self.normal_scores(c)
        levels, last = self.levels, self.levels.knots[-1]
        ends = np.concatenate([-levels.knots[::-1], [0.0], levels.knots])
        slopes = np.concatenate([levels.slopes[..., ::-1], levels.slopes], axis=-1)
        tail = np.log(slopes[..., -1]) + log_first_integral(-np.maximum(start, last))
        inner = np.zeros(np.shape(start))
        for j, high in enumerate(ends):
            low = start if j == 0 else np.maximum(start, ends[j - 1])
            part = np.maximum(first_integral(-np.minimum(low, high)) - first_integral(-high), 0.0)
            inner = inner + slopes[..., j] * part
        with np.errstate(divide="ignore"):
            return np.log(self.base.std) + np.logaddexp(tail, np.log(inner))

    def probability_of_improvement(self, c: Array | float) -> Array:
        return ndtr(-self.normal_scores(c))

    def log_probability_of_improvement(self, c: Array | float) -> Array:
        return log_ndtr(-self.normal_scores(c))
