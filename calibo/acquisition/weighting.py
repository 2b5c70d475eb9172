"""Weights: probabilities that multiply an acquisition function, of feasibility, of success and of being in distribution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from calibo.acquisition.base import Acquisition, as_batches, log_difference, logsumexp, normalized
from calibo.acquisition.joint import Beside, Drawn, shared_before_last
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


@dataclass(frozen=True, eq=False)
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
    _kept: dict[bytes, tuple[list[Beside], Array]] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, X: Array) -> Array:
        """Evaluate `m x d` points, or the last points of `m x q x d` batches, as `m` log-probabilities."""
        batches = as_batches(X)
        if batches.shape[1] == 1 and not len(self.pending):
            return self.feasibility.log(batches[:, 0])
        earlier = shared_before_last(batches)
        if earlier is not None:
            return self._of_last(batches[:, -1], earlier)
        return np.concatenate([np.empty(0), *(self._of_last(one[-1:], one[:-1]) for one in batches)])

    def _of_last(self, X: Array, earlier: Array) -> Array:
        """Evaluate `m x d` points beside the same `e x d` ones."""
        besides, log_missed = self._beside(earlier)
        log_chance = log_missed
        for beside in besides:
            own = beside.candidates(X)
            log_chance = log_chance + (_log_met(own) + normalized(own.log_weights))[..., 0]
        return logsumexp(log_chance) - np.log(self.draws)

    def _beside(self, earlier: Array) -> tuple[list[Beside], Array]:
        """Return the draws of each slack beside earlier points, and the log-chance that none of these is met, `1 x S`."""
        key = earlier.tobytes()
        if key not in self._kept:
            points = np.vstack([self.pending, earlier])
            besides = [
                Beside(slack, points, self.seed + place, self.draws)
                for place, slack in enumerate(self.feasibility.slacks)
            ]
            log_met = np.sum([_log_met(beside.points_drawn) for beside in besides], axis=0)
            self._kept.clear()
            # log(1 - p), with p kept below 1.
            self._kept[key] = besides, np.log1p(-np.exp(np.minimum(log_met, -1e-12))).sum(axis=-1)
        return self._kept[key]


def _log_met(drawn: Drawn) -> Array:
    """Return how far draws of a slack meet its constraint, in logarithms, `... x S x q`."""
    width = _SMOOTHING * drawn.distribution.std[..., None, -drawn.values.shape[-1] :]
    return -np.logaddexp(0.0, -drawn.values / np.maximum(width, _TINY))
