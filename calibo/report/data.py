"""What a report shows, in the user's sign and units: independent of storages, optimizers and figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from calibo.data import Array, Forecast, Marginal
from calibo.diagnostics import CalibrationTable, FeasibilityTable, feasibility_table, forecast_table
from calibo.errors import DataError
from calibo.pareto import hypervolumes, inferred_reference, pareto_mask
from calibo.trials import Direction

if TYPE_CHECKING:
    from calibo.optimize.slices import Slice


@dataclass(frozen=True, eq=False, kw_only=True)
class OutcomeData:
    """One objective or constraint of `n` trials, in the order in which their results arrived.

    Attributes:
        name: Name of the outcome, shown in titles and on axes.
        direction: Whether it is minimized or maximized. A constraint is minimized and met where it is at most 0.
        numbers: `n` trial numbers.
        params: `n` mappings of parameter names to values.
        values: `n` measured values; `None` where the evaluation failed.
        forecasts: `n` forecasts made before the measurements; `None` where there was none.
        expected_best: After each trial, the model's mean at the best point measured so far: `n` values, each of
            which may be `None`; or `None` altogether.
        slices: Predictions along single parameters through the best point; may be empty.
        feasible: Whether each trial meets all constraints, `n`; only such a trial can be the best. `None` without
            constraints.
        makes_forecasts: Whether the method makes forecasts at all.
    """

    name: str
    direction: Direction
    numbers: tuple[int, ...]
    params: tuple[Mapping[str, Any], ...]
    values: tuple[float | None, ...]
    forecasts: tuple[Forecast | None, ...]
    expected_best: tuple[float | None, ...] | None = None
    slices: tuple[Slice, ...] = ()
    feasible: tuple[bool, ...] | None = None
    makes_forecasts: bool = True

    def __post_init__(self) -> None:
        n = len(self.numbers)
        for name in ("params", "values", "forecasts", "expected_best", "feasible"):
            column = getattr(self, name)
            if column is not None and len(column) != n:
                raise DataError(f"{n} trial numbers but {len(column)} {name}: give one (or None) for every trial")
        for number, value in zip(self.numbers, self.values, strict=True):
            if value is not None and not math.isfinite(value):
                raise DataError(f"the value of trial {number} is {value}: give None where an evaluation failed")

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        verb = self.direction.name.lower() + "d"
        return f"OutcomeData({self.name!r}, {verb}, {len(self.finished)} of {len(self)} trials with a value)"

    @cached_property
    def finished(self) -> tuple[int, ...]:
        """Indices of the trials with a value."""
        return tuple(i for i, value in enumerate(self.values) if value is not None)

    @cached_property
    def eligible(self) -> tuple[int, ...]:
        """Indices of the trials that can be the best: with a value, and feasible if there are constraints."""
        return tuple(i for i in self.finished if self.feasible is None or self.feasible[i])

    @cached_property
    def forecasted(self) -> tuple[int, ...]:
        """Indices of the `t` trials with a value and a forecast, on which calibration is judged."""
        return tuple(i for i in self.finished if self.forecasts[i] is not None)

    @cached_property
    def calibrated(self) -> tuple[Marginal, ...]:
        """The `t` calibrated distributions of the trials in `forecasted`."""
        return tuple(self.forecast(i).calibrated for i in self.forecasted)

    @cached_property
    def raw(self) -> tuple[Marginal, ...]:
        """The `t` distributions of the raw model of the trials in `forecasted`."""
        return tuple(self.forecast(i).raw for i in self.forecasted)

    @cached_property
    def outcomes(self) -> Array:
        """The `t` values of the trials in `forecasted`."""
        return np.array([self.values[i] for i in self.forecasted], dtype=np.float64)

    @property
    def recalibrated(self) -> bool:
        """Whether any forecast went through a calibrator, so that raw and calibrated forecasts can differ."""
        return any(forecast is not None and len(forecast.stages) > 1 for forecast in self.forecasts)

    @property
    def best_params(self) -> Mapping[str, Any] | None:
        """Parameters of the best eligible trial, or `None`."""
        return None if self._best is None else self.params[self._best]

    @property
    def best_value(self) -> float | None:
        """Value of the best eligible trial, or `None`."""
        return None if self._best is None else self.values[self._best]

    @cached_property
    def calibration(self) -> CalibrationTable:
        """Calibration of the forecasts, with the counts of the raw model if there was a calibrator."""
        with np.errstate(over="ignore", invalid="ignore"):  # intervals of values near 1e308 overflow
            forecasts = [self.forecast(i) for i in self.forecasted]
            return forecast_table(forecasts, self.outcomes.tolist(), forecasting=self.makes_forecasts)

    def forecast(self, index: int) -> Forecast:
        """Return the forecast of a trial that has one."""
        found = self.forecasts[index]
        if found is None:
            raise DataError(f"trial {self.numbers[index]} has no forecast: use only the indices in forecasted")
        return found

    def value(self, index: int) -> float:
        """Return the value of a trial that has one."""
        found = self.values[index]
        if found is None:
            raise DataError(f"trial {self.numbers[index]} has no value: use only the indices in finished")
        return found

    @cached_property
    def _best(self) -> int | None:
        sign = self.direction.value
        return max(self.eligible, key=lambda i: sign * self.value(i)) if self.eligible else None


@dataclass(frozen=True, eq=False, kw_only=True)
class ReportData:
    """What a report shows of a study: its objectives and constraints, all of the same `n` trials.

    A trial is a *result* if it has a value of every outcome, and *feasible* if no constraint is above 0.

    Attributes:
        title: Name of the study.
        method: Name of the method that made the suggestions.
        objectives: The `m` objectives.
        constraints: The constraints; may be empty.
        reference: Reference point for the hypervolume, `m` values. Inferred from the results if `None`.
    """

    title: str
    method: str
    objectives: tuple[OutcomeData, ...]
    constraints: tuple[OutcomeData, ...] = ()
    reference: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not self.objectives:
            raise DataError("a report needs at least one objective, got none")
        for outcome in self.outcomes:
            if outcome.numbers != self.numbers:
                raise DataError(
                    f"{outcome.name!r} and {self.objectives[0].name!r} have different trials: "
                    "give every outcome the same trial numbers, with None where it has no value"
                )
        for constraint in self.constraints:
            if constraint.direction is not Direction.MINIMIZE:
                raise DataError(f"constraint {constraint.name!r} must be minimized: it is met where it is at most 0")
        m = len(self.objectives)
        if self.reference is not None and (len(self.reference) != m or not all(map(math.isfinite, self.reference))):
            raise DataError(f"a reference point has one finite value for each of {m} objectives, got {self.reference}")
        if self.constraints:
            met = tuple(flag is True for flag in self.feasible)
            constrained = tuple(replace(objective, feasible=met) for objective in self.objectives)
            object.__setattr__(self, "objectives", constrained)

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        names = ", ".join(repr(outcome.name) for outcome in self.objectives)
        limits = f", {len(self.constraints)} constraints" if self.constraints else ""
        return f"ReportData({self.title!r}, objectives {names}{limits}, {len(self.results)} of {len(self)} trials complete)"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The `n` trial numbers."""
        return self.objectives[0].numbers

    @property
    def params(self) -> tuple[Mapping[str, Any], ...]:
        """The `n` mappings of parameter names to values."""
        return self.objectives[0].params

    @property
    def outcomes(self) -> tuple[OutcomeData, ...]:
        """The objectives, then the constraints."""
        return (*self.objectives, *self.constraints)

    @cached_property
    def signs(self) -> Array:
        """Factors that turn the `m` objectives into ones to be maximized."""
        return np.array([objective.direction.value for objective in self.objectives])

    @cached_property
    def feasible(self) -> tuple[bool | None, ...]:
        """Whether each trial meets all constraints, `n`; `None` where an outcome has no value."""
        return tuple(self._meets(i) for i in range(len(self)))

    @cached_property
    def results(self) -> tuple[int, ...]:
        """Indices of the trials with a value of every outcome."""
        return tuple(i for i, flag in enumerate(self.feasible) if flag is not None)

    @cached_property
    def met(self) -> tuple[int, ...]:
        """Indices of the `k` results that meet all constraints."""
        return tuple(i for i in self.results if self.feasible[i])

    @cached_property
    def front(self) -> tuple[int, ...]:
        """Indices of the Pareto-optimal feasible results."""
        if not self.met:
            return ()
        return tuple(i for i, kept in zip(self.met, pareto_mask(self._maximized).tolist(), strict=True) if kept)

    @cached_property
    def reference_point(self) -> tuple[float, ...] | None:
        """Reference point in the user's sign, `m`: as given, else inferred from the feasible results if there are any."""
        if self.reference is not None:
            return self.reference
        if not self.met:
            return None
        with np.errstate(over="ignore", invalid="ignore"):  # values near 1e308 have no finite extent
            # Adding 0 turns a negative zero into a positive one.
            return tuple((self.signs * inferred_reference(self._maximized) + 0.0).tolist())

    @cached_property
    def hypervolumes(self) -> Array:
        """Hypervolume of the feasible results after each trial, `n`; NaN or infinite where it overflows."""
        after = np.zeros(len(self))
        if self.reference_point is None:
            return after
        with np.errstate(over="ignore", invalid="ignore"):
            volumes = hypervolumes(self._maximized, self.signs * np.array(self.reference_point))
        after[list(self.met)] = volumes
        return np.maximum.accumulate(after)

    @cached_property
    def feasibility(self) -> FeasibilityTable:
        """Calibration of the predicted probabilities of feasibility, on the results with forecasts of all constraints."""
        forecasted = [i for i in self.results if all(c.forecasts[i] is not None for c in self.constraints)]
        judged = forecasted if self.constraints else []
        with np.errstate(over="ignore", invalid="ignore"):
            return feasibility_table(
                [tuple(c.forecast(i) for c in self.constraints) for i in judged],
                [self.feasible[i] is True for i in judged],
            )

    @cached_property
    def _maximized(self) -> Array:
        """Objectives of the feasible results in the internal sign (larger is better), `k x m`."""
        values = [[objective.value(i) for objective in self.objectives] for i in self.met]
        return np.array(values, dtype=np.float64).reshape(-1, len(self.objectives)) * self.signs

    def _meets(self, index: int) -> bool | None:
        if any(outcome.values[index] is None for outcome in self.outcomes):
            return None
        return all(constraint.value(index) <= 0.0 for constraint in self.constraints)
