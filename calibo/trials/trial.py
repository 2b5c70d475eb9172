"""The record of a trial, and a set of trials as the dataset that strategies learn from."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any

import numpy as np

from calibo.arguments import checked
from calibo.data import (
    Activity,
    Array,
    Dataset,
    Forecast,
    Forecasts,
    KnownForecasts,
    Suggestion,
    remembered_from,
    shown_params,
    shown_value,
)
from calibo.errors import DataError, FallbackWarning, warn
from calibo.trials.direction import Direction, convert_values, outcome_directions, signed_forecasts

#: Outcomes beyond this size, in either direction, count as this: differences and sums of many stay floats.
LARGEST_OUTCOME = 1e300


class State(enum.StrEnum):
    """State of a trial."""

    #: Suggested, its outcome is awaited.
    RUNNING = "running"
    #: Enqueued, not started yet.
    WAITING = "waiting"
    #: All objectives and constraints have a finite value.
    COMPLETE = "complete"
    #: The evaluation failed, which counts against its parameters.
    FAILED = "failed"
    #: Stopped early because it did not look promising; counts as a failure.
    PRUNED = "pruned"
    #: Stopped by the user, which says nothing about its parameters.
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Trial:
    """A suggestion with its state and its outcome, in the user's sign and units.

    Attributes:
        suggestion: The point, and the forecasts made before it was evaluated. Its number is that of the trial, or -1 for
            a point that was observed without having been suggested. Its ``x`` is empty if the point is not in the space.
        state: State of the trial.
        values: One value per objective; ``None`` unless the trial is complete.
        sem: Standard errors of the values, one per objective; ``None`` if unknown.
        constraints: Constraints by name, each met where its value is not positive.
        vector: Measured vector of a composite objective; else empty.
        intermediate: Last values reported by a pruned trial, one per objective; else empty.
        started: Time at which it was started, if known.
        finished: Time at which it was finished, if known.
        error: Reason of a failure, if known.
    """

    suggestion: Suggestion
    state: State = State.RUNNING
    values: tuple[float, ...] | None = None
    sem: tuple[float, ...] | None = None
    constraints: Mapping[str, float] = field(default_factory=dict)
    vector: tuple[float, ...] = ()
    intermediate: tuple[float, ...] = ()
    started: datetime | None = None
    finished: datetime | None = None
    error: str | None = None

    def __repr__(self) -> str:
        number = "" if self.number < 0 else f"{self.number}: "
        parts = [shown_params(self.params), str(self.state)]
        if self.values is not None:
            parts.append(f"value {shown_value(self.values[0] if len(self.values) == 1 else self.values)}")
        if self.sem is not None:
            parts.append(f"sem {shown_value(self.sem[0] if len(self.sem) == 1 else self.sem)}")
        parts += [f"constraints {shown_params(self.constraints)}"] if self.constraints else []
        parts += [f"error {self.error!r}"] if self.error else []
        return f"Trial({number}{'; '.join(parts)})"

    @property
    def number(self) -> int:
        """Number of the trial, counted from 0; -1 for a point that was not suggested."""
        return self.suggestion.number

    @property
    def params(self) -> Mapping[str, Any]:
        """Parameters by name."""
        return self.suggestion.params

    @property
    def x(self) -> Array:
        """Encoded point with ``d`` coordinates; empty if it is not in the space."""
        return self.suggestion.x

    @property
    def forecasts(self) -> Forecasts | None:
        """Forecasts of the objectives, then of the constraints known when it was suggested; ``None`` without a model."""
        return self.suggestion.forecasts

    @property
    def value(self) -> float | None:
        """Value of the first objective, ``None`` unless the trial is complete."""
        return None if self.values is None else self.values[0]

    @property
    def forecast(self) -> Forecast | None:
        """Forecast of ``value``."""
        return self.suggestion.forecast

    def meets(self, constraints: Iterable[str]) -> bool:
        """Return whether all of the named constraints were measured and met."""
        return all(name in self.constraints and self.constraints[name] <= 0.0 for name in constraints)

    def observed(self, outcome: int | str) -> float | None:
        """Return the value of an objective (by index) or a constraint (by name), ``None`` without one."""
        if self.values is None:
            return None
        return self.values[outcome] if isinstance(outcome, int) else self.constraints.get(outcome)

    def forecast_of(self, outcome: int | str, objectives: int) -> Forecast | None:
        """Return the forecast of one of the ``objectives`` (by index) or a constraint (by name), ``None`` without one."""
        if self.forecasts is None:
            return None
        known = self.suggestion.constraints
        if isinstance(outcome, str) and outcome not in known:
            return None
        place = outcome if isinstance(outcome, int) else objectives + known.index(outcome)
        # A stored record may have fewer than there are outcomes.
        return self.forecasts[place] if place < len(self.forecasts) else None


@checked
def completed(trials: Iterable[Trial]) -> list[Trial]:
    """Return the complete trials, in the order given."""
    return [trial for trial in trials if trial.state is State.COMPLETE]


@checked
def in_order_of_completion(trials: Iterable[Trial]) -> list[Trial]:
    """Return trials by the time at which they were finished, then by number; unfinished ones come last."""
    return sorted(trials, key=lambda trial: (trial.finished or datetime.max, trial.number))


@checked
def constraint_names(trials: Iterable[Trial]) -> tuple[str, ...]:
    """Return the names of all constraints of the complete trials, sorted: the order of their columns in a dataset."""
    return _names_of_constraints(completed(trials))


def _names_of_constraints(done: list[Trial]) -> tuple[str, ...]:
    return tuple(sorted({name for trial in done if trial.constraints for name in trial.constraints}))


@checked
def dataset(
    trials: Iterable[Trial],
    *,
    directions: Sequence[Direction],
    categories: tuple[int, ...],
    hyperparameters: tuple[tuple[float, ...], ...] = (),
    reference: tuple[float, ...] = (),
    features: Callable[[Array], Array] | None = None,
    from_pool: bool = False,
    descriptors: tuple[Array | None, ...] = (),
    contexts: tuple[int, ...] = (),
    activity: Activity | None = None,
) -> Dataset:
    """Return trials as a dataset in the internal sign.

    Complete trials keep the order in which they are given, which should be that of their outcomes. Trials that failed or
    were pruned become failed points, running ones pending points; waiting and interrupted ones are left out. A
    constraint is a further outcome, which is minimized. Complete trials without all of the constraints are left out with
    a warning, and forecasts that calibrators have forgotten without one. Outcomes beyond ``LARGEST_OUTCOME`` count as that.

    Args:
        trials: Trials, each with an encoded point.
        directions: One direction per objective.
        categories, hyperparameters, reference, features, from_pool, descriptors, contexts, activity: As in the ``Dataset``.
    """
    complete, failed, running = _by_state(trials)
    names = _names_of_constraints(complete)
    done = _with_all_constraints(complete, names)
    outcomes = outcome_directions(directions, names)
    d, unknown = len(categories), (float("nan"),) * len(directions)

    def points(some: list[Trial]) -> Array:
        found = [trial.suggestion.x for trial in some]
        if any(size != d for size in set(map(len, found))):
            raise DataError(f"every trial needs an encoded point of {d} coordinates, as many as there are categories")
        return np.concatenate(found, dtype=np.float64).reshape(-1, d) if found and d else np.empty((len(found), d))

    def values() -> list[tuple[float, ...]] | Array:
        measured = [trial.values or unknown for trial in done]
        if not names and set(map(len, measured)) == {len(directions)}:
            # A list of numbers is read in a fraction of the time that rows take.
            return np.array(list(chain.from_iterable(measured)), dtype=np.float64).reshape(-1, len(directions))
        return [(*own, *(t.constraints[n] for n in names)) for own, t in zip(measured, done, strict=True)]

    def variances() -> Array | None:
        if all(trial.sem is None for trial in done):
            return None
        return np.square([(*(t.sem or unknown), *(float("nan") for _ in names)) for t in done])

    forgotten = remembered_from(len(done))
    remembered = _known_forecasts(done[forgotten:], names, directions)
    return Dataset(
        X=points(done),
        Y=_bounded(convert_values(values(), outcomes)),
        Y_var=variances(),
        forecasts=(*(None,) * forgotten, *remembered),
        X_pending=points(running),
        X_failed=points(failed),
        categories=categories,
        hyperparameters=hyperparameters if len(hyperparameters) >= len(outcomes) else (),
        constraints=len(names),
        reference=tuple(min(max(value, -LARGEST_OUTCOME), LARGEST_OUTCOME) for value in reference),
        Y_failed=_bounded(convert_values([t.intermediate or unknown for t in failed], directions)),
        H=_vectors(done),
        features=features,
        from_pool=from_pool,
        descriptors=descriptors,
        contexts=contexts,
        activity=activity,
    )


def _by_state(trials: Iterable[Trial]) -> tuple[list[Trial], list[Trial], list[Trial]]:
    """Return the complete trials, those that failed or were pruned, and the running ones, each in the order given."""
    # Named once, and compared: nearly all are complete, and members of an enumeration take long to look up and to hash.
    known, done = list(trials), State.COMPLETE
    others = [trial for trial in known if trial.state != done]
    failed = [trial for trial in others if trial.state in (State.FAILED, State.PRUNED)]
    running = [trial for trial in others if trial.state == State.RUNNING]
    return [trial for trial in known if trial.state == done], failed, running


def _bounded(Y: Array) -> Array:
    """Return outcomes within the largest ones that strategies learn from; a warning says so if some are beyond."""
    if (np.abs(Y) > LARGEST_OUTCOME).any():
        warn(
            f"outcomes beyond {LARGEST_OUTCOME:g} count as that for the suggestions, since their differences are too large "
            "for a float: measure in larger units, or on a log scale. They are stored as they are",
            FallbackWarning,
        )
    return as_counted(Y)


def as_counted(Y: Array) -> Array:
    """Return outcomes as they count, where they are learned from and where forecasts are compared with them."""
    return np.clip(Y, -LARGEST_OUTCOME, LARGEST_OUTCOME)


def _vectors(done: list[Trial]) -> Array | None:
    lengths = {len(trial.vector) for trial in done if trial.vector}
    if not lengths:
        return None
    if len(lengths) > 1:
        raise DataError(
            f"the vectors of a composite objective have different lengths ({', '.join(map(str, sorted(lengths)))}): "
            "they must all have the same"
        )
    unknown = (float("nan"),) * lengths.pop()
    return np.array([trial.vector or unknown for trial in done], dtype=np.float64)


def _with_all_constraints(done: list[Trial], names: tuple[str, ...]) -> list[Trial]:
    if not names:
        return done
    whole = [trial for trial in done if len(trial.constraints) == len(names)]
    if len(whole) < len(done):
        warn(
            f"{len(done) - len(whole)} of {len(done)} trials were recorded without all of the constraints "
            f"{', '.join(map(repr, names))} and are left out: record every trial with all of them",
            FallbackWarning,
        )
    return whole


def _known_forecasts(
    done: list[Trial], names: tuple[str, ...], directions: Sequence[Direction]
) -> tuple[KnownForecasts | None, ...]:
    """Return the trials' forecasts in the internal sign, one for each objective and each of the named constraints."""
    asked: list[int | str] = [*range(len(directions)), *names]
    outcomes = outcome_directions(directions, names)
    return tuple(
        None
        if trial.forecasts is None
        else signed_forecasts([trial.forecast_of(one, len(directions)) for one in asked], outcomes)
        for trial in done
    )
