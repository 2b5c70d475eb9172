"""What an acquisition rule is, and what several rules share: the incumbent and sampled utilities of sets of points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from calibo.data import Array, Dataset
from calibo.models.base import Model

#: Values closer together than this share of the larger one are equal.
_LEAST_SHARE = 1e-15

#: Points m x d, or sets of points m x q x d, to m values; larger is better.
Acquisition = Callable[[Array], Array]


class AcquisitionRule(Protocol):
    """How a model's beliefs become the wish to try a point.

    Attributes:
        logarithmic: Whether the values are logarithms of a non-negative utility.
        smooth: Whether values may be compared between calls and climbed; else only within one call.
    """

    logarithmic: ClassVar[bool]
    smooth: ClassVar[bool]

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        """The acquisition function for what is known now, pending points taken into account."""
        ...


def incumbent(model: Model, data: Dataset) -> float:
    """The best expected latent value at a point already tried: what is to be improved upon, robust to noise."""
    return float(np.max(model.predict(data.X, latent=True).mean))


@dataclass(frozen=True)
class SampledUtility:
    """The expected utility of sets of points under joint draws with the pending points: E max_j w_j u_j.

    Where a distribution is sampled by weighting, each point's weights multiply its own utility inside the maximum (Stanton et al.
    2023, B.6), so that a single point's value is its exact expected utility.

    Attributes:
        model: What is believed.
        pending: Points whose outcomes are awaited, k x d.
        utility: Log utility of each point of the set, beyond that of the pending points: (draws of the set, m x S x q, and
            their weights; draws of the pending points, m x S x k, and their weights) -> m x S x q. Weights may lack
            dimensions that they do not vary in.
        seed: Of the base samples, the same for every set, so that values can be compared and climbed.
        draws: Number of base samples, half of them the negatives of the others.
    """

    model: Model
    pending: Array
    utility: Callable[[Array, Array, Array, Array], Array]
    seed: int
    draws: int = 128

    def __call__(self, X: Array) -> Array:
        """Log of the expected utility of points, m x d, or sets, m x q x d."""
        sets = X[:, None, :] if X.ndim == 2 else X
        q = sets.shape[1]
        together = beside(sets, self.pending)
        distribution = self.model.predict(together, latent=True)
        f, log_weights = distribution.samples(base_samples(self.seed, self.draws, together.shape[1]))
        weights = np.exp(normalized(log_weights))
        log_utility = self.utility(f[..., -q:], weights[..., -q:], f[..., :-q], weights[..., :-q])
        return logsumexp(log_utility.max(axis=-1)) - np.log(self.draws)


def normalized(log_weights: Array) -> Array:
    """Log-weights of S draws, ... x S x q, shifted so that each point's weights have mean 1."""
    mean = logsumexp(np.swapaxes(log_weights, -1, -2)) - np.log(log_weights.shape[-2])
    return log_weights - mean[..., None, :]


def base_samples(seed: int, draws: int, points: int) -> Array:
    """Antithetic standard normal base samples, draws x points; the first columns do not depend on ``points``."""
    half = np.random.default_rng(seed).standard_normal((points, draws // 2)).T
    return np.concatenate([half, -half])


def logsumexp(a: Array) -> Array:
    """log sum exp over the last axis; minus infinity where all of it is."""
    top = np.max(a, axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.squeeze(top, -1) + np.log(np.exp(a - top).sum(axis=-1))


def beside(sets: Array, pending: Array) -> Array:
    """Sets of points, m x q x d, after the pending ones, k x d: m x (k + q) x d.

    Those that are there already come first, so that their draws are the same for every candidate and every set.
    """
    return np.concatenate([np.broadcast_to(pending, (len(sets), *pending.shape)), sets], axis=1)


def log_difference(a: Array, b: Array | float) -> Array:
    """log(exp(a) - exp(b)) for a >= b; minus infinity where they are equal up to rounding."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = -np.expm1(np.minimum(np.where(np.isneginf(b), -np.inf, b - a), 0.0))
        return np.where(share > _LEAST_SHARE, a + np.log(share), -np.inf)


def log_fatplus(x: Array) -> Array:
    """log of a smooth max(x, 0) whose tail falls like 1 / x^2, so that it slopes far below (Ament et al. 2023)."""
    return np.log(np.logaddexp(0.0, x) + _fat_tail(x))


def log_fatstep(x: Array) -> Array:
    """log of a smooth 1[x > 0] whose tail falls like 1 / x^2."""
    return np.log(np.exp(-np.logaddexp(0.0, -x)) + _fat_tail(x))


def _fat_tail(x: Array) -> Array:
    """0.1 / (1 + x^2), also where x^2 is no float."""
    return 0.1 / (1.0 + np.square(np.clip(x, -1e150, 1e150)))


def log_softplus(x: Array) -> Array:
    """log log(1 + exp(x)): a smooth log of max(x, 0) that still slopes where there is no improvement."""
    return np.where(x < -30.0, x, np.log(np.logaddexp(0.0, np.maximum(x, -30.0))))
