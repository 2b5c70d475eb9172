"""Boxes of what a front does not dominate: in the core for two objectives, by BoTorch for three and more."""

from __future__ import annotations

import numpy as np

from calibo.data import Array
from calibo.errors import MissingExtra
from calibo.pareto import planar_boxes


def nondominated_boxes(Y: Array, reference: Array) -> tuple[Array, Array]:
    """Disjoint boxes that fill what points, ... x n x m, do not dominate above the reference point, m.

    Args:
        Y: Values that are reached, larger is better; with a leading dimension, one front for each draw.
        reference: m.

    Returns:
        Lower and upper corners, each ... x K x m; upper corners may be infinite. Of several fronts those with fewer boxes
        are filled up with empty ones.
    """
    if len(reference) == 2:
        return planar_boxes(Y, np.asarray(reference))
    if len(reference) < 2:
        raise ValueError("boxes are for two objectives and more")
    try:
        from calibo.botorch.boxes import partitioned
    except ImportError:
        raise MissingExtra(
            f"{len(reference)} objectives need BoTorch's box decompositions, which are not installed: "
            "pip install 'calibo[botorch]'"
        ) from None
    return partitioned(Y, np.asarray(reference))
