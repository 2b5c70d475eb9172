"""Proper scores of forecasts, and their sharpness; smaller is better, in the units of the outcome (log score: nats).

All take n distributions and n outcomes and give one number per forecast, so that a mean, a plot over time or a paired comparison
is the reader's choice. Stored distributions are scored by exact integrals of their quantile function, which is linear in the
normal score z between the stored levels and goes on with the outermost slopes beyond them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from calibo.data import STORED_LEVELS, Array, Marginal
from calibo.diagnostics.coverage import central_intervals, check_probability, matched_outcomes

_ROOT_PI = float(np.sqrt(np.pi))
_LOG_ROOT_TWO_PI = 0.5 * float(np.log(2.0 * np.pi))
#: A normal score so far out that its tail probability is zero in float64.
_FAR = 40.0


def interval_score(distributions: Sequence[Marginal], outcomes: npt.ArrayLike, coverage: float) -> Array:
    """Interval score of Gneiting and Raftery (2007) of the central intervals, n: width plus 2 / alpha per unit of miss.

    Args:
        distributions: What was forecast, n distributions.
        outcomes: What came of it, n.
        coverage: Probability the intervals promise, 1 - alpha, in (0, 1).
    """
    y = matched_outcomes(distributions, outcomes)
    low, high = central_intervals(distributions, coverage).T
    miss = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    return high - low + 2.0 / (1.0 - coverage) * miss


def pinball_loss(distributions: Sequence[Marginal], outcomes: npt.ArrayLike, level: float) -> Array:
    """Pinball (quantile) loss of the forecasts' quantiles at one level, n.

    Args:
        distributions: What was forecast, n distributions.
        outcomes: What came of it, n.
        level: Level of the quantile, in (0, 1).
    """
    check_probability("level", level)
    y = matched_outcomes(distributions, outcomes)
    above = y - np.array([distribution.icdf(level) for distribution in distributions], dtype=np.float64)
    return np.maximum(level * above, (level - 1.0) * above)


def crps(distributions: Sequence[Marginal], outcomes: npt.ArrayLike) -> Array:
    """Continuous ranked probability score, n: the integral of (F(t) - 1[t >= y])^2; |y - mean| for a point mass.

    Args:
        distributions: What was forecast, n distributions.
        outcomes: What came of it, n.
    """
    y = matched_outcomes(distributions, outcomes)
    stored = np.array([distribution.quantiles is not None for distribution in distributions], dtype=np.bool_)
    values = np.empty(y.size)
    values[~stored] = _gaussian_crps(*_moments(distributions, ~stored), y[~stored])
    values[stored] = _stored_crps(_quantiles(distributions, stored), y[stored])
    return values


def log_score(distributions: Sequence[Marginal], outcomes: npt.ArrayLike) -> Array:
    """Minus the log density of each outcome, n; -inf on an atom of a distribution, inf where a distribution has no density at all.

    The density of a stored distribution jumps at its stored quantiles: compare such distributions by ``crps`` where it matters.

    Args:
        distributions: What was forecast, n distributions.
        outcomes: What came of it, n.
    """
    y = matched_outcomes(distributions, outcomes)
    pairs = zip(distributions, y.tolist(), strict=True)
    return np.array([_log_score(distribution, value) for distribution, value in pairs], dtype=np.float64)


def sharpness(distributions: Sequence[Marginal], coverage: float) -> float:
    """Mean width of the central intervals, 0 if there are none: to be small once the coverage is right."""
    ends = central_intervals(distributions, coverage)
    return float(np.mean(ends[:, 1] - ends[:, 0])) if len(ends) else 0.0


def _moments(distributions: Sequence[Marginal], chosen: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
    picked = [distribution for distribution, keep in zip(distributions, chosen, strict=True) if keep]
    return np.array([distribution.mean for distribution in picked]), np.array(
        [distribution.std for distribution in picked]
    )


def _quantiles(distributions: Sequence[Marginal], chosen: npt.NDArray[np.bool_]) -> Array:
    picked = [
        cast(tuple[float, ...], distribution.quantiles)
        for distribution, keep in zip(distributions, chosen, strict=True)
        if keep
    ]
    return np.array(picked, dtype=np.float64).reshape(-1, len(STORED_LEVELS))


def _gaussian_crps(mean: Array, std: Array, y: Array) -> Array:
    z = (y - mean) / np.where(std > 0, std, 1.0)
    spread = std * (z * (2.0 * ndtr(z) - 1.0) + 2.0 * _normal_density(z) - 1.0 / _ROOT_PI)
    return np.where(std > 0, spread, np.abs(y - mean))


def _stored_crps(quantiles: Array, y: Array) -> Array:
    """CRPS of stored distributions, s, from their quantiles, s x 33: exact, segment by segment in the normal score.

    On a segment t = q + b (z - z_0), so that the integral of F(t)^2 dt is b times that of Phi(z)^2 dz, whose
    antiderivative is known; right of the outcome (1 - F)^2 is the same mirrored. The outer segments reach out to the
    outcome, or to where nothing is left in the tail, whichever is further.
    """
    scores = ndtri(np.asarray(STORED_LEVELS))
    slope = np.diff(quantiles, axis=1) / np.diff(scores)
    b = np.concatenate([slope[:, :1], slope, slope[:, -1:]], axis=1)
    anchor_q = np.concatenate([quantiles[:, :1], quantiles], axis=1)
    anchor_z = np.concatenate([scores[:1], scores])
    flat = b < 1e-100  # quantiles that coincide; the reciprocal of anything smaller would overflow
    z_y = anchor_z + (y[:, None] - anchor_q) / np.where(flat, 1.0, b)
    start = np.broadcast_to(np.concatenate([[-_FAR], scores]), b.shape).copy()
    end = np.broadcast_to(np.concatenate([scores, [_FAR]]), b.shape).copy()
    start[:, 0] = np.minimum(start[:, 0], z_y[:, 0])
    end[:, -1] = np.maximum(end[:, -1], z_y[:, -1])
    split = np.clip(z_y, start, end)
    left = _squared_cdf_integral(split) - _squared_cdf_integral(start)
    right = _squared_cdf_integral(-split) - _squared_cdf_integral(-end)
    inner = np.where(flat, 0.0, b * (left + right)).sum(axis=1)
    # A distribution whose outer quantiles coincide ends there; the gap from its end to an outcome beyond counts in full.
    below = np.where(flat[:, 0], np.maximum(quantiles[:, 0] - y, 0.0), 0.0)
    above = np.where(flat[:, -1], np.maximum(y - quantiles[:, -1], 0.0), 0.0)
    return inner + below + above


def _squared_cdf_integral(z: Array) -> Array:
    """Integral of Phi(t)^2 from minus infinity to z."""
    cdf = ndtr(z)
    return z * cdf**2 + 2.0 * _normal_density(z) * cdf - ndtr(np.sqrt(2.0) * z) / _ROOT_PI


def _normal_density(z: Array) -> Array:
    return np.exp(-0.5 * z**2 - _LOG_ROOT_TWO_PI)


def _log_score(distribution: Marginal, y: float) -> float:
    if distribution.quantiles is None:
        if distribution.std == 0:
            return -np.inf if y == distribution.mean else np.inf
        return (
            0.5 * ((y - distribution.mean) / distribution.std) ** 2 + float(np.log(distribution.std)) + _LOG_ROOT_TWO_PI
        )
    q = np.asarray(distribution.quantiles)
    scores = ndtri(np.asarray(STORED_LEVELS))
    if np.any((q[1:] == y) & (q[:-1] == y)):
        return -np.inf
    i = int(np.clip(np.searchsorted(q, y, side="right") - 1, 0, q.size - 2))
    rise = float(q[i + 1] - q[i])
    if rise == 0:  # beyond the end of a distribution whose outer quantiles coincide
        return np.inf
    slope = rise / float(scores[i + 1] - scores[i])
    z = float(scores[i]) + (y - float(q[i])) / slope
    return 0.5 * z**2 + float(np.log(slope)) + _LOG_ROOT_TWO_PI
