"""What several models need to predict: distinct points of batches, moments of ensembles, distributions of quantiles."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from calibo.data import Array
from calibo.distributions import QuantileTable
from calibo.models.standardization import Standardization

#: Equal quantiles are spread by this share of the standard deviation of the outcomes, so that no distribution is a point.
_LEAST_SPREAD = 1e-6


def distinct_points(X: Array) -> tuple[Array, np.ndarray]:
    """Return the distinct points of batches; points that all batches share (the pending ones) occur once.

    Args:
        X: `... x q x d` points.

    Returns:
        The points, `p x d`, and an index, `... x q`, with `points[index] == X`.
    """
    if X.ndim == 2:
        return X, np.arange(len(X))
    if not X.size:
        return X.reshape(0, X.shape[-1]), np.zeros(X.shape[:-1], dtype=np.intp)
    sets = X.reshape(-1, *X.shape[-2:])
    count, q, d = sets.shape
    if q == 1:
        # Searches ask for single points thousands of times, and these share nothing.
        return sets.reshape(count, d), np.arange(count).reshape(X.shape[:-1])
    shared = (sets == sets[:1]).all(axis=(0, 2))
    own = sets[:, ~shared].reshape(-1, d)
    index = np.empty((count, q), dtype=np.intp)
    index[:, ~shared] = np.arange(len(own)).reshape(count, int((~shared).sum()))
    index[:, shared] = len(own) + np.arange(int(shared.sum()))
    return np.vstack([own, sets[0, shared]]), index.reshape(X.shape[:-1])


def correlation_matrix(covariance: Array, std: Array) -> Array:
    """Return the correlations, `... x q x q`, of covariances and `... x q` standard deviations, with ones on the diagonal."""
    matrix = covariance / (std[..., :, None] * std[..., None, :])
    index = np.arange(std.shape[-1])
    matrix[..., index, index] = 1.0
    return matrix


def member_variance(values: Array) -> Array:
    """Return the variance over the M members of an ensemble, `M x ...` -> `...`; 0 for a single member."""
    return values.var(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1:])


def member_covariance(values: Array) -> Array:
    """Return the covariances over the members of an ensemble, `M x ... x q` -> `... x q x q`."""
    deviations = values - values.mean(axis=0)
    return np.einsum("m...i,m...j->...ij", deviations, deviations) / max(len(values) - 1, 1)


def quantile_distribution(levels: Array, quantiles: Array, units: Standardization) -> QuantileTable:
    """Return the distribution with given quantiles.

    Args:
        levels: Increasing levels, K.
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
