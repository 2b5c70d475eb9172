"""Climbing an acquisition function from many starts at once with L-BFGS-B and central differences."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from calibo.candidates.base import Acquisition
from calibo.data import Array

#: Step of the central differences: truncation and rounding errors are both about 1e-10 for smooth acquisitions.
_STEP = 1e-5
#: A step that gains less than this, in units of the slope at the starts (and of all gained so far), is the last one.
_LEAST_GAIN = 1e-7
#: Stands for values that are not finite, so that one bad start cannot stop the others.
_WORST = -1e10


def central_differences(acquisition: Acquisition, X: Array, columns: np.ndarray) -> tuple[Array, Array]:
    """Values, R, and gradients in some columns, R x c, at points R x d, in one call of R (1 + 2c) points."""
    values, gradient, _ = _differences(acquisition, X, columns)
    return values, gradient


def _differences(acquisition: Acquisition, X: Array, columns: np.ndarray) -> tuple[Array, Array, np.ndarray]:
    """The same, and which values were finite, R: others are replaced by very small or large ones."""
    count, d = X.shape
    c = len(columns)
    above, below = np.minimum(X[:, columns] + _STEP, 1.0), np.maximum(X[:, columns] - _STEP, 0.0)
    shifted = np.repeat(X[:, None, :], 2 * c + 1, axis=1)
    index = np.arange(1, c + 1)
    shifted[:, index, columns] = above
    shifted[:, index + c, columns] = below
    values = acquisition(shifted.reshape(-1, d)).reshape(count, 2 * c + 1)
    finite = np.isfinite(values)
    if not finite.all():
        values = np.nan_to_num(values, nan=_WORST, posinf=-_WORST, neginf=_WORST)
    return values[:, 0], (values[:, 1 : 1 + c] - values[:, 1 + c :]) / (above - below), finite[:, 0]


def ascend(acquisition: Acquisition, X: Array, columns: np.ndarray, iterations: int) -> Array:
    """Points, R x d, moved uphill in some columns; the starts share one L-BFGS-B run on the sum of their values.

    The sum separates over the starts, so its maximum is every start's own; one run needs one vectorised call per step.
    """
    if not len(columns) or not len(X):
        return X
    count, c = len(X), len(columns)
    start_values, start_gradient, finite = _differences(acquisition, X, columns)
    if not finite.all():
        moved = X.copy()
        moved[finite] = ascend(acquisition, X[finite], columns, iterations)
        return moved
    start = X[:, columns].ravel()
    # In units of its own slope the search does not depend on the outcomes' size.
    scale = float(np.median(np.abs(start_gradient).max(axis=1))) or 1.0

    def placed(flat: Array) -> Array:
        points = X.copy()
        points[:, columns] = flat.reshape(count, c)
        return points

    def objective(flat: Array) -> tuple[float, Array]:
        # The run begins with what is known already.
        known = np.array_equal(flat, start)
        values, gradient = (
            (start_values, start_gradient) if known else central_differences(acquisition, placed(flat), columns)
        )
        # Gains, not heights: a constant added to the acquisition must not change when the climb counts as finished.
        return -float(((values - start_values) / scale).sum()), -gradient.ravel() / scale

    result = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * (count * c),
        options={"maxiter": iterations, "ftol": _LEAST_GAIN, "gtol": 1e-5, "maxcor": 10},
    )
    moved = placed(np.clip(result.x, 0.0, 1.0))
    better = acquisition(moved) >= start_values
    return np.where(better[:, None], moved, X)
