"""What the trials of a study say: entries for people, datasets for strategies.

The order of the outcomes is that of their completion (then of the trials' numbers), as stored, so that all workers and
a restarted one fold over them alike. A pruned trial has no final measurement: its point counts as one that failed, so
that it is not suggested again and its surroundings become less likely; its last intermediate value goes with it, for
methods that take that for its outcome. Trials whose parameters are not in the space (a
range that has changed since) and those that the user stopped are left out. A measurement that is infinite, of an
objective or of a constraint, counts as a failure: nothing finite was measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from calibo.data import Array, Dataset, Forecast, Forecasts
from calibo.errors import SpaceError
from calibo.optimize.records import Direction, Record, State, constraint_names, dataset, meets, reference_values
from calibo.study.attributes import ERROR, INTERRUPTED, Stamp, read_stamps, read_vector
from calibo.study.distributions import OptunaSpace

#: What the states of trials are called.
STATES = {
    TrialState.COMPLETE: "complete",
    TrialState.FAIL: "failed",
    TrialState.PRUNED: "pruned",
    TrialState.RUNNING: "running",
    TrialState.WAITING: "waiting",
}


@dataclass(frozen=True)
class Entry:
    """One trial of a study, in the user's sign and units.

    Attributes:
        number: Its number, counted from 0.
        state: "complete", "failed", "interrupted", "pruned", "running" or "waiting".
        params: Its parameters, by name; of a pool's row only the features.
        values: Its objectives, m; ``None`` unless complete.
        constraints: Its constraints by name, each met where its value is not positive.
        required: The names of all constraints that any complete trial of the study has.
        forecasts: What was believed before it was measured, of the m objectives and then of the constraints known of
            at that time; ``None`` if the trial was not suggested by a model, or was run with other parameters than
            those suggested.
        forecast_constraints: The names of those constraints.
        started: When it was started.
        finished: When it was finished.
        error: Why it failed, if it did and that is known.
        vector: Of a composite objective the vector measured, of which the value is a function; else empty.
    """

    number: int
    state: str
    params: dict[str, Any]
    values: tuple[float, ...] | None = None
    constraints: Mapping[str, float] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    forecasts: Forecasts | None = None
    forecast_constraints: tuple[str, ...] = ()
    started: datetime | None = None
    finished: datetime | None = None
    error: str | None = None
    vector: tuple[float, ...] = ()

    @property
    def value(self) -> float | None:
        """Its outcome, ``None`` unless complete; of several objectives the first."""
        return None if self.values is None else self.values[0]

    @property
    def forecast(self) -> Forecast | None:
        """The forecast of ``value``."""
        return None if self.forecasts is None else self.forecasts[0]

    @property
    def feasible(self) -> bool:
        """Whether it is complete and meets all constraints of the study."""
        return self.values is not None and meets(self.constraints, self.required)

    def judged(self, outcome: int | str) -> tuple[Forecast, float] | None:
        """The forecast and the value of an objective (by its place) or a constraint (by its name); ``None`` without both."""
        if self.values is None or self.forecasts is None:
            return None
        if isinstance(outcome, int):
            return self.forecasts[outcome], self.values[outcome]
        if outcome not in self.constraints or outcome not in self.forecast_constraints:
            return None
        place = len(self.values) + self.forecast_constraints.index(outcome)
        return self.forecasts[place], self.constraints[outcome]


@dataclass(frozen=True)
class Known:
    """All that the trials of a study say.

    Attributes:
        data: As strategies see it.
        constraints: Names of the constraints, in the order of their columns.
    """

    data: Dataset
    constraints: tuple[str, ...]


def directions_of(study: optuna.Study) -> tuple[Direction, ...]:
    """The directions of a study's objectives."""
    return tuple(Direction.of(direction.name) for direction in study.directions)


def entries(trials: Iterable[FrozenTrial], space: OptunaSpace | None = None) -> tuple[Entry, ...]:
    """The trials, by their numbers; in the user's own terms if the space is known."""
    trials = sorted(trials, key=lambda trial: trial.number)
    required = tuple(sorted({name for trial in completed(trials) for name in trial.constraints}))
    return tuple(_entry(trial, space, required) for trial in trials)


def completed_in_order(entries: Iterable[Entry]) -> list[Entry]:
    """The entries with an outcome, in the order in which the outcomes came."""
    done = [entry for entry in entries if entry.value is not None and entry.finished is not None]
    return sorted(done, key=lambda entry: (entry.finished, entry.number))


def completed(trials: Iterable[FrozenTrial]) -> list[FrozenTrial]:
    """The completed ones of some trials, in the order in which they were completed."""
    return sorted((trial for trial in trials if trial.state is TrialState.COMPLETE), key=_order)


def known_of(
    trials: Iterable[FrozenTrial],
    space: OptunaSpace,
    directions: Sequence[Direction],
    *,
    reference: Sequence[float] | None = None,
    asking: int | None = None,
) -> Known:
    """All that some trials say, as strategies see it.

    Args:
        trials: The trials of a study.
        space: The space as Optuna sees it; trials outside are left out.
        directions: Whether small or large outcomes are wanted, one per objective.
        reference: The reference point of several objectives, in the user's sign, if one was given.
        asking: Number of the trial for which a suggestion is wanted, which is not pending for itself.
    """
    ordered = sorted((t for t in trials if t.number != asking), key=_order)
    kept = [(trial, state) for trial in ordered if (state := _state(trial)) is not None]
    stamps = {trial.number: stamp for trial, _ in kept if (stamp := _stamp_for(trial, space)) is not None}
    points = [_stored_params(trial, state, stamps.get(trial.number), space) for trial, state in kept]
    records = [
        _record(trial, state, x, stamps.get(trial.number))
        for (trial, state), x in zip(kept, _encoded(points, space), strict=True)
        if x is not None
    ]
    data = dataset(
        records,
        directions=directions,
        categories=space.space.categories,
        hyperparameters=_latest_hyperparameters(stamps, space),
        reference=reference_values(reference, directions),
        features=space.space.features,
    )
    return Known(data, constraint_names(records))


def forecast_stamp(trial: FrozenTrial, stamp: Stamp | None = None) -> Stamp | None:
    """The stamp with a trial's forecasts if it was run with the parameters they were made for, else ``None``.

    Enqueued trials, and values out of a range that has changed, bypass what the sampler suggested. Of several stamps
    (for groups of parameters) the one for most of the parameters that the trial has used speaks for it.
    """
    stamps = read_stamps(trial) if stamp is None else (stamp,)
    used = {name: one.to_internal_repr(trial.params[name]) for name, one in trial.distributions.items()}
    fitting = [
        one
        for one in stamps
        if one.forecasts is not None and all(used.get(name) == value for name, value in one.params.items())
    ]
    return max(fitting, key=lambda one: len(one.params)) if fitting else None


def _stamp_for(trial: FrozenTrial, space: OptunaSpace) -> Stamp | None:
    """What was published with a trial for just these columns; or, if nothing was, the first of what was."""
    stamps = read_stamps(trial)
    own = (stamp for stamp in stamps if tuple(stamp.params) == space.names)
    return next(own, stamps[0] if stamps else None)


def _entry(trial: FrozenTrial, space: OptunaSpace | None, required: tuple[str, ...]) -> Entry:
    state, values, error = STATES[trial.state], None, None
    if trial.state is TrialState.FAIL:
        state = "interrupted" if trial.user_attrs.get(INTERRUPTED) else state
        error = trial.user_attrs.get(ERROR)
    elif trial.state is TrialState.COMPLETE and trial.values is not None:
        values = tuple(trial.values)
        measured = [*values, *trial.constraints.values()]
        if not all(map(math.isfinite, measured)):
            bad = next(value for value in measured if not math.isfinite(value))
            state, values, error = "failed", None, f"the value is {bad}"
    stamp = forecast_stamp(trial)
    return Entry(
        number=trial.number,
        state=state,
        params=dict(trial.params) if space is None else space.restored(trial.params),
        values=values,
        constraints=trial.constraints,
        required=required,
        forecasts=None if stamp is None else stamp.forecasts,
        forecast_constraints=() if stamp is None else stamp.constraints,
        started=trial.datetime_start,
        finished=trial.datetime_complete,
        error=error,
        vector=() if values is None else read_vector(trial),
    )


def _order(trial: FrozenTrial) -> tuple[datetime, int]:
    return trial.datetime_complete or datetime.max, trial.number


def _state(trial: FrozenTrial) -> State | None:
    """What has become of a trial's point; ``None`` if the trial says nothing."""
    if trial.state is TrialState.COMPLETE:
        measured = [*(trial.values or [math.inf]), *trial.constraints.values()]
        finite = all(math.isfinite(value) for value in measured)
        return State.TOLD if finite else State.FAILED
    if trial.state is TrialState.FAIL:
        return None if trial.user_attrs.get(INTERRUPTED) else State.FAILED
    if trial.state is TrialState.PRUNED:
        return State.FAILED
    return State.PENDING if trial.state is TrialState.RUNNING else None


def _stored_params(trial: FrozenTrial, state: State, stamp: Stamp | None, space: OptunaSpace) -> dict[str, Any]:
    if state is not State.PENDING or stamp is None:
        return trial.params
    try:
        # A running trial takes its values one by one; what it has not taken yet is what was suggested to it.
        return space.external(stamp.params) | trial.params
    except IndexError:
        return trial.params


def _encoded(points: Sequence[dict[str, Any]], space: OptunaSpace) -> list[Array | None]:
    """Points encoded, each d, or ``None`` for one that is not in the space."""
    try:
        return list(space.encode(points))
    except (SpaceError, ValueError):
        # Rare, so only then is the price paid of finding out which.
        return [_encoded_one(point, space) for point in points]


def _encoded_one(point: dict[str, Any], space: OptunaSpace) -> Array | None:
    try:
        return space.encode([point])[0]
    except (SpaceError, ValueError):
        return None


def _record(trial: FrozenTrial, state: State, x: Array, stamp: Stamp | None) -> Record:
    if state is not State.TOLD or trial.values is None:
        return Record(x=x, state=state, values=_last_values(trial))
    own = None if stamp is None or len(stamp.params) != len(x) else forecast_stamp(trial, stamp)
    return Record(
        x=x,
        state=state,
        values=tuple(trial.values),
        constraints=trial.constraints,
        forecasts=None if own is None else own.forecasts,
        forecast_constraints=() if own is None else own.constraints,
        vector=read_vector(trial),
    )


def _last_values(trial: FrozenTrial) -> tuple[float, ...]:
    """What a pruned trial reported last; empty for any other trial, and if that is no finite number."""
    if trial.state is not TrialState.PRUNED or not trial.intermediate_values:
        return ()
    last = trial.intermediate_values[max(trial.intermediate_values)]
    return (last,) if math.isfinite(last) else ()


def _latest_hyperparameters(stamps: dict[int, Stamp], space: OptunaSpace) -> tuple[tuple[float, ...], ...]:
    """Those stored with the latest suggestion over the same columns."""
    for number in sorted(stamps, reverse=True):
        stamp = stamps[number]
        if stamp.hyperparameters and tuple(stamp.params) == space.names:
            return stamp.hyperparameters
    return ()
