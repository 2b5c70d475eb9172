"""The interface of acquisition rules, and the one place where batches and pending points are dealt with.

Notation: m points or batches, q points of a batch, k pending points, S base samples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibo.arguments import checked
from calibo.data import Array, Dataset
from calibo.distributions import Distribution
from calibo.models.base import Model

#: Values closer together than this share of the larger one are equal.
_EQUAL = 1e-15
#: Up to this many observed points any may be the best, of more so many with the best outcomes.
_ALL_PROMISING, _PROMISING = 1000, 200

#: Maps `m x d` points, or `m x q x d` batches, to `m` values; larger is better.
Acquisition = Callable[[Array], Array]


class AcquisitionRule(ABC):
    """A recipe that turns a model of one objective into an acquisition function.

    Only ``build`` is required.

    Attributes:
        logarithmic: Whether values are logarithms of a non-negative utility; by default not.
        smooth: Whether values can be compared between calls and improved by gradient steps, the default; else only within
            one call.
    """

    logarithmic: ClassVar[bool] = False
    smooth: ClassVar[bool] = True

    def chosen(self, model: Model, data: Dataset) -> AcquisitionRule:
        """Return the rule that is built for these data: this one, unless it chooses among others.

        Args:
            model: Model of the objective.
            data: The observations it was fitted to.
        """
        return self

    @abstractmethod
    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        """Build the acquisition function.

        Args:
            model: Model of the objective.
            data: The observations it was fitted to; pending points are taken into account.
            rng: The only source of randomness.
        """


@checked
def incumbent(model: Model, data: Dataset) -> float:
    """Return the best expected latent value at an observed point, which is robust to noise.

    Among very many observations it is sought at those with the best outcomes.
    """
    return float(np.max(model.predict(promising(data.X, data.Y), latent=True).mean))


def promising(X: Array, Y: Array) -> Array:
    """Return observed points that may be the best: all of `n x d` points up to 1,000, then the 200 with the best outcomes.

    Args:
        X: Points.
        Y: Their outcomes, `n x m`; the first objective counts.
    """
    if len(X) <= _ALL_PROMISING:
        return X
    return X[np.sort(np.argpartition(-Y[:, 0], _PROMISING)[:_PROMISING])]


@dataclass(frozen=True)
class BatchAcquisition:
    """An acquisition function of single points and of batches, given pending points.

    Single points without pending ones are evaluated in closed form. Otherwise the points of a batch are predicted
    jointly with the pending ones, which come first, so that their draws are the same for every candidate.

    Attributes:
        model: Model of the objective.
        pending: Points whose outcomes are awaited, `k x d`.
        joint: Maps the joint distribution of the pending points and a batch, `m x (k + q)`, k and q to `m` values.
        closed_form: Maps the distribution of single points, `m`, to `m` values; ``None`` if there is none.
    """

    model: Model
    pending: Array
    joint: Callable[[Distribution, int, int], Array]
    closed_form: Callable[[Distribution], Array] | None = None

    def __call__(self, X: Array) -> Array:
        """Evaluate the acquisition function.

        Args:
            X: `m x d` points or `m x q x d` batches.

        Returns:
            `m` values.
        """
        if self.closed_form is not None and X.ndim == 2 and not len(self.pending):
            return self.closed_form(self.model.predict(X, latent=True))
        batches = as_batches(X)
        distribution = self.model.predict(after_pending(batches, self.pending), latent=True)
        return self.joint(distribution, len(self.pending), batches.shape[1])


def as_batches(X: Array) -> Array:
    """Return `m x d` points as `m x 1 x d` batches, and batches as they are."""
    return X[:, None, :] if X.ndim == 2 else X


def after_pending(batches: Array, pending: Array) -> Array:
    """Return `m x q x d` batches after the pending points, `k x d`: `m x (k + q) x d`."""
    return np.concatenate([np.broadcast_to(pending, (len(batches), *pending.shape)), batches], axis=1)


def base_samples(seed: int, draws: int, points: int) -> Array:
    """Draw antithetic standard normal base samples, `draws x points`; the first columns do not depend on ``points``."""
    half = np.random.default_rng(seed).standard_normal((points, draws // 2)).T
    return np.concatenate([half, -half])


def normalized(log_weights: Array) -> Array:
    """Shift the log-weights of S draws, `... x S x q`, so that the weights of each point have mean 1."""
    mean = logsumexp(np.swapaxes(log_weights, -1, -2)) - np.log(log_weights.shape[-2])
    return log_weights - mean[..., None, :]


def most_frequent(X: Array, wins: np.ndarray, most: int) -> Array:
    """Return the rows of X, `n x d`, that won at least once, the most frequent winners first, at most ``most``."""
    order = np.argsort(-wins, kind="stable")[:most]
    return X[order[wins[order] > 0]]


def logsumexp(a: Array) -> Array:
    """Return log sum exp over the last axis; minus infinity where all of it is."""
    top = np.max(a, axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.squeeze(top, -1) + np.log(np.exp(a - top).sum(axis=-1))


def log_difference(a: Array, b: Array | float) -> Array:
    """Return log(exp(a) - exp(b)) for a >= b; minus infinity where they are equal up to rounding."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = -np.expm1(np.minimum(np.where(np.isneginf(b), -np.inf, b - a), 0.0))
        return np.where(share > _EQUAL, a + np.log(share), -np.inf)


def log_fatplus(x: Array) -> Array:
    """Return the log of a smooth max(x, 0) whose tail decays like 1 / x^2, so that it has a slope (Ament et al. 2023)."""
    return np.log(np.logaddexp(0.0, x) + _fat_tail(x))


def log_fatstep(x: Array) -> Array:
    """Return the log of a smooth 1[x > 0] whose tail decays like 1 / x^2."""
    return np.log(np.exp(-np.logaddexp(0.0, -x)) + _fat_tail(x))


def log_softplus(x: Array) -> Array:
    """Return log log(1 + exp(x)): a smooth log of max(x, 0) that has a slope where there is no improvement."""
    return np.where(x < -30.0, x, np.log(np.logaddexp(0.0, np.maximum(x, -30.0))))


def _fat_tail(x: Array) -> Array:
    """Return 0.1 / (1 + x^2), also where x^2 overflows."""
    return 0.1 / (1.0 + np.square(np.clip(x, -1e150, 1e150)))
