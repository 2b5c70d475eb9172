"""Upper confidence bounds: a calibrated quantile, the mean plus some standard deviations, and the conformal one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibo.acquisition.base import Acquisition, AcquisitionRule, BatchAcquisition, base_samples, normalized
from calibo.arguments import check_fields
from calibo.data import Array, Dataset
from calibo.distributions import Distribution, FlatSet, Gaussian
from calibo.errors import RecipeError
from calibo.models.base import Model


class UpperConfidenceBound(AcquisitionRule):
    """A bound u(x) above a centre m(x) of the distribution of f.

    For batches and pending points it is E max_j u_j over the batch and the pending points, with u_j = m_j + b_j |f_j - m_j|
    and b_j such that the value of a single point is exactly its bound (Wilson et al. 2018, for distributions of any
    shape). The weights of a distribution that is sampled by weighting multiply |f_j - m_j|.

    Attributes:
        draws: Base samples for batches and pending points.
    """

    draws: int
    logarithmic: ClassVar[bool] = False
    smooth: ClassVar[bool] = True

    @abstractmethod
    def bound(self, distribution: Distribution) -> Array:
        """Return the bound at each point, `... x q`."""

    def centre(self, distribution: Distribution) -> Array:
        """Return the centre m at each point, `... x q`."""
        return distribution.mean

    def view(self, distribution: Distribution) -> Distribution:
        """Return the distribution of which bound and centre are taken; by default the model's own."""
        return distribution

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        seed = int(rng.integers(2**63))

        def joint(distribution: Distribution, k: int, q: int) -> Array:
            seen = self.view(distribution)
            return best_of_batch(seen, self.centre(seen), self.bound(seen), base_samples(seed, self.draws, k + q))

        return BatchAcquisition(model, data.X_pending, joint, lambda d: self.bound(self.view(d)))


@dataclass(frozen=True)
class UpperQuantile(UpperConfidenceBound):
    """The quantile of f at ``level``, which a share 1 - level of the outcomes exceeds if the model is calibrated.

    Attributes:
        level: In (0.5, 1).
        draws: Base samples for batches and pending points.
    """

    level: float = 0.9
    draws: int = 128

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0.5 < self.level < 1.0:
            raise RecipeError(f"an upper quantile's level lies between 0.5 and 1, got {self.level}; 0.9 is usual")

    def bound(self, distribution: Distribution) -> Array:
        return distribution.at_levels(self.level)


@dataclass(frozen=True)
class UpperBound(UpperConfidenceBound):
    """mean + gamma std of f, whatever the shape of its distribution.

    Attributes:
        gamma: Standard deviations above the mean, positive.
        draws: Base samples for batches and pending points.
    """

    gamma: float = 0.5
    draws: int = 128

    def __post_init__(self) -> None:
        check_fields(self)
        if not (np.isfinite(self.gamma) and self.gamma > 0.0):
            raise RecipeError(f"an upper bound lies a positive number of deviations above the mean, got {self.gamma}")

    def bound(self, distribution: Distribution) -> Array:
        return distribution.mean + self.gamma * distribution.std


@dataclass(frozen=True)
class ConformalUCB(UpperConfidenceBound):
    """mean + sqrt(beta pi / 2) E |f - mean| given a measurement above the model's mean, in closed form.

    Stanton et al. 2023, B.4, corrected: the square root of the factor is taken once, and both parts of the restricted
    distribution are renormalized, so that without a conformal set and without noise the value is mean + sqrt(beta) std.
    With E |f - m| = 2 E (f - m)_+ - (E f - m) no draws are needed for single points.

    Attributes:
        beta: Strength of the exploration. ``None`` gives the value of the published code, E f given a measurement above
            the mean (its one draw per outcome makes the bonus vanish).
        draws: Base samples for batches and pending points.
    """

    beta: float | None = 1.0
    draws: int = 128

    def __post_init__(self) -> None:
        check_fields(self)
        if self.beta is not None and not (np.isfinite(self.beta) and self.beta > 0.0):
            raise RecipeError(f"beta is a positive number, or None for the published code's value, got {self.beta}")

    def view(self, distribution: Distribution) -> FlatSet:
        if isinstance(distribution, FlatSet):
            return distribution.optimistic()
        if isinstance(distribution, Gaussian):
            # A Gaussian is a flat-set distribution without a conformal set.
            nowhere = distribution.mean[..., None]
            return FlatSet(distribution, nowhere, nowhere, 0.0).optimistic()
        raise RecipeError(
            "ConformalUCB is for flat-set distributions (ConformalBayes, LocalizedOnline) and Gaussian ones, got a "
            f"{type(distribution).__name__}: use UpperQuantile for others"
        )

    def centre(self, distribution: Distribution) -> Array:
        assert isinstance(distribution, FlatSet)
        return distribution.base.mean

    def bound(self, distribution: Distribution) -> Array:
        if self.beta is None:
            return distribution.mean
        centre = self.centre(distribution)
        away = 2.0 * distribution.expected_improvement(centre) - (distribution.mean - centre)
        return centre + np.sqrt(0.5 * np.pi * self.beta) * away


def best_of_batch(distribution: Distribution, centre: Array, bound: Array, base: Array) -> Array:
    """Return E max_j of u_j = centre_j + b_j w_j |f_j - centre_j| over the q points of batches, `m`, with E u_j = bound_j.

    Args:
        distribution: Joint distribution of the batches, `m x q`.
        centre: `m x q`.
        bound: Value of each point by itself, `m x q`.
        base: Base samples, `S x q`.
    """
    f, log_weights = distribution.samples(base)
    away = np.exp(normalized(log_weights)) * np.abs(f - centre[..., None, :])
    stretch = (bound - centre) / away.mean(axis=-2)
    return (centre[..., None, :] + stretch[..., None, :] * away).max(axis=-1).mean(axis=-1)
