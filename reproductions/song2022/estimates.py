"""Figure 3: how far acquisition functions learned by classification are from the true ones, for n observations.

The problem (section 5.1): x uniform on [-1, 1], y = -sin 3x - x^2 + 0.6 x plus noise of variance 0.01. The truth is known,
so that the probability of improvement and the expected improvement over the same threshold are closed forms.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import ndtr
from settings import BORE, GAMMA, LFBO_PI, Job

from calibo.classifiers import BoreLabels, Improvement, Labelled, Probability, WeightedLabels, Wrapped
from calibo.data import Array

NOISE = 0.1
#: Where the functions are compared.
GRID = np.linspace(-1.0, 1.0, 401)
#: Observations closer than 2 / 400 are one row with the sum of their weights: the loss is the same but for that rounding.
CELLS = 400


def objective(x: Array) -> Array:
    """Return the function without noise, any shape."""
    return -np.sin(3.0 * x) - x**2 + 0.6 * x


def truth(tau: float) -> tuple[Array, Array]:
    """Probability of improvement and expected improvement over a threshold, at the grid."""
    z = (objective(GRID) - tau) / NOISE
    probability = ndtr(z)
    return probability, NOISE * (z * probability + np.exp(-z * z / 2.0) / np.sqrt(2.0 * np.pi))


def errors(job: Job) -> dict[str, Any]:
    """Mean absolute errors of one method's estimate after ``job.steps`` observations, to PI and to EI.

    LFBO's odds are E[u] / mean(u), so that they are multiplied by mean(u). BORE's probability is compared with PI as it is
    (the paper's equation (37) does the same to its density ratio) and with EI after the factor that suits it best.
    """
    rng = np.random.default_rng([job.seed, 1])
    x = rng.uniform(-1.0, 1.0, job.steps)
    y = objective(x) + NOISE * rng.standard_normal(job.steps)
    utility = Probability() if job.method == LFBO_PI else Improvement()
    rule = BoreLabels(GAMMA) if job.method == BORE else WeightedLabels(utility, GAMMA)
    labelled = rule.label((x[:, None] + 1.0) / 2.0, y)
    assert labelled is not None
    tau = labelled.threshold
    odds = np.exp(network(merged(labelled), np.random.default_rng([job.seed, 2])))
    probability, improvement = truth(tau)
    if job.method == BORE:
        estimate = odds / (1.0 + odds)
        scaled = estimate * (estimate @ improvement) / (estimate @ estimate)
        return {"PI": _error(estimate, probability), "EI": _error(scaled, improvement)}
    estimate = odds * float(np.mean(np.maximum(utility(y, tau), 0.0)))
    if job.method == LFBO_PI:
        return {"PI": _error(estimate, probability)}
    return {"EI": _error(estimate, improvement)}


def network(labelled: Labelled, rng: np.random.Generator) -> Array:
    """Log-odds at the grid of the paper's network, two layers of 128, trained by L-BFGS on all rows."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    settings: dict[str, Any] = {"solver": "lbfgs", "alpha": 1e-3, "max_iter": 600, "max_fun": 100_000, "tol": 1e-7}
    classifier = Wrapped(MLPClassifier((128, 128), **settings), smooth=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        odds = classifier.fit(labelled, categories=(0,), rng=rng)
    return odds((GRID[:, None] + 1.0) / 2.0)


def merged(labelled: Labelled) -> Labelled:
    """Return the same with rows of one cell and label as one row, of their whole weight."""
    cell = np.minimum((labelled.X[:, 0] * CELLS).astype(np.intp), CELLS - 1)
    totals = np.zeros((2, CELLS))
    np.add.at(totals, (labelled.z.astype(np.intp), cell), labelled.weights)
    z, cell = np.nonzero(totals)
    weights = totals[z, cell]
    return Labelled(
        X=((cell + 0.5) / CELLS)[:, None],
        z=z.astype(np.float64),
        weights=weights / weights.mean(),
        threshold=labelled.threshold,
    )


def _error(estimate: Array, true: Array) -> float:
    return float(f"{np.abs(estimate - true).mean():.5g}")
