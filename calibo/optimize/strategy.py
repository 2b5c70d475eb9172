"""Strategies: what is known -> a plan for what to try next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

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
from calibo.checks import check_flag, check_has, check_whole
from calibo.data import Array, Dataset, Forecast, Forecasts
from calibo.errors import RecipeError
from calibo.models import Capability, Model, SuccessModel, Surrogate, check_surrogate
from calibo.pareto import pareto_mask
from calibo.search import MultiStart, Plan, Pool, RandomDraw, Search
from calibo.spaces import Space

#: How many of the best points tried are searched around.
_ANCHORS = 5
#: Rows of a pool that are drawn for a rule whose values may be compared within one call only.
_DRAWN_ROWS = 1024


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
        by_stage = [inner.predict(X, latent=False).marginals() for inner in model.stages]
        return [Forecast(tuple(distributions), self.made_by) for distributions in zip(*by_stage, strict=True)]


class Strategy(ABC):
    """A method: makes a plan from the observations, and knows how to search.

    Every family of methods implements ``plan`` and ``searcher``; the other members have defaults.
    """

    @property
    def name(self) -> str:
        """Name of the method, for messages and stored studies."""
        return "custom"

    @property
    def makes_forecasts(self) -> bool:
        """Whether suggestions come with forecasts."""
        return True

    @property
    def single_objective(self) -> bool:
        """Whether the method optimizes one objective without constraints only."""
        return False

    @abstractmethod
    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        """Return the plan for the next suggestions.

        Args:
            data: The observations, at least one.
            rng: The only source of randomness.
        """

    @abstractmethod
    def searcher(self, space: Space) -> Search:
        """Return the search that suits the strategy and the space."""


@dataclass(frozen=True)
class ModelBased(Strategy):
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
    search: Search | None = None
    replicate: bool = False
    name: str = "custom"
    tradeoff: TradeoffRule = field(default_factory=HypervolumeImprovement)
    anchors: int = _ANCHORS

    def __post_init__(self) -> None:
        check_surrogate("surrogate", self.surrogate)
        check_has("rule", self.rule, "build", "ExpectedImprovement()")
        if not (hasattr(self.rule, "smooth") and hasattr(self.rule, "logarithmic")):
            raise RecipeError(f"a rule says whether it is smooth and logarithmic, got a {type(self.rule).__name__}")
        if self.search is not None:
            check_has("search", self.search, "maximize", "MultiStart()")
        check_has("tradeoff", self.tradeoff, "build", "HypervolumeImprovement()")
        check_whole("anchors", self.anchors, least=0)
        check_flag("replicate", self.replicate)
        if self.replicate and self.search is not None and self.search.counts_evaluations:
            raise RecipeError(
                "Dynamic counts evaluations by the points that are not to be tried again, which with replicate=True are "
                "only the pending ones: it would choose at random for ever. Use MutatedBest() or RandomCandidates()"
            )

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        models = tuple(self.surrogate.fit(data.outcome(i), rng=rng) for i in range(data.Y.shape[1]))
        tried = np.vstack([data.X, data.X_failed])
        needed = 0 if self.search is None else self.search.anchors_needed
        learns = Capability.LEARNS_FROM_PROPOSALS in models[0].capabilities
        # While a plan learns, the models change but not the base samples of the rule.
        seed = int(rng.integers(2**63)) if learns else 0
        success = _success(data, rng)

        def acquisition(models: tuple[Model, ...]) -> Acquisition:
            return self._gated(models, data, success, np.random.default_rng(seed) if learns else rng)

        def learn(plan: Plan, proposals: Array, rng: np.random.Generator) -> Plan:
            # All outcomes were measured at the same points, so all models learn the same density ratio.
            seed = int(rng.integers(2**63))
            models = tuple(m.learned(proposals, rng=np.random.default_rng(seed)) for m in plan.models)
            forecaster = ModelForecaster(models, self.surrogate.stage_names)
            return replace(plan, models=models, acquisition=acquisition(models), forecaster=forecaster)

        return Plan(
            acquisition=acquisition(models),
            forecaster=ModelForecaster(models, self.surrogate.stage_names),
            models=models,
            anchors=anchor_points(data, max(self.anchors, needed)),
            avoid=data.X_pending if self.replicate else np.vstack([tried, data.X_pending]),
            hyperparameters=tuple(model.hyperparameters for model in models),
            learn=learn if learns else None,
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
        if Capability.IN_DISTRIBUTION in models[0].capabilities:
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

    def searcher(self, space: Space) -> Search:
        if self.search is not None:
            return self.search
        if space.is_pool:
            return Pool() if self.rule.smooth else Pool(drawn=_DRAWN_ROWS)
        return MultiStart() if self.rule.smooth else RandomDraw()


def check_outcomes(strategy: Strategy, objectives: int, constraints: int = 0) -> None:
    """Check that a strategy for a single objective is not given several, or constraints.

    Raises:
        RecipeError: If it is; the message names methods that take them.
    """
    if strategy.single_objective and (objectives != 1 or constraints):
        given = f"{objectives} objectives" if objectives > 1 else f"{constraints} constraints"
        raise RecipeError(
            f"{strategy.name} optimises one objective without constraints, got {given}; "
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
