"""The expected improvement of a flat-set distribution in one pass: both parts share their terms, which makes small batches quick.

The same formulas as ``FlatPart`` and ``TailPart``, with their logarithms taken only where thresholds are far out; rows
where digits could be lost are marked, and those are the parts' own affair. Notation as there. Inside, arrays of ends are
2 x J x m, the lower ends first, so that what belongs to points broadcasts by itself.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, owens_t

from calibo.data import Array
from calibo.distributions.flat_parts import CERTAIN, far_tail
from calibo.distributions.normal import log_first_integral

_SQRT_2PI = np.sqrt(2.0 * np.pi)
_TINY = np.finfo(np.float64).tiny
#: Of smaller improvements (in std of the measurement) G would lose digits, by cancellation of its two terms.
_SMALLEST = 1e-45
#: Thresholds up to so many std of V are not far out.
_NEAR = 5.0
#: Narrower intervals (in z) and less mass outside them need more care.
_LEAST_WIDTH, _LEAST_MASS = 0.05, 1e-6
#: Moves zeros, and nothing else, so that ratios have a limit.
_OFF_ZERO = 1e-200


def log_improvement(
    t: Array, low: Array, high: Array, rho: Array, r: Array, inside: Array | float
) -> tuple[Array, np.ndarray]:
    """log E (V - t)_+, m, and where it is exact to about ten digits, for m points.

    Args:
        t: Thresholds, standardised, m.
        low: Lower ends of the intervals, standardised, m x J.
        high: Upper ends.
        rho: m.
        r: m, positive.
        inside: Probability of the set, a number or m.
    """
    h = t / rho
    k = np.empty((2, low.shape[1], len(h)))
    k[0], k[1] = low.T, high.T
    far = h > _NEAR
    if not np.count_nonzero(far):
        return _one_pass(h, k, rho, r, inside)
    top = k[1, -1]
    beyond = far & (rho * h - top > r * np.hypot(CERTAIN, top))
    value, safe = np.empty(len(h)), np.empty(len(h), dtype=bool)
    inside = inside + np.zeros(len(h))
    for rows, found in ((beyond.nonzero()[0], _beyond), ((~beyond).nonzero()[0], _one_pass)):
        if len(rows):
            chosen = (a.take(rows) for a in (rho, r, inside))
            value[rows], safe[rows] = found(h.take(rows), k.take(rows, axis=2), *chosen)
    return value, safe


def _beyond(h: Array, k: Array, rho: Array, r: Array, inside: Array) -> tuple[Array, np.ndarray]:
    """The same where V > t puts Y above the set for certain: the model's own, times what its mass there was changed by.

    The flat part is phi(z(u)) / phi(h) < exp(-CERTAIN^2 / 2) of it, but for the parts' masses, and is left out:
    z(u)^2 - h^2 = (rho h - u)^2 / r^2 - u^2. So is r, which then does not matter.
    """
    above = ndtr(-k)
    mass = 1.0 + _total(above[1] - above[0])
    outside = 1.0 - inside * (_total(k[1] - k[0]) > _TINY)
    share = np.maximum(outside, _LEAST_MASS) / np.maximum(mass, _LEAST_MASS)
    return np.log(share * rho) + log_first_integral(-h), (mass > _LEAST_MASS) & (outside > _LEAST_MASS)


def _one_pass(h: Array, k: Array, rho: Array, r: Array, inside: Array | float) -> tuple[Array, np.ndarray]:
    """The same by both parts at once, for ends 2 x J x m."""
    length = k[1] - k[0]
    total = _total(length)
    inverse_r = 1.0 / r
    slope = rho * inverse_r
    wide = slope * length >= _LEAST_WIDTH
    ordinary = np.count_nonzero(wide) == wide.size
    if not ordinary:
        # Empty intervals do no harm, short ones do.
        wide |= length <= 0.0
        some = total > _TINY
        inside, total = np.where(some, inside, 0.0), np.where(some, total, 1.0)
    z = slope * k - h * inverse_r
    above_k = ndtr(-k)
    mass = np.maximum(1.0 + _total(above_k[1] - above_k[0]), _LEAST_MASS)
    below_z, minus_half_square = ndtr(z), -0.5 * (z * z)
    # G(z) = [(z^2 + 1) Phi(z) + z phi(z)] / 2.
    G = (0.5 - minus_half_square) * below_z + (0.5 / _SQRT_2PI) * (z * np.exp(minus_half_square))
    # (rho r) sum_j [G(z(u_j)) - G(z(l_j))] / (z(u_j) - z(l_j)) times j's share of the length.
    flat = r * r * _total(G[1] - G[0]) / total
    tail = _tail(np.minimum(h, _NEAR), k, rho, inverse_r, below_z, above_k)
    far = (h > _NEAR).nonzero()[0]
    if len(far):
        tail[far] = rho[far] * np.exp(far_tail(h[far], *_pieces(k[:, :, far]), rho[far], r[far], power=1))
    value = inside * flat + (1.0 - inside) / mass * tail
    # What is too small for this is left to logarithms.
    safe = (value > _SMALLEST) & (mass > _LEAST_MASS)
    if not ordinary:
        safe &= wide.all(axis=0)
    return np.log(np.maximum(value, _SMALLEST)), safe


def _total(a: Array) -> Array:
    """Sum over the intervals, J x m -> m, without the cost of a sum where there is one interval only."""
    return a[0] if len(a) == 1 else a.sum(axis=0)


def _tail(h: Array, k: Array, rho: Array, inverse_r: Array, below_z: Array, above_k: Array) -> Array:
    """E (V - t)_+ 1{Y outside the intervals}, m: all there is, without what lies within them.

    P(X > h, Y > k) by Owen's T function, without the terms that do not depend on k: those of both ends cancel.
    """
    h, k = h + _OFF_ZERO, k + _OFF_ZERO
    k_r, slope = k * inverse_r, rho * inverse_r
    density_h = np.exp(-0.5 * (h * h)) / _SQRT_2PI
    turned = owens_t(h, k_r / h - slope) + owens_t(k, h * inverse_r / k - slope)
    orthant = 0.5 * above_k - turned + np.copysign(0.25, h * k)
    gain = density_h * ndtr(slope * h - k_r) - h * orthant
    gain += (rho / _SQRT_2PI) * np.exp(-0.5 * (k * k)) * below_z
    return rho * (density_h - h * ndtr(-h) + _total(gain[1] - gain[0]))


def _pieces(k: Array) -> tuple[Array, Array]:
    """Starts and ends of the complement's pieces, each m x (J + 1), from ends 2 x J x m."""
    infinite = np.full((1, k.shape[2]), np.inf)
    return np.concatenate([-infinite, k[1]]).T, np.concatenate([k[0], infinite]).T
