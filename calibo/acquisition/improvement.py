"""Expected improvement and probability of improvement over the incumbent, in logarithms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibo.acquisition.base import Acquisition, SampledUtility, incumbent, log_softplus
from calibo.data import Array, Dataset
from calibo.predictive import Predictive
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
    logarithmic: ClassVar[bool] = True
    smooth: ClassVar[bool] = True

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        best = incumbent(model, data)
        width = smoothing(data)

        def log_gain(gain: Array) -> Array:
            return np.log(width) + log_softplus(gain / width)

        def closed_form(law: Predictive) -> Array:
            return law.log_expected_improvement(best)

        return _over(best, closed_form, log_gain, model, data, self.draws, rng)


@dataclass(frozen=True)
class ProbabilityOfImprovement:
    """log P(f > f* + margin): closed form for single points, joint draws for sets and where points are pending.

    Attributes:
        margin: By how much the incumbent is to be beaten, in standard deviations of the outcomes.
        draws: Base samples for sets and pending points.
    """

    margin: float = 0.01
    draws: int = 128
    logarithmic: ClassVar[bool] = True
    smooth: ClassVar[bool] = True

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        best = incumbent(model, data) + self.margin * _spread(data)
        width = smoothing(data)

        def log_chance(gain: Array) -> Array:
            return -np.logaddexp(0.0, -gain / width)

        def closed_form(law: Predictive) -> Array:
            return law.log_probability_of_improvement(best)

        return _over(best, closed_form, log_chance, model, data, self.draws, rng)


def _over(
    best: float,
    closed_form: Callable[[Predictive], Array],
    of_gain: Callable[[Array], Array],
    model: Model,
    data: Dataset,
    draws: int,
    rng: np.random.Generator,
) -> Acquisition:
    """Improvement over ``best``: in closed form, or by draws over ``best`` and what pending points may turn out to be."""

    def utility(f: Array, awaited: Array, weights: Array) -> Array:
        known = best + np.max(weights * (awaited - best), axis=-1, initial=0.0)
        return of_gain(f - known[..., None])

    sampled = SampledUtility(model, data.X_pending, utility, int(rng.integers(2**63)), draws)

    def acquisition(X: Array) -> Array:
        if X.ndim == 3 or len(data.X_pending):
            return sampled(X)
        return closed_form(model.predict(X, latent=True))

    return acquisition


def smoothing(data: Dataset) -> float:
    """Width of the smoothing in the outcomes' units, never quite zero."""
    return max(_SMOOTHING * _spread(data), float(np.finfo(np.float64).tiny))


def _spread(data: Dataset) -> float:
    """Standard deviation of the outcomes, or their size if they are all equal."""
    unit = float(np.max(np.abs(data.Y), initial=0.0)) or 1.0
    return float(np.std(data.Y / unit)) * unit or unit
