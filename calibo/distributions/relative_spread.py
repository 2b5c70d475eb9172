"""The spread of a forecast relative to the outcomes before it, by which near, between and far are told apart.

This is the one rule for it: online recalibrators keep a state for each group, and tables and figures judge each group.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from calibo.data import FAR_ABOVE, NEAR_BELOW, Array
from calibo.distributions.base import Distribution

#: Largest size of the logarithm of a relative spread: twelve orders of magnitude.
_FARTHEST = 12.0 * math.log(10.0)
_TINY = np.finfo(np.float64).tiny


def groups_of(log_spread: Array, edges: Sequence[float] = (NEAR_BELOW, FAR_ABOVE)) -> np.ndarray:
    """Return the group of forecasts by the logarithms of their relative spreads, in their shape: 0 is nearest to the data.

    Args:
        log_spread: Logarithms of relative spreads.
        edges: Relative spreads that separate the groups, increasing; a spread at an edge belongs to the nearer group.
    """
    return np.searchsorted(np.log(edges), log_spread)


def log_spread_before(distribution: Distribution, y: Array) -> Array:
    """Return the log spread of t forecasts, each relative to the outcomes *before* it, as it was known when it was made.

    Nothing in it depends on the outcome itself or on later ones, not even by rounding.

    Args:
        distribution: Forecasts of t outcomes, in the order of these.
        y: The outcomes, t.
    """
    return log_spread(distribution, running_std(y)[:-1])


def log_spread(distribution: Distribution, std: Array | float) -> Array:
    """Return the logarithm of the spread of forecasts, `... x q`, relative to the standard deviation of outcomes.

    While all outcomes are equal nothing is known of their scale, and every spread counts as the largest.
    """
    with np.errstate(divide="ignore"):
        return log_ratio(distribution.spread, np.log(std))


def log_ratio(spread: Array, log_std: Array | float) -> Array:
    """Return the logarithm of spreads over standard deviations, within limits."""
    logarithm = np.log(np.maximum(spread, _TINY)) - log_std
    # A forecast that overflowed (NaN) reaches as far as any: `fmin` prefers the limit.
    return np.fmin(np.maximum(logarithm, -_FARTHEST), _FARTHEST)


def running_std(y: Array) -> Array:
    """Return the standard deviation of the first 0, 1, ..., n of n outcomes, n + 1, each from those outcomes alone.

    By updates of mean and standard deviation that neither overflow nor cancel.
    """
    mean, std, found = 0.0, 0.0, [0.0]
    # Half of the outcomes, whose differences are floats.
    for count, half in enumerate((0.5 * y).tolist(), start=1):
        away = half - mean
        mean += away / count
        std = math.hypot(std * math.sqrt((count - 1) / count), away * math.sqrt(count - 1) / count)
        found.append(std)
    return 2.0 * np.array(found)
