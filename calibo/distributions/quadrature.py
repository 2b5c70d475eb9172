"""Means over the far upper tail of a normal distribution: Gauss-Laguerre for smooth functions, panels for ones that turn quickly."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import roots_genlaguerre

from calibo.data import Array

#: Panel ends in units of the tail's width 1 / h, and around each turn in units of its own width.
_TAIL_PANELS = (0.0, 0.5, 1.0, 2.0, 4.0, 7.0, 11.0, 16.0, 24.0, 38.0)
_TURN_PANELS = (-7.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 7.0)
#: Functions that turn within this many widths of the tail, or more slowly, are smooth to Gauss-Laguerre (error 1e-9).
_SMOOTH = 1.2


def tail_mean(function: Callable[..., Array], h: Array, turns: Array, width: Array, power: int) -> Array:
    """Mean of a function of x over x > h with density proportional to (x - h)^power phi(x), m.

    Args:
        function: (x, m x N; rows) -> m x N, of those rows only.
        h: Lower limits, m, positive.
        turns: Where the function turns, m x T.
        width: How quickly it turns there, m.
        power: 0 or 1.
    """
    y, weights = _laguerre(power)
    density = weights * np.exp(-0.5 * np.square(y / h[:, None]))
    mean = (density * function(h[:, None] + y / h[:, None])).sum(axis=1) / density.sum(axis=1)
    quick = np.flatnonzero(width * h < _SMOOTH)
    if len(quick):
        x, density = tail_nodes(h[quick], turns[quick], width[quick])
        density = density * (x - h[quick, None]) ** power
        mean[quick] = (density * function(x, quick)).sum(axis=1) / density.sum(axis=1)
    return mean


@lru_cache(maxsize=2)
def _laguerre(power: int) -> tuple[Array, Array]:
    """Nodes and weights for y^power exp(-y) over y > 0, without those that weigh nothing."""
    y, weights = roots_genlaguerre(48, float(power))
    kept = weights > 1e-20
    return y[kept], weights[kept]


@lru_cache(maxsize=1)
def _gauss_legendre() -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(10)


def panel_nodes(start: Array, end: Array) -> tuple[Array, Array]:
    """Nodes in intervals [start, end], m x K, and weights of integrals over all K, each m x N; N = 0 without intervals."""
    nodes, weights = _gauss_legendre()
    # Eight panels resolve any normal density over an interval of little mass.
    share = np.linspace(0.0, 1.0, 9)
    edges = start[..., None] + (end - start)[..., None] * share
    half = 0.5 * np.diff(edges, axis=-1)[..., None]
    x = 0.5 * (edges[..., 1:] + edges[..., :-1])[..., None] + half * nodes
    m = len(start)
    return x.reshape(m, -1), np.broadcast_to(half * weights, x.shape).reshape(m, -1)


def tail_nodes(h: Array, turns: Array, width: Array) -> tuple[Array, Array]:
    """Nodes x > h, m x N, and weights with sum_i w_i F(x_i) = the integral of F(x) phi(x) / phi(h) over x > h.

    Args:
        h: Lower limits, m, positive.
        turns: Where F turns, m x T; infinite ones are left out.
        width: How quickly it turns there, m.
    """
    length = _TAIL_PANELS[-1] / h
    inside = np.where(np.isfinite(turns), turns, 0.0) - h[:, None]
    around = inside[:, :, None] + width[:, None, None] * np.asarray(_TURN_PANELS)
    tail = np.asarray(_TAIL_PANELS) / h[:, None]
    edges = np.sort(np.concatenate([tail, around.reshape(len(h), -1)], axis=1), axis=1)
    edges = np.clip(edges, 0.0, length[:, None])
    nodes, weights = _gauss_legendre()
    half = 0.5 * np.diff(edges, axis=1)
    offset = (0.5 * (edges[:, 1:] + edges[:, :-1]))[..., None] + half[..., None] * nodes
    # phi(h + o) / phi(h), which neither under- nor overflows for positive h.
    density = np.exp(-offset * (h[:, None, None] + 0.5 * offset))
    return (h[:, None, None] + offset).reshape(len(h), -1), (half[..., None] * weights * density).reshape(len(h), -1)
