"""Ask and tell: suggestions one by one, in memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from calibo.checks import check_seed, check_whole, read_mapping, shown
from calibo.classifiers.composite import Outer
from calibo.data import Dataset, Outcome, Params, Suggestion, shown_params, shown_value
from calibo.errors import DataError, RecipeError, SpaceError, ValueRejected
from calibo.optimize.auto import log_change
from calibo.optimize.composite import Composite, composed, default_method
from calibo.optimize.optimum import WithProgress
from calibo.optimize.predictions import fitted_plan
from calibo.optimize.recommending import recommended
from calibo.optimize.stopping import Progress, StoppingRule, StoppingVerdict, as_rule
from calibo.optimize.strategy import Strategy, check_outcomes
from calibo.optimize.suggest import MOST_ASKED, generator, propose
from calibo.search import Plan
from calibo.spaces import Space, as_space, check_no_contexts, checked_context, held_values, moved_point
from calibo.spaces.base import announce_broken
from calibo.trials import (
    Direction,
    State,
    Trial,
    best_trial,
    calibration_by_place_of,
    calibration_of,
    check_single,
    completed,
    constraint_names,
    convert_forecasts,
    dataset,
    feasibility_of,
    feasible,
    finite_constraints,
    finite_values,
    objective_names,
    outcome_directions,
    outcome_of,
    pareto_trials,
    predict,
    predict_table,
    reference_values,
    some_feasible,
    standard_errors,
    trials_html,
)

if TYPE_CHECKING:
    import pandas as pd

    from calibo.diagnostics import CalibrationTable, FeasibilityTable, PlaceTable
    from calibo.optimize.explaining import Explanation
    from calibo.optimize.reporting import Modelled


class Optimizer(WithProgress):
    """Optimizer with an ask-and-tell interface.

    Outcomes of suggestions may be reported in any order, or never; suggestions without an outcome are pending and taken
    into account by the next ``ask``. It may be shared by threads: ``ask``, ``tell`` and ``tell_failed`` wait for each other.

    Args:
        space: A mapping of names to parameters, a space, or a table of rows (a pool).
        method: Name of a method ("auto", "gp_ei", ...) or a strategy; by default "auto", or "composite_lfbo" with
            ``composite``.
        direction: "minimize" or "maximize".
        directions: For several objectives, one direction each: ``["minimize", "maximize"]``, or by name
            ``{"error": "minimize", "speed": "maximize"}``. Values may then be told by name, and tables show the names.
        reference: Reference point for the hypervolume, one value per objective, in order or by name; inferred from the
            outcomes if ``None``.
        seed: Makes every suggestion reproducible; drawn at random if not given.
        n_initial: Number of points of the initial design, points observed before included; by default two per
            parameter, from 5 to 10.
        composite: Known function g of a composite objective g(h(x)), whose vectors h are then reported: it takes an
            `m x k` torch tensor and returns `m` values, differentiably. They are minimized or maximized as ``direction``
            says.

    Examples:
        >>> from calibo import Float, Int, Optimizer
        >>> optimizer = Optimizer({"x": Float(-2, 2), "k": Int(1, 4)}, "gp_ei", seed=0)
        >>> for _ in range(8):
        ...     suggestion = optimizer.ask()
        ...     p = suggestion.params
        ...     optimizer.tell(suggestion, (p["x"] - 0.5) ** 2 + p["k"])
        >>> optimizer
        Optimizer(gp_ei, minimize over x, k; 8 complete, 0 pending; best value ...)
        >>> params, value = optimizer.best
        >>> params["k"], round(value, 2)
        (1, 1.0)
    """

    def __init__(
        self,
        space: Any,
        method: str | Strategy | None = None,
        *,
        direction: str = "minimize",
        directions: Sequence[str] | Mapping[str, str] | None = None,
        reference: Sequence[float] | Mapping[str, float] | None = None,
        seed: int | None = None,
        n_initial: int | None = None,
        composite: Outer | None = None,
    ) -> None:
        from calibo.methods import strategy

        self.space: Space = as_space(space)
        self.directions: tuple[Direction, ...] = Direction.several(direction if directions is None else directions)
        self.names: tuple[str, ...] = objective_names(directions)
        method = default_method(method, composite)
        self.strategy: Strategy
        self._composite: Composite | None
        self.strategy, self._composite = composed(strategy(method), composite, self.directions)
        self._method: str | None = method if isinstance(method, str) else None
        self._reference: tuple[float, ...] = reference_values(reference, self.directions, self.names)
        check_outcomes(self.strategy, len(self.directions))
        self.seed: int = int(np.random.SeedSequence().entropy % 2**63) if seed is None else check_seed(seed)  # pyright: ignore[reportOperatorIssue]
        self.n_initial: int | None = None if n_initial is None else check_whole("n_initial", n_initial)
        # Of one thread, such as one that is called back by a model of the user's, several calls may be inside each other.
        self._lock: threading.RLock = threading.RLock()
        self._asked: int = 0
        self._pending: dict[int, Trial] = {}
        self._done: list[Trial] = []
        # Hyperparameters of the latest suggestion, and the constraints that were known then.
        self._latest: tuple[tuple[float, ...], ...] = ()
        self._latest_outcomes: tuple[str, ...] = ()
        self._why: str | None = None
        # The latest plan that was fitted for predictions, with the numbers of outcomes and suggestions then.
        self._fitted: tuple[tuple[int, int], Plan] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        named = zip(self.directions, self.names or [""] * len(self.directions), strict=True)
        goals = " and ".join(f"{direction.name.lower()} {name}".rstrip() for direction, name in named)
        name = self._method or self.strategy.name
        counts = f"{len(completed(self._done))} complete, {len(self._pending)} pending"
        failed = sum(trial.state is State.FAILED for trial in self._done)
        counts += f", {failed} failed" if failed else ""
        if len(self.directions) == 1 and feasible(self._done):
            params, value = self.best
            counts += f"; best value {shown_value(value)} at {shown_params(params)}"
        return f"Optimizer({name}, {goals} over {', '.join(self.space.names)}; {counts})"

    def _repr_html_(self) -> str:
        return trials_html(f"{self!r}.", self.trials, self.names or [""] * len(self.directions))

    @overload
    def ask(
        self, q: Literal[1] = 1, *, fixed: Mapping[str, Any] | None = None, context: Mapping[str, Any] | None = None
    ) -> Suggestion: ...
    @overload
    def ask(
        self, q: int, *, fixed: Mapping[str, Any] | None = None, context: Mapping[str, Any] | None = None
    ) -> list[Suggestion]: ...
    def ask(
        self, q: int = 1, *, fixed: Mapping[str, Any] | None = None, context: Mapping[str, Any] | None = None
    ) -> Suggestion | list[Suggestion]:
        """Suggest the next point to evaluate, with the forecasts that its outcome will be compared with.

        Args:
            q: Number of points, to be evaluated in parallel.
            fixed: Values of parameters that the suggestions must have, by name.
            context: Values of the space's contexts, by name: all of them.

        Returns:
            A suggestion, or a list of ``q`` suggestions if ``q`` > 1. Forecasts are in the user's sign and units.

        Raises:
            SpaceError: If a value cannot be held, or a context is missing.
        """
        q = check_whole("q, the number of points to ask for,", q, most=MOST_ASKED)
        held = held_values(self.space, fixed, context)
        with self._lock:
            return self._ask(q, held, context)

    def _ask(self, q: int, held: Mapping[str, Any], context: Mapping[str, Any] | None) -> Suggestion | list[Suggestion]:
        found = propose(
            self.data(),
            space=self.space,
            strategy=self.strategy,
            seed=self.seed,
            number=self._asked,
            q=q,
            n_initial=self.n_initial,
            held=held,
        )
        names = self.constraints
        outcomes = outcome_directions(self.directions, names)
        # A context outside of its range is nearest inside for the models; what was observed is kept.
        suggestions = [
            replace(
                s,
                params={**s.params, **(context or {})},
                forecasts=convert_forecasts(s.forecasts, outcomes),
                constraints=names,
                method=self._method,
            )
            for s in found
        ]
        for suggestion in suggestions:
            self._pending[suggestion.number] = Trial(suggestion)
            if suggestion.hyperparameters:
                self._latest, self._latest_outcomes = suggestion.hyperparameters, names
            log_change(self._why, suggestion.why_method)
            self._why = suggestion.why_method or self._why
        self._asked += len(suggestions)
        return suggestions[0] if q == 1 else suggestions

    def restore(self, suggestions: Sequence[Suggestion], *, asked: int = 0) -> None:
        """Take suggestions that an optimizer like this one made earlier as pending again, so that they can be told.

        A study kept elsewhere goes on so: its suggestions are restored with their forecasts, then their outcomes told in the
        order in which they arrived.

        Args:
            suggestions: Suggestions with numbers; their parameters count, not their encoded points.
            asked: How many suggestions were made in all, if more than the numbers say.

        Raises:
            DataError: If a suggestion has no number, or one that is taken.
        """
        taken = {trial.number for trial in self.trials if trial.number >= 0}
        for suggestion in suggestions:
            if suggestion.number < 0 or suggestion.number in taken:
                raise DataError(f"a suggestion to restore has a number of its own, got {suggestion.number}")
            own = {name: suggestion.params[name] for name in self.space.contexts}
            x = self.space.encode([{**suggestion.params, **checked_context(self.space, own)}])[0]
            self._pending[suggestion.number] = Trial(replace(suggestion, x=x))
            taken.add(suggestion.number)
            if suggestion.hyperparameters:
                self._latest, self._latest_outcomes = suggestion.hyperparameters, suggestion.constraints
        self._asked = max(self._asked, asked, *(number + 1 for number in taken), 0)

    def pending(self, number: int) -> Suggestion:
        """Return the pending suggestion of a number.

        Raises:
            DataError: If there is none.
        """
        if number not in self._pending:
            raise DataError(
                f"suggestion {number} is not pending: its outcome was recorded before, or it was never made"
            )
        return self._pending[number].suggestion

    def tell(
        self,
        what: Suggestion | Mapping[str, Any],
        value: float | Sequence[float] | Mapping[str, float] | Outcome,
        sem: float | Sequence[float] | Mapping[str, float] | None = None,
        *,
        constraints: Mapping[str, float] | Sequence[float] | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        """Record the outcome of a suggestion, or of any parameters (a point that was not suggested has no forecast).

        A forecast for another context than the one observed is not compared with the outcome: it is made anew for the
        context observed, from the results before this one.

        Args:
            what: The suggestion, or parameters by name.
            value: The value, or one for each of several objectives, in order or by name. With a composite objective the
                measured vector. Or an ``Outcome``, which has sem, constraints and context in it; its output is not kept.
            sem: Standard error of the value, if known; one for each of several objectives, in order or by name.
            constraints: Constraints by name or in order, each met where its value is not positive.
            context: Values of contexts that were observed, by name, where they differ from those asked with. A number
                outside of its range is kept, and models see the nearest one inside.

        Raises:
            ValueRejected: If a value is not a finite number; nothing is recorded then.
            DataError: If something is given both in an ``Outcome`` and beside it.
            SpaceError: If a context is none of the space's, or a value is not one that it can have.
        """
        if isinstance(value, Outcome):
            if not (sem is None and constraints is None and context is None):
                raise DataError(
                    "sem, constraints and context are parts of an Outcome, and some are given beside it as well: give them "
                    "in the Outcome, Outcome(value, constraints={...}, sem=..., context={...}), or tell a plain value"
                )
            value, sem, constraints, context = value.values, value.sem, value.constraints, value.context or None
        try:
            vector, values = self._measured(value, sem)
            limits = finite_constraints(constraints)
        except ValueRejected as error:
            raise ValueRejected(f"{error}; report a failure with tell_failed()") from None
        noise = standard_errors(sem, len(self.directions), self.names)
        check_outcomes(self.strategy, len(self.directions), len(limits))
        done: dict[str, Any] = {"values": values, "sem": noise, "constraints": limits, "vector": vector}
        with self._lock:
            self._record(replace(self._trial(what, context), state=State.COMPLETE, **done))

    def tell_failed(self, what: Suggestion | Mapping[str, Any], *, context: Mapping[str, Any] | None = None) -> None:
        """Record that an evaluation failed; the points around it become less likely to be suggested.

        Args:
            what: The suggestion, or parameters by name.
            context: As in ``tell``.
        """
        with self._lock:
            self._record(replace(self._trial(what, context), state=State.FAILED))

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials: finished ones in the order of their outcomes, then pending ones."""
        with self._lock:
            return (*self._done, *self._pending.values())

    def predict(self, params: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        """Return mean, median and calibrated intervals at parameters; see ``calibo.trials.predict_table``.

        Args:
            params: Parameters by name, one mapping per point.
        """
        X = self.space.encode(params)
        return predict_table(
            self._plan().models, X, directions=self.directions, constraints=self.constraints, names=self.names
        )

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the constraints recorded so far, sorted."""
        return constraint_names(self._done)

    @property
    def best(self) -> tuple[dict[str, Any], float]:
        """Parameters with the best value recorded so far among those that meet all constraints, and that value.

        With contexts it is the best in any of them, which says more of the contexts than of the parameters: see
        ``recommend``.
        """
        best = best_trial(self._done, self.directions)
        return dict(best.params), best.observed(0) or 0.0

    @property
    def best_expected(self) -> tuple[dict[str, Any], float]:
        """Recorded parameters with the best expected value under the calibrated model, and that expected value.

        Raises:
            RecipeError: If there are contexts, of which each has its own best: see ``recommend``.
        """
        check_single(self.directions, "best trial")
        check_no_contexts(self.space, "the best expected value", "ask for it by recommend(context={...})")
        met = some_feasible(self._done)
        X = np.stack([trial.x for trial in met])
        mean = predict(self._plan().models[0], X, self.directions[0], latent=True).mean
        best = int(np.argmax(self.directions[0].value * mean))
        return dict(met[best].params), float(mean[best])

    def recommend(
        self, *, context: Mapping[str, Any] | None = None, fixed: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], float]:
        """Return the parameters with the best expected value in a context, and that value; nothing is recorded.

        They are sought in all of the space, around the recorded points carried over to this context, and need not have been
        tried. With constraints the parameters are more likely than not to meet them all.

        Args:
            context: Values of the space's contexts, by name: all of them.
            fixed: Values of parameters that the recommendation must have, by name.

        Raises:
            SpaceError: If a value cannot be held, or a context is missing.
            RecipeError: If there are several objectives, or the method has no models.
        """
        check_single(self.directions, "recommendation")
        held = held_values(self.space, fixed, context)
        x, mean = recommended(self._plan(), self.data(), self.space.holding(held), rng=np.random.default_rng(self.seed))
        params = {**self.space.decode(x[None, :])[0], **(context or {})}
        return params, float(self.directions[0].value * mean)

    @property
    def pareto_front(self) -> list[tuple[dict[str, Any], tuple[float, ...]]]:
        """Parameters that meet all constraints and that no others dominate, with their values."""
        some_feasible(self._done)
        front = pareto_trials(self._done, self.directions)
        return [(dict(trial.params), trial.values or ()) for trial in front]

    def calibration(self, outcome: int | str = 0) -> CalibrationTable:
        """Compare the forecasts of one outcome with the values observed.

        Args:
            outcome: Index or name of an objective, or name of a constraint.
        """
        outcome, forecasting = outcome_of(outcome, self.names), self.strategy.makes_forecasts
        return calibration_of(self._done, self.directions, outcome, makes_forecasts=forecasting)

    def calibration_by_place(self, outcome: int | str = 0) -> PlaceTable:
        """Compare the forecasts of one outcome with the values observed: near the data, between, and far from them.

        Args:
            outcome: Index or name of an objective, or name of a constraint.
        """
        return calibration_by_place_of(self._done, self.directions, outcome_of(outcome, self.names))

    def feasibility(self) -> FeasibilityTable:
        """Compare the forecast probabilities of feasibility with the constraints observed."""
        return feasibility_of(self._done, self.directions)

    def data(self) -> Dataset:
        """Return all trials as the strategies see them: outcomes are maximized, points lie on the unit cube."""
        return self._dataset(self.trials)

    def _dataset(self, trials: Sequence[Trial]) -> Dataset:
        return dataset(
            trials,
            directions=self.directions,
            categories=self.space.categories,
            hyperparameters=self._latest if self._latest_outcomes == self.constraints else (),
            reference=self._reference,
            features=self.space.features,
            from_pool=self.space.is_pool,
            descriptors=self.space.descriptors,
            contexts=self.space.context_columns,
            activity=self.space.activity,
        )

    def stopping(self, rules: StoppingRule | Sequence[StoppingRule]) -> StoppingVerdict:
        """Say whether to stop now, and why; the suggestions are the same whether or not it is asked.

        Args:
            rules: A rule such as ``RegretBelow(0.1)`` or ``Patience(20)``, or a list of rules, any of which stops.

        Raises:
            RecipeError: If a rule cannot be used with the method, or for several objectives.
        """
        rule = as_rule(rules)
        rule.check(self.strategy, len(self.directions))
        check_no_contexts(
            self.space, "how much better another point is", "stop by hand, or by recommend(context={...})"
        )
        return rule.judge(self.progress())

    def explain(self, what: Suggestion | int) -> Explanation:
        """Explain why a point was suggested: explore or exploit, what is known nearby, what else would have been tried.

        Args:
            what: A suggestion, or its number.

        Raises:
            DataError: If there is no such suggestion.
        """
        from calibo.optimize.explaining import explain

        number = what.number if isinstance(what, Suggestion) else what
        for place, trial in enumerate(self.trials):
            if trial.number == number and number >= 0:
                # Results are kept in the order in which they were told: those after it were not known.
                known = [one for one in self.trials[:place] if one.number < number]
                return explain(trial, self._progress_of(known), self.names)
        raise DataError(f"there is no suggestion {shown(number)}: give one that ask() returned, or its number")

    def report(self, path: str | os.PathLike[str], *, title: str = "calibo") -> Path:
        """Write a report, a single HTML file, and return its path.

        Args:
            path: The file to write, normally ending in .html.
            title: Title of the report.
        """
        from calibo.optimize.reporting import Reported, renumbered, written

        with self._lock:
            trials, own = renumbered(self.trials)
            return written(
                Reported(
                    title=title,
                    method=self._method or self.strategy.name,
                    trials=trials,
                    directions=self.directions,
                    names=self.names,
                    reference=self.progress().reference,
                    makes_forecasts=self.strategy.makes_forecasts,
                    model=self._modelled(own) if self.strategy.makes_forecasts and completed(self._done) else None,
                ),
                path,
            )

    def _modelled(self, own: Mapping[int, int]) -> Modelled:
        """Return the model for a report, whose trials have other numbers than their ``own``."""
        from calibo.optimize.reporting import Modelled

        return Modelled(
            self.space,
            self._plan(),
            self.data(),
            self.progress,
            self._best_of,
            lambda number: self.explain(own[number]),
            lambda trials: np.stack([trial.x for trial in trials]),
        )

    def _best_of(self, objective: int) -> Params:
        return dict(best_trial(self._done, self.directions, objective).params)

    def progress(self) -> Progress:
        """Return all trials so far, as stopping rules see them."""
        return self._progress_of(self.trials)

    def _progress_of(self, trials: Sequence[Trial]) -> Progress:
        reference = tuple(d.value * value for d, value in zip(self.directions, self._reference, strict=False))
        return Progress(
            trials=tuple(trials),
            directions=self.directions,
            data=self._dataset(trials),
            space=self.space,
            strategy=self.strategy,
            seed=self.seed,
            reference=reference or None,
            n_initial=self.n_initial,
        )

    def _plan(self) -> Plan:
        """Return the plan after all trials so far, fitted once for all that is predicted from it."""
        now = len(self._done), self._asked
        if self._fitted is None or self._fitted[0] != now:
            self._fitted = now, fitted_plan(self.data(), self.strategy, rng=np.random.default_rng(self.seed))
        return self._fitted[1]

    def _measured(
        self,
        value: float | Sequence[float] | Mapping[str, float],
        sem: float | Sequence[float] | Mapping[str, float] | None,
    ) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return the vector of a composite objective (else nothing) and the values."""
        if self._composite is None:
            return (), finite_values(value, len(self.directions), self.names)
        if sem is not None:
            raise RecipeError(
                "the value of a composite objective is computed from its vector and has no sem: leave it out"
            )
        length = next((len(trial.vector) for trial in self._done if trial.vector), None)
        vector, computed = self._composite.measured(value, length)
        return vector, (computed,)

    def _trial(self, what: Suggestion | Mapping[str, Any], context: Mapping[str, Any] | None) -> Trial:
        """Return the pending trial of a suggestion, or a new one of parameters, in the context that was observed."""
        if isinstance(what, Mapping):
            params = read_mapping(what)
            if params is None:
                raise SpaceError(f"parameters are a mapping by name, got {shown(what)}, which cannot be read")
            given = {**params, **(context or {})}
            own = {name: value for name, value in given.items() if name in self.space.contexts}
            X = self.space.encode([{**given, **checked_context(self.space, own)}])
            announce_broken(self.space, X[0], "the parameters told")
            return Trial(Suggestion({**self.space.decode(X)[0], **own}, X[0]))
        trial = self._pending_trial(what)
        if context is None:
            return trial
        x = moved_point(self.space, trial.x, checked_context(self.space, context, partly=True))
        moved = replace(trial.suggestion, params={**trial.params, **context}, x=x)
        if not np.array_equal(x, trial.x):
            moved = self._forecast_anew(moved)
        return replace(trial, suggestion=moved)

    def _forecast_anew(self, suggestion: Suggestion) -> Suggestion:
        """Return a suggestion with forecasts at its point from the outcomes so far, if it had some."""
        if suggestion.forecasts is None:
            return suggestion
        rng = generator(self.seed, suggestion.number)
        plan = fitted_plan(replace(self.data(), refit=False), self.strategy, rng=rng)
        assert plan.forecaster is not None
        found = plan.forecaster(suggestion.x[None, :])[0]
        names = self.constraints
        forecasts = convert_forecasts(found, outcome_directions(self.directions, names))
        return replace(suggestion, forecasts=forecasts, constraints=names)

    def _pending_trial(self, what: Suggestion) -> Trial:
        """Return the pending trial of a suggestion."""
        if isinstance(what, Suggestion):
            pending = self._pending.get(what.number)
            if pending is None or not np.array_equal(pending.x, what.x):
                raise DataError(
                    f"suggestion {what.number} is not pending: its outcome was recorded before, or another optimizer made "
                    "it; tell its params instead to add a further measurement"
                )
            return pending
        raise DataError(f"tell takes a suggestion or a mapping of parameters, got a {type(what).__name__}")

    def _record(self, trial: Trial) -> None:
        self._done.append(trial)
        self._pending.pop(trial.number, None)
