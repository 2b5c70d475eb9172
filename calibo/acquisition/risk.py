"""Risk-averse rules: points where measurements are noisy have lower values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from calibo.acquisition.base import Acquisition, AcquisitionRule, incumbent
from calibo.acquisition.improvement import ExpectedImprovement
from calibo.acquisition.upper_bounds import UpperQuantile
from calibo.arguments import check_fields
from calibo.data import Array, Dataset
from calibo.distributions import Distribution
from calibo.errors import CapabilityError, RecipeError
from calibo.models.base import Capability, Model, ModelWrapper


@dataclass(frozen=True)
class RiskAverseUCB(AcquisitionRule):
    """ucb_f(x) - aversion lcb_r(x): RAHBO's optimistic mean minus a multiple of the noise variance r.

    Makarova et al. (2021), algorithm 1: ucb_f is an upper confidence bound of f and lcb_r a lower one of the noise
    variance, so that their difference is an upper bound of f(x) - aversion r(x). Here both are quantiles of the model's
    distributions, ucb_f at ``level`` and lcb_r at 1 - ``noise_level``; with a Gaussian distribution level = Phi(beta)
    gives mean + beta std.

    For batches and pending points: ``UpperQuantile`` of f - aversion lcb_r. The variance has the outcomes' unit squared,
    so ``aversion`` has the outcomes' unit to the power -1, as published: rescaling the outcomes rescales the aversion.

    Attributes:
        level: Level of the bound of f, in (0.5, 1).
        aversion: Cost of a unit of noise variance, at least 0.
        noise_level: Level of the bound of the noise variance, in [0.5, 1); 0.5 takes the noise as estimated.
        draws: Base samples for batches and pending points.
    """

    level: float = 0.9
    aversion: float = 1.0
    noise_level: float = 0.9
    draws: int = 128
    logarithmic: ClassVar[bool] = False
    smooth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        _check_aversion(self.aversion)
        if not 0.5 <= self.noise_level < 1.0:
            raise RecipeError(f"noise_level lies from 0.5 to below 1, got {self.noise_level}; 0.9 is usual")
        UpperQuantile(self.level, self.draws)

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        _check_noise(model, "RiskAverseUCB")

        def cost(X: Array) -> Array:
            return self.aversion * model.noise_variance(X, level=1.0 - self.noise_level)

        return UpperQuantile(self.level, self.draws).build(Penalized(model, cost), data, rng=rng)


@dataclass(frozen=True)
class PenalizedEI(AcquisitionRule):
    """f* + EI(x) - aversion sqrt r(x): expected improvement of f minus a multiple of the standard deviation of the noise.

    Griffiths et al. (2019), aleatoric-noise-penalised expected improvement: a EI(x) - (1 - a) sqrt r(x), which is this
    with aversion = (1 - a) / a, up to a factor and the constant f* (the best expected latent value observed), which makes
    it a value of the outcome.

    For batches: the joint expected improvement minus the penalties of all points; pending points count in the
    improvement. Both terms have the outcomes' unit.

    Attributes:
        aversion: Cost of a unit of the standard deviation of the noise, at least 0; 1 weighs both terms alike.
        draws: Base samples for batches and pending points.
    """

    aversion: float = 1.0
    draws: int = 128
    logarithmic: ClassVar[bool] = False
    smooth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        _check_aversion(self.aversion)

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        _check_noise(model, "PenalizedEI")
        best = incumbent(model, data)
        log_gain = ExpectedImprovement(self.draws).build(model, data, rng=rng)

        def acquisition(X: Array) -> Array:
            noise_std = np.sqrt(model.noise_variance(X))
            penalty = self.aversion * (noise_std if X.ndim == 2 else noise_std.sum(axis=-1))
            return best + np.exp(log_gain(X)) - penalty

        return acquisition


def _check_noise(model: Model, rule: str) -> None:
    """Raise an error unless the model estimates the noise at each point."""
    if Capability.NOISE not in model.capabilities:
        raise CapabilityError(
            f"{rule} needs a model of the noise at each point, which {type(model.stages[0]).__name__} is not: "
            "use HeteroscedasticGP() as the surrogate, and Replicated(strategy, times) to measure points several times"
        )


@dataclass(frozen=True, eq=False)
class Penalized(ModelWrapper):
    """A model of an outcome minus a known cost of each point.

    Attributes:
        base: Model of the outcome.
        cost: Maps `... x q x d` points to `... x q` costs.
    """

    cost: Callable[[Array], Array]
    hides: ClassVar[Mapping[Capability, str]] = dict.fromkeys(
        (Capability.LEAVE_ONE_OUT, Capability.ONE_STEP_AHEAD, Capability.AUGMENTATION),
        "it describes the outcome without the cost",
    )

    def predict(self, X: Array, *, latent: bool) -> Distribution:
        """Predict the outcome minus the cost at `... x q x d` points."""
        return Shifted(self.base.predict(X, latent=latent), -self.cost(X))


@dataclass(frozen=True)
class Shifted(Distribution):
    """A distribution shifted by a constant at each point.

    Attributes:
        distribution: The distribution before the shift.
        by: Constants, `... x q`.
    """

    distribution: Distribution
    by: Array

    @cached_property
    def mean(self) -> Array:
        return self.distribution.mean + self.by

    def cdf(self, y: Array | float) -> Array:
        return self.distribution.cdf(y - self.by)

    def icdf(self, u: Array | float) -> Array:
        return self.distribution.icdf(u) + self.by

    def at_levels(self, u: Array | float) -> Array:
        return self.distribution.at_levels(u) + self.by

    @property
    def backed(self) -> tuple[float, float]:
        return self.distribution.backed

    def copula_samples(self, base: Array) -> Array:
        return self.distribution.copula_samples(base)

    def samples(self, base: Array) -> tuple[Array, Array]:
        values, log_weights = self.distribution.samples(base)
        return values + self.by[..., None, :], log_weights

    def over_samples(self) -> Shifted:
        return Shifted(self.distribution.over_samples(), self.by[..., None, :])

    def negated(self) -> Shifted:
        return Shifted(self.distribution.negated(), -self.by)


def _check_aversion(aversion: float) -> None:
    if not (np.isfinite(aversion) and aversion >= 0.0):
        raise RecipeError(f"aversion is a finite number from 0 on, got {aversion}; 0 ignores the noise")
