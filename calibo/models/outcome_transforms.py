"""Transforms of outcomes by name, each made to suit the outcomes that are given."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy as np
from scipy.special import ndtri

from calibo.data import Array
from calibo.distributions import HalfRank, LowerTailPower, OutcomeTransform, YeoJohnson
from calibo.distributions.transforms import power_of

#: With fewer outcomes their shape is not known well enough for a transform.
FEWEST_OUTCOMES = 8
#: Outcomes larger than this, or whose spread is smaller than its inverse, are not transformed: squares would not be floats.
_LARGEST = 1e100
#: Spreads and gaps smaller than this share of the outcomes beside them are rounding.
_ROUNDING = 1e-12
#: Outcomes by which a power is chosen, at most.
_MOST_SHAPED = 2000
#: Powers among which the most likely one is sought; at 0 the lower tail is transformed by a logarithm.
_POWERS = np.linspace(0.0, 1.0, 21)


class OutcomeShape(Enum):
    """A transform by name; its value is the number by which the choice of one is stored."""

    IDENTITY = 0
    LOWER_TAIL = 1
    HALF_RANK = 2
    YEO_JOHNSON = 3
    LOG_DISTANCE = 4

    def transform(self, y: Array) -> OutcomeTransform | None:
        """Return the transform that suits outcomes, n; ``None`` for the identity, or if they are too few or too alike."""
        return _MAKERS[self](y)


def lower_tail_power(y: Array) -> LowerTailPower | None:
    """Return the transform of the lower tail that makes outcomes, n, most nearly normal, unless they are as they should be.

    It has the median as its location, the quartiles' distance as its unit, and the most likely power.
    """
    if (unit := _middle(y)) is None:
        return None
    median, scale = unit
    z = _thinned(y - median) / scale
    above, below = np.maximum(z, 0.0), np.maximum(-z, 0.0)
    transformed = np.array([above - power_of(below, power) for power in _POWERS])
    likelihood = (_POWERS - 1.0) * np.log1p(below).sum() - 0.5 * len(z) * np.log(transformed.var(axis=1))
    power = float(_POWERS[int(np.argmax(likelihood))])
    return None if power == 1.0 else LowerTailPower(power, median, scale, float(y.min()))


def yeo_johnson(y: Array) -> YeoJohnson | None:
    """Return the power transform of both tails that makes outcomes, n, most nearly normal, or ``None`` if they are."""
    if (unit := _middle(y)) is None:
        return None
    median, scale = unit
    z = _thinned(y - median) / scale
    above, below = np.maximum(z, 0.0), np.maximum(-z, 0.0)
    powers = np.concatenate([_POWERS, 1.0 + _POWERS[1:]])
    transformed = np.array([power_of(above, power) - power_of(below, 2.0 - power) for power in powers])
    jacobian = (powers - 1.0) * (np.log1p(above) - np.log1p(below)).sum()
    power = float(powers[int(np.argmax(jacobian - 0.5 * len(z) * np.log(transformed.var(axis=1))))])
    return None if power == 1.0 else YeoJohnson(power, median, scale, float(y.min()), float(y.max()))


def log_distance(y: Array) -> LowerTailPower | None:
    """Return the logarithm of the distance of outcomes, n, to the best of them, in units of that of the upper quartile.

    It is linear above the best, and nearly so within that unit of it.
    """
    if not _transformable(y):
        return None
    best = float(y.max())
    scale = best - float(np.quantile(y, 0.75))
    return LowerTailPower(0.0, best, scale, float(y.min())) if _is_spread(scale, best, y) else None


def good_half(y: Array) -> tuple[float, float]:
    """Return the median of outcomes, n, and the root mean square distance from it of those that are not below it.

    That distance is the unit in which improvements count: bad outcomes, however bad, do not change it.
    """
    unit = float(np.max(np.abs(y), initial=0.0)) or 1.0
    z = y / unit
    median = float(np.median(z))
    above = z[z >= median] - median
    farthest = float(np.max(above, initial=0.0))
    # In units of the largest, whose square need not be a float.
    spread = farthest * float(np.sqrt(np.mean(np.square(above / farthest)))) if farthest > 0.0 else 0.0
    return unit * median, unit * spread


def half_rank(y: Array) -> HalfRank | None:
    """Return the half-rank transform of outcomes, n: normal scores of ranks below the median.

    Its unit is the spread of the outcomes above the median, so that both halves fit together.
    """
    # Of bad outcomes no squares are taken: they may be as large as they like.
    near = np.maximum(y, -_LARGEST)
    if not _transformable(near) or float(np.median(y)) < -_LARGEST:
        return None
    median, scale = good_half(near)
    if not _is_spread(scale, median, near):
        return None
    ordered = np.sort(y)
    bad = np.unique(ordered[ordered < median])
    # Ties share the mean of their ranks; values that differ by rounding count as one.
    above = np.append(bad[1:], median)
    bad = bad[above - bad > _ROUNDING * np.maximum(np.abs(above), np.abs(bad))]
    if not len(bad):
        return None
    places = np.searchsorted(ordered, bad, side="left") + np.searchsorted(ordered, bad, side="right")
    scores = ndtri(0.5 * places / len(y))
    return HalfRank(median, scale, np.append(bad, median), np.append(scores, 0.0))


_MAKERS: dict[OutcomeShape, Callable[[Array], OutcomeTransform | None]] = {
    OutcomeShape.IDENTITY: lambda y: None,
    OutcomeShape.LOWER_TAIL: lower_tail_power,
    OutcomeShape.HALF_RANK: half_rank,
    OutcomeShape.YEO_JOHNSON: yeo_johnson,
    OutcomeShape.LOG_DISTANCE: log_distance,
}


def _middle(y: Array) -> tuple[float, float] | None:
    """Return median and unit of outcomes, n: the standard deviation of a normal distribution with their quartiles."""
    if not _transformable(y):
        return None
    first, median, third = np.quantile(y, [0.25, 0.5, 0.75])
    # The distance of the quartiles of a normal distribution is 1.35 standard deviations.
    scale = float((third - first) / 1.35) or float(np.std(y))
    return (float(median), scale) if _is_spread(scale, median, y) else None


def _thinned(y: Array) -> Array:
    """Return outcomes, n, in increasing order, of very many some evenly spaced in it: enough to tell their shape."""
    ordered = np.sort(y)
    if len(y) <= _MOST_SHAPED:
        return ordered
    return ordered[np.linspace(0, len(y) - 1, _MOST_SHAPED).round().astype(np.intp)]


def _transformable(y: Array) -> bool:
    """Return whether outcomes, n, are enough for a transform, and small enough to be squared."""
    return len(y) >= FEWEST_OUTCOMES and float(np.max(np.abs(y))) <= _LARGEST


def _is_spread(scale: float, median: float, y: Array) -> bool:
    """Return whether a unit of outcomes, n, is more than rounding of the median and the best; bad ones do not matter."""
    return bool(scale > max(_ROUNDING * max(abs(median), abs(float(y.max()))), 1.0 / _LARGEST))
