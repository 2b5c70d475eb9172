"""PITs and coverage of forecasts, with exact binomial bands for counts.

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
from scipy.special import bdtr, betaincinv

from calibo.data import Array, Marginal
from calibo.distributions import from_marginals
from calibo.errors import DataError, RecipeError

Flags = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]


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


def binomial_band(n: int, p: float, confidence: float = 0.95) -> tuple[int, int]:
    """Return the smallest and the largest count expected of n trials of probability p.

    Equal-tailed and exact: each side is left with probability at most (1 - confidence) / 2.

    Args:
        n: Number of trials.
        p: Probability of success of each.
        confidence: Least probability of the band.
    """
    if n < 0:
        raise DataError(f"the number of trials must be 0 or more, got {n}")
    low, high = _binomial_bands(np.array([n]), p, confidence)
    return int(low[0]), int(high[0])


def clopper_pearson(k: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact confidence interval of a proportion of which k of n were observed; (0, 1) if n is 0."""
    if not 0 <= k <= n:
        raise DataError(f"expected a count between 0 and {n}, got {k}: it cannot exceed the number of trials")
    check_probability("confidence", confidence)
    tail = (1.0 - confidence) / 2.0
    low = float(betaincinv(k, n - k + 1, tail)) if k > 0 else 0.0
    high = float(betaincinv(k + 1, n - k, 1.0 - tail)) if k < n else 1.0
    return low, high


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
    """Coverage after each result, with the band expected of calibrated forecasts.

    Attributes:
        nominal: Coverage of the intervals.
        count: Number of results so far: 1, 2, ..., n.
        contained: Number of them inside their intervals, ``n``.
        low: Smallest count expected after each result, ``n``.
        high: Largest count expected after each result, ``n``.
    """

    nominal: float
    count: Counts
    contained: Counts
    low: Counts
    high: Counts

    @property
    def fraction(self) -> Array:
        """Coverage after each result, ``n``."""
        return self.contained / self.count

    @property
    def band(self) -> Array:
        """Lower and upper ends of the expected fractions, ``n x 2``; pointwise, not simultaneous."""
        return np.stack([self.low, self.high], axis=1) / self.count[:, None]


def running_coverage(
    distributions: Sequence[Marginal], outcomes: npt.ArrayLike, coverage: float, *, confidence: float = 0.95
) -> RunningCoverage:
    """Return the coverage over time, in the order of the outcomes, with its exact pointwise band.

    Args:
        distributions: The n forecasts.
        outcomes: The n outcomes, in the order they were observed.
        coverage: Coverage of the intervals, in (0, 1).
        confidence: Least probability of the band at each time.
    """
    inside = covered(distributions, outcomes, coverage)
    count = np.arange(1, inside.size + 1, dtype=np.int64)
    low, high = _binomial_bands(count, coverage, confidence)
    return RunningCoverage(coverage, count, np.cumsum(inside, dtype=np.int64), low, high)


def matched_outcomes(distributions: Sequence[Marginal], outcomes: npt.ArrayLike) -> Array:
    """Return the outcomes as an array of n finite numbers, one per distribution, or raise a ``DataError``."""
    y = np.asarray(outcomes, dtype=np.float64)
    if y.shape != (len(distributions),):
        raise DataError(f"expected {len(distributions)} outcomes, one per distribution, got shape {y.shape}")
    if not np.isfinite(y).all():
        raise DataError("outcomes must be finite: leave out the forecasts whose evaluation failed")
    return y


def check_probability(name: str, value: float) -> None:
    """Raise a ``RecipeError`` unless the value is strictly between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise RecipeError(f"{name} must lie strictly between 0 and 1, got {value}: write 95 % as 0.95")


def _binomial_bands(n: Counts, p: float, confidence: float) -> tuple[Counts, Counts]:
    """Return acceptance bands for several numbers of trials at once, each of the shape of n."""
    check_probability("probability", p)
    check_probability("confidence", confidence)
    tail = (1.0 - confidence) / 2.0
    return _binomial_quantile(tail, n, p), _binomial_quantile(1.0 - tail, n, p)


def _binomial_quantile(q: float, n: Counts, p: float) -> Counts:
    """Return the smallest k with P(K <= k) >= q, by bisection on integers, so that it is exact."""
    below = np.full(n.shape, -1, dtype=np.int64)
    at_or_above = n.astype(np.int64)
    while np.any(at_or_above - below > 1):
        middle = (below + at_or_above) // 2
        # Where the bracket has closed, middle may be -1, whose distribution function is a NaN to bdtr.
        reached = bdtr(np.maximum(middle, 0), n, p) >= q
        open_ = at_or_above - below > 1
        at_or_above = np.where(open_ & reached, middle, at_or_above)
        below = np.where(open_ & ~reached, middle, below)
    return at_or_above
