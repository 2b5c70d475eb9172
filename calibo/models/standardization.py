"""Standardization of outcomes of any size to mean 0 and variance 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibo.data import Array
from calibo.distributions import Gaussian
from calibo.errors import DataError

#: Of outcomes of this size predictions may lie beyond the largest float, of which a little is left for rounding.
_LARGE, _LARGEST = 1e290, float(np.finfo(np.float64).max) * (1.0 - 1e-12)
#: Outcomes whose standard deviation is at most this share of the largest differ by rounding only.
_ROUNDING = 1e-14
#: Largest standard deviation of noise, relative to that of the outcomes: beyond it nothing is learned anyway.
_MOST_NOISE = 1e60


@dataclass(frozen=True)
class Standardization:
    """The affine map y = unit * (location + scale * z).

    Attributes:
        unit: The largest absolute outcome, which keeps squares from overflowing.
        location: Mean of y / unit.
        scale: Standard deviation of y / unit.
    """

    unit: float
    location: float
    scale: float

    @classmethod
    def of(cls, y: Array) -> Standardization:
        """Return the map that standardizes outcomes, n; if all are equal, the scale is as large as they are."""
        unit = float(np.max(np.abs(y), initial=0.0)) or 1.0
        relative = y / unit
        location = float(relative.mean()) if y.size else 0.0
        spread = float(np.sqrt(np.square(relative - location).mean())) if y.size > 1 else 0.0
        return cls(unit, location, spread if spread > _ROUNDING else 1.0)

    def forward(self, y: Array) -> Array:
        """Return standardized outcomes."""
        return (y / self.unit - self.location) / self.scale

    def backward(self, z: Array) -> Array:
        """Return outcomes from standardized ones; those beyond the largest float are that float."""
        relative = self.location + self.scale * z
        if self.unit > _LARGE:
            relative = np.clip(relative, -_LARGEST / self.unit, _LARGEST / self.unit)
        return self.unit * relative

    def forward_variance(self, variance: Array) -> Array:
        """Return standardized noise variances; of noise beyond all outcomes at most ``_MOST_NOISE``."""
        with np.errstate(over="ignore"):
            relative = np.sqrt(variance) / self.unit / self.scale
        return np.square(np.minimum(relative, _MOST_NOISE))

    def backward_std(self, std: Array) -> Array:
        """Return standard deviations in the units of the outcomes; never exactly zero."""
        relative = self.scale * std
        if self.unit > _LARGE:
            relative = np.minimum(relative, _LARGEST / self.unit)
        return np.maximum(self.unit * relative, np.finfo(np.float64).tiny)

    def gaussian(
        self,
        mean: Array,
        std: Array,
        correlation: Callable[[], Array] | None = None,
        noise_std: Array | float | None = None,
    ) -> Gaussian:
        """Return the distribution of outcomes from that of standardized ones; without `noise_std` it has no noise."""
        noise = 0.0 if noise_std is None else self.backward_std(np.asarray(noise_std))
        return Gaussian(self.backward(mean), self.backward_std(std), correlation, noise)


def all_alike(Y: Array) -> bool:
    """Return whether several outcomes, `n x m` of at least one point, are the same at all points, but for rounding.

    Then standardized outcomes are zero, and a model fitted to them knows nothing of where they might differ.
    """
    unit = np.max(np.abs(Y), axis=0)
    return bool(np.all((Y / np.where(unit > 0.0, unit, 1.0)).std(axis=0) <= _ROUNDING))


def single_outcome(Y: Array) -> Array:
    """Return the only column of `n x 1` outcomes.

    Raises:
        DataError: If there are several; a surrogate models one outcome at a time.
    """
    if Y.shape[1] != 1:
        raise DataError(f"a surrogate models one outcome, got {Y.shape[1]}: pass data.outcome(j) for each of them")
    return Y[:, 0]
