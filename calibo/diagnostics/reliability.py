"""The reliability curve without bins: sorted PITs against their ranks, and a band for the whole curve at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import smirnovi

from calibo.data import Array
from calibo.diagnostics.calibration_error import checked_pits
from calibo.diagnostics.coverage import check_probability
from calibo.errors import DataError

#: Up to here the exact distribution is quick; from here on the closed bound is less than one in a hundred wider.
_EXACT_UP_TO = 1000


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Empirical distribution of the PITs, with the band that right forecasts leave rarely.

    Attributes:
        levels: The PITs, sorted, n: the nominal levels at which the curve rises.
        observed: Fraction of PITs at or below each, n: 1/n, 2/n, ..., 1 (a tie has the largest of its ranks last).
        half_width: Half width of the band around the diagonal.
        distance: Greatest distance of the curve from the diagonal (Kolmogorov's statistic), 0 if there are no PITs.
        confidence: Least probability with which the whole curve of right forecasts stays inside the band.
    """

    levels: Array
    observed: Array
    half_width: float
    distance: float
    confidence: float

    @property
    def inside(self) -> bool:
        """Whether the whole curve stays inside the band."""
        return self.distance <= self.half_width

    def band(self, levels: npt.ArrayLike) -> Array:
        """Lower and upper ends of the band at nominal levels of choice, J x 2, within [0, 1]."""
        p = np.asarray(levels, dtype=np.float64)
        return np.clip(np.stack([p - self.half_width, p + self.half_width], axis=-1), 0.0, 1.0)


def reliability_curve(pits: npt.ArrayLike, *, confidence: float = 0.95) -> ReliabilityCurve:
    """Reliability curve of forecasts from their PITs, with its simultaneous band.

    Args:
        pits: Probability integral transforms of the outcomes, n; may be empty.
        confidence: Least probability of the band, in (0, 1).
    """
    levels = np.sort(checked_pits(pits))
    n = levels.size
    rank = np.arange(1, n + 1, dtype=np.float64)
    observed = rank / max(n, 1)
    gaps = np.concatenate([observed - levels, levels - (rank - 1.0) / max(n, 1), [0.0]])
    return ReliabilityCurve(
        levels=levels,
        observed=observed,
        half_width=simultaneous_half_width(n, confidence=confidence),
        distance=float(gaps.max()),
        confidence=confidence,
    )


def simultaneous_half_width(n: int, *, confidence: float = 0.95) -> float:
    """Half width of a band that holds the whole empirical distribution of n uniform PITs; 1 if there are none.

    Kolmogorov's exact one-sided distribution on either side. That both sides are left at once is so rare at the usual confidences
    that the two-sided band is exact to four digits, and it never promises too much. For many PITs, the
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
