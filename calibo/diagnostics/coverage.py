"""PITs and coverage of forecasts, with bands for counts that may be looked at at any time.

Notation:
    n  forecasts with an outcome       k  number of central intervals that contained theirs
    p  nominal coverage                u  PIT of an outcome, F(y)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibo.arguments import checked
from calibo.checks import check_probability
from calibo.data import Array, Marginal
from calibo.diagnostics.anytime import Counts, confidence_sequence, count_band
from calibo.distributions import from_marginals
from calibo.errors import DataError

Flags = npt.NDArray[np.bool_]


@checked
def pit(distributions: Sequence[Marginal], outcomes: npt.ArrayLike) -> Array:
    """Return the probability integral transforms F_i(y_i), ``n``: uniform on (0, 1) if the forecasts are calibrated.

    Args:
        distributions: The n forecasts.
        outcomes: The n outcomes.
    """
    y = matched_outcomes(distributions, outcomes)
    stored = from_marginals(distributions)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        levels = stored.cdf(y)
    # A point mass has no normal score.
    point = np.array([d.quantiles is None and d.std == 0.0 for d in distributions], dtype=np.bool_)
    return np.where(point, y >= stored.mean, levels)


@checked
def covered(distributions: Sequence[Marginal], outcomes: npt.ArrayLike, coverage: float) -> Flags:
    """Return whether each outcome fell into its central interval (ends included), ``n``.

    Args:
        distributions: The n forecasts.
        outcomes: The n outcomes.
        coverage: Coverage of the intervals, in (0, 1).
    """
    y = matched_outcomes(distributions, outcomes)
    low, high = central_intervals(distributions, coverage).T
    return (low <= y) & (y <= high)


@checked
def coverage(distributions: Sequence[Marginal], outcomes: npt.ArrayLike, coverage: float) -> float:
    """Return the fraction of the outcomes that fell into their central intervals.

    Args:
        distributions: The n forecasts.
        outcomes: The n outcomes.
        coverage: Coverage of the intervals, in (0, 1).
    """
    inside = covered(distributions, outcomes, coverage)
    if not inside.size:
        raise DataError("coverage needs at least one forecast with an outcome, got none: wait for a first result")
    return float(inside.mean())


def central_intervals(distributions: Sequence[Marginal], coverage: float) -> Array:
    """Return the lower and upper ends of the central intervals, ``n x 2``."""
    check_probability("coverage", coverage)
    with np.errstate(over="ignore"):
        return np.stack(from_marginals(distributions).interval(coverage), axis=1)


def bounded(distributions: Sequence[Marginal], coverage: float) -> Flags:
    """Return whether each central interval is finite, ``n``; an infinite one contains anything and is not judged."""
    low, high = central_intervals(distributions, coverage).T
    return np.isfinite(low) & np.isfinite(high)


@checked
def points_needed(coverage: float) -> int:
    """Return the fewest results that give a finite conformal interval of this coverage: ceil(p / (1 - p)).

    19 for 95 %, 4 for 80 %, 99 for 99 %. With fewer, no rank among the results is high enough.
    """
    check_probability("coverage", coverage)
    ratio = coverage / (1.0 - coverage)
    # 0.95 / (1 - 0.95) is a hair off 19 in floating point, and a hair above would ask for a twentieth result.
    return max(1, math.ceil(ratio * (1.0 - 1e-9)))


@dataclass(frozen=True, eq=False)
class RunningCoverage:
    """Coverage after each result, with the band in which calibrated forecasts stay.

    Attributes:
        nominal: Coverage of the intervals.
        count: Number of results so far: 1, 2, ..., n.
        contained: Number of them inside their intervals, ``n``.
        low: Smallest count after each result that is no evidence against the intervals, ``n``.
        high: Largest such count, ``n``.
        confidence: Probability with which the counts of calibrated forecasts stay between ``low`` and ``high`` for ever.
        tests: Number of coverages that are looked at together with this confidence.
    """

    nominal: float
    count: Counts
    contained: Counts
    low: Counts
    high: Counts
    confidence: float = 0.95
    tests: int = 1

    @property
    def fraction(self) -> Array:
        """Coverage after each result, ``n``."""
        return self.contained / self.count

    @property
    def band(self) -> Array:
        """Lower and upper ends of the fractions expected of calibrated forecasts, valid at all times, ``n x 2``."""
        return np.stack([self.low, self.high], axis=1) / self.count[:, None]

    @property
    def interval(self) -> Array:
        """Lower and upper ends of a confidence sequence for the coverage, ``n x 2``."""
        return np.stack(
            confidence_sequence(self.contained, self.count, confidence=self.confidence, tests=self.tests), axis=1
        )

    @property
    def too_few(self) -> Flags:
        """After which results the count was evidence that the intervals are too narrow, ``n``."""
        return self.contained < self.low

    @property
    def too_many(self) -> Flags:
        """After which results the count was evidence that the intervals are too wide, ``n``."""
        return self.contained > self.high


@checked
def running_coverage(
    distributions: Sequence[Marginal],
    outcomes: npt.ArrayLike,
    coverage: float,
    *,
    confidence: float = 0.95,
    tests: int = 1,
) -> RunningCoverage:
    """Return the coverage over time, in the order of the outcomes, with a band that may be looked at at any time.

    Results whose interval was infinite are left out: it contains anything.

    Args:
        distributions: The n forecasts.
        outcomes: The n outcomes, in the order they were observed.
        coverage: Coverage of the intervals, in (0, 1).
        confidence: Least probability with which calibrated forecasts never leave the band.
        tests: Number of coverages that are looked at together with this confidence.
    """
    inside = covered(distributions, outcomes, coverage)[bounded(distributions, coverage)]
    count = np.arange(1, inside.size + 1, dtype=np.int64)
    low, high = count_band(count, coverage, confidence=confidence, tests=tests)
    return RunningCoverage(coverage, count, np.cumsum(inside, dtype=np.int64), low, high, confidence, tests)


def matched_outcomes(distributions: Sequence[Marginal], outcomes: npt.ArrayLike) -> Array:
    """Return the outcomes as an array of n finite numbers, one per distribution, or raise a ``DataError``."""
    y = np.asarray(outcomes, dtype=np.float64)
    if y.shape != (len(distributions),):
        raise DataError(f"expected {len(distributions)} outcomes, one per distribution, got shape {y.shape}")
    if not np.isfinite(y).all():
        raise DataError("outcomes must be finite: leave out the forecasts whose evaluation failed")
    return y
