"""Gates: probabilities that multiply what a point adds, such as that its evaluation succeeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from calibo.acquisition.base import Acquisition, log_difference
from calibo.data import Array

_LEAST = np.finfo(np.float64).tiny
#: A chance by which a loss can still be divided.
_LEAST_LOG = -300.0


@dataclass(frozen=True)
class Gate:
    """A probability that multiplies an acquisition function, and what is left where it is 0.

    Attributes:
        log_probability: At points, m x d -> m.
        floor: What is left where the probability is 0, such as the worst outcome seen for a failure; only for
            acquisitions that are an outcome's value, of which the gain over the floor is multiplied.
        losses_grow: Whether what lies below the floor is divided by the probability instead, so that a loss does not
            shrink by being unlikely to be measured at all.
    """

    log_probability: Callable[[Array], Array]
    floor: float = 0.0
    losses_grow: bool = True


def log_of(probability: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The logarithm of a probability at points, m x d -> m; never minus infinity."""
    return lambda X: np.log(np.maximum(probability(X), _LEAST))


def last_points(X: Array) -> Array:
    """Points, m x d, or the last points of sets, m x q x d."""
    return X if X.ndim == 2 else X[:, -1, :]


def multiplied(acquisition: Acquisition, log_probabilities: Sequence[Callable[[Array], Array]]) -> Acquisition:
    """A log utility that is that of the last point of a set already, multiplied by probabilities at that point."""
    if not log_probabilities:
        return acquisition
    return lambda X: acquisition(X) + sum(log(last_points(X)) for log in log_probabilities)


def gated(acquisition: Acquisition, gates: Sequence[Gate], *, logarithmic: bool, pending: Array) -> Acquisition:
    """The acquisition behind gates, which multiply what the last point of a set adds to the points before it.

    A set is worth what its points are worth together, which hardly depends on the last one once the others are good; so
    what it adds is what must be multiplied, or the last point would go where the gates are open, whatever it adds.

    Args:
        acquisition: Of points, m x d, or sets, m x q x d, whose points but the last are the same in all rows.
        gates: In the order in which they multiply.
        logarithmic: Whether the acquisition is the log of a utility that counts from the pending points on; else it is
            an outcome's value, of sets and with pending points the best of all.
        pending: Points whose outcomes are awaited, k x d.
    """
    if not gates:
        return acquisition

    def product(X: Array) -> Array:
        chances = [gate.log_probability(last_points(X)) for gate in gates]
        values = acquisition(X)
        beside_others = X.ndim == 3 and X.shape[1] > 1
        if logarithmic:
            added = log_difference(values, _worth(acquisition, X[:1, :-1])) if beside_others else values
            return added + sum(chances)
        if beside_others:
            return (values - _worth(acquisition, X[:1, :-1])) * np.exp(sum(chances))
        if len(pending):
            # A copy of a pending point adds nothing.
            return (values - _worth(acquisition, pending[:1])) * np.exp(sum(chances))
        return _multiplied(values, gates, chances)

    return product


def _worth(acquisition: Acquisition, X: Array) -> float:
    return float(acquisition(X)[0]) if len(X) else 0.0


def _multiplied(values: Array, gates: Sequence[Gate], chances: Sequence[Array]) -> Array:
    """Gains over the floors, each multiplied by its gate's chance, m; what leaves a gate is a gain over its floor."""
    reached = 0.0
    for gate, chance in zip(gates, chances, strict=True):
        gain = values - (gate.floor - reached)
        passed = np.exp(np.maximum(chance, _LEAST_LOG))
        shrunk = gain * passed
        values = np.where(gain > 0.0, shrunk, gain / passed) if gate.losses_grow else shrunk
        reached = gate.floor
    return values
