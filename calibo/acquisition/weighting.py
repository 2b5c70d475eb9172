"""Weights: probabilities that multiply an acquisition function, of feasibility, of success and of being in distribution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from calibo.acquisition.base import (
    Acquisition,
    after_pending,
    as_batches,
    base_samples,
    log_difference,
    logsumexp,
    normalized,
)
from calibo.arguments import checked
from calibo.checks import shown
from calibo.data import Array
from calibo.errors import DataError
from calibo.models.base import Model

_TINY = np.finfo(np.float64).tiny
#: Smallest log-probability by which a loss is still divided.
_LEAST_LOG = -300.0
#: Width of the smoothing of sampled feasibility, in standard deviations of the draws.
_SMOOTHING = 0.05


@dataclass(frozen=True)
class Weight:
    """A probability that multiplies an acquisition function.

    Attributes:
        log_probability: Maps `m x d` points to `m` log-probabilities.
        floor: Value where the probability is 0, such as the worst outcome for a failure. Only for acquisition functions
            that are values of the outcome: the gain over the floor is multiplied. Logarithms of a utility have no floor.
        losses_grow: Whether values below the floor are divided by the probability instead, so that a loss does not
            shrink because its measurement is unlikely to succeed.
    """

    log_probability: Callable[[Array], Array]
    floor: float = 0.0
    losses_grow: bool = True


@checked
def log_of(probability: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Return the logarithm of a probability of `m x d` points; never minus infinity."""
    return lambda X: np.log(np.maximum(probability(X), _TINY))


@checked
def last_points(X: Array) -> Array:
    """Return `m x d` points, or the last points of `m x q x d` batches."""
    if not isinstance(X, np.ndarray) or X.ndim not in (2, 3):
        raise DataError(f"points are an array m x d, or batches m x q x d, got {shown(X)}")
    return X if X.ndim == 2 else X[:, -1, :]


@checked
def weighted(acquisition: Acquisition, weights: Sequence[Weight], *, logarithmic: bool, pending: Array) -> Acquisition:
    """Return an acquisition function multiplied by weights.

    What the last point of a batch adds to the points before it is multiplied, not the value of the whole batch, which
    hardly depends on the last point once the others are good: it would go where the weights are largest, whatever it
    adds.

    Args:
        acquisition: Function of `m x d` points or `m x q x d` batches that differ in their last point only.
        weights: In the order in which they multiply.
        logarithmic: Whether the acquisition function is the log of a utility beyond that of the pending points; else it
            is a value of the outcome, for batches and pending points the best of all.
        pending: Points whose outcomes are awaited, `k x d`.
    """
    if len(weights) == 0:
        return acquisition

    def product(X: Array) -> Array:
        logs = [weight.log_probability(last_points(X)) for weight in weights]
        values = acquisition(X)
        earlier = X[:1, :-1] if X.ndim == 3 and X.shape[1] > 1 else None
        if logarithmic:
            added = values if earlier is None else log_difference(values, _value(acquisition, earlier))
            return added + sum(logs)
        if earlier is None and len(pending):
            # A copy of a pending point adds nothing.
            earlier = pending[:1]
        if earlier is not None:
            return (values - _value(acquisition, earlier)) * np.exp(sum(logs))
        return _gains(values, weights, logs)

    return product


@checked
def weighted_last(acquisition: Acquisition, log_probabilities: Sequence[Callable[[Array], Array]]) -> Acquisition:
    """Return a log utility of the last point of a batch multiplied by probabilities of that point."""
    if len(log_probabilities) == 0:
        return acquisition
    return lambda X: acquisition(X) + sum(log(last_points(X)) for log in log_probabilities)


def _value(acquisition: Acquisition, X: Array) -> float:
    return float(acquisition(X)[0]) if len(X) else 0.0


def _gains(values: Array, weights: Sequence[Weight], logs: Sequence[Array]) -> Array:
    """Return the gains over the floors, `m`, each multiplied by its weight; the result is a gain over the last floor."""
    reached = 0.0
    for weight, log in zip(weights, logs, strict=True):
        gain = values - (weight.floor - reached)
        probability = np.exp(np.maximum(log, _LEAST_LOG))
        shrunk = gain * probability
        values = np.where(gain > 0.0, shrunk, gain / probability) if weight.losses_grow else shrunk
        reached = weight.floor
    return values


@dataclass(frozen=True)
class Feasibility:
    """The calibrated probability that the measurement of a point meets all constraints, taken as independent.

    It is the probability of the *measurement*, noise included, because a trial is judged by its measurement.

    Attributes:
        slacks: Model of the slack of each constraint, which is met where it is not negative.
    """

    slacks: tuple[Model, ...]

    def __call__(self, X: Array) -> Array:
        """Return the probability at `m x d` points, `m`."""
        return np.exp(self.log(X))

    def log(self, X: Array) -> Array:
        """Return the log-probability at `m x d` points, `m`; it has a slope even where the probability underflows."""
        logs = [slack.predict(X, latent=False).log_probability_of_improvement(0.0) for slack in self.slacks]
        return np.sum(logs, axis=0)


@dataclass(frozen=True)
class FirstFeasible:
    """The log-probability that a point meets all constraints and none of those chosen before it does.

    Maximized while no observation meets all constraints: a copy of a pending point would find nothing new. In closed
    form for single points without pending ones, else by joint draws of the slacks.

    Attributes:
        feasibility: Probability of single points.
        pending: Points whose outcomes are awaited, `k x d`.
        seed: Seed of the base samples.
        draws: Number of base samples.
    """

    feasibility: Feasibility
    pending: Array
    seed: int
    draws: int = 128

    def __call__(self, X: Array) -> Array:
        """Evaluate `m x d` points, or the last points of `m x q x d` batches, as `m` log-probabilities."""
        together = after_pending(as_batches(X), self.pending)
        if together.shape[1] == 1:
            return self.feasibility.log(together[:, 0])
        log_met, log_weights = 0.0, 0.0
        for place, slack in enumerate(self.feasibility.slacks):
            distribution = slack.predict(together, latent=True)
            f, weights = distribution.samples(base_samples(self.seed + place, self.draws, together.shape[1]))
            width = _SMOOTHING * distribution.std[..., None, :]
            log_met = log_met - np.logaddexp(0.0, -f / np.maximum(width, _TINY))
            log_weights = log_weights + normalized(np.broadcast_to(weights, f.shape))[..., -1]
        log_met = np.asarray(log_met)
        # log(1 - p) of the others, with p kept below 1.
        log_missed = np.log1p(-np.exp(np.minimum(log_met[..., :-1], -1e-12))).sum(axis=-1)
        return logsumexp(log_met[..., -1] + log_missed + log_weights) - np.log(self.draws)
