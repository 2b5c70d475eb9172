"""The default method with one part changed at a time, to see what each is worth.

Each function composes a strategy; run them as other optimizers are run, for example

    python -m benchmarks.peers.run --optimizers auto,benchmarks/peers/ablation.py:without_ranks --problems bbob5 --seeds 0-4
"""

from __future__ import annotations

from calibo import methods
from calibo.acquisition import AcquisitionRule, ExpectedImprovement, ImprovementByNoise, NoisyExpectedImprovement
from calibo.models import (
    RBF,
    GaussianProcess,
    InputWarping,
    IntegratedGP,
    Matern32,
    Matern52,
    NoisePrior,
    Surrogate,
    Warped,
)
from calibo.models.outcome_transforms import OutcomeShape
from calibo.optimize import ModelBased

NOISE = NoisePrior.wide()
PROCESS = GaussianProcess(noise=NOISE)


def changed(
    process: Surrogate = PROCESS,
    shape: OutcomeShape | None = OutcomeShape.HALF_RANK,
    rule: AcquisitionRule | None = None,
) -> ModelBased:
    """Compose the default method for numbers with another model to act on, shape of outcomes, or rule."""
    acting = None if shape is None else Warped(process, shapes=(shape,))
    return methods.ocbo(acting=acting, rule=rule or ImprovementByNoise())


def without_ranks() -> ModelBased:
    """Act on the model inside what is shown: outcomes as they are, or with their bad tail drawn in."""
    return changed(shape=None)


def outcomes_as_they_are() -> ModelBased:
    """Act on a model of outcomes without any transform."""
    return changed(shape=OutcomeShape.IDENTITY)


def never_noisy() -> ModelBased:
    """Maximize plain expected improvement, also under noise."""
    return changed(rule=ExpectedImprovement())


def always_noisy() -> ModelBased:
    """Maximize noisy expected improvement, also without noise."""
    return changed(rule=NoisyExpectedImprovement(draws=64))


def narrow_noise() -> ModelBased:
    """Act on a model with the narrow prior of the noise."""
    return changed(GaussianProcess())


def matern32() -> ModelBased:
    """Act on a rougher kernel."""
    return changed(GaussianProcess(Matern32(), noise=NOISE))


def rbf() -> ModelBased:
    """Act on a smoother kernel."""
    return changed(GaussianProcess(RBF(), noise=NOISE))


def warped_inputs() -> ModelBased:
    """Act on a model with warped inputs."""
    return changed(GaussianProcess(Matern52(), warping=InputWarping(), noise=NOISE))


def quadratic_trend() -> ModelBased:
    """Act on a model with a quadratic trend."""
    return changed(GaussianProcess(Matern52(), trend="quadratic", noise=NOISE))


def integrated() -> ModelBased:
    """Act on a model averaged over draws of its hyperparameters."""
    return changed(IntegratedGP(PROCESS, draws=4))
