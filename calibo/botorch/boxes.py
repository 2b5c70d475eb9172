"""Box decompositions by BoTorch, for Pareto fronts of three and more objectives."""

# pyright: reportMissingImports=false
from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np
import torch
from botorch.utils.multi_objective.box_decompositions.non_dominated import FastNondominatedPartitioning

from calibo.data import Array


def partitioned(Y: Array, reference: Array) -> tuple[Array, Array]:
    """Return the boxes of the region that points do not dominate above the reference point.

    By Lacour et al. 2017, as BoTorch implements it; one front after the other, since they differ in their number of boxes.

    Args:
        Y: Outcomes, ``... x n x m``.
        reference: Reference point, ``m``.

    Returns:
        Lower and upper corners, each ``... x K x m``.
    """
    fronts = np.asarray(Y, dtype=np.float64).reshape(prod(Y.shape[:-2]), *Y.shape[-2:])
    reference = np.asarray(reference, dtype=np.float64)
    shape = fronts.shape[1:]
    found = [_one(np.ascontiguousarray(front).tobytes(), shape, reference.tobytes()) for front in fronts]
    most = max(len(lower) for lower, _ in found)
    # An empty box has its upper corner where its lower one is.
    lower, upper = (np.tile(reference, (len(found), most, 1)) for _ in range(2))
    for i, (low, high) in enumerate(found):
        lower[i, : len(low)], upper[i, : len(high)] = low, high
    return lower.reshape(*Y.shape[:-2], most, -1), upper.reshape(*Y.shape[:-2], most, -1)


@lru_cache(maxsize=512)
def _one(front: bytes, shape: tuple[int, int], reference: bytes) -> tuple[Array, Array]:
    """Return the boxes of one front; cached, since acquisition functions are rebuilt with the same samples of the front."""
    Y, r = np.frombuffer(front).reshape(shape).copy(), np.frombuffer(reference).copy()
    lower, upper = FastNondominatedPartitioning(torch.as_tensor(r), Y=torch.as_tensor(Y)).get_hypercell_bounds()
    return lower.numpy(), upper.numpy()
