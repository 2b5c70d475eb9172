"""Calibration from PITs: the reliability curve with a band valid at any time, and the calibration error as one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from calibo.arguments import checked
from calibo.checks import check_one_of
from calibo.data import Array
from calibo.diagnostics.anytime import count_band
from calibo.errors import DataError, RecipeError

#: Levels at which the curve is judged; between them its band follows since the curve never falls.
BAND_LEVELS: tuple[float, ...] = tuple(j / 20 for j in range(1, 20))


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Empirical distribution of PITs, with the band in which the curve of calibrated forecasts stays at all times.

    Attributes:
        levels: The sorted PITs, ``n``: the nominal levels at which the curve rises.
        observed: Fraction of PITs at or below each, ``n``: 1/n, 2/n, ..., 1.
        at_levels: Fraction of PITs at or below each of ``BAND_LEVELS``.
        low: Smallest fraction at each of ``BAND_LEVELS`` that is no evidence against the forecasts.
        high: Largest such fraction.
    """

    levels: Array
    observed: Array
    at_levels: Array
    low: Array
    high: Array

    @property
    def inside(self) -> bool:
        """Whether the whole curve stays inside the band."""
        return bool(np.all((self.low <= self.at_levels) & (self.at_levels <= self.high)))

    def band(self, levels: npt.ArrayLike) -> Array:
        """Return the lower and upper ends of the band at J nominal levels, ``J x 2``.

        The curve never falls, so its lower end is that of the last of ``BAND_LEVELS`` at or below, its upper end that of
        the next one at or above.
        """
        p = np.asarray(levels, dtype=np.float64)
        low, high = np.concatenate([[0.0], self.low]), np.concatenate([self.high, [1.0]])
        below = np.searchsorted(BAND_LEVELS, p, side="right")
        above = np.searchsorted(BAND_LEVELS, p, side="left")
        return np.stack([low[below], high[above]], axis=-1)


@checked
def reliability_curve(pits: npt.ArrayLike, *, confidence: float = 0.95) -> ReliabilityCurve:
    """Return the reliability curve of forecasts from their PITs, with a band that may be looked at at any time.

    Args:
        pits: Probability integral transforms of the n outcomes; may be empty.
        confidence: Least probability with which the curve of calibrated forecasts never leaves the band, in (0, 1).
    """
    levels = np.sort(checked_pits(pits))
    n = levels.size
    observed = np.arange(1, n + 1, dtype=np.float64) / max(n, 1)
    at_levels = np.searchsorted(levels, BAND_LEVELS, side="right") / max(n, 1)
    bands = [count_band([n], p, confidence=confidence, tests=len(BAND_LEVELS)) for p in BAND_LEVELS]
    low, high = np.array(bands, dtype=np.float64).reshape(-1, 2).T / max(n, 1)
    return ReliabilityCurve(levels, observed, at_levels, low, high if n else np.ones_like(high))


Kind = Literal["quantile", "central"]
Summary = Literal["sum", "mean", "root_mean"]

#: Levels of the score where none are given: 0, 0.01, ..., 1.
DEFAULT_LEVELS: tuple[float, ...] = tuple(j / 100 for j in range(101))


@checked
def calibration_error(
    pits: npt.ArrayLike,
    *,
    levels: npt.ArrayLike = DEFAULT_LEVELS,
    weights: npt.ArrayLike | None = None,
    summary: Summary = "root_mean",
    kind: Kind = "quantile",
) -> float:
    """Return the calibration error of Kuleshov, Fenner and Ermon (2018) from PITs; 0 is best.

    The weighted sum over levels p_j of w_j (p_j - observed_j)^2, or its mean, or the root of that. Papers differ in which of
    these they report, and in whether p_j is the level of a quantile or of a central interval.

    Args:
        pits: Probability integral transforms of the n outcomes, as ``pit`` returns them.
        levels: J levels p_j in [0, 1].
        weights: J non-negative weights w_j; all 1 by default.
        summary: ``"sum"`` of the weighted squared errors, their weighted ``"mean"``, or its root, ``"root_mean"``.
        kind: ``"quantile"`` compares p_j with the fraction of PITs at or below it, ``"central"`` with the fraction
            inside the central interval of coverage p_j.
    """
    p = _levels(levels)
    w = _weights(weights, p.size)
    total = float(w @ (p - observed_frequencies(pits, p, kind=kind)) ** 2)
    summaries = {"sum": total, "mean": total / float(w.sum()), "root_mean": float(np.sqrt(total / w.sum()))}
    check_one_of("summary", summary, tuple(summaries))
    return summaries[summary]


@checked
def observed_frequencies(pits: npt.ArrayLike, levels: npt.ArrayLike, *, kind: Kind = "quantile") -> Array:
    """Return how often the outcomes fell below each quantile, or inside each central interval.

    Args:
        pits: Probability integral transforms of the n outcomes.
        levels: J levels of quantiles, or coverages of intervals.
        kind: ``"quantile"`` or ``"central"``.

    Returns:
        ``J`` fractions.
    """
    u, p = checked_pits(pits), _levels(levels)
    if not u.size:
        raise DataError("the calibration error needs at least one PIT, got none: wait for a first result")
    check_one_of("kind", kind, ("quantile", "central"))
    # For intervals, the smallest coverage whose interval contains the outcome.
    reach = u if kind == "quantile" else np.abs(2.0 * u - 1.0)
    return np.searchsorted(np.sort(reach), p, side="right") / u.size


def checked_pits(pits: npt.ArrayLike) -> Array:
    """Return PITs as an array of n numbers in [0, 1], or raise a ``DataError``."""
    u = np.asarray(pits, dtype=np.float64)
    if u.ndim != 1 or not np.all((u >= 0) & (u <= 1)):
        raise DataError(f"expected PITs in [0, 1], got {_glimpse(u)}: compute them with pit(distributions, outcomes)")
    return u


def _levels(levels: npt.ArrayLike) -> Array:
    p = np.asarray(levels, dtype=np.float64)
    if p.ndim != 1 or not p.size or not np.all((p >= 0) & (p <= 1)):
        raise RecipeError(f"expected a list of levels in [0, 1], got {_glimpse(p)}: write 95 % as 0.95")
    return p


def _weights(weights: npt.ArrayLike | None, count: int) -> Array:
    if weights is None:
        return np.ones(count)
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (count,) or not np.all(np.isfinite(w) & (w >= 0)) or w.sum() == 0:
        raise RecipeError(f"expected {count} weights, one per level, not negative and not all zero, got {_glimpse(w)}")
    return w


def _glimpse(values: Array) -> str:
    return f"shape {values.shape}" if values.ndim != 1 else f"{values[:5].tolist()}{' ...' if values.size > 5 else ''}"
