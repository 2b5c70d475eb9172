"""The probability that an evaluation succeeds, learned from those that did and those that failed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.data import Array, Dataset
from calibo.surrogates.gp_posterior import Features
from calibo.surrogates.kernels import Matern52, squared_distances

#: Length scales tried, in units of sqrt(d); the one that predicts best what was left out is taken.
_LENGTHSCALES = (0.02, 0.05, 0.1, 0.2, 0.4)
#: How many observations the success rate so far is worth.
_PRIOR = 0.5


@dataclass(frozen=True, eq=False)
class SuccessModel:
    """A Beta law at every point whose counts are the successes and failures nearby, weighted by a Matern kernel.

    P(x) = (prior rate + sum of k(x, x_i) over successes) / (prior + sum of k(x, x_i)): the overall rate far from all
    points, and as decided as there are points where there are some. The length scale maximises the leave-one-out
    likelihood, which is closed form.

    Attributes:
        features: How points are seen.
        lengthscale: One for all columns.
        points: Features of all points tried, n x D.
        succeeded: 1 for a success, 0 for a failure, n.
    """

    features: Features
    lengthscale: float
    points: Array
    succeeded: Array

    @classmethod
    def of(cls, data: Dataset) -> SuccessModel:
        """The model of which points of ``data`` succeeded (X) and which failed (X_failed)."""
        features = Features(data.categories)
        points = features(np.vstack([data.X, data.X_failed]))
        succeeded = np.concatenate([np.ones(len(data.X)), np.zeros(len(data.X_failed))])
        candidates = [scale * np.sqrt(max(data.X.shape[1], 1)) for scale in _LENGTHSCALES]
        scores = [_left_out_likelihood(points, succeeded, lengthscale) for lengthscale in candidates]
        return cls(features, candidates[int(np.argmax(scores))], points, succeeded)

    def __call__(self, X: Array) -> Array:
        """P(success) at points, m x d -> m."""
        return _share(_weights(self.features(X), self.points, self.lengthscale), self.succeeded)


def _weights(A: Array, B: Array, lengthscale: float) -> Array:
    return Matern52().correlation(squared_distances(A / lengthscale, B / lengthscale))


def _share(weights: Array, succeeded: Array) -> Array:
    """Weighted share of successes, m, shrunk towards the overall rate (itself kept off 0 and 1)."""
    rate = (succeeded.sum() + 1.0) / (len(succeeded) + 2.0)
    return (_PRIOR * rate + weights @ succeeded) / (_PRIOR + weights.sum(axis=1))


def _left_out_likelihood(points: Array, succeeded: Array, lengthscale: float) -> float:
    weights = _weights(points, points, lengthscale)
    np.fill_diagonal(weights, 0.0)
    chance = _share(weights, succeeded)
    return float(np.log(np.where(succeeded > 0.0, chance, 1.0 - chance)).sum())
