"""Strategies: what is known -> a plan for what to try next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from calibo.acquisition import Acquisition, AcquisitionRule, gated
from calibo.calibration import makers, stages
from calibo.candidates import CandidateSearch, Explored, MultiStart, Pool, RandomDraw
from calibo.data import Array, Dataset, Forecast, Forecasts
from calibo.errors import RecipeError
from calibo.space import PoolSpace, Space
from calibo.surrogates import HasHyperparameters, Model, SuccessModel, Surrogate
from calibo.surrogates.base import KnowsItsDistribution, LearnsFromProposals

#: How many of the best points tried are searched around.
_ANCHORS = 5
#: Rows of a pool that are drawn for a rule whose values may be compared within one call only.
_DRAWN_ROWS = 1024


@dataclass(frozen=True, eq=False)
class LearningAcquisition:
    """The acquisition of a model that learns from where the search goes.

    Attributes:
        model: What is believed.
        build: The acquisition of a model: the same for the same model, whenever it is called.
    """

    model: Model
    build: Callable[[Model], Acquisition]
    _of_points: Acquisition = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_of_points", self.build(self.model))

    def __call__(self, X: Array) -> Array:
        """Values of points, m x d, or of sets, m x q x d, m."""
        return self._of_points(X)

    def learned(self, proposals: Array, *, rng: np.random.Generator) -> LearningAcquisition:
        """The acquisition of the model as learned from ``proposals``, p x d."""
        if not isinstance(self.model, LearnsFromProposals):
            raise RecipeError(f"a {type(self.model).__name__} cannot learn from proposals: it has no learned()")
        return LearningAcquisition(self.model.learned(proposals, rng=rng), self.build)


@dataclass(frozen=True)
class ModelForecaster:
    """Forecasts of measurements by a model.

    Attributes:
        model: What is believed.
        made_by: The names of what makes its stages.
    """

    model: Model
    made_by: tuple[str, ...]

    def __call__(self, X: Array) -> tuple[Forecasts, ...]:
        """The forecasts at points, q x d, q."""
        by_stage = [inner.predict(X, latent=False).marginals() for inner in stages(self.model)]
        return tuple((Forecast(tuple(laws), self.made_by),) for laws in zip(*by_stage, strict=True))


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

    def after(self, explored: Explored) -> Plan:
        """The plan after an exploration: by what was learned on the way, and searching first around what was found."""
        anchors = np.vstack([explored.points, self.anchors])
        learned = explored.acquisition
        plan = replace(self, acquisition=learned, anchors=anchors)
        if not isinstance(learned, LearningAcquisition):
            return plan
        forecaster = self.forecaster
        if isinstance(forecaster, ModelForecaster):
            forecaster = replace(forecaster, model=learned.model)
        return replace(plan, model=learned.model, forecaster=forecaster)


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
        order = np.argsort(-data.Y[:, 0], kind="stable")
        tried = np.vstack([data.X, data.X_failed])
        stored = model.hyperparameters if isinstance(model, HasHyperparameters) else ()
        return Plan(
            acquisition=self._acquisition(model, data, rng),
            forecaster=ModelForecaster(model, makers(self.surrogate)),
            model=model,
            anchors=data.X[order[:_ANCHORS]],
            taken=data.X_pending if self.replicate else np.vstack([tried, data.X_pending]),
            hyperparameters=(stored,),
        )

    def _acquisition(self, model: Model, data: Dataset, rng: np.random.Generator) -> Acquisition:
        """The rule's acquisition behind the gates; one that can learn if the model can."""
        if not isinstance(model, LearnsFromProposals):
            acquisition = self.rule.build(model, data, rng=rng)
            return self._gated(acquisition, model, data, _success(data, rng))
        # What changes from one update to the next is what was learned, not the base samples of the rule.
        seed = int(rng.integers(2**63))
        success = _success(data, rng)

        def build(learned: Model) -> Acquisition:
            acquisition = self.rule.build(learned, data, rng=np.random.default_rng(seed))
            return self._gated(acquisition, learned, data, success)

        return LearningAcquisition(model, build)

    def _gated(
        self, acquisition: Acquisition, model: Model, data: Dataset, success: SuccessModel | None
    ) -> Acquisition:
        """The acquisition where the model's data reach and evaluations succeed.

        Out of the data's reach a logarithmic utility is nothing and any other worth the mean outcome (Stanton et al.
        2023, B.7); a failure is worth the worst outcome.
        """
        logarithmic = self.rule.logarithmic
        worst = float(data.Y.min())
        if isinstance(model, KnowsItsDistribution):
            mean = float(data.Y.mean())
            acquisition = gated(
                acquisition, model.in_distribution, logarithmic=logarithmic, floor=mean, losses_grow=False
            )
            # What leaves a gate is a gain over its floor, so the next one counts from there.
            worst -= mean
        if success is not None:
            acquisition = gated(acquisition, success, logarithmic=logarithmic, floor=worst)
        return acquisition

    def searcher(self, space: Space) -> CandidateSearch:
        if self.search is not None:
            return self.search
        if isinstance(space, PoolSpace):
            return Pool() if self.rule.smooth else Pool(drawn=_DRAWN_ROWS)
        return MultiStart() if self.rule.smooth else RandomDraw()


def _success(data: Dataset, rng: np.random.Generator) -> SuccessModel | None:
    """The model of which evaluations succeed; ``None`` if none has failed."""
    return SuccessModel.of(data, rng=rng) if len(data.X_failed) else None
