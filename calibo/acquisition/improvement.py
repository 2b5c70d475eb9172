"""Expected improvement and probability of improvement over the incumbent, in logarithms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.acquisition.base import Acquisition, SampledUtility, incumbent, log_softplus
from calibo.data import Array, Dataset
from calibo.surrogates.base import Model

#: Width of the smoothing of sampled improvements, in units of the outcomes' spread.
_SMOOTHING = 1e-2


@dataclass(frozen=True)
class ExpectedImprovement:
    """log E (f - f*)_+: closed form for single points, joint draws for sets and where points are pending.

    Attributes:
        draws: Base samples for sets and pending points.
    """

    draws: int = 128
    logarithmic: bool = True
    smooth: bool = True

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        best = incumbent(model, data)
        width = _smoothing(data)

        def utility(f: Array, awaited: Array) -> Array:
            gain = f.max(axis=-1) - np.maximum(best, awaited.max(axis=-1, initial=-np.inf))
            return np.log(width) + log_softplus(gain / width)

        sampled = SampledUtility(model, data.X_pending, utility, int(rng.integers(2**63)), self.draws)

        def acquisition(X: Array) -> Array:
            if X.ndim == 3 or len(data.X_pending):
                return sampled(X)
            return model.predict(X, latent=True).log_expected_improvement(best)

        return acquisition


@dataclass(frozen=True)
class ProbabilityOfImprovement:
    """log P(f > f* + margin): closed form for single points, joint draws for sets and where points are pending.

    Attributes:
        margin: By how much the incumbent is to be beaten, in standard deviations of the outcomes.
        draws: Base samples for sets and pending points.
    """

    margin: float = 0.01
    draws: int = 128
    logarithmic: bool = True
    smooth: bool = True

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        spread = _spread(data)
        best = incumbent(model, data) + self.margin * spread
        width = _smoothing(data)

        def utility(f: Array, awaited: Array) -> Array:
            gain = f.max(axis=-1) - np.maximum(best, awaited.max(axis=-1, initial=-np.inf))
            return -np.logaddexp(0.0, -gain / width)

        sampled = SampledUtility(model, data.X_pending, utility, int(rng.integers(2**63)), self.draws)

        def acquisition(X: Array) -> Array:
            if X.ndim == 3 or len(data.X_pending):
                return sampled(X)
            return model.predict(X, latent=True).log_probability_of_improvement(best)

        return acquisition


def _smoothing(data: Dataset) -> float:
    """Width of the smoothing in the outcomes' units, never quite zero."""
    return max(_SMOOTHING * _spread(data), float(np.finfo(np.float64).tiny))


def _spread(data: Dataset) -> float:
    """Standard deviation of the outcomes, or their size if they are all equal."""
    unit = float(np.max(np.abs(data.Y), initial=0.0)) or 1.0
    return float(np.std(data.Y / unit)) * unit or unit
