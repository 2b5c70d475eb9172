"""Proper scoring rules of forecasts, and sharpness; smaller is better, in the units of the outcome (log score: nats).

All take n distributions and n outcomes and return one number per forecast, for means, plots over time or paired
comparisons. Stored distributions are scored by exact integrals of their quantile function, which is linear in the normal
score z between the stored levels and continues with the outermost slopes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from calibo.arguments import checked
from calibo.checks import check_probability
from calibo.data import STORED_LEVELS, Array, Marginal
from calibo.diagnostics.coverage import central_intervals, matched_outcomes
from calibo.distributions import from_marginals
from calibo.distributions.normal import density, log_density

_ROOT_PI = float(np.sqrt(np.pi))
_SCORES = ndtri(np.asarray(STORED_LEVELS))
#: A normal score so far out that its tail probability is zero in float64.
_FAR = 40.0


@checked
def interval_score(distributions: Sequence[Marginal], outcomes: npt.ArrayLike, coverage: float) -> Array:
    """Return the interval scores of Gneiting and Raftery (2007), ``n``: width plus 2 / alpha per unit of miss.

    Args:
        distributions: The n forecasts.
        outcomes: The n outcomes.
        coverage: Coverage of the central intervals, 1 - alpha, in (0, 1).
    """
    y = matched_outcomes(distributions, outcomes)
    low, high = central_intervals(distributions, coverage).T
    miss = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    return high - low + 2.0 / (1.0 - coverage) * miss


@checked
def pinball_loss(distributions: Sequence[Marginal], outcomes: npt.ArrayLike, level: float) -> Array:
    """Return the pinball (quantile) losses at one level, ``n``.

    Args:
        distributions: The n forecasts.
        outcomes: The n outcomes.
        level: Level of the quantile, in (0, 1).
    """
    check_probability("level", level)
    y = matched_outcomes(distributions, outcomes)
    above = y - from_marginals(distributions).icdf(level)
    return np.maximum(level * above, (level - 1.0) * above)


@checked
def crps(distributions: Sequence[Marginal], outcomes: npt.ArrayLike) -> Array:
    """Return the continuous ranked probability scores, ``n``: integrals of (F(t) - 1[t >= y])^2.

    Args:
        distributions: The n forecasts.
        outcomes: The n outcomes.
    """
    y = matched_outcomes(distributions, outcomes)
    mean, std = np.array([(d.mean, d.std) for d in distributions], dtype=np.float64).reshape(-1, 2).T
    values = _gaussian_crps(mean, std, y)
    stored = [i for i, d in enumerate(distributions) if d.quantiles is not None]
    quantiles = np.array([distributions[i].quantiles for i in stored], dtype=np.float64)
    values[stored] = _stored_crps(quantiles.reshape(-1, len(STORED_LEVELS)), y[stored])
    return values


@checked
def log_score(distributions: Sequence[Marginal], outcomes: npt.ArrayLike) -> Array:
    """Return minus the log densities of the outcomes, ``n``: -inf on an atom, inf where a distribution has no density.

    The density of a stored distribution jumps at its stored quantiles: compare such distributions by ``crps``.

    Args:
        distributions: The n forecasts.
        outcomes: The n outcomes.
    """
    y = matched_outcomes(distributions, outcomes)
    pairs = zip(distributions, y.tolist(), strict=True)
    return np.array([_log_score(distribution, value) for distribution, value in pairs], dtype=np.float64)


@checked
def sharpness(distributions: Sequence[Marginal], coverage: float) -> float:
    """Return the mean width of the central intervals, 0 if there are none; small is good once the coverage is right."""
    ends = central_intervals(distributions, coverage)
    return float(np.mean(ends[:, 1] - ends[:, 0])) if len(ends) else 0.0


def _gaussian_crps(mean: Array, std: Array, y: Array) -> Array:
    with np.errstate(over="ignore"):
        far = (y - mean) / np.where(std > 0, std, 1.0)
    z = np.clip(far, -_FAR, _FAR)
    spread = std * (z * (2.0 * ndtr(z) - 1.0) + 2.0 * density(z) - 1.0 / _ROOT_PI)
    # Beyond that, and of a point mass, the distance counts in full.
    beyond = np.abs(y - mean) - std / _ROOT_PI
    return np.where((std > 0) & (np.abs(far) <= _FAR), spread, beyond)


def _stored_crps(quantiles: Array, y: Array) -> Array:
    """Return the CRPS of s stored distributions from their quantiles, ``s x 33``, exact by segments of the normal score.

    On a segment t = q + b (z - z_0), so that the integral of F(t)^2 dt is b times that of Phi(z)^2 dz, whose
    antiderivative is known; right of the outcome (1 - F)^2 is the same mirrored. The outer segments reach out to where
    nothing is left in the tail; from there to an outcome beyond the distance counts in full.
    """
    slope = np.diff(quantiles, axis=1) / np.diff(_SCORES)
    b = np.concatenate([slope[:, :1], slope, slope[:, -1:]], axis=1)
    anchor_q = np.concatenate([quantiles[:, :1], quantiles], axis=1)
    anchor_z = np.concatenate([_SCORES[:1], _SCORES])
    flat = b < 1e-100  # quantiles that coincide; the reciprocal of anything smaller would overflow
    with np.errstate(over="ignore"):
        z_y = anchor_z + (y[:, None] - anchor_q) / np.where(flat, 1.0, b)
    start, end = np.concatenate([[-_FAR], _SCORES]), np.concatenate([_SCORES, [_FAR]])
    split = np.clip(z_y, start, end)
    left = _squared_cdf_integral(split) - _squared_cdf_integral(start)
    right = _squared_cdf_integral(-split) - _squared_cdf_integral(-end)
    inner = np.where(flat, 0.0, b * (left + right)).sum(axis=1)
    # A distribution whose outer quantiles coincide ends there.
    reach = np.where(flat[:, [0, -1]], 0.0, b[:, [0, -1]]) * (_FAR - _SCORES[-1])
    below = np.maximum(quantiles[:, 0] - reach[:, 0] - y, 0.0)
    above = np.maximum(y - quantiles[:, -1] - reach[:, 1], 0.0)
    return inner + below + above


def _squared_cdf_integral(z: Array) -> Array:
    """Return the integral of Phi(t)^2 from minus infinity to z."""
    cdf = ndtr(z)
    return z * cdf**2 + 2.0 * density(z) * cdf - ndtr(np.sqrt(2.0) * z) / _ROOT_PI


def _log_score(distribution: Marginal, y: float) -> float:
    if distribution.quantiles is None:
        if distribution.std == 0:
            return -np.inf if y == distribution.mean else np.inf
        return float(np.log(distribution.std) - log_density(np.asarray((y - distribution.mean) / distribution.std)))
    q = np.asarray(distribution.quantiles)
    if np.any((q[1:] == y) & (q[:-1] == y)):
        return -np.inf
    i = int(np.clip(np.searchsorted(q, y, side="right") - 1, 0, q.size - 2))
    rise = float(q[i + 1] - q[i])
    if rise == 0:  # beyond the end of a distribution whose outer quantiles coincide
        return np.inf
    slope = rise / (_SCORES[i + 1] - _SCORES[i])
    return float(np.log(slope) - log_density(_SCORES[i] + (y - q[i]) / slope))
