"""How far a forecast reaches: features of a forecast that are known before its outcome.

Near the data a model errs in one way, far from them in another, and the model itself says how far: by the spread of its
forecast relative to that of the outcomes, and by where its median lies among them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from calibo.calibration.evidence import Evidence
from calibo.checks import check_between
from calibo.data import Array
from calibo.distributions import Distribution

#: Largest size of the logarithm of a relative spread: twelve orders of magnitude.
_FARTHEST = 12.0 * math.log(10.0)
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Reach:
    """How far forecasts reach, at points `... x q`.

    Attributes:
        log_spread: Logarithm of the forecasts' spread over the standard deviation of the outcomes.
        rank: Where the forecasts' medians lie among the outcomes, as a normal score.
    """

    log_spread: Array
    rank: Array


@dataclass(frozen=True, eq=False)
class OutcomeScale:
    """The outcomes that forecasts are compared with.

    Attributes:
        y: Outcomes, n.
    """

    y: Array

    @cached_property
    def std(self) -> float:
        """Standard deviation of the outcomes; 0 if there are none."""
        return float(running_std(self.y)[-1])

    @cached_property
    def _ranks(self) -> tuple[Array, Array]:
        """Distinct outcomes in increasing order, and their mean normal scores."""
        values, index = np.unique(self.y, return_inverse=True)
        score = np.empty(len(self.y))
        score[np.argsort(self.y, kind="stable")] = ndtri((np.arange(len(self.y)) + 0.5) / len(self.y))
        return values, np.bincount(index, weights=score) / np.bincount(index)

    def reach(self, distribution: Distribution) -> Reach:
        """Return how far the forecasts of measurements reach; latent values count with their noise."""
        median, spread = distribution.measurement.median_and_spread
        return Reach(_log_ratio(spread, self._log_std), _finite(np.interp(median, *self._ranks)))

    def log_spread(self, distribution: Distribution) -> Array:
        """Return the first part of ``reach`` alone, which is quicker."""
        return _log_ratio(distribution.measurement.spread, self._log_std)

    @cached_property
    def _log_std(self) -> float:
        return math.log(self.std) if self.std > 0.0 else -math.inf


def log_spread(distribution: Distribution, std: Array | float) -> Array:
    """Return the logarithm of the spread of forecasts, `... x q`, relative to the standard deviation of outcomes.

    While all outcomes are equal nothing is known of their scale, and every spread counts as the largest.
    """
    with np.errstate(divide="ignore"):
        return _log_ratio(distribution.spread, np.log(std))


def _log_ratio(spread: Array, log_std: Array | float) -> Array:
    """Return the logarithm of spreads over standard deviations, within limits."""
    logarithm = np.log(np.maximum(spread, _TINY)) - log_std
    # A forecast that overflowed (NaN) reaches as far as any: `fmin` prefers the limit.
    return np.fmin(np.maximum(logarithm, -_FARTHEST), _FARTHEST)


def _finite(ranks: Array) -> Array:
    """Return ranks with 0 where the median overflowed."""
    return np.where(np.isnan(ranks), 0.0, ranks)


@dataclass(frozen=True)
class Similarity:
    """A kernel between forecasts: how much one says about the calibration of another.

    Attributes:
        spread: Bandwidth in the logarithm of the relative spread.
        rank: Bandwidth in the normal score of the median.
    """

    spread: float = 0.35
    rank: float = 0.6

    def __post_init__(self) -> None:
        for name, value in (("spread", self.spread), ("rank", self.rank)):
            check_between(f"the bandwidth {name}", value, 0.0, np.inf)

    def weights(self, at: Reach, past: Reach) -> Array:
        """Return weights in [0, 1] of t past forecasts at points `... x q`, `... x q x t`."""
        away = np.square((at.log_spread[..., None] - past.log_spread) / self.spread)
        away += np.square((at.rank[..., None] - past.rank) / self.rank)
        return np.exp(-0.5 * away)


def log_spread_before(evidence: Evidence) -> Array:
    """Return the log spread of each of t forecasts relative to the outcomes *before* it, as it was known when it was made.

    Nothing in it depends on the outcome itself or on later ones, not even by rounding.
    """
    return log_spread(evidence.distribution, running_std(evidence.y)[:-1])


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
