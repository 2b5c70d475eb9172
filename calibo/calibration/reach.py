"""How far a forecast reaches: features of a forecast that are known before its outcome.

Near the data a model errs in one way, far from them in another, and the model itself says how far: by the spread of its
forecast relative to that of the outcomes, and by where its median lies among them. How far the data are says the same
without the model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from calibo.arguments import check_fields
from calibo.checks import check_between
from calibo.data import Array
from calibo.distributions import Distribution
from calibo.distributions.relative_spread import log_ratio, running_std


@dataclass(frozen=True, eq=False)
class Reach:
    """How far forecasts reach, at points `... x q`.

    Attributes:
        log_spread: Logarithm of the forecasts' spread over the standard deviation of the outcomes.
        rank: Where the forecasts' medians lie among the outcomes, as a normal score.
        log_distance: Logarithm of the distance from the data (`Nearness`); `None` if it is not known.
    """

    log_spread: Array
    rank: Array
    log_distance: Array | None = None

    def __getitem__(self, index: slice | np.ndarray) -> Reach:
        """Return the reach of some forecasts."""
        distance = None if self.log_distance is None else self.log_distance[index]
        return Reach(self.log_spread[index], self.rank[index], distance)

    def flat(self) -> Reach:
        """Return the reach of all forecasts in one row."""
        distance = self.log_distance
        if distance is not None:
            distance = np.broadcast_to(distance, self.rank.shape).reshape(-1)
        return Reach(self.log_spread.reshape(-1), self.rank.reshape(-1), distance)


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

    def reach(self, distribution: Distribution, log_distance: Array | None = None) -> Reach:
        """Return how far the forecasts of measurements reach; latent values count with their noise.

        Args:
            distribution: The forecasts, `... x q`.
            log_distance: Logarithms of the distances of their points from the data, if known.
        """
        median, spread = distribution.measurement.median_and_spread
        values, scores = self._ranks
        rank = _finite(np.interp(median, values, scores), scores)
        return Reach(log_ratio(spread, self._log_std), rank, log_distance)

    def log_spread(self, distribution: Distribution) -> Array:
        """Return the first part of ``reach`` alone, which is quicker."""
        return log_ratio(distribution.measurement.spread, self._log_std)

    @cached_property
    def _log_std(self) -> float:
        return math.log(self.std) if self.std > 0.0 else -math.inf


def _finite(ranks: Array, scores: Array) -> Array:
    """Return ranks with 0 where the median overflowed, and those at the ends between outcomes too close for a slope."""
    return np.nan_to_num(ranks, nan=0.0, posinf=scores[-1], neginf=scores[0])


@dataclass(frozen=True)
class Similarity:
    """A kernel between forecasts: how much one says about the calibration of another.

    Where a search has converged a model may be as unsure a little aside as it is far away. The distance from the data tells
    the two apart, so that many errors of the first kind do not drown the few of the second.

    Attributes:
        spread: Bandwidth in the logarithm of the relative spread.
        rank: Bandwidth in the normal score of the median.
        distance: Bandwidth in the logarithm of the distance from the data, where both are known.
    """

    spread: float = 0.35
    rank: float = 0.6
    distance: float = 0.7

    def __post_init__(self) -> None:
        check_fields(self)
        for name, value in (("spread", self.spread), ("rank", self.rank), ("distance", self.distance)):
            check_between(f"the bandwidth {name}", value, 0.0, np.inf)

    def wider(self, factor: float) -> Similarity:
        """Return the kernel with all bandwidths times a factor."""
        return Similarity(factor * self.spread, factor * self.rank, factor * self.distance)

    def weights(self, at: Reach, past: Reach) -> Array:
        """Return weights in [0, 1] of t past forecasts at points `... x q`, `... x q x t`."""
        with np.errstate(invalid="ignore", over="ignore"):
            away = _squares(at.log_spread, past.log_spread, self.spread)
            away += _squares(at.rank, past.rank, self.rank)
            if at.log_distance is not None and past.log_distance is not None:
                away += _squares(at.log_distance, past.log_distance, self.distance)
        # Two spreads that are both infinite, or both 0, are alike.
        np.copyto(away, 0.0, where=np.isnan(away))
        away *= -0.5
        return np.exp(away, out=away)


def _squares(at: Array, past: Array, bandwidth: float) -> Array:
    """Return squared differences in bandwidths, `... x t`, computed in place: memory costs more than the arithmetic."""
    away = at[..., None] - past
    away /= bandwidth
    return np.square(away, out=away)
