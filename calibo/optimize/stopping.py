"""When to stop: rules that look at a study so far and say whether to go on, and why."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibo.arguments import check_fields
from calibo.checks import check_between, check_instance, check_whole, read_items
from calibo.data import Array, Dataset, Params, shown_value
from calibo.errors import RecipeError
from calibo.models import Model, SuccessModel
from calibo.models.standardization import all_alike
from calibo.optimize.predictions import fitted_plan
from calibo.optimize.regret import CAREFUL, QUICK, Belief, Regret
from calibo.optimize.strategy import Strategy, fit_models
from calibo.spaces import Space
from calibo.trials import Direction, State, Trial, constraint_names, hypervolume_after

#: Keeps the randomness of stopping rules apart from that of suggestions.
_STREAM = 0x570B
#: States of trials that have come to an end of their own.
_FINISHED = (State.COMPLETE, State.FAILED, State.PRUNED)


@dataclass(frozen=True, eq=False)
class Progress:
    """A study so far, as stopping rules see it.

    Attributes:
        trials: All trials, in the order in which they were finished.
        directions: One direction per objective.
        data: The same trials as the strategy sees them.
        space: The search space.
        strategy: The strategy.
        seed: Seed of the study: with the number of finished trials it determines all randomness.
        reference: Reference point for the hypervolume in the user's sign; ``None`` to infer it.
        n_initial: Size of the initial design; ``None`` for that of the dimension.
    """

    trials: tuple[Trial, ...]
    directions: tuple[Direction, ...]
    data: Dataset
    space: Space
    strategy: Strategy
    seed: int
    reference: tuple[float, ...] | None = None
    n_initial: int | None = None

    @cached_property
    def finished(self) -> tuple[Trial, ...]:
        """Trials that are complete, failed or were pruned."""
        return tuple(trial for trial in self.trials if trial.state in _FINISHED)

    def generator(self) -> np.random.Generator:
        """Return a random generator: the same after the same number of trials, also when a study is resumed."""
        return np.random.default_rng([self.seed, len(self.finished), _STREAM])

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """Fitted models of all outcomes, the objectives first: those that make forecasts, fitted once for all rules."""
        surrogate = self.strategy.forecasting
        if surrogate is None:
            return fitted_plan(self.data, self.strategy, rng=self.generator()).models
        # Without the rest of a plan, such as a model that only the search acts on.
        return fit_models(surrogate, self.data, rng=self.generator())

    @cached_property
    def merit(self) -> Array:
        """Best value (several objectives: hypervolume) after each finished trial, larger is better; at first -inf."""
        names = constraint_names(self.finished)
        counted = [t.state is State.COMPLETE and t.meets(names) for t in self.finished]
        if len(self.directions) == 1:
            sign = self.directions[0].value
            pairs = zip(self.finished, counted, strict=True)
            values = [sign * t.values[0] if met and t.values else -np.inf for t, met in pairs]
            return np.maximum.accumulate(np.array([-np.inf, *values]))[1:]
        if not any(counted):
            return np.full(len(self.finished), -np.inf)
        complete = np.cumsum([t.state is State.COMPLETE for t in self.finished])
        volumes = np.concatenate([[-np.inf], hypervolume_after(self.finished, self.directions, self.reference)])
        return np.where(np.cumsum(counted) > 0, volumes[complete], -np.inf)


@dataclass(frozen=True)
class StoppingVerdict:
    """What a stopping rule says.

    Attributes:
        stop: Whether to stop.
        sentence: Why, or why not.
        probability: Of a regret as small as asked for; ``None`` if the rule states none. While it is far from enough it is
            a quick estimate, which is rather too large than too small.
        bound: Regret that is not exceeded with the confidence asked for, in the user's units; ``None`` if none is stated.
        params: The point that the regret is that of; ``None`` if none is stated.
    """

    stop: bool
    sentence: str
    probability: float | None = None
    bound: float | None = None
    params: Params | None = None

    def __str__(self) -> str:
        return f"{'stop' if self.stop else 'go on'}: {self.sentence}"


class StoppingRule(ABC):
    """A rule that says when to stop; subclasses are frozen dataclasses without a state."""

    @property
    def needs_forecasts(self) -> bool:
        """Whether the rule asks a model, so that the method must make forecasts; by default not."""
        return False

    @property
    def single_objective(self) -> bool:
        """Whether the rule is for one objective only; by default not."""
        return False

    def check(self, strategy: Strategy, objectives: int) -> None:
        """Check that the rule can be used with a strategy and a number of objectives.

        Raises:
            RecipeError: If it cannot; the message says what to use instead.
        """
        if self.single_objective and objectives > 1:
            raise RecipeError(
                f"{type(self).__name__} is for one objective, got {objectives}: several have no single best value. Use "
                "Patience(20), which then watches the hypervolume"
            )
        if self.needs_forecasts and not strategy.makes_forecasts:
            raise RecipeError(
                f"{type(self).__name__} needs a predictive distribution, and {strategy.name} has none: use a method with "
                "forecasts, such as auto or gp_ei, or give it a surrogate to forecast beside it, such as "
                "methods.lfbo(forecaster=GaussianProcess()); Patience(20) works with every method"
            )

    @abstractmethod
    def judge(self, progress: Progress) -> StoppingVerdict:
        """Say whether to stop now.

        Args:
            progress: The study so far.
        """


@dataclass(frozen=True)
class RegretBelow(StoppingRule):
    """Stop when, by the calibrated model, no point is better than the recommended one by more than ``epsilon``.

    The recommended point is the measured one with the best expected value (``Optimizer.best_expected``); without noise that
    is the best one measured. Its regret, the distance of the largest value that f has anywhere from the value there, is drawn
    from the model (``calibo.optimize.regret``); only points count that meet all constraints and whose evaluation succeeds.
    What is promised, how often it was true, and what is not promised: docs/stopping.md.

        >>> from calibo import Float, Optimizer, RegretBelow
        >>> optimizer = Optimizer({"x": Float(-1, 1)}, seed=0)
        >>> while not optimizer.stopping(RegretBelow(0.05)).stop:
        ...     suggestion = optimizer.ask()
        ...     optimizer.tell(suggestion, (suggestion.params["x"] - 0.3) ** 2)
        >>> optimizer.best[1] < 0.05
        True

    Attributes:
        epsilon: Regret that does not matter, in units of the objective, not negative. 0 makes sense for finite spaces only.
        confidence: Probability that the regret is that small, inside (0, 1).
    """

    epsilon: float
    confidence: float = 0.9

    def __post_init__(self) -> None:
        check_fields(self)
        check_between("epsilon, the regret that does not matter,", self.epsilon, 0.0, np.inf, including="low")
        check_between("confidence", self.confidence, 0.0, 1.0)

    @property
    def needs_forecasts(self) -> bool:
        return True

    @property
    def single_objective(self) -> bool:
        return True

    def judge(self, progress: Progress) -> StoppingVerdict:
        self.check(progress.strategy, len(progress.directions))
        data = progress.data
        if (lacking := _lacking(data, progress.space)) is not None:
            return StoppingVerdict(False, lacking, 0.0)
        rng = progress.generator()
        success = SuccessModel.of(data, rng=rng) if len(data.X_failed) else None
        belief = Belief(data, progress.space, progress.models, success)
        regret = belief.regret(QUICK, rng=rng)
        if regret.probability_below(self.epsilon) >= self.confidence:
            regret = belief.regret(CAREFUL, rng=rng)
        return self._verdict(regret, progress)

    def _verdict(self, regret: Regret, progress: Progress) -> StoppingVerdict:
        probability, bound = regret.probability_below(self.epsilon), regret.bound(self.confidence)
        stop = probability >= self.confidence
        claim = (
            f"after {len(progress.data)} results, with probability {probability:.3f}, no point is better than the best one "
            f"found by more than {shown_value(self.epsilon)}"
        )
        asked = f"{'asked for' if stop else 'too low: asked for'} was {self.confidence:g}"
        params = progress.space.decode(progress.data.X[[regret.row]])[0]
        return StoppingVerdict(stop, f"{claim} ({asked})", probability, bound, params)


def _lacking(data: Dataset, space: Space) -> str | None:
    """Say why nothing can be said of the regret yet; ``None`` if something can.

    A model of equal outcomes has no scale: it would be sure at once that they are the same everywhere.
    """
    if not len(data):
        return "there is no result yet, so there is nothing to recommend"
    if not data.feasible.any():
        return "no result meets all constraints yet, so there is nothing to recommend"
    seen = np.vstack([data.X, data.X_failed])
    untried = space.size is None or len(np.unique(seen, axis=0)) < space.size
    if len(data) > 1 and untried and all_alike(data.Y[:, :1]):
        return f"all {len(data)} results are the same, so that nothing says how much better another point may be"
    return None


@dataclass(frozen=True)
class Patience(StoppingRule):
    """Stop when the best value has not improved by more than ``least`` over the last ``trials`` finished trials.

    Trials that failed or were pruned, and those that do not meet all constraints, count as trials without improvement; those
    that the user interrupted do not count. Counting begins with the first trial that meets all constraints. Of several
    objectives it is the hypervolume that has to improve.

        >>> from calibo import Float, Patience, minimize
        >>> space = {"x": Float(-1, 1)}
        >>> result = minimize(lambda p: abs(p["x"]), space, 60, "gp_ei", seed=0, progress=False, stop=Patience(8))
        >>> result.stopped
        'no improvement in the last 8 trials'

    Attributes:
        trials: Number of trials, at least 1.
        least: Improvement that does not count, in units of the objective (several: of the hypervolume), not negative.
    """

    trials: int
    least: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("the number of trials of Patience", self.trials)
        check_between("least, the improvement that does not count,", self.least, 0.0, np.inf, including="low")

    def judge(self, progress: Progress) -> StoppingVerdict:
        merit = progress.merit
        before = len(merit) - 1 - self.trials
        if before < 0 or merit[before] == -np.inf:
            return StoppingVerdict(False, f"fewer than {self.trials} trials since the first result")
        gained = float(merit[-1]) - float(merit[before])
        more = f" by more than {shown_value(self.least)}" if self.least else ""
        where = f"in the last {self.trials} trials" if self.trials > 1 else "in the last trial"
        if gained > self.least:
            return StoppingVerdict(False, f"an improvement{more} {where}")
        return StoppingVerdict(True, f"no improvement{more} {where}")


@dataclass(frozen=True)
class AnyOf(StoppingRule):
    """Stop when any of several rules says so.

    Attributes:
        rules: The rules, at least one; the first that says stop gives the reason.
    """

    rules: tuple[StoppingRule, ...]

    def __post_init__(self) -> None:
        if not self.rules:
            raise RecipeError("a list of stopping rules needs at least one, such as [RegretBelow(0.1), Patience(20)]")
        for rule in self.rules:
            check_instance("a stopping rule", rule, StoppingRule, "RegretBelow(0.1) or Patience(20)")
        check_fields(self)

    def check(self, strategy: Strategy, objectives: int) -> None:
        for rule in self.rules:
            rule.check(strategy, objectives)

    def judge(self, progress: Progress) -> StoppingVerdict:
        verdicts: list[StoppingVerdict] = []
        for rule in self.rules:
            verdicts.append(rule.judge(progress))
            if verdicts[-1].stop:
                return verdicts[-1]
        stated = next((verdict for verdict in verdicts if verdict.probability is not None), verdicts[0])
        sentence = "; ".join(verdict.sentence for verdict in verdicts)
        return StoppingVerdict(False, sentence, stated.probability, stated.bound, stated.params)


def as_rule(rules: StoppingRule | Sequence[StoppingRule]) -> StoppingRule:
    """Return a rule as it is, or that of a list of rules, any of which stops.

    Raises:
        RecipeError: If it is neither.
    """
    if (items := read_items(rules)) is not None:
        return AnyOf(tuple(items))
    return check_instance("stop", rules, StoppingRule, "RegretBelow(0.1) or Patience(20)")
