"""What one more measurement changes in the fit of a Gaussian process, in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calibo.data import Array
from calibo.models.standardization import Standardization


@dataclass(frozen=True, eq=False)
class Augmentation:
    """The data of a Gaussian process augmented by one measurement y at each of p points alone, standardized.

    Hyperparameters are kept.

    With A = K + diag(noise), k the covariances of the data with a point, e = (y - mean) / total and total = variance +
    own_noise, the augmented data have A'^-1 y' = (dual - influence e ; e) and diag A'^-1 = (precision + influence^2 /
    total ; 1 / total).

    Attributes:
        dual: A^-1 (y - m), n.
        precision: diag(A^-1), n.
        noise: Noise variances of the data, n.
        influence: A^-1 k, `p x n`.
        mean: Predicted mean, p.
        variance: Latent variance, p.
        own_noise: Noise variance of the new measurement.
        units: The standardization of the outcomes.
        index: Which of the p points stands where in the distribution, `... x q`.
    """

    dual: Array
    precision: Array
    noise: Array
    influence: Array
    mean: Array
    variance: Array
    own_noise: float
    units: Standardization
    index: np.ndarray

    @property
    def total(self) -> Array:
        """Variance of the new measurement, p."""
        return self.variance + self.own_noise

    @property
    def augmented_precision(self) -> Array:
        """diag(A'^-1) at the data, `p x n`."""
        return self.precision + self.influence**2 / self.total[:, None]

    def of_later(self, first: int) -> Augmentation:
        """Return the augmentation seen by the data from the index `first` on alone; those before stay conditioned on."""
        if not first:
            return self
        return replace(
            self,
            dual=self.dual[first:],
            precision=self.precision[first:],
            noise=self.noise[first:],
            influence=self.influence[:, first:],
        )
