"""Monotone level maps from the states of online recalibrators: isotonic projections, kept within the long-run bound."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from calibo.data import Array

#: Rounding allowed for when errors are compared with the bound.
_DUST = 1e-9
#: Levels closer than this are one pool.
_ONE_POOL = 1e-6
#: Up to this many rows are projected faster one by one.
_FEW_ROWS = 16


def isotonic_projection(values: Array) -> Array:
    """Return the non-decreasing vector nearest to `values` in least squares, K (pool adjacent violators)."""
    return np.array(pooled_adjacent(values.tolist()))


def pooled_adjacent(values: list[float]) -> list[float]:
    """Return the non-decreasing list nearest to a short list of plain numbers in least squares."""
    if sorted(values) == values:
        return list(values)
    sums, counts = list[float](), list[int]()
    for value in values:
        total, count = value, 1
        while sums and sums[-1] * count > total * counts[-1]:
            total, count = total + sums.pop(), count + counts.pop()
        sums.append(total)
        counts.append(count)
    return [mean for total, count in zip(sums, counts, strict=True) for mean in [total / count] * count]


def isotonic_rows(values: Array) -> Array:
    """Return the isotonic projection of each row, `... x K`, without a loop over many rows (min-max formula).

    The projection at k is the largest over i <= k of the smallest over j >= k of the mean of values i, ..., j.
    """
    rows = values.reshape(-1, values.shape[-1])
    crossing = np.flatnonzero((np.diff(rows) < 0.0).any(axis=-1))
    projected = rows.copy()
    if crossing.size <= _FEW_ROWS:
        for row in crossing:
            projected[row] = isotonic_projection(rows[row])
        return projected.reshape(values.shape)
    # Levels first, so that every step below is one operation on all rows.
    wrong = np.ascontiguousarray(rows[crossing].T)
    size = len(wrong)
    sums = np.concatenate([np.zeros((1, wrong.shape[1])), np.cumsum(wrong, axis=0)])
    best = np.full_like(wrong, -np.inf)
    for i in range(size):
        means = (sums[i + 1 :] - sums[i]) / np.arange(1, size - i + 1)[:, None]
        for j in range(size - i - 2, -1, -1):
            np.minimum(means[j], means[j + 1], out=means[j])
        np.maximum(best[i:], means, out=best[i:])
    # Means of the same block differ by rounding.
    projected[crossing] = np.maximum.accumulate(best, axis=0).T
    return projected.reshape(values.shape)


def spread_pools(p: Array, r: Array) -> Array:
    """Return a strictly increasing map: levels that a projection gave the same value are spread between their neighbours.

    A pool of levels keeps its value at its middle, and values are interpolated between the middles of neighbouring pools, and
    the ends (0, 0) and (1, 1). Levels that are distinct and stand alone keep their values. Neighbours that differ by less
    than 1e-6 are in the same pool.

    Args:
        p: Calibrated levels, K, inside (0, 1).
        r: The model's levels, `... x K`, non-decreasing, inside (0, 1).
    """
    rises = np.diff(r, axis=-1) > _ONE_POOL
    if rises.all():
        return r
    edge, index = np.ones((*r.shape[:-1], 1), dtype=bool), np.arange(p.size)
    first = np.maximum.accumulate(np.where(np.concatenate([edge, rises], axis=-1), index, 0), axis=-1)
    ends = np.where(np.concatenate([rises, edge], axis=-1), index, p.size - 1)
    last = np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1]
    middle = 0.5 * (p[first] + p[last])
    # The middle of the neighbouring pool on the side of each level, and its value.
    lower = p <= middle
    known_p = np.concatenate([0.0 * edge, middle, 0.0 * edge + 1.0], axis=-1)
    known_r = np.concatenate([0.0 * edge, r, 0.0 * edge + 1.0], axis=-1)
    other = np.where(lower, first, last + 2)
    other_p, other_r = np.take_along_axis(known_p, other, axis=-1), np.take_along_axis(known_r, other, axis=-1)
    return r + (other_r - r) * (p - middle) / (other_p - middle)


def within_bound(hidden: Array, played: Array, p: Array, eta: float) -> Array:
    """Return the map, K, changed where some outcome could violate the bound (1 + eta) / (eta T).

    The projection alone does not keep the bound once eta is about 2 or more: two close levels that one outcome made
    cross stay pooled, and while their mean is held inside the bound one of them can leave it. In units of eta,
    e = (h - p) / eta is a level's missing hits, which must stay within c = 1 + 1 / eta. An outcome that hits exactly the
    levels from j on is *safe* if afterwards, at every later time s, no lower level will need more hits, at least
    e_k + p_k s - c, than a higher level may have, at most e_l + p_l s + c (a hit of the lower is one of the higher).
    Levels between outcomes that are not safe get the same value, so that no outcome falls between them.
    """
    error, c = (hidden - p) / eta, 1.0 + 1.0 / eta
    if np.abs(error).max() <= c - 1.0:
        return played
    gaps = np.arange(p.size + 1)
    low, high = np.concatenate([[-np.inf], played]), np.concatenate([played, [np.inf]])
    open_ = (low < high) & (low < 1.0) & (high >= 0.0)
    after = error + p - (np.arange(p.size) >= gaps[:, None])
    safe = _bearable(after, p, c)
    if safe[open_].all():
        return played
    allowed = gaps[open_ & safe]
    if not allowed.size:
        largest = np.abs(after).max(axis=1) + np.where(safe, 0.0, 1e3)
        allowed = gaps[[np.argmin(largest)]]
    changed = played.copy()
    changed[: allowed[0]] = np.minimum(played[: allowed[0]], -_DUST)
    changed[allowed[-1] :] = np.maximum(played[allowed[-1] :], 1.0 + _DUST)
    for start, stop in pairwise(allowed):
        changed[start:stop] = np.clip(played[start:stop].mean(), 0.0, 1.0)
    return changed


def _bearable(error: Array, p: Array, c: float) -> np.ndarray:
    """Return whether, for each row of missing hits, `J x K`, the bounds of all levels can be kept together later on, J."""
    closest = float(np.diff(p).min()) if p.size > 1 else 1.0
    steps = np.arange(min(int(2.0 / closest) + 2, 400))
    expected = error[:, :, None] + p[:, None] * steps
    needed = np.maximum.accumulate(np.maximum(np.ceil(expected - c - _DUST), 0.0), axis=1)
    bearable = np.minimum(np.floor(expected + c + _DUST), steps)
    bearable = np.minimum.accumulate(bearable[:, ::-1], axis=1)[:, ::-1]
    return np.asarray((needed <= bearable).all(axis=(1, 2)))
