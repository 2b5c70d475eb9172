"""Ask and tell: the one mutable object of the library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from calibo.checks import check_seed, check_whole
from calibo.classifiers.composite import Outer
from calibo.data import Dataset, Forecast, Suggestion
from calibo.errors import DataError, RecipeError, ValueRejected
from calibo.optimize.composite import Composite, composed, default_method
from calibo.optimize.predictions import believed, fitted_models, makes_forecasts, predict_table
from calibo.optimize.records import (
    Direction,
    Record,
    State,
    checked_outcome,
    constraint_names,
    dataset,
    finite_constraints,
    finite_value,
    finite_values,
    meets,
    reference_values,
    turned,
)
from calibo.optimize.strategy import Strategy, check_outcomes
from calibo.optimize.suggest import propose
from calibo.pareto import pareto_mask
from calibo.spaces import Space, as_space

if TYPE_CHECKING:
    import pandas as pd

    from calibo.diagnostics import CalibrationTable, FeasibilityTable


class Optimizer:
    """Suggests points, takes their outcomes, and says what it believes.

    Suggestions may be told in any order or never; those not yet told are pending and respected by the next ``ask``.

    Args:
        space: A mapping of names to parameters, a space, or a table of rows (a pool).
        method: A method's name ("ocbo", "gp_ei", ...) or a strategy; by default "ocbo", or "composite_lfbo" with
            ``composite``.
        direction: "minimize" or "maximize".
        directions: One for each of several objectives, which are then traded off against each other.
        reference: Of several objectives, the values that are just not worth having; inferred from the data if not given.
        seed: Makes every suggestion reproducible; drawn at random if not given.
        n_initial: Points of the initial design (points told count); by default two per parameter, from 5 to 10.
        composite: The known function g of an objective g(h(x)) whose vectors h are told: of a torch tensor m x k, m
            values, differentiable. The direction says whether large or small values of it are wanted.
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
        chosen = strategy(default_method(method, composite))
        self.strategy: Strategy
        self._composite: Composite | None
        self.strategy, self._composite = composed(chosen, composite, self.directions)
        self._reference: tuple[float, ...] = reference_values(reference, self.directions)
        check_outcomes(self.strategy, len(self.directions))
        self.seed: int = int(np.random.SeedSequence().entropy % 2**63) if seed is None else check_seed(seed)  # pyright: ignore[reportOperatorIssue]
        self.n_initial: int | None = None if n_initial is None else check_whole("n_initial", n_initial)
        self._asked: int = 0
        self._pending: dict[int, Record] = {}
        self._done: list[Record] = []
        self._latest: tuple[tuple[float, ...], ...] = ()

    @overload
    def ask(self, q: Literal[1] = 1) -> Suggestion: ...
    @overload
    def ask(self, q: int) -> list[Suggestion]: ...
    def ask(self, q: int = 1) -> Suggestion | list[Suggestion]:
        """The next point to try (or a list of ``q`` points if ``q`` > 1), each with the forecast it will be judged by.

        Forecasts are in the sign and the units of the outcomes that are told.
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
        found = [replace(s, forecasts=turned(s.forecasts, self.directions, names), constraints=names) for s in found]
        for suggestion in found:
            self._pending[suggestion.number] = Record(
                x=suggestion.x,
                state=State.PENDING,
                forecasts=suggestion.forecasts,
                forecast_constraints=names,
                hyperparameters=suggestion.hyperparameters,
            )
            self._latest = suggestion.hyperparameters or self._latest
        self._asked += len(found)
        return found[0] if q == 1 else found

    def tell(
        self,
        what: Suggestion | Mapping[str, Any],
        value: float | Sequence[float],
        sem: float | Sequence[float] | None = None,
        *,
        constraints: Mapping[str, float] | Sequence[float] | None = None,
    ) -> None:
        """Takes the outcome of a suggestion, or of any parameters (a warm start, which has no forecast).

        Args:
            what: The suggestion, or parameters by name.
            value: The outcome, or one for each objective; anything but finite numbers is rejected and changes nothing.
                Of a composite objective the vector that was measured, of which the function given makes the outcome.
            sem: Standard error of the value, if known; one for each of several objectives.
            constraints: What must hold, by name or in order: each is met where its value is not positive.
        """
        vector, outcomes = self._measured(value, sem)
        variances = None if sem is None else _variances(sem, len(self.directions))
        limits = finite_constraints(constraints)
        check_outcomes(self.strategy, len(self.directions), len(limits))
        record = self._record(what)
        told = replace(record, state=State.TOLD, values=outcomes, variances=variances, constraints=limits)
        self._done.append(replace(told, vector=vector))
        self._forget(what)

    def tell_failed(self, what: Suggestion | Mapping[str, Any]) -> None:
        """Takes note that an evaluation failed; no outcome is made up for it, but its surroundings become less likely."""
        record = self._record(what)
        self._done.append(replace(record, state=State.FAILED))
        self._forget(what)

    def predict(self, params: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        """Mean, median and calibrated intervals at parameters; see ``calibo.optimize.predict_table``."""
        return predict_table(
            self.data(),
            params,
            space=self.space,
            strategy=self.strategy,
            directions=self.directions,
            constraints=self.constraints,
            rng=np.random.default_rng(self.seed),
        )

    @property
    def constraints(self) -> tuple[str, ...]:
        """The names of the constraints told so far, sorted."""
        return constraint_names(self._done)

    @property
    def best(self) -> tuple[dict[str, Any], float]:
        """The parameters with the best outcome told so far, and that outcome; only of points that meet the constraints."""
        self._single("best", "pareto_front")
        told = self._reached()
        best = max(told, key=lambda record: self.directions[0].value * record.values[0])
        return self.space.decode(best.x[None, :])[0], best.values[0]

    @property
    def best_expected(self) -> tuple[dict[str, Any], float]:
        """The parameters tried whose expected value is best under the calibrated model, and that expectation."""
        self._single("best_expected", "pareto_front")
        X = np.stack([record.x for record in self._reached()])
        model = fitted_models(self.data(), self.strategy, np.random.default_rng(self.seed))[0]
        distribution = believed(model, X, self.directions[0], latent=True)
        best = int(np.argmax(self.directions[0].value * distribution.mean))
        return self.space.decode(X[[best]])[0], float(distribution.mean[best])

    @property
    def pareto_front(self) -> list[tuple[dict[str, Any], tuple[float, ...]]]:
        """The parameters told so far that no other dominates, with their outcomes, of points that meet the constraints."""
        told = self._reached()
        signs = [direction.value for direction in self.directions]
        front = np.flatnonzero(pareto_mask(np.array([record.values for record in told]) * signs))
        params = self.space.decode(np.stack([told[i].x for i in front]))
        return [(one, told[i].values) for one, i in zip(params, front, strict=True)]

    def calibration(self, outcome: int | str = 0) -> CalibrationTable:
        """How the forecasts of an objective, by its place, or of a constraint, by its name, came out."""
        from calibo.diagnostics import forecast_table

        checked_outcome(outcome, len(self.directions), self.constraints)
        pairs = [pair for record in self._done if (pair := self._judged(record, outcome)) is not None]
        forecasts, values = [forecast for forecast, _ in pairs], [value for _, value in pairs]
        return forecast_table(forecasts, values, forecasting=makes_forecasts(self.strategy))

    def feasibility(self) -> FeasibilityTable:
        """How often points that were called feasible with some probability turned out to be."""
        from calibo.diagnostics import feasibility_table

        # Each is judged by the constraints that were known of when it was forecast.
        told = [r for r in self._done if r.state is State.TOLD and r.forecasts and r.forecast_constraints]
        stated = [r.forecasts[len(self.directions) :] for r in told if r.forecasts]
        return feasibility_table(stated, [meets(r.constraints, r.forecast_constraints) for r in told])

    def data(self) -> Dataset:
        """All that is known, as the strategies see it (larger is better, points on the unit cube)."""
        return dataset(
            [*self._done, *self._pending.values()],
            directions=self.directions,
            categories=self.space.categories,
            hyperparameters=self._latest,
            reference=self._reference,
            features=self.space.features,
        )

    def _measured(
        self, value: float | Sequence[float], sem: float | Sequence[float] | None
    ) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The vector of a composite objective, else nothing, and the outcomes."""
        if self._composite is None:
            return (), finite_values(value, len(self.directions))
        if sem is not None:
            raise RecipeError("the outcome of a composite objective is worked out from its vector: it has no sem")
        length = next((len(record.vector) for record in self._done if record.vector), None)
        vector, outcome = self._composite.measured(value, length)
        return vector, (outcome,)

    def _reached(self) -> list[Record]:
        """The points told that meet all constraints."""
        told = [record for record in self._done if record.state is State.TOLD]
        if not told:
            raise DataError("nothing has been told yet: tell at least one outcome first")
        met = [record for record in told if meets(record.constraints, self.constraints)]
        if not met:
            raise DataError(f"none of the {len(told)} points told meets all constraints yet, so there is no best one")
        return met

    def _single(self, asked: str, instead: str) -> None:
        if len(self.directions) > 1:
            raise RecipeError(f"of {len(self.directions)} objectives there is no {asked}: ask for {instead}")

    def _judged(self, record: Record, outcome: int | str) -> tuple[Forecast, float] | None:
        """The forecast and the value of an outcome that a record has both of."""
        if record.state is not State.TOLD or record.forecasts is None:
            return None
        if isinstance(outcome, str):
            if outcome not in record.constraints or outcome not in record.forecast_constraints:
                return None
            place = len(self.directions) + record.forecast_constraints.index(outcome)
            return record.forecasts[place], record.constraints[outcome]
        return record.forecasts[outcome], record.values[outcome]

    def _record(self, what: Suggestion | Mapping[str, Any]) -> Record:
        if isinstance(what, Suggestion):
            pending = self._pending.get(what.number)
            if pending is None or not np.array_equal(pending.x, what.x):
                raise DataError(
                    f"suggestion {what.number} is not pending here: it was told before, or another optimizer made it; "
                    "tell its params instead to add a further measurement"
                )
            return pending
        if isinstance(what, Mapping):
            return Record(x=self.space.encode([what])[0], state=State.PENDING)
        raise DataError(f"tell a suggestion or a mapping of parameters, got a {type(what).__name__}")

    def _forget(self, what: Suggestion | Mapping[str, Any]) -> None:
        if isinstance(what, Suggestion):
            del self._pending[what.number]


def _variances(sem: float | Sequence[float], count: int) -> tuple[float, ...]:
    """The variances of standard errors, one for each objective."""
    given = [sem] if count == 1 or not isinstance(sem, Sequence | np.ndarray) else list(sem)
    if len(given) != count:
        raise ValueRejected(f"the standard error (sem) must have a value for each of {count} objectives, got {sem!r}")
    return tuple(_variance(one) for one in given)  # pyright: ignore[reportArgumentType]


def _variance(sem: float) -> float:
    """The variance of a standard error; one whose square is lost to rounding is rejected."""
    number = finite_value(sem, "the standard error (sem)")
    variance = float(np.square(np.float64(number))) if abs(number) < 1e150 else float("inf")
    if number < 0.0 or not np.isfinite(variance) or (number > 0.0 and variance == 0.0):
        raise ValueRejected(f"the standard error (sem) must lie between 1e-160 and 1e150, or be 0, got {number}")
    return variance
