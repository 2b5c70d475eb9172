"""Batches that share points, with each point once, so that models predict it once."""

from __future__ import annotations

import numpy as np

from calibo.data import Array


def distinct_points(X: Array) -> tuple[Array, np.ndarray]:
    """Return the distinct points of batches; points that all batches share (the pending ones) occur once.

    Args:
        X: `... x q x d` points.

    Returns:
        The points, `p x d`, and an index, `... x q`, with `points[index] == X`.
    """
    if X.ndim == 2:
        return X, np.arange(len(X))
    if not X.size:
        return X.reshape(0, X.shape[-1]), np.zeros(X.shape[:-1], dtype=np.intp)
    sets = X.reshape(-1, *X.shape[-2:])
    count, q, d = sets.shape
    shared = (sets == sets[:1]).all(axis=(0, 2))
    own = sets[:, ~shared].reshape(-1, d)
    index = np.empty((count, q), dtype=np.intp)
    index[:, ~shared] = np.arange(len(own)).reshape(count, int((~shared).sum()))
    index[:, shared] = len(own) + np.arange(int(shared.sum()))
    return np.vstack([own, sets[0, shared]]), index.reshape(X.shape[:-1])
