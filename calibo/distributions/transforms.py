"""Monotone transforms of outcomes, which a model may fit better; its forecasts come back through the inverse."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibo.arguments import check_fields
from calibo.data import Array
from calibo.errors import RecipeError

#: Knots over which the slope below the lowest of them is taken.
_LOWEST_KNOTS = 3
#: Powers this close to 0 are taken as the logarithm, their limit.
_LOGARITHM = 1e-8


class OutcomeTransform(ABC):
    """A strictly increasing, continuous map g of the real line onto itself; subclasses are frozen dataclasses.

    It is smooth and either convex or concave below ``linear_above``, or piecewise linear (``slope_steps``).
    """

    @abstractmethod
    def forward(self, y: Array | float) -> Array:
        """Return g(y), in the shape of ``y``."""

    @abstractmethod
    def inverse(self, w: Array | float) -> Array:
        """Return g^-1(w), in the shape of ``w``."""

    @abstractmethod
    def log_derivative(self, y: Array | float) -> Array:
        """Return log g'(y), in the shape of ``y``."""

    @abstractmethod
    def curvature(self, y: Array | float) -> Array:
        """Return g''(y) / g'(y), the derivative of ``log_derivative``, in the shape of ``y``; 0 where g is linear."""

    @property
    @abstractmethod
    def linear_above(self) -> float:
        """The outcome above which g is linear; minus infinity if it is linear everywhere."""

    @property
    def kinks(self) -> tuple[float, ...]:
        """Outcomes below ``linear_above``, in increasing order, at which ``curvature`` is not smooth."""
        return ()

    @property
    def slope_steps(self) -> SlopeSteps | None:
        """The slopes of the inverse of a piecewise linear transform; ``None`` if it is not piecewise linear."""
        return None

    def negated(self) -> OutcomeTransform:
        """Return the transform of minus the outcome, y -> -g(-y)."""
        return _Negated(self)


@dataclass(frozen=True, eq=False)
class SlopeSteps:
    """A piecewise linear inverse transform.

    Attributes:
        at: Transformed outcomes at which its slope changes, K, increasing.
        slope: Its slope below the first of them and above each, K + 1.
    """

    at: Array
    slope: Array


@dataclass(frozen=True)
class _Negated(OutcomeTransform):
    """The transform of minus the outcome."""

    transform: OutcomeTransform

    def forward(self, y: Array | float) -> Array:
        return -self.transform.forward(-np.asarray(y))

    def inverse(self, w: Array | float) -> Array:
        return -self.transform.inverse(-np.asarray(w))

    def log_derivative(self, y: Array | float) -> Array:
        return self.transform.log_derivative(-np.asarray(y))

    def curvature(self, y: Array | float) -> Array:
        return -self.transform.curvature(-np.asarray(y))

    @property
    def linear_above(self) -> float:
        return np.inf

    def negated(self) -> OutcomeTransform:
        return self.transform


@dataclass(frozen=True)
class LowerTailPower(OutcomeTransform):
    """A long lower tail drawn in: linear above a location, the power transform of Yeo and Johnson (2000) below it.

    With z = (y - location) / scale, g = z where z >= 0, and -((1 - z)^power - 1) / power below: the identity for power 1,
    minus a logarithm for power 0. Below the lowest outcome seen, the transform goes on as its tangent, which keeps forecasts
    of even lower outcomes from growing exponentially. Outcomes are maximized inside calibo, so the lower tail is that of bad
    outcomes, and improvement on good ones stays in closed form.

    Attributes:
        power: In [0, 1].
        location: Outcome above which the transform is linear.
        scale: Unit of the outcomes, positive.
        low: Outcome below which the transform is its tangent, at most the location.
    """

    power: float
    location: float
    scale: float
    low: float

    def __post_init__(self) -> None:
        check_fields(self)
        if not (0.0 <= self.power <= 1.0 and self.scale > 0.0 and self.low <= self.location):
            raise RecipeError(
                f"the power must lie in [0, 1], the scale be positive and low not above the location, got {self.power!r}, "
                f"{self.scale!r} and {self.low!r} against {self.location!r}"
            )

    @cached_property
    def _deepest(self) -> tuple[float, float, float]:
        """How far ``low`` lies below the location in units of the scale; minus the transform there, and its slope."""
        depth = (self.location - self.low) / self.scale
        return depth, float(power_of(np.array(depth), self.power)), float((1.0 + depth) ** (self.power - 1.0))

    def forward(self, y: Array | float) -> Array:
        z = (np.asarray(y, dtype=np.float64) - self.location) / self.scale
        depth, _, slope = self._deepest
        below = np.minimum(np.maximum(-z, 0.0), depth)
        return np.maximum(z, 0.0) - power_of(below, self.power) - slope * np.maximum(-z - depth, 0.0)

    def inverse(self, w: Array | float) -> Array:
        w = np.asarray(w, dtype=np.float64)
        _, deepest, slope = self._deepest
        below = np.minimum(np.maximum(-w, 0.0), deepest)
        z = np.maximum(w, 0.0) - _inverse_of(below, self.power) - np.maximum(-w - deepest, 0.0) / slope
        return self.location + self.scale * z

    def log_derivative(self, y: Array | float) -> Array:
        z = (np.asarray(y, dtype=np.float64) - self.location) / self.scale
        below = np.minimum(np.maximum(-z, 0.0), self._deepest[0])
        return (self.power - 1.0) * np.log1p(below) - np.log(self.scale)

    def curvature(self, y: Array | float) -> Array:
        y = np.asarray(y, dtype=np.float64)
        inside = (1.0 - self.power) / (self.scale + np.maximum(self.location - y, 0.0))
        return np.where((y >= self.low) & (y <= self.location), inside, 0.0)

    @property
    def linear_above(self) -> float:
        return self.location

    @property
    def kinks(self) -> tuple[float, ...]:
        return (self.low,)


@dataclass(frozen=True)
class YeoJohnson(OutcomeTransform):
    """The power transform of Yeo and Johnson (2000), on both sides of a location.

    With z = (y - location) / scale, g = ((1 + z)^power - 1) / power where z >= 0, below -((1 - z)^other - 1) / other with
    other = 2 - power: concave for powers below 1, which draw in a long upper tail, convex above, which draw in a lower one.
    Beyond the outcomes seen it goes on as its tangents, so that forecasts of better or worse ones do not grow faster than
    the model's.

    Attributes:
        power: In [0, 2]; 1 is the identity.
        location: Outcome whose transform is 0.
        scale: Unit of the outcomes, positive.
        low: Outcome below which the transform is its tangent, at most the location.
        high: Outcome above which it is, at least the location.
    """

    power: float
    location: float
    scale: float
    low: float
    high: float

    def __post_init__(self) -> None:
        check_fields(self)
        if not (0.0 <= self.power <= 2.0 and self.scale > 0.0 and self.low <= self.location <= self.high):
            raise RecipeError(
                "the power must lie in [0, 2], the scale be positive and the location between low and high, got "
                f"{self.power!r}, {self.scale!r} and {self.location!r} between {self.low!r} and {self.high!r}"
            )

    @cached_property
    def _ends(self) -> tuple[Array, Array, Array]:
        """The ends of the curved part in units of the scale; the transform there, and its slopes."""
        z = (np.array([self.low, self.high]) - self.location) / self.scale
        return z, self._curved(z), np.exp(self._log_slope(z))

    def _curved(self, z: Array) -> Array:
        return power_of(np.maximum(z, 0.0), self.power) - power_of(np.maximum(-z, 0.0), 2.0 - self.power)

    def _log_slope(self, z: Array) -> Array:
        return (self.power - 1.0) * (np.log1p(np.maximum(z, 0.0)) - np.log1p(np.maximum(-z, 0.0)))

    def forward(self, y: Array | float) -> Array:
        z = (np.asarray(y, dtype=np.float64) - self.location) / self.scale
        (low, high), _, slope = self._ends
        beyond = slope[0] * np.minimum(z - low, 0.0) + slope[1] * np.maximum(z - high, 0.0)
        return self._curved(np.clip(z, low, high)) + beyond

    def inverse(self, w: Array | float) -> Array:
        w = np.asarray(w, dtype=np.float64)
        _, (low, high), slope = self._ends
        inside = np.clip(w, low, high)
        z = _inverse_of(np.maximum(inside, 0.0), self.power) - _inverse_of(np.maximum(-inside, 0.0), 2.0 - self.power)
        beyond = np.minimum(w - low, 0.0) / slope[0] + np.maximum(w - high, 0.0) / slope[1]
        return self.location + self.scale * (z + beyond)

    def log_derivative(self, y: Array | float) -> Array:
        z = (np.asarray(y, dtype=np.float64) - self.location) / self.scale
        return self._log_slope(np.clip(z, *self._ends[0])) - np.log(self.scale)

    def curvature(self, y: Array | float) -> Array:
        y = np.asarray(y, dtype=np.float64)
        inside = (self.power - 1.0) / (self.scale + np.abs(y - self.location))
        return np.where((y >= self.low) & (y <= self.high), inside, 0.0)

    @property
    def linear_above(self) -> float:
        return self.high

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.low, self.location


@dataclass(frozen=True, eq=False)
class HalfRank(OutcomeTransform):
    """Bad outcomes replaced by normal scores of their ranks, good ones kept: the half-rank transform of Song et al. (2024).

    Linear above a location, the median of the outcomes it was made from; below it linear between knots, and below the
    lowest knot as between the lowest ones. How bad a bad outcome is does not count then, only which is worse, so that a model
    spends nothing on them and fits the good ones, while improvement on these keeps its closed form.

    Attributes:
        location: Outcome above which the transform is linear.
        scale: Unit of the outcomes above it, positive.
        values: Knots: outcomes, K, increasing, the last is the location.
        scores: The transformed outcomes at the knots, K, increasing, the last is 0.
    """

    location: float
    scale: float
    values: Array
    scores: Array

    def __post_init__(self) -> None:
        check_fields(self)
        shapes = {np.shape(self.values), np.shape(self.scores)}
        enough = len(shapes) == 1 and np.ndim(self.values) == 1 and np.size(self.values) >= 2 and self.scale > 0.0
        increase = enough and np.all(np.diff(self.values) > 0.0) and np.all(np.diff(self.scores) > 0.0)
        if not (increase and self.values[-1] == self.location and self.scores[-1] == 0.0):
            raise RecipeError(
                "a half-rank transform needs a positive scale and two or more increasing knots that end at the location "
                f"and 0, got {self.scale!r}, {self.values!r} and {self.scores!r}"
            )

    @cached_property
    def _lowest(self) -> float:
        """Slope below the lowest knot: that over the lowest few, since single gaps vary."""
        last = min(_LOWEST_KNOTS, len(self.values) - 1)
        return float((self.scores[last] - self.scores[0]) / (self.values[last] - self.values[0]))

    def forward(self, y: Array | float) -> Array:
        y = np.asarray(y, dtype=np.float64)
        above = np.maximum(y - self.location, 0.0) / self.scale
        below = np.minimum(y - self.values[0], 0.0) * self._lowest
        return above + np.interp(y, self.values, self.scores) + below

    def inverse(self, w: Array | float) -> Array:
        w = np.asarray(w, dtype=np.float64)
        above = self.scale * np.maximum(w, 0.0)
        below = np.minimum(w - self.scores[0], 0.0) / self._lowest
        return above + np.interp(w, self.scores, self.values) + below

    def log_derivative(self, y: Array | float) -> Array:
        """Return log g'(y) with the slope below the location taken over several knots, since single gaps vary."""
        y, last = np.asarray(y, dtype=np.float64), len(self.values) - 1
        reach = max(round(np.sqrt(last)), 1)
        place = np.searchsorted(self.values, y)
        first, end = np.clip(place - reach, 0, last - 1), np.clip(place + reach, 1, last)
        slope = (self.scores[end] - self.scores[first]) / (self.values[end] - self.values[first])
        return np.where(y >= self.location, -np.log(self.scale), np.log(slope))

    def curvature(self, y: Array | float) -> Array:
        return np.zeros(np.shape(y))

    @property
    def linear_above(self) -> float:
        return self.location

    @property
    def slope_steps(self) -> SlopeSteps:
        return self._steps

    @cached_property
    def _steps(self) -> SlopeSteps:
        slopes = np.diff(self.values) / np.diff(self.scores)
        return SlopeSteps(self.scores, np.concatenate([[1.0 / self._lowest], slopes, [self.scale]]))


def power_of(size: Array, power: float) -> Array:
    """Return ((1 + size)^power - 1) / power."""
    return np.log1p(size) if power < _LOGARITHM else np.expm1(power * np.log1p(size)) / power


def _inverse_of(size: Array, power: float) -> Array:
    return np.expm1(size) if power < _LOGARITHM else np.expm1(np.log1p(power * size) / power)
