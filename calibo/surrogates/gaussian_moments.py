"""A Gaussian in place of another latent law: only mean, spread and dependence of what is believed of f are kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.data import Array, Dataset
from calibo.predictive import Gaussian, Predictive, QuantileTable
from calibo.surrogates.base import HasHyperparameters, Model, Surrogate


@dataclass(frozen=True)
class GaussianMoments:
    """A surrogate whose latent laws are Gaussian, with the mean and standard deviation of those inside.

    Acquisitions see latent laws, so this is the Gaussian alternative to choosing by a law between quantiles. Laws of
    measurements stay what they are, and with them all intervals and what they promise.

    Attributes:
        surrogate: Whose laws they are; as a rule ``Calibrated(..., by=Conformal(...))``.
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
    """A model with Gaussian latent laws."""

    base: Model

    def predict(self, X: Array, *, latent: bool) -> Predictive:
        """The law at ``X``, ... x q x d."""
        law = self.base.predict(X, latent=latent)
        if not latent or isinstance(law, Gaussian):
            return law
        return law.gaussian() if isinstance(law, QuantileTable) else Gaussian(law.mean, law.std)

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        return self.base.hyperparameters if isinstance(self.base, HasHyperparameters) else ()
