"""What a report shows: trials in the user's sign and units, independent of storages, optimizers and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from calibo.arguments import check_fields
from calibo.checks import check_instance
from calibo.data import Array, Forecast, Marginal
from calibo.diagnostics import CalibrationTable, FeasibilityTable, PlaceTable
from calibo.errors import DataError
from calibo.pareto import inferred_reference
from calibo.trials import (
    Direction,
    State,
    Trial,
    calibration_by_place_of,
    calibration_of,
    constraint_names,
    feasibility_of,
    feasible,
    hypervolume_after,
    objective_values,
    pareto_trials,
)

if TYPE_CHECKING:
    from calibo.optimize.slices import Slice
    from calibo.report.insight import Insight


@dataclass(frozen=True, eq=False, kw_only=True)
class OutcomeData:
    """One objective or constraint of `n` finished trials.

    Attributes:
        name: Name of the outcome, shown in titles and on axes.
        trials: `n` complete or failed trials, in the order in which their results arrived.
        directions: One direction per objective.
        outcome: Index of the objective, or name of the constraint, which is met where it is at most 0.
        expected_best: After each trial, the model's mean at the best point measured so far: `n` values, each of
            which may be `None`; or `None` altogether.
        slices: Predictions along single parameters through the best point; may be empty.
        makes_forecasts: Whether the method makes forecasts at all.
    """

    name: str
    trials: tuple[Trial, ...]
    directions: tuple[Direction, ...]
    outcome: int | str = 0
    expected_best: tuple[float | None, ...] | None = None
    slices: tuple[Slice, ...] = ()
    makes_forecasts: bool = True

    def __post_init__(self) -> None:
        check_fields(self)
        if self.expected_best is not None and len(self.expected_best) != len(self):
            raise DataError(f"{len(self)} trials but {len(self.expected_best)} expected_best: give one for every trial")

    def __len__(self) -> int:
        return len(self.trials)

    def __repr__(self) -> str:
        verb = self.direction.name.lower() + "d"
        return f"OutcomeData({self.name!r}, {verb}, {len(self.finished)} of {len(self)} trials with a value)"

    @property
    def direction(self) -> Direction:
        """Direction of the outcome; a constraint is minimized."""
        return self.directions[self.outcome] if isinstance(self.outcome, int) else Direction.MINIMIZE

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The `n` trial numbers."""
        return tuple(trial.number for trial in self.trials)

    @cached_property
    def params(self) -> tuple[Mapping[str, Any], ...]:
        """The `n` mappings of parameter names to values."""
        return tuple(trial.params for trial in self.trials)

    @cached_property
    def values(self) -> tuple[float | None, ...]:
        """The `n` measured values; `None` where the evaluation failed."""
        return tuple(trial.observed(self.outcome) for trial in self.trials)

    @cached_property
    def forecasts(self) -> tuple[Forecast | None, ...]:
        """The `n` forecasts made before the measurements; `None` where there was none."""
        return tuple(trial.forecast_of(self.outcome, len(self.directions)) for trial in self.trials)

    @cached_property
    def finished(self) -> tuple[int, ...]:
        """Indices of the trials with a value."""
        return tuple(i for i, value in enumerate(self.values) if value is not None)

    @cached_property
    def constrained(self) -> bool:
        """Whether the trials have constraints, so that only feasible ones can be the best."""
        return bool(constraint_names(self.trials))

    @cached_property
    def eligible(self) -> tuple[int, ...]:
        """Indices of the trials that can be the best: with a value, and feasible if there are constraints."""
        names = constraint_names(self.trials)
        return tuple(i for i in self.finished if self.trials[i].meets(names))

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
            return calibration_of(self.trials, self.directions, self.outcome, makes_forecasts=self.makes_forecasts)

    @cached_property
    def calibration_by_place(self) -> PlaceTable:
        """Calibration of the forecasts near the data, between, and far from them."""
        with np.errstate(over="ignore", invalid="ignore"):
            return calibration_by_place_of(self.trials, self.directions, self.outcome)

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
    """What a report shows of a study: the objectives and constraints of its `n` finished trials.

    A trial is a *result* if it has a value of every outcome, and *feasible* if no constraint is above 0.

    Attributes:
        title: Name of the study.
        method: Name of the method that made the suggestions.
        trials: `n` complete or failed trials, in the order in which their results arrived.
        directions: One direction for each of the `m` objectives.
        names: Names of the objectives; by default "value", or "objective 0" and so on.
        reference: Reference point for the hypervolume, `m` values. Inferred from the results if `None`.
        expected_best: See `OutcomeData`; only of a single objective.
        slices: Predictions along single parameters for each of the objectives; empty without a model.
        makes_forecasts: Whether the method makes forecasts at all.
        pruned: Number of trials that were given up early; they have no value and are not among the trials.
        running: Number of trials that run.
        insight: What the model makes of the space; ``None`` if it was not asked.
    """

    title: str
    method: str
    trials: tuple[Trial, ...]
    directions: tuple[Direction, ...]
    names: tuple[str, ...] = ()
    reference: tuple[float, ...] | None = None
    expected_best: tuple[float | None, ...] | None = None
    slices: tuple[tuple[Slice, ...], ...] = ()
    makes_forecasts: bool = True
    pruned: int = 0
    running: int = 0
    insight: Insight | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        m = len(self.directions)
        if not m:
            raise DataError("a report needs at least one objective, got none")
        if unfinished := [t.number for t in self.trials if t.state not in (State.COMPLETE, State.FAILED)]:
            raise DataError(f"a report shows complete and failed trials only; leave out the trials {unfinished}")
        for name, entries in (("names", self.names), ("slices", self.slices)):
            check_instance(name, entries, tuple, "()")
            if len(entries) not in (0, m):
                raise DataError(f"{m} objectives but {len(entries)} {name}: give one for each, or none")

    def __len__(self) -> int:
        return len(self.trials)

    def __repr__(self) -> str:
        names = ", ".join(repr(outcome.name) for outcome in self.objectives)
        limits = f", {len(self.constraints)} constraints" if self.constraints else ""
        return f"ReportData({self.title!r}, objectives {names}{limits}, {len(self.results)} of {len(self)} trials complete)"

    @cached_property
    def objectives(self) -> tuple[OutcomeData, ...]:
        """The `m` objectives."""
        m = len(self.directions)
        names = self.names or (("value",) if m == 1 else tuple(f"objective {k}" for k in range(m)))
        slices = self.slices or ((),) * m
        return tuple(self._outcome(names[k], k, slices[k]) for k in range(m))

    @cached_property
    def constraints(self) -> tuple[OutcomeData, ...]:
        """The constraints, by name; may be empty."""
        return tuple(self._outcome(name, name, ()) for name in constraint_names(self.trials))

    @property
    def outcomes(self) -> tuple[OutcomeData, ...]:
        """The objectives, then the constraints."""
        return (*self.objectives, *self.constraints)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The `n` trial numbers."""
        return self.objectives[0].numbers

    @property
    def params(self) -> tuple[Mapping[str, Any], ...]:
        """The `n` mappings of parameter names to values."""
        return self.objectives[0].params

    @cached_property
    def signs(self) -> Array:
        """Factors that turn the `m` objectives into ones to be maximized."""
        return np.array([direction.value for direction in self.directions])

    @cached_property
    def results(self) -> tuple[int, ...]:
        """Indices of the trials with a value of every outcome."""
        return tuple(i for i in range(len(self)) if all(one.values[i] is not None for one in self.outcomes))

    @cached_property
    def met(self) -> tuple[int, ...]:
        """Indices of the `k` feasible results."""
        return self._indices(feasible(self.trials))

    @cached_property
    def front(self) -> tuple[int, ...]:
        """Indices of the Pareto-optimal feasible results."""
        return self._indices(pareto_trials(self.trials, self.directions))

    @cached_property
    def reference_point(self) -> tuple[float, ...] | None:
        """Reference point in the user's sign, `m`: as given, else inferred from the feasible results if there are any."""
        if self.reference is not None:
            return self.reference
        if not self.met:
            return None
        with np.errstate(over="ignore", invalid="ignore"):  # values near 1e308 have no finite extent
            point = inferred_reference(objective_values(feasible(self.trials), self.directions))
            return tuple((self.signs * point + 0.0).tolist())  # adding 0 turns a negative zero into a positive one

    @cached_property
    def hypervolumes(self) -> Array:
        """Hypervolume of the feasible results after each trial, `n`; NaN or infinite where it overflows."""
        after = np.zeros(len(self))
        if self.met:
            complete = [i for i, trial in enumerate(self.trials) if trial.state is State.COMPLETE]
            with np.errstate(over="ignore", invalid="ignore"):
                after[complete] = hypervolume_after(self.trials, self.directions, self.reference)
        return np.maximum.accumulate(after)

    @cached_property
    def feasibility(self) -> FeasibilityTable:
        """Calibration of the predicted probabilities of feasibility."""
        with np.errstate(over="ignore", invalid="ignore"):
            return feasibility_of(self.trials, self.directions)

    def _outcome(self, name: str, outcome: int | str, slices: tuple[Slice, ...]) -> OutcomeData:
        return OutcomeData(
            name=name,
            trials=self.trials,
            directions=self.directions,
            outcome=outcome,
            expected_best=self.expected_best if outcome == 0 else None,
            slices=slices,
            makes_forecasts=self.makes_forecasts,
        )

    def _indices(self, trials: list[Trial]) -> tuple[int, ...]:
        places = {id(trial): i for i, trial in enumerate(self.trials)}
        return tuple(places[id(trial)] for trial in trials)
