"""Noisy expected improvement: over the best of the latent values at the points tried, which are not known either."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibo.acquisition.base import Acquisition, SampledUtility, base_samples, log_fatplus
from calibo.acquisition.improvement import smoothing
from calibo.data import Array, Dataset
from calibo.models.base import Model

#: Draws that find out which points tried may be the best.
_SCOUTS = 256


@dataclass(frozen=True)
class NoisyExpectedImprovement:
    """log E (f(x) - max_i f(x_i))_+ with all values drawn jointly (Letham et al. 2019; Stanton et al. 2023, eq. 10).

    Of the points tried only those that are the best in some draw take part. A conformal distribution weights the draws of the
    candidate alone: given f(x), its measurement says nothing more of the values elsewhere, so the joint distribution with the
    values at the points tried is exactly the weighted one.

    Attributes:
        draws: Base samples.
        contenders: Most points tried that are drawn jointly with a candidate.
    """

    draws: int = 128
    contenders: int = 12
    logarithmic: ClassVar[bool] = True
    smooth: ClassVar[bool] = True

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        seed = int(rng.integers(2**63))
        rivals = contenders(model, data.X, self.contenders, seed)
        count, width = len(rivals), smoothing(data)

        def utility(f: Array, weights: Array, others: Array, their: Array) -> Array:
            best = others[..., :count].max(axis=-1, keepdims=True)
            known = np.max(their[..., count:] * (others[..., count:] - best), axis=-1, initial=0.0)
            return np.log(width) + log_fatplus((weights * (f - best) - known[..., None]) / width)

        return SampledUtility(model, np.vstack([rivals, data.X_pending]), utility, seed, self.draws)


def contenders(model: Model, X: Array, most: int, seed: int) -> Array:
    """The points of n x d that are the best of all in some joint draw, the most frequent first, at most ``most``."""
    distribution = model.predict(X, latent=True)
    values = distribution.samples(base_samples(seed, _SCOUTS, len(X)))[0]
    wins = np.bincount(np.argmax(values, axis=-1), minlength=len(X))
    order = np.argsort(-wins, kind="stable")[:most]
    return X[order[wins[order] > 0]]
