"""Strategies: what is known -> a plan for what to try next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from calibo.acquisition import Acquisition, AcquisitionRule, gated
from calibo.calibration import makers, stages
from calibo.candidates import CandidateSearch, MultiStart, Pool, RandomDraw
from calibo.data import Array, Dataset, Forecast, Forecasts
from calibo.errors import RecipeError
from calibo.space import PoolSpace, Space
from calibo.surrogates import HasHyperparameters, Model, SuccessModel, Surrogate

#: How many of the best points tried are searched around.
_ANCHORS = 5
#: Rows of a pool that are drawn for a rule whose values may be compared within one call only.
_DRAWN_ROWS = 1024


@dataclass(frozen=True)
class Plan:
    """How to choose the next points.

    Attributes:
        acquisition: What is to be maximised.
        forecaster: Forecasts of measurements at points, q x d -> q of them; ``None`` for a strategy without beliefs.
        model: What is believed, for predictions; ``None`` for a strategy without beliefs.
        anchors: Points worth searching around, a x d.
        taken: Points not to be tried again, t x d.
        hyperparameters: Per outcome, to be stored with the suggestion.
    """

    acquisition: Acquisition
    forecaster: Callable[[Array], tuple[Forecasts, ...]] | None
    model: Model | None
    anchors: Array
    taken: Array
    hyperparameters: tuple[tuple[float, ...], ...] = ()


class Strategy(Protocol):
    """What all families of methods have in common: data -> plan, and how to search."""

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        """The plan for data of at least one point."""
        ...

    def searcher(self, space: Space) -> CandidateSearch:
        """The search that suits the strategy and the space."""
        ...


@dataclass(frozen=True)
class ModelBased:
    """Surrogate -> model -> acquisition: the strategy of every method with a predictive distribution.

    Attributes:
        surrogate: What makes the model; a calibrated one is a surrogate like any other.
        rule: What makes the acquisition function.
        search: How it is maximised; by default what suits the space and the rule.
        replicate: Whether a point may be measured again, which is worth it only if measurements are noisy.
        name: Of the method, for messages.
    """

    surrogate: Surrogate
    rule: AcquisitionRule
    search: CandidateSearch | None = None
    replicate: bool = False
    name: str = "custom"

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        if data.Y.shape[1] != 1:
            raise RecipeError(f"{self.name} optimises one objective, got {data.Y.shape[1]}")
        model = self.surrogate.fit(data, rng=rng)
        acquisition = self.rule.build(model, data, rng=rng)
        if len(data.X_failed):
            floor = float(data.Y.min())
            acquisition = gated(
                acquisition, SuccessModel.of(data, rng=rng), logarithmic=self.rule.logarithmic, floor=floor
            )
        order = np.argsort(-data.Y[:, 0], kind="stable")
        tried = np.vstack([data.X, data.X_failed])
        stored = model.hyperparameters if isinstance(model, HasHyperparameters) else ()
        return Plan(
            acquisition=acquisition,
            forecaster=_forecaster(model, makers(self.surrogate)),
            model=model,
            anchors=data.X[order[:_ANCHORS]],
            taken=data.X_pending if self.replicate else np.vstack([tried, data.X_pending]),
            hyperparameters=(stored,),
        )

    def searcher(self, space: Space) -> CandidateSearch:
        if self.search is not None:
            return self.search
        if isinstance(space, PoolSpace):
            return Pool() if self.rule.smooth else Pool(drawn=_DRAWN_ROWS)
        return MultiStart() if self.rule.smooth else RandomDraw()


def _forecaster(model: Model, made_by: tuple[str, ...]) -> Callable[[Array], tuple[Forecasts, ...]]:
    def forecast(X: Array) -> tuple[Forecasts, ...]:
        by_stage = [inner.predict(X, latent=False).marginals() for inner in stages(model)]
        return tuple((Forecast(tuple(laws), made_by),) for laws in zip(*by_stage, strict=True))

    return forecast
