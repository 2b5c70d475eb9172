"""One number for how far the forecasts' levels are from what came out: the score of Kuleshov, Fenner and Ermon (2018).

The score is a sum over levels p_j of w_j (p_j - observed_j)^2. Papers differ in what they make of it (the plain sum, its
mean, the root of its mean) and in whether p_j is the level of a quantile or of a central interval; all six are here.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from calibo.data import Array
from calibo.errors import DataError, RecipeError

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
    """Calibration error of forecasts from their PITs; 0 is best.

    Args:
        pits: Probability integral transforms of the outcomes, n, as ``pit`` gives them.
        levels: Levels p_j, J of them in [0, 1].
        weights: Weights w_j, J non-negative numbers; all one by default.
        summary: ``"sum"`` of the weighted squared errors, their weighted ``"mean"``, or its root, ``"root_mean"``.
        kind: ``"quantile"`` compares p_j with the fraction of PITs at or below it, ``"central"`` with the fraction
            inside the central interval of coverage p_j.
    """
    p = _levels(levels)
    w = _weights(weights, p.size)
    total = float(w @ (p - observed_frequencies(pits, p, kind=kind)) ** 2)
    if summary == "sum":
        return total
    if summary == "mean":
        return total / float(w.sum())
    if summary == "root_mean":
        return float(np.sqrt(total / w.sum()))
    raise RecipeError(f"unknown summary {summary!r}: choose 'sum', 'mean' or 'root_mean'")


def observed_frequencies(pits: npt.ArrayLike, levels: npt.ArrayLike, *, kind: Kind = "quantile") -> Array:
    """How often the outcomes fell below each quantile, or inside each central interval, J.

    Args:
        pits: Probability integral transforms of the outcomes, n.
        levels: Levels of the quantiles, or coverages of the intervals, J.
        kind: ``"quantile"`` or ``"central"``.
    """
    u, p = checked_pits(pits), _levels(levels)
    if not u.size:
        raise DataError("the calibration error needs at least one PIT, got none: wait for a first result")
    if kind == "quantile":
        reach = u
    elif kind == "central":
        reach = np.abs(2.0 * u - 1.0)  # the smallest coverage whose interval contains the outcome
    else:
        raise RecipeError(f"unknown kind {kind!r}: choose 'quantile' or 'central'")
    return np.searchsorted(np.sort(reach), p, side="right") / u.size


def checked_pits(pits: npt.ArrayLike) -> Array:
    """PITs as an array of n numbers in [0, 1]; an error says what does not fit."""
    u = np.asarray(pits, dtype=np.float64)
    if u.ndim != 1 or not np.all((u >= 0) & (u <= 1)):
        raise DataError(
            f"expected a list of PITs in [0, 1], got {_glimpse(u)}: compute them with pit(distributions, outcomes)"
        )
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
        raise RecipeError(
            f"expected {count} weights, one per level, finite and not negative and not all zero, got {_glimpse(w)}"
        )
    return w


def _glimpse(values: Array) -> str:
    return f"shape {values.shape}" if values.ndim != 1 else f"{values[:5].tolist()}{' ...' if values.size > 5 else ''}"
