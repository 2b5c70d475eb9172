"""Quantiles of flat-set distributions: of a measurement piece by piece, of a latent value by Newton's method."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from calibo.data import Array
from calibo.distributions.flat_parts import FlatPart, TailPart
from calibo.distributions.normal import log_density
from calibo.distributions.root import increasing_root


def measured_quantile(u: Array, flat: FlatPart, tail: TailPart, inside: Array, outside: Array) -> Array:
    """Standardised quantiles at levels ``u``, ... x q, exact.

    Args:
        u: Levels, broadcastable to ... x q.
        flat: The part on the set, J intervals.
        tail: The part outside it, J + 1 pieces.
        inside: Probability of the set, ... x q.
        outside: Probability of the complement over the model's own, ... x q.
    """
    start, end = _interleaved(tail.start, flat.low), _interleaved(tail.end, flat.high)
    length = np.where(flat.length > 0.0, flat.length, 1.0)
    slope = np.broadcast_to((inside / length)[..., None], flat.low.shape)
    below = outside[..., None] * (ndtr(tail.end) - ndtr(tail.start))
    mass = _interleaved(below, slope * (flat.high - flat.low))
    top = np.cumsum(mass, axis=-1)
    shape = np.broadcast_shapes(u.shape, top.shape[:-1])
    levels = np.broadcast_to(u, shape)[..., None]
    top = np.broadcast_to(top / top[..., -1:], (*shape, top.shape[-1]))
    # The first segment that reaches the level; empty ones never do before the one behind them.
    k = np.minimum((top < levels).sum(axis=-1, keepdims=True), top.shape[-1] - 1)

    def chosen(a: Array) -> Array:
        return np.take_along_axis(np.broadcast_to(a, (*shape, a.shape[-1])), k, axis=-1)[..., 0]

    a, b, width = chosen(start), chosen(end), chosen(mass)
    left = np.clip(levels[..., 0] - (chosen(top) - width), 0.0, width)
    share = left / np.where(width > 0.0, width, 1.0)
    with np.errstate(invalid="ignore"):
        linear = a + share * (b - a)
    on_set = k[..., 0] % 2 == 1
    # From the nearer side, so that neither tail loses digits.
    upper = a > 0.0
    inner = ndtr(np.where(upper, -b, a)) + np.where(upper, 1.0 - share, share) * (
        ndtr(np.where(upper, -a, b)) - ndtr(np.where(upper, -b, a))
    )
    # At a segment's very end rounding may reach beyond it, even to infinity.
    normal = np.clip(np.where(upper, -ndtri(inner), ndtri(inner)), a, b)
    return np.where(on_set, linear, normal)


def latent_quantile(u: Array, flat: FlatPart, tail: TailPart, log_inside: Array, log_outside: Array) -> Array:
    """Standardised quantiles of V at levels ``u``, broadcast to ... x q: a root in the logarithm of the smaller tail.

    Where u is below one half the distribution of -V is used, so that both tails keep their digits.
    """
    shape = np.broadcast_shapes(u.shape, flat.length.shape)
    u = np.broadcast_to(u, shape)
    lower = u < 0.5
    flat, tail = flat.mirrored(lower), tail.mirrored(lower)
    log_level = np.log(np.where(lower, u, 1.0 - u))
    inside, outside = np.exp(log_inside), np.exp(log_outside)
    first, second = (inside * f + outside * t for f, t in zip(flat.moments, tail.moments, strict=True))
    rho2 = np.square(flat.rho)
    std = np.sqrt(np.maximum(rho2**2 * (second - np.square(first)) + rho2 * np.square(flat.noise), 0.0))

    def log_above(t: Array) -> Array:
        return np.logaddexp(log_inside + flat.log_chance(t), log_outside + tail.log_chance(t))

    def slope(t: Array, excess: Array) -> Array:
        model = log_density(t / flat.rho) - np.log(flat.rho)
        with np.errstate(divide="ignore"):
            outer = log_outside + model + np.log(tail.share(t))
        return np.exp(np.logaddexp(log_inside + flat.log_density(t), outer) - (log_level - excess))

    # Nothing lies beyond 40 std of the model, nor far beyond the set.
    reach = 40.0 + np.broadcast_to(np.abs(np.stack([flat.low, flat.high])).max(axis=(0, -1)), shape)
    start = rho2 * first - std * ndtri(np.exp(log_level))
    t = increasing_root(lambda t: log_level - log_above(t), slope, -reach, reach, np.broadcast_to(start, shape), std)
    return np.where(lower, -t, t)


def _interleaved(outer: Array, inner: Array) -> Array:
    """o_0, i_1, o_1, ..., i_J, o_J along the last axis."""
    joined = np.empty((*outer.shape[:-1], outer.shape[-1] + inner.shape[-1]))
    joined[..., ::2], joined[..., 1::2] = outer, inner
    return joined
