"""All that a report tells, as one record in the user's sign and units; it knows neither storages nor optimizers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from calibo.data import Array, Forecast, Marginal
from calibo.diagnostics import CalibrationTable, forecast_table
from calibo.errors import DataError
from calibo.optimize.records import Direction

if TYPE_CHECKING:
    from calibo.optimize.slices import Slice


@dataclass(frozen=True, eq=False, kw_only=True)
class Story:
    """What was tried, what was believed beforehand, and what came of it: n trials in the order their outcomes arrived.

    Attributes:
        title: Name of the study, shown on top.
        method: Name of the method that made the suggestions.
        direction: Whether small or large values are wanted.
        numbers: Trial numbers, n.
        params: Parameters tried, n mappings by name.
        values: Outcomes, n; ``None`` where the evaluation failed.
        forecasts: What was believed of each measurement when it was asked for, n; ``None`` where nothing was.
        expected_best: After each trial, the model's expectation at the point it held to be best, n, ``None`` where
            unknown; or ``None`` altogether.
        slices: Beliefs along single parameters through the best point; may be empty.
        best_params: The best point; by default that of the best value, or ``None`` if no trial has a value.
        best_value: Its value; by default the best value, or ``None``.
        feasible: Whether each trial met all constraints, n; only such a one can be the best. ``None`` without constraints.
        forecasting: Whether the method makes forecasts at all.
    """

    title: str
    method: str
    direction: Direction
    numbers: tuple[int, ...]
    params: tuple[Mapping[str, Any], ...]
    values: tuple[float | None, ...]
    forecasts: tuple[Forecast | None, ...]
    expected_best: tuple[float | None, ...] | None = None
    slices: tuple[Slice, ...] = ()
    best_params: Mapping[str, Any] | None = None
    best_value: float | None = None
    feasible: tuple[bool, ...] | None = None
    forecasting: bool = True

    def __post_init__(self) -> None:
        n = len(self.numbers)
        for name in ("params", "values", "forecasts", "expected_best", "feasible"):
            column = getattr(self, name)
            if column is not None and len(column) != n:
                raise DataError(f"{n} trial numbers but {len(column)} {name}: give one (or None) for every trial")
        for number, value in zip(self.numbers, self.values, strict=True):
            if value is not None and not math.isfinite(value):
                raise DataError(f"the value of trial {number} is {value}: give None where an evaluation failed")
        best = self._best_index()
        if best is not None:
            set_ = object.__setattr__
            set_(self, "best_params", self.params[best] if self.best_params is None else self.best_params)
            set_(self, "best_value", self.values[best] if self.best_value is None else self.best_value)

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def finished(self) -> tuple[int, ...]:
        """Indices of the trials with a value."""
        return tuple(i for i, value in enumerate(self.values) if value is not None)

    @cached_property
    def counting(self) -> tuple[int, ...]:
        """Indices of the trials that can be the best one: with a value, and meeting the constraints if there are any."""
        return tuple(i for i in self.finished if self.feasible is None or self.feasible[i])

    @cached_property
    def judged(self) -> tuple[int, ...]:
        """Indices of the trials with a value and a forecast: those by which the forecasts are judged, t of them."""
        return tuple(i for i in self.finished if self.forecasts[i] is not None)

    @cached_property
    def distributions(self) -> tuple[Marginal, ...]:
        """The forecasts as they were shown, of the judged trials, t."""
        return tuple(self.forecast(i).calibrated for i in self.judged)

    @cached_property
    def raw_laws(self) -> tuple[Marginal, ...]:
        """The forecasts of the raw model, of the judged trials, t."""
        return tuple(self.forecast(i).raw for i in self.judged)

    @cached_property
    def outcomes(self) -> Array:
        """What came of the judged trials, t."""
        return np.array([self.values[i] for i in self.judged], dtype=np.float64)

    @property
    def recalibrated(self) -> bool:
        """Whether any forecast went through a calibrator, so that raw and shown forecasts can differ."""
        return any(forecast is not None and len(forecast.stages) > 1 for forecast in self.forecasts)

    def forecast(self, index: int) -> Forecast:
        """The forecast of a trial that has one."""
        found = self.forecasts[index]
        if found is None:
            raise DataError(f"trial {self.numbers[index]} has no forecast: ask only for those in judged")
        return found

    def value(self, index: int) -> float:
        """The value of a trial that has one."""
        found = self.values[index]
        if found is None:
            raise DataError(f"trial {self.numbers[index]} has no value: ask only for those in finished")
        return found

    @cached_property
    def calibration(self) -> CalibrationTable:
        """How the forecasts came out; the raw model is counted beside if there was any calibration."""
        with np.errstate(over="ignore", invalid="ignore"):  # intervals of values near 1e308 reach beyond all floats
            forecasts, values = [self.forecast(i) for i in self.judged], [self.value(i) for i in self.judged]
            return forecast_table(forecasts, values, forecasting=self.forecasting)

    def constrained(self, feasible: tuple[bool, ...]) -> Story:
        """The same story where only feasible trials can be the best one; a best point that was given is kept."""
        best = self._best_index()
        if best is None:
            return replace(self, feasible=feasible)
        params = None if self.best_params is self.params[best] else self.best_params
        value = None if self.best_value == self.values[best] else self.best_value
        return replace(self, feasible=feasible, best_params=params, best_value=value)

    def _best_index(self) -> int | None:
        sign = self.direction.value
        return max(self.counting, key=lambda i: sign * self.value(i)) if self.counting else None
