"""Nodes for integrals over the far upper tail of a normal law, with panels where the integrand turns."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from calibo.data import Array

#: Panel ends in units of the tail's width 1 / h, and around each turn in units of its own width.
_TAIL_PANELS = (0.0, 0.5, 1.0, 2.0, 4.0, 7.0, 11.0, 16.0, 24.0, 38.0)
_TURN_PANELS = (-7.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 7.0)


@lru_cache(maxsize=1)
def _gauss_legendre() -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(10)


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
