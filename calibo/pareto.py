"""Pareto fronts: non-dominated points, hypervolume, reference point, and box decomposition of the non-dominated region.

All objectives are maximized. A point dominates another if it is at least as good in all objectives and better in one.

Notation: n points, m objectives.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from calibo.data import Array
from calibo.errors import DataError

#: The reference point lies at least this share of the front's extent below its worst values.
_BELOW = 0.1
#: Results that are looked at for a try beyond an end of the front that came to nothing.
_LAST = 3
#: Outcomes beyond this many interquartile ranges from the quartiles are outliers.
_FENCE = 1.5


def pareto_mask(Y: Array) -> np.ndarray:
    """Return which points are not dominated by another.

    Args:
        Y: Outcomes, ``n x m``.

    Returns:
        ``n`` flags; equal points are all kept.

    Example:
        >>> import numpy as np
        >>> pareto_mask(np.array([[1.0, 3.0], [2.0, 2.0], [1.0, 2.0]]))
        array([ True,  True, False])
    """
    Y = _outcomes(Y)
    if Y.shape[1] == 2:
        return _planar_mask(Y)
    kept = np.ones(len(Y), dtype=bool)
    for i, y in enumerate(Y):
        if kept[i]:
            # A point dominated by a removed point is dominated by what dominates that one.
            kept &= ~((y >= Y).all(axis=1) & (y > Y).any(axis=1))
    return kept


def _planar_mask(Y: Array) -> np.ndarray:
    order = np.lexsort((-Y[:, 1], -Y[:, 0]))
    first, second = Y[order, 0], Y[order, 1]
    best = np.maximum.accumulate(second)
    # Best among the points that are strictly better in the first outcome.
    start = np.searchsorted(-first, -first, side="left")
    ahead = np.where(start > 0, best[np.maximum(start - 1, 0)], -np.inf)
    mask = np.empty(len(Y), dtype=bool)
    mask[order] = (second > ahead) & (second == best)
    return mask


def pareto_front(Y: Array) -> Array:
    """Return the Pareto front.

    Args:
        Y: Outcomes, ``n x m``.

    Returns:
        The distinct non-dominated points, ``k x m``, by falling first objective.
    """
    front = np.unique(Y[pareto_mask(Y)], axis=0)
    return front[::-1].copy()


def inferred_reference(Y: Array) -> Array:
    """Return a reference point inferred from outcomes: the worst of them, outliers aside, and never above the front.

    A point close below the front counts only what lies inside of it, so that its ends are never sought and a search ends
    on a short piece of the front. The worst outcomes of all points leave room for the ends; those of a few points that are
    far worse than all others do not count (Tukey's fences: 1.5 interquartile ranges below the lower quartile). As a search
    turns to the front the quartiles follow, and the point ends a tenth of the front's extent below its worst values.
    ``benchmarks/several_objectives.py`` compares it with others.

    Args:
        Y: Outcomes, ``n x m``.

    Returns:
        ``m`` values.
    """
    front = pareto_front(Y)
    worst = [_worst_within_fence(column) for column in Y.T]
    return np.minimum(worst, front.min(axis=0) - _BELOW * _extent_of_front(front, Y))


def futile_ends(Y: Array) -> np.ndarray:
    """Return beyond which ends of the front the latest try came to nothing, among the last three results.

    A try beyond an end is a result that is worse in that objective than all points of the front before it. It came to
    nothing if it is dominated; else the front goes on there.

    Args:
        Y: Outcomes in the order they arrived, ``n x m``.

    Returns:
        ``m`` flags: whether the latest try beyond the worst values of the front in each objective was futile. Not set where
        none of the last three results was a try.

    Example:
        >>> import numpy as np
        >>> futile_ends(np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, 0.5]]))
        array([ True, False])
    """
    futile = np.zeros(Y.shape[1], dtype=bool)
    for i in range(max(len(Y) - _LAST, 1), len(Y)):
        front = pareto_front(Y[:i])
        beyond = Y[i] < front.min(axis=0)
        dominated = bool((front >= Y[i]).all(axis=1).any())
        futile = np.where(beyond, dominated, futile)
    return futile


def _worst_within_fence(values: Array) -> float:
    """Return the worst of `n` values, or where those end that are no outliers."""
    # Of distinct values, as most values of a whole number may be equal.
    distinct = np.unique(values)
    lower, upper = np.quantile(distinct, [0.25, 0.75])
    return max(float(distinct[0]), float(lower - _FENCE * (upper - lower)))


def _extent_of_front(front: Array, Y: Array) -> Array:
    """Return the extent of a front, ``m``: that of all outcomes, or else their size, where it has none.

    An outlier that is far better than all other outcomes counts as if it lay within Tukey's fences.
    """
    everywhere = Y.max(axis=0) - Y.min(axis=0)
    inner = np.array([float(np.ptp(np.quantile(np.unique(column), [0.25, 0.75]))) for column in Y.T])
    most = np.where(inner > 0.0, (1.0 + 2.0 * _FENCE) * inner, np.inf)
    size = np.maximum(np.abs(front.min(axis=0)), np.finfo(np.float64).tiny)
    extent = np.ptp(front, axis=0)
    return np.where(
        extent > 0.0, np.minimum(extent, most), np.where(everywhere > 0.0, np.minimum(everywhere, most), size)
    )


def hypervolume(Y: Array, reference: Array) -> float:
    """Return the volume dominated by points above the reference point, exact for any number of objectives.

    For m > 2 by slices along the last objective: between two neighbouring values of it, the volume is that dominated in
    the other objectives by the points at or above the higher one.

    Args:
        Y: Outcomes, ``n x m``.
        reference: Reference point, ``m``.

    Example:
        >>> import numpy as np
        >>> hypervolume(np.array([[1.0, 3.0], [2.0, 2.0]]), np.zeros(2))
        5.0
    """
    reference = np.asarray(reference, dtype=np.float64)
    inside = _outcomes(Y)
    inside = inside[(inside > reference).all(axis=1)]
    if not len(inside):
        return 0.0
    unit = _extent(inside, reference)
    with np.errstate(over="ignore"):
        return float(_volume(pareto_front((inside - reference) / unit), np.zeros(len(unit))) * np.prod(unit))


def _extent(inside: Array, reference: Array) -> Array:
    """Return how far points, ``n x m``, lie above the reference at most, ``m``: units in which products do not overflow."""
    with np.errstate(over="ignore"):
        extent = inside.max(axis=0) - reference
    return np.where(np.isfinite(extent), extent, np.finfo(np.float64).max)


def _volume(front: Array, reference: Array) -> float:
    if front.shape[1] == 1:
        return float(front.max() - reference[0])
    if front.shape[1] == 2:
        below = np.concatenate([[reference[1]], np.maximum.accumulate(front[:, 1])[:-1]])
        return float(((front[:, 0] - reference[0]) * np.maximum(front[:, 1] - below, 0.0)).sum())
    if front.shape[1] == 3:
        return _spatial_volume(front, reference)
    total = 0.0
    for low, high in pairwise([reference[-1], *np.unique(front[:, -1])]):
        above = front[front[:, -1] >= high, :-1]
        total += (high - low) * _volume(pareto_front(above), reference[:-1])
    return total


def _spatial_volume(front: Array, reference: Array) -> float:
    """Return the volume of three objectives, all slices at once; the front is sorted by falling first objective."""
    widths = -np.diff(front[:, 0], append=reference[0])
    heights = np.unique(front[:, 2])
    reached = np.where(front[:, 2] >= heights[:, None], front[:, 1], reference[1])
    areas = (np.maximum.accumulate(reached, axis=1) - reference[1]) @ widths
    return float(areas @ np.diff(heights, prepend=reference[2]))


def hypervolumes(Y: Array, reference: Array) -> Array:
    """Return the hypervolume after each of n points, ``n``, non-decreasing.

    A new point adds its own box above the reference, less what the points before it dominate inside that box. Cut off at
    the box, few of those still matter, so this is much faster than starting over with every point.

    Args:
        Y: Outcomes, ``n x m``, in the order they were observed.
        reference: Reference point, ``m``.
    """
    Y, reference = _outcomes(Y), np.asarray(reference, dtype=np.float64)
    volumes, above = np.zeros(len(Y)), [bool((y > reference).all()) for y in Y]
    if not any(above):
        return volumes
    unit = _extent(Y[np.array(above)], reference)
    shares, origin = (Y / unit - reference / unit), np.zeros(len(unit))
    front, total = Y[:0], 0.0
    for i, (y, counts) in enumerate(zip(shares, above, strict=True)):
        if counts and not (front >= y).all(axis=1).any():
            taken = hypervolume(np.minimum(front, y), origin)
            total += max(float(np.prod(y)) - taken, 0.0)
            front = np.vstack([front[(front > y).any(axis=1)], y])
        volumes[i] = total
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(volumes > 0.0, volumes * np.prod(unit), 0.0)


def planar_boxes(Y: Array, reference: Array) -> tuple[Array, Array]:
    """Return the boxes of the region that points of two objectives do not dominate above the reference point.

    Strips of the first objective: from one point's value up to the next higher one's, and upwards in the second from the
    best of all points on or beyond the strip's upper end. Fronts that have fewer points than others have empty strips.

    Args:
        Y: Outcomes, ``... x n x 2``.
        reference: Reference point, ``2``.

    Returns:
        Lower and upper corners, each ``... x (k + 1) x 2``, with the largest number k of points on a front.
    """
    # A point below the reference in one objective dominates nothing above it.
    inside = _by_falling_first(np.where((reference < Y).all(axis=-1, keepdims=True), Y, reference))
    best = np.maximum.accumulate(inside[..., 1], axis=-1)
    on_front = inside[..., 1] > np.concatenate([np.broadcast_to(reference[1], best[..., :1].shape), best[..., :-1]], -1)
    most = int(on_front.sum(axis=-1).max(initial=0))
    ordered = _by_falling_first(np.where(on_front[..., None], inside, reference))[..., :most, :]
    ends = ordered[..., 0]
    last = np.broadcast_to(reference[0], (*ends.shape[:-1], 1))
    infinite = np.full(last.shape, np.inf)
    best = np.maximum.accumulate(ordered[..., 1], axis=-1)
    floor = np.concatenate([np.broadcast_to(reference[1], last.shape), best], axis=-1)
    lower = np.stack([np.concatenate([ends, last], axis=-1), floor], axis=-1)
    upper_first = np.concatenate([infinite, ends], axis=-1)
    return lower, np.stack([upper_first, np.full(upper_first.shape, np.inf)], axis=-1)


def _by_falling_first(Y: Array) -> Array:
    """Return points, ``... x n x 2``, by falling first objective."""
    return np.take_along_axis(Y, np.argsort(-Y[..., 0], axis=-1)[..., None], axis=-2)


def _outcomes(Y: Array) -> Array:
    Y = np.asarray(Y, dtype=np.float64)
    if Y.ndim != 2 or not np.isfinite(Y).all():
        raise DataError(f"outcomes must be finite and two-dimensional (points x objectives), got shape {Y.shape}")
    return Y
