"""Strategies: from the observations to a plan for the next points; ``ModelBased`` is that of every method with a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from calibo.acquisition import (
    Acquisition,
    AcquisitionRule,
    Feasibility,
    FirstFeasible,
    HypervolumeImprovement,
    TradeoffRule,
    Weight,
    last_points,
    log_of,
    weighted,
    weighted_last,
)
from calibo.arguments import check_fields
from calibo.checks import check_flag, check_instance, check_one_of, check_whole
from calibo.data import Array, Dataset, Forecast, Forecasts
from calibo.errors import RecipeError
from calibo.models import Capability, Model, SuccessModel, Surrogate, check_model, check_surrogate
from calibo.pareto import pareto_mask
from calibo.search import Langevin, MultiStart, Plan, Pool, RandomDraw, Search
from calibo.spaces import Space

#: How many of the best observations are searched around.
ANCHORS = 5
#: Rows drawn from a pool for a rule whose values can be compared within one call only.
_DRAWN_ROWS = 1024


class Strategy(ABC):
    """A method: makes a plan from the observations, and knows how to search.

    Every family of methods implements ``plan`` and ``searcher``; the other members have defaults.

    Attributes:
        name: Name of the method, for messages and stored studies.
    """

    name: str = "custom"

    @property
    def makes_forecasts(self) -> bool:
        """Whether suggestions come with forecasts."""
        return True

    @property
    def forecasting(self) -> Surrogate | None:
        """The surrogate whose models make the forecasts; ``None`` if there is none, or it is not known."""
        return None

    @property
    def single_objective(self) -> bool:
        """Whether the method optimizes one objective without constraints only."""
        return False

    @property
    def compares_within_contexts(self) -> bool:
        """Whether improvement is judged by what is expected in the context of a suggestion, instead of by any outcome."""
        return False

    @property
    def compares_rows(self) -> bool:
        """Whether values of the acquisition function can be compared between any two rows of a table, as ranking must."""
        return False

    def designs_on(self, data: Dataset) -> bool:
        """Whether the initial design goes on beyond its size, as a plan for the data could only guess."""
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


def check_outcomes(strategy: Strategy, objectives: int, constraints: int = 0) -> None:
    """Check that a strategy for a single objective is not given several, or constraints.

    Raises:
        RecipeError: If it is; the message names methods that take them.
    """
    if strategy.single_objective and (objectives != 1 or constraints):
        given = f"{objectives} objectives" if objectives > 1 else f"{constraints} constraints"
        raise RecipeError(
            f"{strategy.name} optimizes one objective without constraints, got {given}; "
            "ocbo, locbo, cbo and gp_ei take both"
        )


def check_contexts(strategy: Strategy, contexts: Sequence[str]) -> None:
    """Check that a strategy can be used in a space with parameters that are observed, not chosen.

    Raises:
        RecipeError: If it compares outcomes across contexts.
    """
    if contexts and not strategy.compares_within_contexts:
        raise RecipeError(
            f"{strategy.name} compares outcomes across contexts ({', '.join(contexts)}), so that it would look for points "
            "that are good in good contexts; use a method with a model, such as auto, ocbo or gp_ei"
        )


@dataclass(frozen=True)
class ModelForecaster:
    """Forecasts of measurements by models.

    Attributes:
        models: Model of each outcome.
        stage_names: Names of the stages of their forecasts.
    """

    models: tuple[Model, ...]
    stage_names: tuple[str, ...]

    def __post_init__(self) -> None:
        check_fields(self)
        for model in self.models:
            if len(model.stages) != len(self.stage_names):
                stages = ", ".join(type(stage).__name__ for stage in model.stages)
                raise RecipeError(
                    f"the surrogate names the stages {', '.join(self.stage_names)}, but those of its model are {stages}: "
                    "the fit of a SurrogateWrapper must return a ModelWrapper around the model inside; any other "
                    "surrogate whose model has several stages must name them in stage_names"
                )

    def __call__(self, X: Array) -> tuple[Forecasts, ...]:
        """Return the forecasts at `q x d` points: q tuples with one forecast per outcome."""
        return tuple(zip(*(self._of(model, X) for model in self.models), strict=True))

    def _of(self, model: Model, X: Array) -> list[Forecast]:
        by_stage = [distribution.marginals() for distribution in model.predict_stages(X)]
        return [Forecast(tuple(distributions), self.stage_names) for distributions in zip(*by_stage, strict=True)]


@dataclass(frozen=True)
class ModelBased(Strategy):
    """Surrogate -> models -> acquisition function: the strategy of every method with a predictive distribution.

    Each outcome has its own model, fitted by the same surrogate. With several objectives the acquisition function is that
    of ``tradeoff``. A constraint multiplies it by the calibrated probability that a measurement meets it; while no
    observation meets all constraints, that probability alone is maximized.

        >>> from calibo import Float, Optimizer
        >>> from calibo.acquisition import UpperQuantile
        >>> from calibo.models import GaussianProcess
        >>> from calibo.optimize import ModelBased
        >>> optimizer = Optimizer({"x": Float(0, 1)}, ModelBased(GaussianProcess(), UpperQuantile(0.95)), seed=0)
        >>> for _ in range(7):
        ...     suggestion = optimizer.ask()
        ...     optimizer.tell(suggestion, (suggestion.params["x"] - 0.3) ** 2)
        >>> round(optimizer.best[0]["x"], 1)
        0.3

    Attributes:
        surrogate: Fits the models; a calibrated surrogate is a surrogate like any other.
        rule: Builds the acquisition function of one objective.
        search: Maximizes the acquisition function; by default chosen by the space and the rule, after Langevin chains if
            the surrogate learns where the search goes (a density ratio).
        replicate: Whether a point may be suggested again, which makes sense only if measurements are noisy.
        name: Name of the method, for messages.
        tradeoff: Builds the acquisition function of several objectives.
        anchors: How many of the best observations are searched around; more if the search needs more.
        acts_on: What the acquisition function of the objectives sees: the "calibrated" distributions that are shown, or those
            of the "raw" model inside, so that calibration changes what is shown and not where the search goes.
            Probabilities of feasibility are the calibrated ones in either case.
        acting: A surrogate for the acquisition function of a single objective alone, whose models are never shown; it takes
            the place of what ``acts_on`` names. A model that finds good points need not forecast bad ones.
    """

    surrogate: Surrogate
    rule: AcquisitionRule
    search: Search | None = None
    replicate: bool = False
    name: str = "custom"
    tradeoff: TradeoffRule = field(default_factory=HypervolumeImprovement)
    anchors: int = ANCHORS
    acts_on: Literal["calibrated", "raw"] = "calibrated"
    acting: Surrogate | None = None

    def __post_init__(self) -> None:
        check_surrogate("surrogate", self.surrogate)
        check_instance("rule", self.rule, AcquisitionRule, "ExpectedImprovement()")
        if self.search is not None:
            check_instance("search", self.search, Search, "MultiStart()")
        check_instance("tradeoff", self.tradeoff, TradeoffRule, "HypervolumeImprovement()")
        check_fields(self)
        check_whole("anchors", self.anchors, least=0)
        check_flag("replicate", self.replicate)
        check_one_of("acts_on", self.acts_on, ("calibrated", "raw"))
        if self.acting is not None:
            check_surrogate("acting", self.acting)
            if learns_from_proposals(self.surrogate):
                raise RecipeError(
                    "a surrogate that learns while the search explores (a density ratio) must be the one that the search "
                    "acts on: leave acting out, or use a surrogate without a density ratio (ratio=None)"
                )
        if self.replicate and self.search is not None and self.search.counts_evaluations:
            raise RecipeError(
                "Dynamic counts evaluations by the points that must not be suggested again, which with replicate=True are "
                "only the pending ones: it would choose at random for ever. Use MutatedBest() or RandomCandidates()"
            )
        if self.search is not None and not self.search.explores and learns_from_proposals(self.surrogate):
            raise RecipeError(
                f"the density ratio of the surrogate is learned while the search explores, which {self.search!r} does not: "
                f"use search=Langevin(then=...), or a surrogate without a density ratio (ratio=None)"
            )

    @property
    def forecasting(self) -> Surrogate | None:
        return self.surrogate

    @property
    def compares_within_contexts(self) -> bool:
        return True

    @property
    def compares_rows(self) -> bool:
        return self.rule.smooth

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        models = fit_models(self.surrogate, data, rng=rng)
        acting = self._acting_models(data, rng)
        learns = Capability.LEARNS_FROM_PROPOSALS in models[0].capabilities
        # While a plan learns, the models change but not the base samples of the rule.
        seed = int(rng.integers(2**63)) if learns else None
        success = SuccessModel.of(data, rng=rng) if len(data.X_failed) else None
        known = (data.feasible_only() if data.feasible.any() else data).without_constraints()
        rule, tradeoff = None, self.tradeoff
        if data.objectives == 1:
            rule = self.rule.chosen((acting or self._acted_on(models))[0], known)
        else:
            tradeoff = self.tradeoff.chosen(self._acted_on(models[: data.objectives]), known)

        def acquisition(models: tuple[Model, ...]) -> Acquisition:
            goals = acting or self._acted_on(models[: data.objectives])
            generator = rng if seed is None else np.random.default_rng(seed)
            return self._acquisition(goals, models, rule or tradeoff, data.here(), success, generator)

        def learn(plan: Plan, proposals: Array, rng: np.random.Generator) -> Plan:
            # All outcomes were measured at the same points, so all models learn the same density ratio.
            seed = int(rng.integers(2**63))
            models = tuple(model.learned(proposals, rng=np.random.default_rng(seed)) for model in plan.models)
            forecaster = ModelForecaster(models, self.surrogate.stage_names)
            return replace(plan, models=models, acquisition=acquisition(models), forecaster=forecaster)

        return Plan(
            acquisition=acquisition(models),
            anchors=anchor_points(
                expected_here(acting or self._acted_on(models[: data.objectives]), data),
                max(self.anchors, self.search.anchors_needed if self.search else 0),
            ),
            avoid=data.X_pending if self.replicate else data.tried,
            models=models,
            forecaster=ModelForecaster(models, self.surrogate.stage_names),
            hyperparameters=tuple(model.hyperparameters for model in (*models, *acting)),
            learn=learn if learns else None,
            rule=type(rule or tradeoff).__name__ if data.feasible.any() else FirstFeasible.__name__,
        )

    def _acting_models(self, data: Dataset, rng: np.random.Generator) -> tuple[Model, ...]:
        """Return the model of the objective that ``acting`` fits, as a tuple; empty if it is not to be used.

        Its hyperparameters are stored after those of the outcomes.
        """
        if self.acting is None or data.objectives > 1:
            return ()
        stored = data.hyperparameters[data.Y.shape[1] :]
        goals = replace(data.without_constraints(), forecasts=(), hyperparameters=stored)
        return fit_models(self.acting, goals, rng=rng)

    def searcher(self, space: Space) -> Search:
        if self.search is not None:
            return self.search
        if space.is_pool:
            search: Search = Pool() if self.rule.smooth else Pool(drawn=_DRAWN_ROWS)
        else:
            search = MultiStart() if self.rule.smooth else RandomDraw()
        return Langevin(then=search) if learns_from_proposals(self.surrogate) else search

    def _acted_on(self, models: tuple[Model, ...]) -> tuple[Model, ...]:
        """Return what the acquisition function sees of the models that are shown."""
        return tuple(model.stages[0] for model in models) if self.acts_on == "raw" else models

    def _acquisition(
        self,
        goal_models: tuple[Model, ...],
        models: tuple[Model, ...],
        rule: AcquisitionRule | TradeoffRule,
        data: Dataset,
        success: SuccessModel | None,
        rng: np.random.Generator,
    ) -> Acquisition:
        """Build the acquisition function of models of the objectives on the feasible observations, weighted by probabilities.

        The rule is one of improvement, or with several objectives one of trade-offs.

        The weights are the probabilities that the model's data support the prediction, that the evaluation succeeds, and
        that the constraints are met. Where they are 0, a logarithmic utility is minus infinity and any other value is the
        mean outcome (out of distribution; Stanton et al. 2023, B.7) or the worst one (failed or infeasible).
        """
        feasibility = Feasibility(models[data.objectives :])
        if not data.feasible.any():
            first = FirstFeasible(feasibility, data.X_pending, int(rng.integers(2**63)))
            return weighted_last(first, [] if success is None else [log_of(success)])
        goals = data.without_constraints()
        mean, worst = float(goals.Y.mean()), float(goals.Y.min())
        weights = list[Weight]()
        if Capability.IN_DISTRIBUTION in models[0].capabilities:
            weights.append(Weight(log_of(models[0].in_distribution), mean, losses_grow=False))
        if success is not None:
            weights.append(Weight(log_of(success), worst))
        if data.constraints:
            weights.append(Weight(feasibility.log, worst))
        observed = data.feasible_only().without_constraints()
        if isinstance(rule, TradeoffRule):
            acquisition = rule.build(goal_models, observed, rng=rng)
            return weighted_last(acquisition, [weight.log_probability for weight in weights])
        acquisition = rule.build(goal_models[0], observed, rng=rng)
        if rule.smooth:
            return weighted(acquisition, weights, logarithmic=rule.logarithmic, pending=data.X_pending)
        # A draw of f depends on the last point of a batch alone.
        product = weighted(acquisition, weights, logarithmic=False, pending=data.X_pending[:0])
        return lambda X: product(last_points(X))


def fit_models(surrogate: Surrogate, data: Dataset, *, rng: np.random.Generator) -> tuple[Model, ...]:
    """Fit one model to each outcome, to slacks of constraints by the recipe for these.

    Raises:
        RecipeError: If the surrogate's ``fit`` returns something that is not a model.
    """
    what = f"what {type(surrogate).__name__}.fit returns"
    recipes = [surrogate] * data.objectives
    if data.constraints:
        recipes += [surrogate.for_constraints] * data.constraints
    return tuple(check_model(what, recipe.fit(data.outcome(i), rng=rng)) for i, recipe in enumerate(recipes))


def learns_from_proposals(surrogate: Surrogate) -> bool:
    """Whether the models of a surrogate are known to learn where the search goes, so that the search must explore."""
    return Capability.LEARNS_FROM_PROPOSALS in (surrogate.capabilities or ())


def expected_here(models: Sequence[Model], data: Dataset) -> Dataset:
    """Return the data moved to where columns are held, with the objectives' expected values there; else as they are.

    Args:
        models: Model of each objective.
        data: The observations.
    """
    if data.held is None:
        return data
    here = data.here()
    means = [model.predict(here.X, latent=True).mean for model in models]
    return replace(here, Y=np.column_stack([*means, here.Y[:, data.objectives :]]))


def anchor_points(data: Dataset, count: int = ANCHORS) -> Array:
    """Return the most promising observations, `a x d`, best first.

    They are the best feasible ones, or those on the Pareto front, or the least infeasible ones if none is feasible.
    """
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
    # The ends first, then the points between, so that a search that uses few anchors sees all of the front.
    shares = np.arange(len(picked)) / max(len(picked) - 1, 1)
    halvings = np.array([_halvings(float(share)) for share in shares])
    return X[picked[np.lexsort((shares, halvings))]]


def _halvings(share: float) -> int:
    """Return how often [0, 1] is halved until a cut lies within 1/16 of ``share``; 0 at the ends."""
    return next((k for k in range(5) if abs(share - round(share * 2**k) / 2**k) < 0.0625), 5)
