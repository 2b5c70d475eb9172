"""Calibration from PITs: the reliability curve with a simultaneous band, and the calibration error as one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import smirnovi

from calibo.checks import check_one_of, check_probability
from calibo.data import Array
from calibo.errors import DataError, RecipeError

#: Up to here the exact distribution is quick; from here on the closed bound is less than 1 % wider.
_EXACT_UP_TO = 1000


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Empirical distribution of PITs, with the band in which the curve of calibrated forecasts stays.

    Attributes:
        levels: The sorted PITs, ``n``: the nominal levels at which the curve rises.
        observed: Fraction of PITs at or below each, ``n``: 1/n, 2/n, ..., 1.
        half_width: Half width of the band around the diagonal.
        distance: Largest distance of the curve from the diagonal (Kolmogorov's statistic), 0 if there are no PITs.
    """

    levels: Array
    observed: Array
    half_width: float
    distance: float

    @property
    def inside(self) -> bool:
        """Whether the whole curve stays inside the band."""
        return self.distance <= self.half_width

    def band(self, levels: npt.ArrayLike) -> Array:
        """Return the lower and upper ends of the band at J nominal levels, ``J x 2``, within [0, 1]."""
        p = np.asarray(levels, dtype=np.float64)
        return np.clip(np.stack([p - self.half_width, p + self.half_width], axis=-1), 0.0, 1.0)


def reliability_curve(pits: npt.ArrayLike, *, confidence: float = 0.95) -> ReliabilityCurve:
    """Return the reliability curve of forecasts from their PITs, with its simultaneous band.

    Args:
        pits: Probability integral transforms of the n outcomes; may be empty.
        confidence: Least probability of the band, in (0, 1).
    """
    levels = np.sort(checked_pits(pits))
    n = levels.size
    rank = np.arange(1, n + 1, dtype=np.float64)
    observed = rank / max(n, 1)
    gaps = np.concatenate([observed - levels, levels - (rank - 1.0) / max(n, 1), [0.0]])
    half_width = simultaneous_half_width(n, confidence=confidence)
    return ReliabilityCurve(levels, observed, half_width, float(gaps.max()))


def simultaneous_half_width(n: int, *, confidence: float = 0.95) -> float:
    """Return the half width of a band that holds the whole empirical distribution of n uniform PITs; 1 if there are none.

    Kolmogorov's exact one-sided distribution on either side. Both sides are left at once so rarely at the usual confidences
    that the two-sided band is exact to four digits, and it is never too narrow. For many PITs, the
    Dvoretzky-Kiefer-Wolfowitz bound with Massart's constant.
    """
    check_probability("confidence", confidence)
    if n < 0:
        raise DataError(f"the number of PITs must be 0 or more, got {n}")
    if n == 0:
        return 1.0
    tail = (1.0 - confidence) / 2.0
    if n <= _EXACT_UP_TO:
        return float(smirnovi(n, tail))
    return float(min(1.0, np.sqrt(-np.log(tail) / (2.0 * n))))


Kind = Literal["quantile", "central"]
Summary = Literal["sum", "mean", "root_mean"]

#: Levels of the score where none are given: 0, 0.01, ..., 1.
DEFAULT_LEVELS: tuple[float, ...] = tuple(j / 100 for j in range(101))


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
