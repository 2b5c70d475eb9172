"""Conformal upper confidence bounds: what f is worth if its measurement comes out above the mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibo.acquisition.base import Acquisition, base_samples, beside
from calibo.acquisition.quantile import best_of_set
from calibo.data import Array, Dataset
from calibo.distributions import Distribution, FlatSet, Gaussian
from calibo.errors import RecipeError
from calibo.models.base import Model


@dataclass(frozen=True)
class ConformalUCB:
    """mean + sqrt(beta pi / 2) E |f - mean| under the distribution restricted to measurements above the model's mean, in closed form.

    Stanton et al. 2023, B.4, corrected: the square root of the factor, once, and both parts of the restricted distribution
    renormalised, so that without a set and without noise it is mean + sqrt(beta) std. With E |f - m| = 2 E (f - m)_+ -
    (E f - m) no draws are needed.

    For sets and pending points: E max_j of the reparametrised values, each point's weights inside the maximum.

    Attributes:
        beta: Strength of the exploration. ``None`` gives what the published code computes, E f given a measurement above
            the mean (its one draw per outcome makes the bonus vanish).
        draws: Base samples for sets and pending points.
    """

    beta: float | None = 1.0
    draws: int = 128
    logarithmic: ClassVar[bool] = False
    smooth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.beta is not None and not (np.isfinite(self.beta) and self.beta > 0.0):
            raise RecipeError(f"beta is a positive number, or None for the published code's value, got {self.beta}")

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        seed = int(rng.integers(2**63))
        pending = data.X_pending

        def acquisition(X: Array) -> Array:
            if X.ndim == 2 and not len(pending):
                return self._values(optimistic(model.predict(X, latent=True)))
            sets = X[:, None, :] if X.ndim == 2 else X
            distribution = optimistic(model.predict(beside(sets, pending), latent=True))
            base = base_samples(seed, self.draws, distribution.base.mean.shape[-1])
            return best_of_set(distribution, distribution.base.mean, self._values(distribution), base)

        return acquisition

    def _values(self, distribution: FlatSet) -> Array:
        """Of points alone, ... x q."""
        if self.beta is None:
            return distribution.mean
        center = distribution.base.mean
        away = 2.0 * distribution.expected_improvement(center) - (distribution.mean - center)
        return center + np.sqrt(0.5 * np.pi * self.beta) * away


def optimistic(distribution: Distribution) -> FlatSet:
    """The distribution given a measurement above the model's mean; a Gaussian is a flat-set distribution without a set."""
    if isinstance(distribution, FlatSet):
        return distribution.optimistic()
    if isinstance(distribution, Gaussian):
        nowhere = distribution.mean[..., None]
        return FlatSet(distribution, nowhere, nowhere, 0.0).optimistic()
    raise RecipeError(
        f"ConformalUCB is for flat-set distributions (ConformalBayes, LocalizedOnline) and Gaussian ones, got a "
        f"{type(distribution).__name__}: use UpperQuantile for others"
    )
