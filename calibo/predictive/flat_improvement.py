"""The expected improvement of a flat-set law in one pass: both parts share their terms, which makes small batches quick.

The same formulas as ``FlatPart`` and ``TailPart``, with their logarithms taken only where thresholds are far out; rows
where digits could be lost are marked, and those are the parts' own affair. Notation as there.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from calibo.data import Array
from calibo.predictive.flat_parts import far_tail
from calibo.predictive.normal import second_integral, upper_orthant

_SQRT_2PI = np.sqrt(2.0 * np.pi)
_TINY = np.finfo(np.float64).tiny
#: Smaller improvements (in sd of the measurement) are near the end of what floating point numbers hold.
_SMALLEST = 1e-200
#: Thresholds up to so many sd of V are not far out.
_NEAR = 5.0
#: Narrower intervals (in z) and less mass outside them need more care.
_LEAST_WIDTH, _LEAST_MASS = 0.05, 1e-6


def log_improvement(t: Array, low: Array, high: Array, rho: Array, r: Array, inside: Array) -> tuple[Array, np.ndarray]:
    """log E (V - t)_+, m, and where it is exact to about ten digits, for m points.

    Args:
        t: Thresholds, standardised, m.
        low: Lower ends of the intervals, standardised, m x J.
        high: Upper ends.
        rho: m.
        r: m, positive.
        inside: Probability of the set, m.
    """
    h = t / rho
    length = high - low
    total = _total(length)
    some = total > _TINY
    if not some.all():
        inside, total = np.where(some, inside, 0.0), np.where(some, total, 1.0)
    # Both ends of all intervals side by side: the lower ones first.
    k = np.concatenate([low, high], axis=1)
    above_k = ndtr(-k)
    J = low.shape[1]
    mass = 1.0 + _total(above_k[:, J:] - above_k[:, :J])
    z = (rho[:, None] * k - h[:, None]) / r[:, None]
    width = z[:, J:] - z[:, :J]
    # By its length, as the ends of a short interval may have one z.
    narrow = (width < _LEAST_WIDTH) & (length > 0.0)
    safe = (mass > _LEAST_MASS) & ~(narrow[:, 0] if J == 1 else narrow.any(axis=1))
    # An empty interval has no share; its width only must not be 0.
    weight = length / total[:, None] / np.maximum(width, _TINY)
    outside = (1.0 - inside) / np.maximum(mass, _LEAST_MASS)
    G = second_integral(z)
    flat = rho * r * _total(weight * (G[:, J:] - G[:, :J]))
    tail = _tail(np.minimum(h, _NEAR), k, rho, r, z, above_k)
    rows = np.flatnonzero(h > _NEAR)
    if len(rows):
        pieces = _pieces(low[rows], high[rows])
        tail[rows] = rho[rows] * np.exp(far_tail(h[rows], *pieces, rho[rows], r[rows], power=1))
    value = inside * flat + outside * tail
    # What is too small for this is left to logarithms.
    safe &= value > _SMALLEST
    return np.log(np.maximum(value, _SMALLEST)), safe


def _total(a: Array) -> Array:
    """Sum over the last axis, m x J -> m, without the cost of a sum where there is one interval only."""
    return a[:, 0] if a.shape[1] == 1 else a.sum(axis=1)


def _tail(h: Array, k: Array, rho: Array, r: Array, z: Array, above_k: Array) -> Array:
    """E (V - t)_+ 1{Y outside the intervals}, m: all there is, without what lies within them."""
    J = k.shape[1] // 2
    h, rho_k, r = h[:, None], rho[:, None], r[:, None]
    density_k, density_h = np.exp(-0.5 * (k * k)) / _SQRT_2PI, np.exp(-0.5 * (h * h)) / _SQRT_2PI
    above_h = ndtr(-h)
    orthant = upper_orthant(h, k, rho_k, r, above_h, above_k)
    gain = density_h * ndtr((rho_k * h - k) / r) + rho_k * density_k * ndtr(z) - h * orthant
    whole = density_h[:, 0] - h[:, 0] * above_h[:, 0]
    return rho * (whole + _total(gain[:, J:] - gain[:, :J]))


def _pieces(low: Array, high: Array) -> tuple[Array, Array]:
    """Starts and ends of the complement's pieces, each m x (J + 1)."""
    infinite = np.full((len(low), 1), np.inf)
    return np.concatenate([-infinite, high], axis=1), np.concatenate([low, infinite], axis=1)
