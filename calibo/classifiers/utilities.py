"""Utilities of an outcome over a threshold: what an acquisition function is the expectation of.

A utility is any callable (outcomes y, n; threshold tau) -> values, n, none of them negative, larger outcomes being better.
Only ratios between the values matter, because the weights made of them are brought to mean 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibo.data import Array
from calibo.errors import DataError, RecipeError

Utility = Callable[[Array, float], Array]


@dataclass(frozen=True)
class Improvement:
    """u = max(y - tau, 0): the classifier learns expected improvement (Song et al. 2022, section 3.3)."""

    def __call__(self, y: Array, tau: float) -> Array:
        return np.maximum(y - tau, 0.0)


@dataclass(frozen=True)
class Probability:
    """u = 1 where y > tau: the classifier learns the probability of improvement.

    This is the paper's own form, in which the points above the threshold are negatives as well; BORE's is
    ``BoreLabels``.
    """

    def __call__(self, y: Array, tau: float) -> Array:
        return (y > tau).astype(np.float64)


@dataclass(frozen=True)
class Power:
    """u = max(y - tau, 0)^exponent: between the probability of improvement (0) and improvement (1), and beyond.

    Attributes:
        exponent: The paper's lambda, from 0 on.
    """

    exponent: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.exponent) and self.exponent >= 0.0):
            raise RecipeError(f"the exponent of a utility is a number from 0 on, got {self.exponent}")

    def __call__(self, y: Array, tau: float) -> Array:
        gain = np.maximum(y - tau, 0.0)
        # Relative to the largest, so that no power of it overflows.
        largest = float(gain.max(initial=0.0)) or 1.0
        return np.where(gain > 0.0, (gain / largest) ** self.exponent, 0.0)


def checked_utilities(utility: Utility, y: Array, tau: float) -> Array:
    """The utilities of outcomes, n, or a named error if they are none."""
    values = np.asarray(utility(y, tau), dtype=np.float64)
    if values.shape != y.shape:
        raise DataError(f"a utility of {len(y)} outcomes must give {len(y)} values, got shape {values.shape}")
    wrong = ~np.isfinite(values) | (values < 0.0)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise DataError(
            f"a utility must be finite and not negative, got {values[at]} for the outcome {y[at]} at the threshold {tau} "
            "(larger outcomes are better here; those that are minimised come with the other sign)"
        )
    return values
