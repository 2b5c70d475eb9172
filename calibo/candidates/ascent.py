"""Climbing an acquisition function from many starts at once with L-BFGS-B and central differences."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from calibo.candidates.base import Acquisition
from calibo.data import Array

#: Step of the central differences: truncation and rounding errors are both about 1e-10 for smooth acquisitions.
_STEP = 1e-5
#: Stands for values that are not finite, so that one bad start cannot stop the others.
_WORST = -1e10


def central_differences(acquisition: Acquisition, X: Array, columns: np.ndarray) -> tuple[Array, Array]:
    """Values, R, and gradients in some columns, R x c, at points R x d, in one call of R (1 + 2c) points."""
    count, d = X.shape
    c = len(columns)
    shifted = np.repeat(X[:, None, :], 2 * c + 1, axis=1)
    index = np.arange(c)
    shifted[:, 1 + index, columns] = np.minimum(shifted[:, 1 + index, columns] + _STEP, 1.0)
    shifted[:, 1 + c + index, columns] = np.maximum(shifted[:, 1 + c + index, columns] - _STEP, 0.0)
    width = shifted[:, 1 + index, columns] - shifted[:, 1 + c + index, columns]
    values = acquisition(shifted.reshape(-1, d)).reshape(count, 2 * c + 1)
    if not np.isfinite(values).all():
        values = np.nan_to_num(values, nan=_WORST, posinf=-_WORST, neginf=_WORST)
    return values[:, 0], (values[:, 1 : 1 + c] - values[:, 1 + c :]) / width


def ascend(acquisition: Acquisition, X: Array, columns: np.ndarray, iterations: int) -> Array:
    """Points, R x d, moved uphill in some columns; the starts share one L-BFGS-B run on the sum of their values.

    The sum separates over the starts, so its maximum is every start's own; one run needs one vectorised call per step.
    """
    if not len(columns) or not len(X):
        return X
    finite = np.isfinite(acquisition(X))
    if not finite.all():
        moved = X.copy()
        moved[finite] = ascend(acquisition, X[finite], columns, iterations)
        return moved
    count, c = len(X), len(columns)
    start_values, start_gradient = central_differences(acquisition, X, columns)
    # In units of its own slope the search does not depend on the outcomes' size.
    scale = float(np.median(np.abs(start_gradient).max(axis=1))) or 1.0

    def objective(flat: Array) -> tuple[float, Array]:
        points = X.copy()
        points[:, columns] = flat.reshape(count, c)
        values, gradient = central_differences(acquisition, points, columns)
        # Gains, not heights: a constant added to the acquisition must not change when the climb counts as finished.
        return -float(((values - start_values) / scale).sum()), -gradient.ravel() / scale

    result = minimize(
        objective,
        X[:, columns].ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * (count * c),
        options={"maxiter": iterations, "ftol": 1e-8, "gtol": 1e-5, "maxcor": 10},
    )
    moved = X.copy()
    moved[:, columns] = np.clip(result.x.reshape(count, c), 0.0, 1.0)
    better = acquisition(moved) >= start_values
    return np.where(better[:, None], moved, X)
