"""BoTorch's box decompositions, for fronts of three and more objectives."""

from __future__ import annotations

import numpy as np
import torch
from botorch.utils.multi_objective.box_decompositions.non_dominated import FastNondominatedPartitioning

from calibo.data import Array


def partitioned(Y: Array, reference: Array) -> tuple[Array, Array]:
    """Boxes of what points, ... x n x m, do not dominate above the reference point, m: corners ... x K x m.

    By Lacour et al. 2017, as BoTorch has it; one front after the other, since they differ in their number of boxes.
    """
    fronts = Y.reshape(-1, *Y.shape[-2:])
    found = [_one(front, reference) for front in fronts]
    most = max(len(lower) for lower, _ in found)
    shape = (len(found), most, len(reference))
    # An empty box has its upper corner where its lower one is.
    lower, upper = np.broadcast_to(reference, shape).copy(), np.broadcast_to(reference, shape).copy()
    for i, (low, high) in enumerate(found):
        lower[i, : len(low)], upper[i, : len(high)] = low, high
    return lower.reshape(*Y.shape[:-2], most, -1), upper.reshape(*Y.shape[:-2], most, -1)


def _one(front: Array, reference: Array) -> tuple[Array, Array]:
    partition = FastNondominatedPartitioning(torch.as_tensor(reference), Y=torch.as_tensor(np.array(front)))
    lower, upper = partition.get_hypercell_bounds()
    return lower.numpy(), upper.numpy()
