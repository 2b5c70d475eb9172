"""Upper confidence bounds: a calibrated quantile, and the mean plus some standard deviations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibo.acquisition.base import Acquisition, base_samples, beside, normalized
from calibo.data import Array, Dataset
from calibo.distributions import Distribution
from calibo.errors import RecipeError
from calibo.models.base import Model


@dataclass(frozen=True)
class UpperQuantile:
    """The quantile of f at ``level``: exceeded by a share 1 - level of the outcomes if the model is calibrated.

    For sets and pending points: E max_j u_j over the set and the pending points with u_j = mean_j + b_j |f_j - mean_j|,
    b_j such that a single point's value is exactly its quantile (Wilson et al. 2018, for distributions of any shape). The weights of
    a distribution that is sampled by weighting multiply |f_j - mean_j|.

    Attributes:
        level: In (0.5, 1).
        draws: Base samples for sets and pending points.
    """

    level: float = 0.9
    draws: int = 128
    logarithmic: ClassVar[bool] = False
    smooth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0.5 < self.level < 1.0:
            raise RecipeError(f"an upper quantile's level lies between 0.5 and 1, got {self.level}; 0.9 is usual")

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        seed = int(rng.integers(2**63))

        def acquisition(X: Array) -> Array:
            if X.ndim == 2 and not len(data.X_pending):
                return model.predict(X, latent=True).at_levels(self.level)
            return self._of_sets(model, X, data.X_pending, seed)

        return acquisition

    def _of_sets(self, model: Model, X: Array, pending: Array, seed: int) -> Array:
        sets = X[:, None, :] if X.ndim == 2 else X
        distribution = model.predict(beside(sets, pending), latent=True)
        return best_of_set(
            distribution,
            distribution.mean,
            distribution.at_levels(self.level),
            base_samples(seed, self.draws, distribution.mean.shape[-1]),
        )


@dataclass(frozen=True)
class UpperBound:
    """mean + gamma std of f, whatever the shape of its distribution; sets and pending points as for ``UpperQuantile``.

    Attributes:
        gamma: Standard deviations above the mean, positive.
        draws: Base samples for sets and pending points.
    """

    gamma: float = 0.5
    draws: int = 128
    logarithmic: ClassVar[bool] = False
    smooth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.gamma) and self.gamma > 0.0):
            raise RecipeError(f"an upper bound lies a positive number of deviations above the mean, got {self.gamma}")

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        seed = int(rng.integers(2**63))

        def acquisition(X: Array) -> Array:
            if X.ndim == 2 and not len(data.X_pending):
                return self._value(model.predict(X, latent=True))
            sets = X[:, None, :] if X.ndim == 2 else X
            distribution = model.predict(beside(sets, data.X_pending), latent=True)
            return best_of_set(
                distribution,
                distribution.mean,
                self._value(distribution),
                base_samples(seed, self.draws, distribution.mean.shape[-1]),
            )

        return acquisition

    def _value(self, distribution: Distribution) -> Array:
        return distribution.mean + self.gamma * distribution.std


def best_of_set(distribution: Distribution, center: Array, value: Array, base: Array) -> Array:
    """E max_j of u_j = center_j + b_j w_j |f_j - center_j| over the q points of sets, m, with E u_j = value_j.

    Args:
        distribution: Of the sets, m x q.
        center: m x q.
        value: What a point alone is worth, m x q.
        base: Base samples, S x q.
    """
    f, log_weights = distribution.samples(base)
    away = np.exp(normalized(log_weights)) * np.abs(f - center[..., None, :])
    stretch = (value - center) / away.mean(axis=-2)
    return (center[..., None, :] + stretch[..., None, :] * away).max(axis=-1).mean(axis=-1)
