"""A Gaussian in place of another latent distribution: only mean, spread and dependence of what is believed of f are kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.data import Array, Dataset
from calibo.distributions import Distribution, Gaussian, QuantileTable
from calibo.models.base import HasHyperparameters, Model, Surrogate


@dataclass(frozen=True)
class GaussianMoments:
    """A surrogate whose latent distributions are Gaussian, with the mean and standard deviation of those inside.

    Acquisitions see latent distributions, so this is the Gaussian alternative to choosing by a distribution between quantiles. Distributions of
    measurements stay what they are, and with them all intervals and what they promise.

    Attributes:
        surrogate: Whose distributions they are; as a rule ``Calibrated(..., by=Conformal(...))``.
    """

    surrogate: Surrogate

    @property
    def maker(self) -> str:
        """Its name as a stage of a forecast."""
        return type(self).__name__

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> GaussianMomentsModel:
        return GaussianMomentsModel(self.surrogate.fit(data, rng=rng))


@dataclass(frozen=True)
class GaussianMomentsModel:
    """A model with Gaussian latent distributions."""

    base: Model

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        """The distribution at ``X``, ... x q x d."""
        distribution = self.base.predict(X, latent=latent)
        if not latent or isinstance(distribution, Gaussian):
            return distribution
        return (
            distribution.gaussian()
            if isinstance(distribution, QuantileTable)
            else Gaussian(distribution.mean, distribution.std)
        )

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        return self.base.hyperparameters if isinstance(self.base, HasHyperparameters) else ()
