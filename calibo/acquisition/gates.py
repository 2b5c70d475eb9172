"""Gates: what multiplies an acquisition function from outside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibo.acquisition.base import Acquisition
from calibo.data import Array

_LEAST = np.finfo(np.float64).tiny


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
