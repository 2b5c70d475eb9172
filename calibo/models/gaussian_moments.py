"""A wrapper that replaces latent distributions by Gaussian ones with the same mean, spread and dependence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibo.data import Array, Dataset
from calibo.distributions import Distribution, Gaussian, QuantileTable
from calibo.models.base import Capability, ModelWrapper, SurrogateWrapper


@dataclass(frozen=True, eq=False)
class GaussianMomentsModel(ModelWrapper):
    """A model with Gaussian latent distributions.

    Leave-one-out and one-step-ahead predictions are of measurements, whose distributions stay, and a model with an
    augmentation is Gaussian already: both are passed on unchanged.
    """

    hides: ClassVar[Mapping[Capability, str]] = {
        Capability.DEPENDENCE: "points whose distributions are made Gaussian may be drawn independently"
    }

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        """Predict the outcome at `... x q x d` points; a latent distribution is made Gaussian."""
        distribution = self.base.predict(X, latent=latent)
        if not latent or isinstance(distribution, Gaussian):
            return distribution
        if isinstance(distribution, QuantileTable):
            return distribution.gaussian()
        return Gaussian(distribution.mean, distribution.std)


@dataclass(frozen=True)
class GaussianMoments(SurrogateWrapper):
    """A surrogate whose latent distributions are Gaussian, with the mean and standard deviation of those inside.

    Acquisition functions see latent distributions, so this is the Gaussian alternative to choosing by the distribution
    between conformal quantiles. Distributions of measurements stay as they are, and with them all intervals and their
    guarantees.

    Attributes:
        surrogate: The surrogate inside; usually `Calibrated(..., by=Conformal(...))`.
    """

    model_type: ClassVar = GaussianMomentsModel

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> GaussianMomentsModel:
        return GaussianMomentsModel(self.surrogate.fit(data, rng=rng))
