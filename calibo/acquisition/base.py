"""What an acquisition rule is, and what several rules share: the incumbent and sampled utilities of sets of points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from calibo.data import Array, Dataset
from calibo.surrogates.base import Model

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

    Where a law is sampled by weighting, each point's weights multiply its own utility inside the maximum (Stanton et al.
    2023, B.6), so that a single point's value is its exact expected utility.

    Attributes:
        model: What is believed.
        pending: Points whose outcomes are awaited, k x d.
        utility: Log utility of each point of the set: (draws of the set, m x S x q; draws of the pending points, m x S x k,
            and their weights, broadcast to m x S x k) -> m x S x q.
        seed: Of the base samples, the same for every set, so that values can be compared and climbed.
        draws: Number of base samples, half of them the negatives of the others.
    """

    model: Model
    pending: Array
    utility: Callable[[Array, Array, Array], Array]
    seed: int
    draws: int = 128

    def __call__(self, X: Array) -> Array:
        """Log of the expected utility of points, m x d, or sets, m x q x d."""
        sets = X[:, None, :] if X.ndim == 2 else X
        q = sets.shape[1]
        awaited = np.broadcast_to(self.pending, (sets.shape[0], *self.pending.shape))
        law = self.model.predict(np.concatenate([sets, awaited], axis=1), latent=True)
        f, log_weights = law.samples(base_samples(self.seed, self.draws, q + self.pending.shape[0]))
        log_weights = normalized(log_weights)
        log_utility = self.utility(f[..., :q], f[..., q:], np.exp(log_weights[..., q:]))
        best = (log_utility + log_weights[..., :q]).max(axis=-1)
        return logsumexp(best) - np.log(self.draws)


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


def log_softplus(x: Array) -> Array:
    """log log(1 + exp(x)): a smooth log of max(x, 0) that still slopes where there is no improvement."""
    return np.where(x < -30.0, x, np.log(np.logaddexp(0.0, np.maximum(x, -30.0))))
