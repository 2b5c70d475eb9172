"""The probability that an evaluation succeeds, learned from those that did and those that failed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve
from scipy.special import log_ndtr, ndtr, ndtri

from calibo.data import Array, Dataset
from calibo.predictive.gaussian import stable_cholesky
from calibo.predictive.normal import log_density
from calibo.surrogates.gp_posterior import Features
from calibo.surrogates.kernels import Matern52, squared_distances

#: Length scales tried, in units of sqrt(d); the one with the largest evidence is taken.
_LENGTHSCALES = (0.1, 0.2, 0.4, 0.8)
_PRIOR_VARIANCE = 4.0


@dataclass(frozen=True, eq=False)
class SuccessModel:
    """A probit Gaussian process classifier by Laplace's approximation (Rasmussen and Williams, algorithms 3.1, 3.2).

    The prior mean is the success rate's probit, so far from all data the probability is the rate seen so far.

    Attributes:
        features: How points are seen.
        lengthscale: One for all columns.
        points: Features of all points tried, n x D.
        offset: Prior mean of the latent function.
        gradient: d log p(labels | latent) at the mode, n.
        root_weights: Square roots of the likelihood's curvature at the mode, n.
        factor: Cholesky factor of I + W^1/2 K W^1/2, n x n.
    """

    features: Features
    lengthscale: float
    points: Array
    offset: float
    gradient: Array
    root_weights: Array
    factor: Array

    @classmethod
    def of(cls, data: Dataset) -> SuccessModel:
        """The model of which points of ``data`` succeeded (X) and which failed (X_failed)."""
        features = Features(data.categories)
        points = features(np.vstack([data.X, data.X_failed]))
        labels = np.concatenate([np.ones(len(data.X)), -np.ones(len(data.X_failed))])
        root_d = np.sqrt(max(data.X.shape[1], 1))
        fits = [_laplace(points, labels, scale * root_d) for scale in _LENGTHSCALES]
        best = int(np.argmax([fit[0] for fit in fits]))
        _, offset, gradient, root_weights, factor = fits[best]
        return cls(features, _LENGTHSCALES[best] * root_d, points, offset, gradient, root_weights, factor)

    def __call__(self, X: Array) -> Array:
        """P(success) at points, m x d -> m."""
        cross = _kernel(self.features(X), self.points, self.lengthscale)
        mean = self.offset + cross @ self.gradient
        half = cho_solve((self.factor, True), self.root_weights[:, None] * cross.T)
        variance = _PRIOR_VARIANCE - np.einsum("ij,ji->i", cross * self.root_weights, half)
        return ndtr(mean / np.sqrt(1.0 + np.maximum(variance, 0.0)))


def _kernel(A: Array, B: Array, lengthscale: float) -> Array:
    return _PRIOR_VARIANCE * Matern52().correlation(squared_distances(A / lengthscale, B / lengthscale))


@dataclass(frozen=True)
class _Mode:
    """What Newton's method sees of the posterior at a dual vector: likelihood gradient, root curvature, factor."""

    latent: Array
    gradient: Array
    root: Array
    factor: Array


def _at(K: Array, labels: Array, offset: float, dual: Array) -> _Mode:
    latent = offset + K @ dual
    ratio = np.exp(log_density(latent) - log_ndtr(labels * latent))
    root = np.sqrt(np.maximum(ratio * (ratio + labels * latent), 1e-12))
    factor = stable_cholesky(np.eye(len(labels)) + root[:, None] * K * root[None, :])
    return _Mode(latent, labels * ratio, root, factor)


def _laplace(points: Array, labels: Array, lengthscale: float) -> tuple[float, float, Array, Array, Array]:
    """Log evidence, prior mean, likelihood gradient, root curvature and factor at the posterior mode."""
    K = _kernel(points, points, lengthscale)
    rate = ((labels > 0).sum() + 1.0) / (len(labels) + 2.0)
    offset = float(ndtri(rate) * np.sqrt(1.0 + _PRIOR_VARIANCE))
    dual = np.zeros(len(labels))
    mode = _at(K, labels, offset, dual)
    for _ in range(30):
        target = np.square(mode.root) * (mode.latent - offset) + mode.gradient
        update = target - mode.root * cho_solve((mode.factor, True), mode.root * (K @ target))
        step, dual = float(np.max(np.abs(update - dual))), update
        mode = _at(K, labels, offset, dual)
        if step < 1e-8:
            break
    likelihood = float(log_ndtr(labels * mode.latent).sum())
    evidence = likelihood - 0.5 * float(dual @ (K @ dual)) - float(np.log(np.diagonal(mode.factor)).sum())
    return evidence, offset, mode.gradient, mode.root, mode.factor
