"""Ask and tell: suggestions one by one, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from calibo.checks import check_seed, check_whole
from calibo.classifiers.composite import Outer
from calibo.data import Dataset, Suggestion
from calibo.errors import DataError, RecipeError, ValueRejected
from calibo.optimize.auto import log_change
from calibo.optimize.composite import Composite, composed, default_method
from calibo.optimize.predictions import fitted_plan
from calibo.optimize.stopping import Progress, StoppingRule, StoppingVerdict, as_rule
from calibo.optimize.strategy import Strategy, check_outcomes
from calibo.optimize.suggest import propose
from calibo.search import Plan
from calibo.spaces import Space, as_space
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
    finite_constraints,
    finite_values,
    outcome_directions,
    pareto_trials,
    predict,
    predict_table,
    reference_values,
    some_feasible,
    standard_errors,
)

if TYPE_CHECKING:
    import pandas as pd

    from calibo.diagnostics import CalibrationTable, FeasibilityTable, PlaceTable


class Optimizer:
    """Optimizer with an ask-and-tell interface.

    Outcomes of suggestions may be reported in any order, or never; suggestions without an outcome are pending and taken
    into account by the next ``ask``.

    Args:
        space: A mapping of names to parameters, a space, or a table of rows (a pool).
        method: Name of a method ("auto", "gp_ei", ...) or a strategy; by default "auto", or "composite_lfbo" with
            ``composite``.
        direction: "minimize" or "maximize".
        directions: For several objectives, one direction each.
        reference: Reference point for the hypervolume, one value per objective; inferred from the Pareto front if
            ``None``.
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
        Optimizer(gp_ei, minimize over x, k; 8 complete, 0 pending)
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
        directions: Sequence[str] | None = None,
        reference: Sequence[float] | None = None,
        seed: int | None = None,
        n_initial: int | None = None,
        composite: Outer | None = None,
    ) -> None:
        from calibo.methods import strategy

        self.space: Space = as_space(space)
        self.directions: tuple[Direction, ...] = Direction.several(direction if directions is None else directions)
        method = default_method(method, composite)
        self.strategy: Strategy
        self._composite: Composite | None
        self.strategy, self._composite = composed(strategy(method), composite, self.directions)
        self._method: str | None = method if isinstance(method, str) else None
        self._reference: tuple[float, ...] = reference_values(reference, self.directions)
        check_outcomes(self.strategy, len(self.directions))
        self.seed: int = int(np.random.SeedSequence().entropy % 2**63) if seed is None else check_seed(seed)  # pyright: ignore[reportOperatorIssue]
        self.n_initial: int | None = None if n_initial is None else check_whole("n_initial", n_initial)
        self._asked: int = 0
        self._pending: dict[int, Trial] = {}
        self._done: list[Trial] = []
        # Hyperparameters of the latest suggestion, and the constraints that were known then.
        self._latest: tuple[tuple[float, ...], ...] = ()
        self._latest_outcomes: tuple[str, ...] = ()
        self._why: str | None = None

    def __repr__(self) -> str:
        goals = " and ".join(direction.name.lower() for direction in self.directions)
        name = self._method or self.strategy.name
        counts = f"{len(completed(self._done))} complete, {len(self._pending)} pending"
        failed = sum(trial.state is State.FAILED for trial in self._done)
        counts += f", {failed} failed" if failed else ""
        return f"Optimizer({name}, {goals} over {', '.join(self.space.names)}; {counts})"

    @overload
    def ask(self, q: Literal[1] = 1) -> Suggestion: ...
    @overload
    def ask(self, q: int) -> list[Suggestion]: ...
    def ask(self, q: int = 1) -> Suggestion | list[Suggestion]:
        """Suggest the next point to evaluate, with the forecasts that its outcome will be compared with.

        Args:
            q: Number of points, to be evaluated in parallel.

        Returns:
            A suggestion, or a list of ``q`` suggestions if ``q`` > 1. Forecasts are in the user's sign and units.
        """
        q = check_whole("q, the number of points to ask for,", q)
        found = propose(
            self.data(),
            space=self.space,
            strategy=self.strategy,
            seed=self.seed,
            number=self._asked,
            q=q,
            n_initial=self.n_initial,
        )
        names = self.constraints
        outcomes = outcome_directions(self.directions, names)
        suggestions = [
            replace(s, forecasts=convert_forecasts(s.forecasts, outcomes), constraints=names, method=self._method)
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

    def tell(
        self,
        what: Suggestion | Mapping[str, Any],
        value: float | Sequence[float],
        sem: float | Sequence[float] | None = None,
        *,
        constraints: Mapping[str, float] | Sequence[float] | None = None,
    ) -> None:
        """Record the outcome of a suggestion, or of any parameters (a point that was not suggested has no forecast).

        Args:
            what: The suggestion, or parameters by name.
            value: The value, or one for each of several objectives. With a composite objective the measured vector.
            sem: Standard error of the value, if known; one for each of several objectives.
            constraints: Constraints by name or in order, each met where its value is not positive.

        Raises:
            ValueRejected: If a value is not a finite number; nothing is recorded then.
        """
        try:
            vector, values = self._measured(value, sem)
            limits = finite_constraints(constraints)
        except ValueRejected as error:
            raise ValueRejected(f"{error}; report a failure with tell_failed()") from None
        noise = standard_errors(sem, len(self.directions))
        check_outcomes(self.strategy, len(self.directions), len(limits))
        done: dict[str, Any] = {"values": values, "sem": noise, "constraints": limits, "vector": vector}
        self._record(replace(self._trial(what), state=State.COMPLETE, **done))

    def tell_failed(self, what: Suggestion | Mapping[str, Any]) -> None:
        """Record that an evaluation failed; the points around it become less likely to be suggested.

        Args:
            what: The suggestion, or parameters by name.
        """
        self._record(replace(self._trial(what), state=State.FAILED))

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials: finished ones in the order of their outcomes, then pending ones."""
        return (*self._done, *self._pending.values())

    def predict(self, params: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        """Return mean, median and calibrated intervals at parameters; see ``calibo.trials.predict_table``.

        Args:
            params: Parameters by name, one mapping per point.
        """
        X = self.space.encode(params)
        return predict_table(self._plan().models, X, directions=self.directions, constraints=self.constraints)

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the constraints recorded so far, sorted."""
        return constraint_names(self._done)

    @property
    def best(self) -> tuple[dict[str, Any], float]:
        """Parameters with the best value recorded so far among those that meet all constraints, and that value."""
        best = best_trial(self._done, self.directions)
        return dict(best.params), best.observed(0) or 0.0

    @property
    def best_expected(self) -> tuple[dict[str, Any], float]:
        """Recorded parameters with the best expected value under the calibrated model, and that expected value."""
        check_single(self.directions, "best trial")
        met = some_feasible(self._done)
        X = np.stack([trial.x for trial in met])
        mean = predict(self._plan().models[0], X, self.directions[0], latent=True).mean
        best = int(np.argmax(self.directions[0].value * mean))
        return dict(met[best].params), float(mean[best])

    @property
    def pareto_front(self) -> list[tuple[dict[str, Any], tuple[float, ...]]]:
        """Parameters that meet all constraints and that no others dominate, with their values."""
        some_feasible(self._done)
        front = pareto_trials(self._done, self.directions)
        return [(dict(trial.params), trial.values or ()) for trial in front]

    def calibration(self, outcome: int | str = 0) -> CalibrationTable:
        """Compare the forecasts of one outcome with the values observed.

        Args:
            outcome: Index of an objective, or name of a constraint.
        """
        forecasting = self.strategy.makes_forecasts
        return calibration_of(self._done, self.directions, outcome, makes_forecasts=forecasting)

    def calibration_by_place(self, outcome: int | str = 0) -> PlaceTable:
        """Compare the forecasts of one outcome with the values observed: near the data, between, and far from them.

        Args:
            outcome: Index of an objective, or name of a constraint.
        """
        return calibration_by_place_of(self._done, self.directions, outcome)

    def feasibility(self) -> FeasibilityTable:
        """Compare the forecast probabilities of feasibility with the constraints observed."""
        return feasibility_of(self._done, self.directions)

    def data(self) -> Dataset:
        """Return all trials as the strategies see them: outcomes are maximized, points lie on the unit cube."""
        return dataset(
            self.trials,
            directions=self.directions,
            categories=self.space.categories,
            hyperparameters=self._latest if self._latest_outcomes == self.constraints else (),
            reference=self._reference,
            features=self.space.features,
            from_pool=self.space.is_pool,
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
        return rule.judge(self.progress())

    def progress(self) -> Progress:
        """Return all trials so far, as stopping rules see them."""
        reference = tuple(d.value * value for d, value in zip(self.directions, self._reference, strict=False))
        return Progress(
            trials=self.trials,
            directions=self.directions,
            data=self.data(),
            space=self.space,
            strategy=self.strategy,
            seed=self.seed,
            reference=reference or None,
        )

    def _plan(self) -> Plan:
        return fitted_plan(self.data(), self.strategy, rng=np.random.default_rng(self.seed))

    def _measured(
        self, value: float | Sequence[float], sem: float | Sequence[float] | None
    ) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return the vector of a composite objective (else nothing) and the values."""
        if self._composite is None:
            return (), finite_values(value, len(self.directions))
        if sem is not None:
            raise RecipeError(
                "the value of a composite objective is computed from its vector and has no sem: leave it out"
            )
        length = next((len(trial.vector) for trial in self._done if trial.vector), None)
        vector, computed = self._composite.measured(value, length)
        return vector, (computed,)

    def _trial(self, what: Suggestion | Mapping[str, Any]) -> Trial:
        """Return the pending trial of a suggestion, or a new one of parameters."""
        if isinstance(what, Suggestion):
            pending = self._pending.get(what.number)
            if pending is None or not np.array_equal(pending.x, what.x):
                raise DataError(
                    f"suggestion {what.number} is not pending: its outcome was recorded before, or another optimizer made "
                    "it; tell its params instead to add a further measurement"
                )
            return pending
        if isinstance(what, Mapping):
            X = self.space.encode([what])
            return Trial(Suggestion(self.space.decode(X)[0], X[0]))
        raise DataError(f"tell takes a suggestion or a mapping of parameters, got a {type(what).__name__}")

    def _record(self, trial: Trial) -> None:
        self._done.append(trial)
        self._pending.pop(trial.number, None)
