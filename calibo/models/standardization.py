"""An affine change of outcomes to mean 0 and variance 1 that survives outcomes of any size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.data import Array
from calibo.errors import DataError


@dataclass(frozen=True)
class Standardization:
    """y = unit * (location + scale * z); the unit (the largest absolute outcome) keeps squares from overflowing."""

    unit: float
    location: float
    scale: float

    @classmethod
    def of(cls, y: Array) -> Standardization:
        """The change that standardises ``y``, n; outcomes that are all equal get a scale as large as themselves."""
        unit = float(np.max(np.abs(y), initial=0.0)) or 1.0
        relative = y / unit
        location = float(relative.mean()) if y.size else 0.0
        spread = float(relative.std()) if y.size > 1 else 0.0
        return cls(unit, location, spread if spread > 1e-14 else 1.0)

    def forward(self, y: Array) -> Array:
        """Standardised outcomes."""
        return (y / self.unit - self.location) / self.scale

    def backward(self, z: Array) -> Array:
        """Outcomes from standardised ones."""
        return self.unit * (self.location + self.scale * z)

    def forward_variance(self, variance: Array) -> Array:
        """Standardised noise variances."""
        return np.square(np.sqrt(variance) / self.unit / self.scale)

    def backward_std(self, std: Array) -> Array:
        """Standard deviations in the outcomes' units, never quite zero."""
        return np.maximum(self.unit * self.scale * std, np.finfo(np.float64).tiny)


def single_outcome(Y: Array) -> Array:
    """The only column of Y, n x 1 -> n; a surrogate models one outcome at a time."""
    if Y.shape[1] != 1:
        raise DataError(f"a surrogate models one outcome, got {Y.shape[1]}: pass data.outcome(j) for each of them")
    return Y[:, 0]
