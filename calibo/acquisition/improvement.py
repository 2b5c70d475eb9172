"""Expected improvement and probability of improvement over the incumbent, in logarithms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibo.acquisition.base import Acquisition, SampledUtility, incumbent, log_fatplus, log_fatstep
from calibo.data import Array, Dataset
from calibo.distributions import Distribution
from calibo.models.base import Model

#: Width of the smoothing of sampled improvements, in units of the outcomes' spread: what a copy of a pending point seems
#: to be worth, so it must be small beside any improvement still to be had.
_SMOOTHING = 1e-6
#: How far above no gain at all an improvement begins, in widths of the smoothing.
_SHIFT = 1000.0


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

        def utility(f: Array, weights: Array, awaited: Array, others: Array) -> Array:
            # Weighted gains beyond the best weighted gain of a pending point: a copy of one gains nothing.
            known = np.max(others * (awaited - best), axis=-1, initial=0.0)
            return np.log(width) + log_fatplus((weights * (f - best) - known[..., None]) / width)

        def closed_form(distribution: Distribution) -> Array:
            return distribution.log_expected_improvement(best)

        return _over(utility, closed_form, model, data, self.draws, rng)


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

        def utility(f: Array, weights: Array, awaited: Array, others: Array) -> Array:
            gain = f - np.max(awaited, axis=-1, initial=best)[..., None]
            # Shifted, so that a copy of a pending point, which gains nothing, has no chance.
            return np.log(weights) + log_fatstep(gain / width - _SHIFT)

        def closed_form(distribution: Distribution) -> Array:
            return distribution.log_probability_of_improvement(best)

        return _over(utility, closed_form, model, data, self.draws, rng)


def _over(
    utility: Callable[[Array, Array, Array, Array], Array],
    closed_form: Callable[[Distribution], Array],
    model: Model,
    data: Dataset,
    draws: int,
    rng: np.random.Generator,
) -> Acquisition:
    """An improvement in closed form, or by draws beyond what pending points may turn out to be."""
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
