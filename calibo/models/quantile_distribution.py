"""Distributions of quantile regressions: between the predicted quantiles, and before there is anything to regress.

Notation: K levels, z standardized outcomes.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from calibo.data import Array
from calibo.distributions import QuantileTable
from calibo.models.standardization import Standardization

#: Equal quantiles are spread by this share of the standard deviation of the outcomes, so that no distribution is a point.
_LEAST_SPREAD = 1e-6


def quantile_distribution(levels: Array, quantiles: Array, units: Standardization) -> QuantileTable:
    """Return the distribution with given quantiles.

    Args:
        levels: Increasing, K.
        quantiles: `... x q x K` quantiles of standardized outcomes; sorted where they cross (Chernozhukov et al. 2010).
        units: The standardization.
    """
    z = np.sort(quantiles, axis=-1) + _LEAST_SPREAD * ndtri(levels)
    # The change of units rounds, after which neighbours may fall by a last bit.
    return QuantileTable(levels, np.maximum.accumulate(units.backward(z), axis=-1))


def normal_quantiles(levels: Array, shape: tuple[int, ...], units: Standardization) -> QuantileTable:
    """Return the distribution before there is anything to regress: normal quantiles at points of a shape `... x q`."""
    z = np.broadcast_to(ndtri(levels), (*shape, len(levels)))
    return QuantileTable(levels, np.maximum.accumulate(units.backward(z), axis=-1))
