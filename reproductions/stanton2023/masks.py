"""Conformity scores and relaxed masks of candidate outcomes, as Stanton et al. (2023) use them; calibo's sets are exact.

Notation: k candidate outcomes at a point, n data; scores k x (n + 1) and weights n + 1, the point itself last.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from calibo.data import Array
from calibo.models.augmentation import Augmentation


def conformity_scores(augmentation: Augmentation, outcomes: Array) -> Array:
    """Return the in-sample log densities, with fresh noise, of all measurements given the data and a candidate.

    Args:
        augmentation: The augmentation at p points.
        outcomes: Standardized candidates, k or `p x k`.

    Returns:
        `p x k x (n + 1)` log densities, the point itself last.
    """
    total, own = augmentation.total, augmentation.own_noise
    e = ((outcomes - augmentation.mean[:, None]) / total[:, None])[..., None]
    noise = augmentation.noise
    residual = noise * (augmentation.dual - augmentation.influence[:, None, :] * e)
    variance = (noise * (2.0 - noise * augmentation.augmented_precision))[:, None, :]
    own_variance = (own * (2.0 - own / total))[:, None, None]
    every = np.concatenate([residual, own * e], axis=-1)
    spread = np.concatenate([variance, own_variance], axis=-1)
    return -0.5 * np.log(2.0 * np.pi * spread) - 0.5 * np.square(every) / spread


def relaxed_masks(
    scores: Array,
    weights: Array,
    alpha: float,
    temperature: float,
    *,
    rescaled: bool = False,
    rng: np.random.Generator | None = None,
) -> Array:
    """Return smooth masks of acceptance in [0, 1], `... x k` (Algorithm 1, or 2 with a generator; signs corrected).

    1. h_i = sigmoid((s_new - s_i) / temperature): near 1 where the candidate conforms better than datum i. (The paper
       prints the opposite sign, which would accept outliers and reject the centre.)
    2. p-value w = sum_i h_i w_i.
    3. With a generator (exactly valid): with probability 1 - clip((w - alpha) / w_new, 0, 1) the point's own weight
       does not count.
    4. mask = sigmoid((w - alpha) / temperature).

    Args:
        scores: ... x k x (n + 1).
        weights: n + 1, summing to 1.
        alpha: Miscoverage.
        temperature: Strength of the relaxation; 0 gives the exact masks.
        rescaled: Whether h is scaled so that its sum is the exact count, as in the published code (h of the point itself
            is one half, not one).
        rng: For the randomised version.
    """
    hard = (scores <= scores[..., -1:]).astype(np.float64)
    h = hard if temperature == 0.0 else expit((scores[..., -1:] - scores) / temperature)
    if rescaled and temperature > 0.0:
        h = h * (hard.sum(axis=-1, keepdims=True) / h.sum(axis=-1, keepdims=True))
    value = h @ weights
    if rng is not None:
        accepted = rng.random(value.shape) < np.clip((value - alpha) / weights[-1], 0.0, 1.0)
        value = value - np.where(accepted, 0.0, h[..., -1] * weights[-1])
    if temperature == 0.0:
        return (value > alpha).astype(np.float64)
    return expit((value - alpha) / temperature)
