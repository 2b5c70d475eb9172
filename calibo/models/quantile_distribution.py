"""The distribution between the quantiles that a regression says, and the one it starts from.

Notation: K levels, z standardised outcomes.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from calibo.data import Array
from calibo.distributions import QuantileTable
from calibo.models.standardization import Standardization

#: Quantiles that are equal are spread by so much of the outcomes' standard deviation, so that no distribution is a point.
_LEAST_SPREAD = 1e-6


def quantile_distribution(levels: Array, quantiles: Array, units: Standardization) -> QuantileTable:
    """The distribution of outcomes with given quantiles.

    Args:
        levels: Increasing, K.
        quantiles: Of standardised outcomes, ... x q x K. Where they cross they are rearranged (Chernozhukov et al. 2010).
        units: The standardisation.
    """
    z = np.sort(quantiles, axis=-1) + _LEAST_SPREAD * ndtri(levels)
    # The change of units rounds, after which neighbours may fall by a last bit.
    return QuantileTable(levels, np.maximum.accumulate(units.backward(z), axis=-1))


def normal_law(levels: Array, shape: tuple[int, ...], units: Standardization) -> QuantileTable:
    """The distribution before there is anything to regress: at points of a shape, ... x q, the quantiles of a normal distribution."""
    z = np.broadcast_to(ndtri(levels), (*shape, len(levels)))
    return QuantileTable(levels, np.maximum.accumulate(units.backward(z), axis=-1))
