"""Leave-one-out predictions of a Gaussian process whose hyperparameters, too, have not seen the outcome that is left out.

Leave-one-out predictions in closed form keep the hyperparameters of all data. Where few points decide these (the far ones,
once a search has converged elsewhere), they have been fitted to the very outcomes that they then predict, and such
predictions look better than those of new points will be. Refits without each point are honest and cost n fits. One Newton
step from the hyperparameters of all data costs a few matrix products for all n points together, and comes close.

Notation: Q = A^-1 - A^-1 1 1' A^-1 / (1' A^-1 1), the precision with the constant mean estimated, a = Q y, q = diag(Q), and
A_j the derivative of A in raw hyperparameter j. Left out, y_i is predicted with error r_i = a_i / q_i and variance
1 / q_i. Without y_i the log likelihood lacks log p(y_i | others), of gradient g_i, so that its maximum lies near H^-1 g_i
away, with H the information of all data (Fisher's, and the prior's). dQ = -Q A_j Q gives all derivatives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibo.data import Array

if TYPE_CHECKING:
    from calibo.models.gp_posterior import Posterior

#: With more outcomes, hyperparameters are kept: the matrix products would cost more than the rest of a fit.
MOST_OUTCOMES = 100
#: With fewer there is too little to take away from.
_FEWEST_OUTCOMES = 4
#: Longest step, in standard deviations of the hyperparameters: beyond, their posterior is not known to be quadratic.
_LONGEST = 2.0
#: Least share of the information that is taken to be left without an outcome.
_LEAST_LEFT = 0.25
#: Largest change of the logarithm of a variance.
_MOST_CHANGE = 3.0


def jackknifed(posterior: Posterior, precision: Array) -> tuple[Array, Array]:
    """Predict each measurement from the others, with hyperparameters fitted to the others to first order.

    Args:
        posterior: A Gaussian process of n outcomes with a constant mean.
        precision: Precisions a priori of the logarithms of length scales, output scale and noise, d + 2; infinite for those
            that were not fitted, which are kept.

    Returns:
        Means and standard deviations of the standardized outcomes, both n.
    """
    z, plain = posterior.units.forward(posterior.y), posterior.precision_diagonal
    whole = posterior.inverse_cholesky.T @ posterior.inverse_cholesky
    ones = whole.sum(axis=1)
    Q = whole - np.outer(ones, ones / ones.sum())
    a, q = Q @ z, np.diagonal(Q)
    fitted = np.isfinite(precision)
    moved = Q @ _derivatives(posterior)[fitted]
    # Derivatives of -a and -q, n x p.
    of_a, of_q = (moved @ a).T, np.einsum("jab,ba->aj", moved, Q)
    error, relative = a / q, of_q / q[:, None]
    gradient = (a / q)[:, None] * of_a - 0.5 * (1.0 + a * error)[:, None] * relative
    flat = (len(moved), q.size**2)
    fisher = 0.5 * moved.reshape(flat) @ moved.transpose(0, 2, 1).reshape(flat).T
    step = _steps(gradient, fisher + np.diag(precision[fitted]))
    error = error + np.einsum("ij,ij->i", step, error[:, None] * relative - of_a / q[:, None])
    change = np.clip(np.einsum("ij,ij->i", step, relative), -_MOST_CHANGE, _MOST_CHANGE)
    # What such a model says of its own spread does not include that of the estimated mean.
    return z - error, np.sqrt(np.exp(change) / plain)


def suits(posterior: Posterior) -> bool:
    """Return whether the outcomes of a posterior are neither too few nor too many."""
    return _FEWEST_OUTCOMES <= len(posterior.y) <= MOST_OUTCOMES


def _steps(gradient: Array, information: Array) -> Array:
    """Return how hyperparameters move without each outcome, `n x p`, given the gradients of what it adds, `n x p`."""
    step = -np.linalg.solve(information, gradient.T).T
    taken = -np.einsum("ij,ij->i", step, gradient)
    # The information without the outcome is less by the outer product of its gradient.
    step /= np.maximum(1.0 - taken, _LEAST_LEFT)[:, None]
    length = np.sqrt(np.einsum("ij,jk,ik->i", step, information, step))
    return step * np.minimum(1.0, _LONGEST / np.maximum(length, np.finfo(np.float64).tiny))[:, None]


def _derivatives(posterior: Posterior) -> Array:
    """Return the derivatives of A in the logarithms of length scales, output scale and noise, `(d + 2) x n x n`."""
    theta, column = posterior.theta, posterior.features.column
    points = posterior.scaled[:, : len(column)].T
    squares = np.square(points[:, :, None] - points[:, None, :])
    correlation, slope = posterior.kernel.with_derivative(squares.sum(axis=0))
    n, d = len(posterior.y), len(theta.lengthscales)
    found = np.zeros((d + 2, n, n))
    if len(column) == d:
        found[:d] = squares
    else:
        np.add.at(found, column, squares)
    found[:d] *= theta.outputscale * slope
    found[d] = theta.outputscale * correlation
    # Known noise is not fitted.
    np.einsum("ii->i", found[d + 1])[:] = np.where(posterior.noise == theta.noise, theta.noise, 0.0)
    return found
