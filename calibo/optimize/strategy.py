"""Strategies: what is known -> a plan for what to try next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from calibo.acquisition import (
    Acquisition,
    AcquisitionRule,
    Feasibility,
    FirstFeasible,
    Gate,
    HypervolumeImprovement,
    TradeoffRule,
    gated,
    last_points,
    log_of,
    multiplied,
)
from calibo.calibration import makers, stages
from calibo.checks import check_flag, check_has, check_whole
from calibo.data import Array, Dataset, Forecast, Forecasts
from calibo.errors import RecipeError
from calibo.models import HasHyperparameters, Model, SuccessModel, Surrogate
from calibo.models.base import KnowsItsDistribution, LearnsFromProposals
from calibo.pareto import pareto_mask
from calibo.search import (
    CandidateSearch,
    CopiesParents,
    Dynamic,
    EpsilonGreedy,
    Explored,
    MultiStart,
    Pool,
    RandomDraw,
)
from calibo.spaces import PoolSpace, Space

#: How many of the best points tried are searched around.
_ANCHORS = 5
#: Rows of a pool that are drawn for a rule whose values may be compared within one call only.
_DRAWN_ROWS = 1024


@dataclass(frozen=True, eq=False)
class LearningAcquisition:
    """The acquisition of models that learn from where the search goes.

    Attributes:
        models: What is believed of each outcome.
        build: The acquisition of models: the same for the same models, whenever it is called.
    """

    models: tuple[Model, ...]
    build: Callable[[tuple[Model, ...]], Acquisition]
    _of_points: Acquisition = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_of_points", self.build(self.models))

    def __call__(self, X: Array) -> Array:
        """Values of points, m x d, or of sets, m x q x d, m."""
        return self._of_points(X)

    def learned(self, proposals: Array, *, rng: np.random.Generator) -> LearningAcquisition:
        """The acquisition of the models as learned from ``proposals``, p x d."""
        # All outcomes were measured at the same points, so all models learn the same of where the search goes.
        seed = int(rng.integers(2**63))
        learned: list[Model] = []
        for model in self.models:
            if not isinstance(model, LearnsFromProposals):
                raise RecipeError(f"a {type(model).__name__} cannot learn from proposals: it has no learned()")
            learned.append(model.learned(proposals, rng=np.random.default_rng(seed)))
        return LearningAcquisition(tuple(learned), self.build)


@dataclass(frozen=True)
class ModelForecaster:
    """Forecasts of measurements by models.

    Attributes:
        models: What is believed of each outcome.
        made_by: The names of what makes their stages.
    """

    models: tuple[Model, ...]
    made_by: tuple[str, ...]

    def __call__(self, X: Array) -> tuple[Forecasts, ...]:
        """The forecasts at points, q x d, q; each with one forecast per outcome."""
        return tuple(zip(*(self._of(model, X) for model in self.models), strict=True))

    def _of(self, model: Model, X: Array) -> list[Forecast]:
        by_stage = [inner.predict(X, latent=False).marginals() for inner in stages(model)]
        return [Forecast(tuple(distributions), self.made_by) for distributions in zip(*by_stage, strict=True)]


@dataclass(frozen=True)
class Plan:
    """How to choose the next points.

    Attributes:
        acquisition: What is to be maximised.
        forecaster: Forecasts of measurements at points, q x d -> q of them; ``None`` for a strategy without beliefs.
        models: What is believed of each outcome, for predictions; empty for a strategy without beliefs.
        anchors: Points worth searching around, a x d.
        taken: Points not to be tried again, t x d.
        hyperparameters: Per outcome, to be stored with the suggestion.
    """

    acquisition: Acquisition
    forecaster: Callable[[Array], tuple[Forecasts, ...]] | None
    models: tuple[Model, ...]
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
            forecaster = replace(forecaster, models=learned.models)
        return replace(plan, models=learned.models, forecaster=forecaster)


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
    """Surrogate -> models -> acquisition: the strategy of every method with a predictive distribution.

    Each outcome has a model of its own, made by the same recipe. Several objectives are traded off; a constraint
    multiplies the acquisition by the calibrated probability that its measurement meets it, and as long as no point is
    known to meet all of them, that probability alone is climbed.

    Attributes:
        surrogate: What makes the models; a calibrated one is a surrogate like any other.
        rule: What makes the acquisition function of one objective.
        search: How it is maximised; by default what suits the space and the rule.
        replicate: Whether a point may be measured again, which is worth it only if measurements are noisy.
        name: Of the method, for messages.
        tradeoff: What makes the acquisition function of several objectives.
        anchors: How many of the best points are searched around, or more if the search copies more.
    """

    surrogate: Surrogate
    rule: AcquisitionRule
    search: CandidateSearch | None = None
    replicate: bool = False
    name: str = "custom"
    tradeoff: TradeoffRule = field(default_factory=HypervolumeImprovement)
    anchors: int = _ANCHORS

    def __post_init__(self) -> None:
        check_has("surrogate", self.surrogate, "fit", "GaussianProcess()")
        check_has("rule", self.rule, "build", "ExpectedImprovement()")
        if not (hasattr(self.rule, "smooth") and hasattr(self.rule, "logarithmic")):
            raise RecipeError(f"a rule says whether it is smooth and logarithmic, got a {type(self.rule).__name__}")
        if self.search is not None:
            check_has("search", self.search, "maximize", "MultiStart()")
        check_has("tradeoff", self.tradeoff, "build", "HypervolumeImprovement()")
        check_whole("anchors", self.anchors, least=0)
        check_flag("replicate", self.replicate)
        if self.replicate and isinstance(_innermost(self.search), Dynamic):
            raise RecipeError(
                "Dynamic counts evaluations by the points that are not to be tried again, which with replicate=True are "
                "only the pending ones: it would choose at random for ever. Use MutatedBest() or RandomCandidates()"
            )

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        models = tuple(self.surrogate.fit(data.outcome(i), rng=rng) for i in range(data.Y.shape[1]))
        tried = np.vstack([data.X, data.X_failed])
        search = _innermost(self.search)
        parents = search.parents if isinstance(search, CopiesParents) else 0
        return Plan(
            acquisition=self._acquisition(models, data, rng),
            forecaster=ModelForecaster(models, makers(self.surrogate)),
            models=models,
            anchors=anchor_points(data, max(self.anchors, parents)),
            taken=data.X_pending if self.replicate else np.vstack([tried, data.X_pending]),
            hyperparameters=tuple(m.hyperparameters if isinstance(m, HasHyperparameters) else () for m in models),
        )

    def _acquisition(self, models: tuple[Model, ...], data: Dataset, rng: np.random.Generator) -> Acquisition:
        """The acquisition behind the gates; one that can learn if the models can."""
        if not isinstance(models[0], LearnsFromProposals):
            return self._gated(models, data, _success(data, rng), rng)
        # What changes from one update to the next is what was learned, not the base samples of the rule.
        seed = int(rng.integers(2**63))
        success = _success(data, rng)
        return LearningAcquisition(
            models, lambda learned: self._gated(learned, data, success, np.random.default_rng(seed))
        )

    def _gated(
        self, models: tuple[Model, ...], data: Dataset, success: SuccessModel | None, rng: np.random.Generator
    ) -> Acquisition:
        """The acquisition where the models' data reach, evaluations succeed and constraints are met.

        Out of the data's reach a logarithmic utility is nothing and any other worth the mean outcome (Stanton et al.
        2023, B.7); a failure is worth the worst outcome, and so is a point that does not meet the constraints.
        """
        goals = data.without_constraints()
        met = Feasibility(models[data.objectives :])
        if not data.feasible.any():
            wanted = FirstFeasible(met, data.X_pending, int(rng.integers(2**63)))
            return multiplied(wanted, [] if success is None else [log_of(success)])
        gates, mean, worst = list[Gate](), float(goals.Y.mean()), float(goals.Y.min())
        if isinstance(models[0], KnowsItsDistribution):
            gates.append(Gate(log_of(models[0].in_distribution), mean, losses_grow=False))
        if success is not None:
            gates.append(Gate(log_of(success), worst))
        if data.constraints:
            gates.append(Gate(met.log, worst))
        return self._behind(gates, models[: data.objectives], goals, data.feasible, rng)

    def _behind(
        self,
        gates: Sequence[Gate],
        models: tuple[Model, ...],
        goals: Dataset,
        feasible: np.ndarray,
        rng: np.random.Generator,
    ) -> Acquisition:
        """What is wanted of the objectives, over the points that meet the constraints, behind gates."""
        reached = goals
        if not feasible.all():
            reached = replace(
                goals.rows(np.flatnonzero(feasible)),
                X_pending=goals.X_pending,
                X_failed=goals.X_failed,
                Y_failed=goals.Y_failed,
            )
        if goals.objectives > 1:
            acquisition = self.tradeoff.build(models, reached, rng=rng)
            return multiplied(acquisition, [gate.log_probability for gate in gates])
        acquisition = self.rule.build(models[0], reached, rng=rng)
        if not self.rule.smooth:
            return _of_last(acquisition, gates)
        return gated(acquisition, gates, logarithmic=self.rule.logarithmic, pending=goals.X_pending)

    def searcher(self, space: Space) -> CandidateSearch:
        if self.search is not None:
            return self.search
        if isinstance(space, PoolSpace):
            return Pool() if self.rule.smooth else Pool(drawn=_DRAWN_ROWS)
        return MultiStart() if self.rule.smooth else RandomDraw()


def _innermost(search: CandidateSearch | None) -> CandidateSearch | None:
    """The search inside those that now and then choose at random."""
    return _innermost(search.search) if isinstance(search, EpsilonGreedy) else search


def check_outcomes(strategy: Strategy, objectives: int, constraints: int = 0) -> None:
    """Refuses several objectives, or constraints, for a strategy that knows only one objective, and says so."""
    if getattr(strategy, "single_objective", False) and (objectives != 1 or constraints):
        given = f"{objectives} objectives" if objectives > 1 else f"{constraints} constraints"
        raise RecipeError(
            f"{getattr(strategy, 'name', 'this method')} optimises one objective without constraints, got {given}; "
            "ocbo, locbo, cbo and gp_ei take both"
        )


def _of_last(acquisition: Acquisition, gates: Sequence[Gate]) -> Acquisition:
    """An acquisition of last points alone, such as a draw of f, behind gates."""
    behind = gated(acquisition, gates, logarithmic=False, pending=np.empty((0, 0)))
    return lambda X: behind(last_points(X))


def anchor_points(data: Dataset, count: int = _ANCHORS) -> Array:
    """The most promising points tried, a x d: of the feasible ones the best, or those on the front; else the nearest."""
    goals, slacks = data.Y[:, : data.objectives], data.Y[:, data.objectives :]
    if not data.feasible.any():
        lacking = np.minimum(slacks / np.maximum(np.abs(slacks).max(axis=0), np.finfo(np.float64).tiny), 0.0)
        return data.X[np.argsort(-lacking.sum(axis=1), kind="stable")[:count]]
    X, Y = data.X[data.feasible], goals[data.feasible]
    if data.objectives == 1:
        return X[np.argsort(-Y[:, 0], kind="stable")[:count]]
    on_front = np.flatnonzero(pareto_mask(Y))
    # Spread over the front, by the first objective.
    order = on_front[np.argsort(-Y[on_front, 0], kind="stable")]
    picked = order[np.unique(np.linspace(0, len(order) - 1, 2 * count).round().astype(np.intp))]
    # The ends first, then what lies between, so that a search that looks at few of them sees all of the front.
    shared = np.arange(len(picked)) / max(len(picked) - 1, 1)
    coarse = np.array([_coarseness(float(s)) for s in shared])
    return X[picked[np.lexsort((shared, coarse))]]


def _coarseness(share: float) -> int:
    """How often [0, 1] must be halved until a cut lies within a sixteenth of a place of it; 0 at the ends."""
    return next((k for k in range(5) if abs(share - round(share * 2**k) / 2**k) < 0.0625), 5)


def _success(data: Dataset, rng: np.random.Generator) -> SuccessModel | None:
    """The model of which evaluations succeed; ``None`` if none has failed."""
    return SuccessModel.of(data, rng=rng) if len(data.X_failed) else None
