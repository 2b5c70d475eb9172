"""How far a forecast reaches: features of a forecast that are known before its outcome.

Near the data a model errs in one way, far from them in another, and the model itself says how far: by the spread of its
forecast relative to that of the outcomes, and by where its median lies among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from calibo.calibration.evidence import Evidence
from calibo.data import Array
from calibo.distributions import Distribution, Gaussian
from calibo.models.standardization import Standardization

#: Levels of the quantiles one standard deviation below and above the median of a normal distribution.
_ONE_BELOW, _ONE_ABOVE = float(ndtr(-1.0)), float(ndtr(1.0))
#: Smallest spread, relative to the outcomes, whose logarithm is taken.
_LEAST = 1e-12


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
    def units(self) -> Standardization:
        """The standardization of the outcomes."""
        return Standardization.of(self.y)

    @cached_property
    def _ranks(self) -> tuple[Array, Array]:
        """Distinct outcomes in increasing order, and their mean normal scores."""
        values, index = np.unique(self.y, return_inverse=True)
        score = np.empty(len(self.y))
        score[np.argsort(self.y, kind="stable")] = ndtri((np.arange(len(self.y)) + 0.5) / len(self.y))
        return values, np.bincount(index, weights=score) / np.bincount(index)

    def reach(self, distribution: Distribution) -> Reach:
        """Return how far the forecasts of measurements reach; latent values count with their noise."""
        measured = distribution.measurement
        unit = self.units.unit
        if isinstance(measured, Gaussian):
            spread, median = measured.std / unit, measured.mean
        else:
            low, high = measured.at_levels(_ONE_BELOW), measured.at_levels(_ONE_ABOVE)
            spread, median = 0.5 * (high / unit - low / unit), measured.at_levels(0.5)
        relative = np.maximum(spread / self.units.scale, _LEAST)
        return Reach(np.log(relative), np.interp(median, *self._ranks))


@dataclass(frozen=True)
class Similarity:
    """A kernel between forecasts: how much one says about the calibration of another.

    Attributes:
        spread: Bandwidth in the logarithm of the relative spread.
        rank: Bandwidth in the normal score of the median.
    """

    spread: float = 0.35
    rank: float = 0.4

    def weights(self, at: Reach, past: Reach) -> Array:
        """Return weights in [0, 1] of t past forecasts at points `... x q`, `... x q x t`."""
        away = np.square((at.log_spread[..., None] - past.log_spread) / self.spread)
        away += np.square((at.rank[..., None] - past.rank) / self.rank)
        return np.exp(-0.5 * away)


def log_spread_before(evidence: Evidence) -> Array:
    """Return the log spread of each of t forecasts relative to the outcomes *before* it, as it was known when it was made.

    While those are all alike the spread counts as large: nothing is known of the outcomes' scale.
    """
    scale = OutcomeScale(evidence.y)
    z, count = scale.units.forward(evidence.y), np.maximum(np.arange(len(evidence)), 1)
    mean = np.concatenate([[0.0], np.cumsum(z)[:-1]]) / count
    square = np.concatenate([[0.0], np.cumsum(np.square(z))[:-1]]) / count
    earlier = np.sqrt(np.maximum(square - np.square(mean), np.square(_LEAST)))
    return scale.reach(evidence.distribution).log_spread - np.log(earlier)
