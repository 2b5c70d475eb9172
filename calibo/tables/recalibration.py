"""Forecasts of a method that does not look at how its own came out, corrected by how those of earlier rounds did.

CBO's conformal sets are made from the data alone; what it promised before does not enter. A table is ranked in rounds whose
forecasts are stored, so their record can be used: one temperature on top scales the intervals that are shown. What is
suggested follows the method's own distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from calibo.calibration import Calibrated, Prequential, Temperature
from calibo.data import STORED_LEVELS, Array, Dataset, Forecasts, Marginal
from calibo.models import Model, Surrogate
from calibo.optimize import Plan


@dataclass(frozen=True)
class Fitted(Surrogate):
    """A model as a surrogate whose fit is done."""

    model: Model
    names: tuple[str, ...]

    @property
    def stage_names(self) -> tuple[str, ...]:
        """Names of the stages of the model's forecasts."""
        return self.names

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Model:
        return self.model


@dataclass(frozen=True)
class WithTemperature:
    """A forecaster with one more stage: normal scores scaled by a factor.

    Attributes:
        forecaster: That of the method.
        factors: One per outcome; above 1 widens the intervals.
    """

    forecaster: Callable[[Array], tuple[Forecasts, ...]]
    factors: tuple[float, ...]

    def __call__(self, X: Array) -> tuple[Forecasts, ...]:
        """The forecasts at points, q x d, q; each with one forecast per outcome."""
        return tuple(
            tuple(
                replace(f, stages=(*f.stages, tempered(f.calibrated, factor)), stage_names=(*f.stage_names, Temperature.__name__))
                for f, factor in zip(forecasts, self.factors, strict=True)
            )
            for forecasts in self.forecaster(X)
        )


def corrected(plan: Plan, surrogate: Surrogate, data: Dataset, rng: np.random.Generator) -> Plan:
    """The plan with forecasts that learn from those of earlier rounds, if its method is calibrated but does not look at them.

    A method without calibration stays without, and one that learns from stored forecasts already does.
    """
    if plan.forecaster is None or len(surrogate.stage_names) < 2 or isinstance(surrogate, Calibrated):
        return plan
    evidence = (
        Prequential().fit(Fitted(model, surrogate.stage_names), data.outcome(i), rng=rng)[1]
        for i, model in enumerate(plan.models)
    )
    factors = tuple(Temperature().factor(one.scores) if len(one) else 1.0 for one in evidence)
    return replace(plan, forecaster=WithTemperature(plan.forecaster, factors))


def tempered(distribution: Marginal, factor: float) -> Marginal:
    """The distribution whose quantile at normal score z is that of ``distribution`` at score factor x z.

    Beyond the stored levels the last slope goes on, as everywhere with stored distributions.
    """
    if factor == 1.0:
        return distribution
    if distribution.quantiles is None:
        return Marginal(distribution.mean, distribution.std * factor)
    scores, values = ndtri(np.asarray(STORED_LEVELS)), np.asarray(distribution.quantiles)

    def at(z: Array) -> Array:
        inside = np.interp(z, scores, values)
        above = (values[-1] - values[-2]) / (scores[-1] - scores[-2]) * np.maximum(z - scores[-1], 0.0)
        below = (values[1] - values[0]) / (scores[1] - scores[0]) * np.minimum(z - scores[0], 0.0)
        return inside + above + below

    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    drawn, shares = at(factor * nodes), weights / weights.sum()
    mean = float(shares @ drawn)
    std = float(np.sqrt(shares @ np.square(drawn - mean)))
    return Marginal(mean, std, tuple(at(factor * scores).tolist()), distribution.backed)
