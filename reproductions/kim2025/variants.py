"""Two surrogates that only this reproduction needs: one blind to noise, and one whose refits are rare."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from calibo.data import Array, Dataset
from calibo.distributions import Distribution
from calibo.models import GaussianProcess, Model, Surrogate
from calibo.models.gaussian_process import NegativeLogPosterior
from calibo.models.gp_posterior import Features, Posterior
from calibo.models.standardization import Standardization


@dataclass(frozen=True)
class Noiseless(Surrogate):
    """A surrogate that takes the distribution of a measurement for the distribution of f.

    Attributes:
        surrogate: Whose distributions of measurements are taken.
    """

    surrogate: Surrogate

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> NoiselessModel:
        return NoiselessModel(self.surrogate.fit(data, rng=rng))


@dataclass(frozen=True)
class NoiselessModel(Model):
    """A model seen that way."""

    inside: Model

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        """Return the distribution of a measurement at ``X``, ... x q x d, whether f was asked for or not."""
        return self.inside.predict(X, latent=False)

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        return self.inside.hyperparameters


@dataclass(frozen=True)
class SeldomRefitted(Surrogate):
    """A Gaussian process whose hyper-parameters are refitted at every tenth point and carried along in between.

    Attributes:
        first: Number of points at the first fit.
        every: How many points later they are fitted again.
        surrogate: The Gaussian process.
    """

    first: int
    every: int = 10
    surrogate: GaussianProcess = field(default_factory=GaussianProcess)

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Posterior:
        """Return the posterior of n x d points; the outcomes are standardised and the mean profiled anew each time."""
        stored = data.hyperparameters[0] if data.hyperparameters else ()
        if not stored or (len(data) - self.first) % self.every == 0:
            return self.surrogate.fit(data, rng=rng)
        y, kernel, features = data.Y[:, 0], self.surrogate.kernel, Features(data.categories)
        units = Standardization.of(y)
        unknown = np.full(len(y), np.nan)
        objective = NegativeLogPosterior(kernel, features, data.X, units.forward(y), unknown)
        theta = objective.hyperparameters(np.asarray(stored))
        noise = np.full(len(y), theta.noise)
        return Posterior(kernel, features, theta, data.X, y, noise, units, stored=stored)
