"""Constraints: the calibrated probability that a point meets them, and the search for a first point that does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.acquisition.base import base_samples, beside, logsumexp, normalized
from calibo.data import Array
from calibo.models.base import Model

#: Width of the smoothing of sampled feasibility, in standard deviations of the draws.
_SMOOTHING = 0.05


@dataclass(frozen=True)
class Feasibility:
    """The calibrated probability that a point's measurement meets all constraints, taken as independent.

    It is that of the *measurement*, noise included, because by it a trial is judged.

    Attributes:
        slacks: A model of each constraint's slack, which is met where it is not negative.
    """

    slacks: tuple[Model, ...]

    def __call__(self, X: Array) -> Array:
        """At points, m x d -> m."""
        return np.exp(self.log(X))

    def log(self, X: Array) -> Array:
        """Its logarithm, which slopes even where the probability is lost to rounding, m x d -> m."""
        logs = [slack.predict(X, latent=False).log_probability_of_improvement(0.0) for slack in self.slacks]
        return np.sum(logs, axis=0)


@dataclass(frozen=True)
class FirstFeasible:
    """The log-probability that a point meets all constraints and none of those chosen before it does.

    What is climbed while no point is known to meet them: a copy of a pending point would find nothing new. In closed form
    for single points without pending ones, else by joint draws of the slacks.

    Attributes:
        feasibility: Of single points.
        pending: Points whose outcomes are awaited, k x d.
        seed: Of the base samples.
        draws: Number of base samples.
    """

    feasibility: Feasibility
    pending: Array
    seed: int
    draws: int = 128

    def __call__(self, X: Array) -> Array:
        """Of points, m x d, or of the last points of sets, m x q x d."""
        sets = X[:, None, :] if X.ndim == 2 else X
        together = beside(sets, self.pending)
        if together.shape[1] == 1:
            return self.feasibility.log(together[:, 0])
        log_met, log_weights = 0.0, 0.0
        for place, slack in enumerate(self.feasibility.slacks):
            distribution = slack.predict(together, latent=True)
            f, weights = distribution.samples(base_samples(self.seed + place, self.draws, together.shape[1]))
            width = _SMOOTHING * distribution.std[..., None, :]
            log_met = log_met - np.logaddexp(0.0, -f / np.maximum(width, np.finfo(np.float64).tiny))
            log_weights = log_weights + normalized(np.broadcast_to(weights, f.shape))[..., -1]
        log_met = np.asarray(log_met)
        # log(1 - p) of the others, with p kept below 1.
        log_missed = np.log1p(-np.exp(np.minimum(log_met[..., :-1], -1e-12))).sum(axis=-1)
        return logsumexp(log_met[..., -1] + log_missed + log_weights) - np.log(self.draws)
