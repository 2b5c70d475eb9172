"""Monotone transforms of outcomes: a model may fit transformed ones better; forecasts come back through the inverse."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibo.data import Array
from calibo.errors import RecipeError

#: Powers this close to 0 and 2 are taken as the logarithm, their limit.
_LOGARITHM = 1e-8


class OutcomeTransform(ABC):
    """A strictly increasing, continuously differentiable map g of the real line onto itself, convex or concave.

    Subclasses are frozen dataclasses.
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

    def negated(self) -> OutcomeTransform:
        """Return the transform of minus the outcome, y -> -g(-y)."""
        return _Negated(self)


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
class YeoJohnson(OutcomeTransform):
    """The power transform of Yeo and Johnson (2000) of (y - location) / scale, continued by its tangents outside a range.

    Powers from 0 to 2 map the real line onto itself: 1 is the identity, a power below 1 draws a long upper tail in, one above
    1 a long lower tail. The tangents keep forecasts beyond the outcomes seen so far from growing exponentially.

    Attributes:
        power: lambda, in [0, 2].
        location: What is subtracted from an outcome.
        scale: What the difference is divided by, positive.
        low: Outcome below which the transform is its tangent.
        high: Outcome above which it is its tangent.
    """

    power: float
    location: float
    scale: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not (0.0 <= self.power <= 2.0 and self.scale > 0.0 and self.low <= self.high):
            raise RecipeError(
                f"the power must lie in [0, 2], the scale be positive and low not above high, got {self.power!r}, "
                f"{self.scale!r} and {self.low!r} to {self.high!r}"
            )

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        """Values and derivatives at ``low`` and ``high``."""
        ends = np.array([self.low, self.high])
        return power_transform(self._standardized(ends), self.power), np.exp(self._log_derivative_inside(ends))

    def _standardized(self, y: Array) -> Array:
        return (y - self.location) / self.scale

    def _log_derivative_inside(self, y: Array) -> Array:
        z = self._standardized(y)
        return (self.power - 1.0) * np.sign(z) * np.log1p(np.abs(z)) - np.log(self.scale)

    def forward(self, y: Array | float) -> Array:
        y = np.asarray(y, dtype=np.float64)
        inside = power_transform(self._standardized(np.clip(y, self.low, self.high)), self.power)
        below, above = np.minimum(y - self.low, 0.0), np.maximum(y - self.high, 0.0)
        return inside + below * self._ends[1][0] + above * self._ends[1][1]

    def inverse(self, w: Array | float) -> Array:
        w = np.asarray(w, dtype=np.float64)
        (at_low, at_high), (slope_low, slope_high) = self._ends
        inside = self.location + self.scale * inverse_power_transform(np.clip(w, at_low, at_high), self.power)
        return inside + np.minimum(w - at_low, 0.0) / slope_low + np.maximum(w - at_high, 0.0) / slope_high

    def log_derivative(self, y: Array | float) -> Array:
        return self._log_derivative_inside(np.clip(np.asarray(y, dtype=np.float64), self.low, self.high))

    def curvature(self, y: Array | float) -> Array:
        y = np.asarray(y, dtype=np.float64)
        inside = (self.power - 1.0) / (self.scale + np.abs(y - self.location))
        return np.where((y >= self.low) & (y <= self.high), inside, 0.0)

    @property
    def linear_above(self) -> float:
        return self.high

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.low, min(max(self.location, self.low), self.high)


def power_transform(z: Array, power: float) -> Array:
    """Return the transform of Yeo and Johnson (2000) of z, in its shape, with a power in [0, 2]."""
    positive, negative = np.maximum(z, 0.0), np.maximum(-z, 0.0)
    return np.where(z >= 0.0, _power_of(positive, power), -_power_of(negative, 2.0 - power))


def inverse_power_transform(w: Array, power: float) -> Array:
    """Return the inverse of ``power_transform``, in the shape of w."""
    positive, negative = np.maximum(w, 0.0), np.maximum(-w, 0.0)
    return np.where(w >= 0.0, _inverse_of(positive, power), -_inverse_of(negative, 2.0 - power))


def _power_of(size: Array, power: float) -> Array:
    """Return ((1 + size)^power - 1) / power."""
    return np.log1p(size) if power < _LOGARITHM else np.expm1(power * np.log1p(size)) / power


def _inverse_of(size: Array, power: float) -> Array:
    return np.expm1(size) if power < _LOGARITHM else np.expm1(np.log1p(power * size) / power)
