"""Figure 5: coverage of credible and conformal sets where the shift is known, learned or absent; and of relaxed masks.

n = 64 data from a Gaussian, queries from another; Hartmann's function of three variables, noise variance .05, alpha = .125.
The paper does not give the two means: ours are one standard deviation apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from masks import conformity_scores, relaxed_masks
from settings import Size, generator

from calibo.calibration import DensityRatio, NeuralRatio, RatioEstimator
from calibo.calibration.density_ratio import importance_weights
from calibo.data import Array, Dataset
from calibo.models import GaussianProcess
from calibo.models.gp_posterior import Posterior
from calibo.problems import problem

N, ALPHA, NOISE_VARIANCE = 64, 0.125, 0.05
SPREAD, CENTRE = 0.2, 0.45
#: One standard deviation from mean to mean.
SHIFT = SPREAD / 3.0**0.5
TEMPERATURES = (0.0, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1)
#: Draws from the shifted distribution that the ratio is learned from.
PROPOSALS = 256
#: One fit only, so all training happens in it (as in the paper's rankings: 256 updates, no averaging).
NEURAL = NeuralRatio(averaging=1.0, steps=256)


def trial(seed: int, size: Size) -> dict[str, Any]:
    """Coverages of one draw of the data: shares of ``test_points`` outcomes within their sets."""
    rng = generator(seed, 5)
    X = draw(N, 0.0, rng)
    y = measured(X, rng)
    model = GaussianProcess().fit(Dataset(X=X, Y=y[:, None]), rng=rng)
    shifted, alike = draw(size.test_points, SHIFT, rng), draw(size.test_points, 0.0, rng)
    y_shifted, y_alike = measured(shifted, rng), measured(alike, rng)
    proposals = draw(PROPOSALS, SHIFT, rng)
    low, high = model.predict(shifted, latent=False).interval(1.0 - ALPHA)
    weights = importance_weights(oracle(X), oracle(shifted))
    equal = importance_weights(np.ones(N), np.ones(len(alike)))
    # Scores are symmetric in data and query, as the theorem asks, only if neither was used to fit the hyper-parameters.
    Z = draw(N, 0.0, rng)
    symmetric = replace(GaussianProcess().fit(Dataset(X=Z, Y=measured(Z, rng)[:, None]), rng=rng), X=X, y=y)
    result: dict[str, Any] = {
        "credible": float(np.mean((low <= y_shifted) & (y_shifted <= high))),
        "unseen": float(np.mean(weights[1] >= ALPHA)),
        "unweighted": coverage(model, shifted, y_shifted, equal, 0.0, rng),
        "symmetric": coverage(symmetric, shifted, y_shifted, weights, 0.0, rng),
        "shifted": [coverage(model, shifted, y_shifted, weights, tau, rng) for tau in TEMPERATURES],
        "alike": [coverage(model, alike, y_alike, equal, tau, rng) for tau in TEMPERATURES],
    }
    estimators: dict[str, RatioEstimator] = {"logistic": DensityRatio()}
    if size.neural:
        estimators["neural"] = NEURAL
    for name, estimator in estimators.items():
        ratio = estimator.fit(X, proposals, previous=None, rng=rng)
        learned = importance_weights(ratio(X), ratio(shifted))
        result[name] = coverage(model, shifted, y_shifted, learned, 0.0, rng)
    return result


def draw(count: int, shift: float, rng: np.random.Generator) -> Array:
    """Points of p (no shift) or of p', count x 3."""
    return CENTRE + shift + SPREAD * rng.standard_normal((count, 3))


def measured(X: Array, rng: np.random.Generator) -> Array:
    """Noisy values, n, larger is better."""
    return -problem("hartmann3")(X) + NOISE_VARIANCE**0.5 * rng.standard_normal(len(X))


def oracle(X: Array) -> Array:
    """p'(x) / p(x) at points, m x 3, m: of two spherical Gaussians of one width."""
    before = np.square(X - CENTRE).sum(axis=1)
    after = np.square(X - CENTRE - SHIFT).sum(axis=1)
    return np.exp(0.5 * (before - after) / SPREAD**2)


def coverage(
    model: Posterior, X: Array, y: Array, weights: tuple[Array, Array], temperature: float, rng: np.random.Generator
) -> float:
    """Share of outcomes, p, that the randomised masks at points, p x 3, accept (mask above one half).

    Args:
        model: The Gaussian process.
        X: p x 3.
        y: p.
        weights: Of the data, p x n, and of the points, p.
        temperature: Of the relaxation; 0 for the exact sets.
        rng: Breaks the ties.
    """
    augmentation = model.augmented(X, latent=False)[1]
    scores = conformity_scores(augmentation, augmentation.units.forward(y)[:, None])
    rows = np.concatenate([weights[0], weights[1][:, None]], axis=1)
    masks = [relaxed_masks(score, row, ALPHA, temperature, rng=rng)[0] for score, row in zip(scores, rows, strict=True)]
    return float(np.mean(np.asarray(masks) > 0.5))
