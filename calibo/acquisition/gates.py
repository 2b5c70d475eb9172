"""Gates: what multiplies an acquisition function from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibo.acquisition.base import Acquisition
from calibo.data import Array
from calibo.surrogates.base import Model

_LEAST = np.finfo(np.float64).tiny


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


def constrained(acquisition: Acquisition, met: Feasibility, *, logarithmic: bool, floor: float) -> Acquisition:
    """The acquisition multiplied by the probability that the constraints are met; all else as in ``gated``."""
    if not logarithmic:
        return gated(acquisition, met, logarithmic=False, floor=floor)
    return lambda X: acquisition(X) + met.log(X if X.ndim == 2 else X[:, -1, :])


def gated(
    acquisition: Acquisition,
    probability: Callable[[Array], Array],
    *,
    logarithmic: bool,
    floor: float,
    losses_grow: bool = True,
) -> Acquisition:
    """The acquisition multiplied by a probability, such as that of an evaluation's success.

    Args:
        acquisition: Of points, m x d, or sets, m x q x d (the last point of a set is the new one).
        probability: At points, m x d -> m.
        logarithmic: Whether the acquisition is the log of a utility; else it is an outcome's value and what is
            multiplied is its gain over ``floor``.
        floor: What is left where the probability is 0, such as the worst outcome seen for a failure.
        losses_grow: Whether what lies below the floor is divided by the probability instead, so that a loss does not
            shrink by being unlikely to be measured at all.
    """

    def product(X: Array) -> Array:
        chance = np.maximum(probability(X if X.ndim == 2 else X[:, -1, :]), _LEAST)
        values = acquisition(X)
        if logarithmic:
            return values + np.log(chance)
        gain = values - floor
        if not losses_grow:
            return gain * chance
        return np.where(gain > 0.0, gain * chance, gain / chance)

    return product
