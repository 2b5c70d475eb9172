"""Gaussian processes with the linear and the periodic kernel of Table 4, fitted by maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from likelihood import IsotropicGP, NegativeLogLikelihood
from scipy.optimize import minimize

from calibo.data import Array, Dataset
from calibo.models.base import Surrogate
from calibo.models.gp_posterior import Features, Hyperparameters, Posterior
from calibo.models.kernels import RBF
from calibo.models.standardization import Standardization, single_outcome

#: Bounds of the logarithms of the variance of the slope, or of the period, and of the noise.
_SLOPES, _NOISES = (-9.0, 9.0), (-12.0, 2.0)
#: Logarithms of the periods that are tried, in widths of a column.
_PERIODS = np.log(np.geomspace(0.2, 4.0, 13))


@dataclass(frozen=True, eq=False)
class LinearPosterior(Posterior):
    """The posterior of the kernel v x x' of numeric columns, v the output scale; length scales are 1."""

    def between(self, A: Array, B: Array) -> Array:
        return self.theta.outputscale * (A @ np.swapaxes(B, -1, -2))

    def prior_variance(self, A: Array) -> Array:
        return self.theta.outputscale * np.square(A).sum(axis=-1)


@dataclass(frozen=True)
class LinearGP(Surrogate):
    """A Gaussian process of straight planes through a constant mean: Bayesian linear regression."""

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> LinearPosterior:
        """Fit the variances of slopes and noise, and return the posterior; ``rng`` is not used."""
        best = minimize(self._loss, np.array([0.0, -3.0]), args=(data,), method="L-BFGS-B", bounds=[_SLOPES, _NOISES])
        return self._posterior(data, best.x)

    def _loss(self, raw: Array, data: Dataset) -> float:
        return -self._posterior(data, raw).log_marginal_likelihood()

    def _posterior(self, data: Dataset, raw: Array) -> LinearPosterior:
        y = single_outcome(data.Y)
        slope, noise = np.exp(raw)
        theta = Hyperparameters(np.ones(data.X.shape[1]), float(slope), float(noise))
        known, units = np.full(len(y), noise), Standardization.of(y)
        return LinearPosterior(RBF(), Features(data.categories), theta, data.X, y, known, units)


@dataclass(frozen=True, eq=False)
class PeriodicFeatures(Features):
    """Each numeric column on a circle, so that the RBF kernel becomes exp(-sin^2(pi (x - x') / period) / (2 l^2)).

    Attributes:
        period: In widths of a column.
    """

    period: float

    @property
    def column(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
        return np.zeros(2 * len(self.categories), dtype=np.intp)

    @property
    def lengths(self) -> int:
        return 1

    def embedded(self, X: Array, coordinates: Array) -> Array:
        angle = 2.0 * np.pi * coordinates / self.period
        return 0.5 * np.hstack([np.cos(angle), np.sin(angle)])


@dataclass(frozen=True)
class PeriodicGP(IsotropicGP):
    """A Gaussian process with the periodic kernel; the most likely of some periods is taken.

    Attributes:
        period: In widths of a column; ``None`` for the most likely.
    """

    kernel: RBF = RBF()  # noqa: RUF009 (frozen)
    period: float | None = None

    def objective(self, data: Dataset) -> NegativeLogLikelihood:
        assert self.period is not None, "the period is chosen by fit"
        plain = super().objective(data)
        features = PeriodicFeatures(data.categories, self.period)
        return NegativeLogLikelihood(plain.kernel, features, plain.X, plain.z, plain.known_noise)

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Posterior:
        if self.period is not None:
            return super().fit(data, rng=rng)
        fits = (PeriodicGP(period=float(period)).fit(data, rng=rng) for period in np.exp(_PERIODS))
        return max(fits, key=lambda model: model.log_marginal_likelihood())
