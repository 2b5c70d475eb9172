"""Optuna's trials as calibo's: for people by number, for strategies as a dataset.

Outcomes are ordered by the time of their completion (then by number), as stored, so that all workers and a restarted one
see them alike. A pruned trial has no final measurement: its point counts as one that failed, so that it is not suggested
again and its surroundings become less likely; its last intermediate value is kept for methods that use it. Trials whose
parameters are not in the space (a range that has changed since) and those that the user stopped are left out of the
dataset. An infinite value of an objective or a constraint counts as a failure: nothing finite was measured.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
from optuna.trial import FrozenTrial, TrialState

from calibo.data import Array, Dataset, Suggestion
from calibo.errors import SpaceError
from calibo.study.attributes import ERROR, INTERRUPTED, read_sem, read_suggestions, read_vector
from calibo.study.distributions import OptunaSpace
from calibo.trials import (
    Direction,
    State,
    Trial,
    constraint_names,
    dataset,
    in_order_of_completion,
    reference_values,
)

STATES = {
    TrialState.COMPLETE: State.COMPLETE,
    TrialState.FAIL: State.FAILED,
    TrialState.PRUNED: State.PRUNED,
    TrialState.RUNNING: State.RUNNING,
    TrialState.WAITING: State.WAITING,
}

#: States of trials whose points a dataset has.
_COUNTED = (State.COMPLETE, State.FAILED, State.PRUNED, State.RUNNING)


def directions_of(study: optuna.Study) -> tuple[Direction, ...]:
    """Return the directions of a study's objectives."""
    return tuple(Direction.of(direction.name) for direction in study.directions)


def completed_frozen(trials: Iterable[FrozenTrial]) -> list[FrozenTrial]:
    """Return the complete ones of Optuna's trials, in the order in which they were completed."""
    done = [trial for trial in trials if trial.state is TrialState.COMPLETE]
    return sorted(done, key=lambda trial: (trial.datetime_complete, trial.number))


def read_trials(
    trials: Iterable[FrozenTrial], space: OptunaSpace | None = None, *, columns: Collection[str] | None = None
) -> list[Trial]:
    """Return Optuna's trials as calibo's, by number.

    Args:
        trials: Optuna's trials.
        space: Space of the study, if it is known: parameters are then in the user's own terms, and encoded.
        columns: Names of parameters. Given these, only forecasts made for just these parameters count; else, if several
            groups of parameters were suggested, the forecasts for the largest group that the trial used.
    """
    frozen = sorted(trials, key=lambda trial: trial.number)
    states = [_state(trial) for trial in frozen]
    suggested = [read_suggestions(trial) for trial in frozen]
    stored = [
        _stored_params(trial, suggestions, space) if state is State.RUNNING else trial.params
        for trial, state, suggestions in zip(frozen, states, suggested, strict=True)
    ]
    counted = [i for i, state in enumerate(states) if state in _COUNTED]
    points = dict(zip(counted, _encoded([stored[i] for i in counted], space), strict=True))
    return [
        _trial(
            trial,
            state,
            _suggestion(
                trial, suggestions, columns, params if space is None else space.restored(params), points.get(i)
            ),
        )
        for i, (trial, state, suggestions, params) in enumerate(zip(frozen, states, suggested, stored, strict=True))
    ]


def study_data(
    trials: Iterable[FrozenTrial],
    space: OptunaSpace,
    directions: Sequence[Direction],
    *,
    reference: Sequence[float] | None = None,
    asking: int | None = None,
) -> tuple[Dataset, tuple[str, ...]]:
    """Return Optuna's trials as a dataset, and the names of its constraints.

    Args:
        trials: Trials of a study.
        space: Space as Optuna sees it; trials outside are left out.
        directions: One direction per objective.
        reference: Reference point in the user's sign, if one was given.
        asking: Number of the trial for which a point is to be suggested, which is not pending for itself.
    """
    frozen = [trial for trial in trials if trial.number != asking]
    inside = [trial for trial in read_trials(frozen, space, columns=space.names) if len(trial.x)]
    known = in_order_of_completion(inside)
    data = dataset(
        known,
        directions=directions,
        categories=space.space.categories,
        hyperparameters=_latest_hyperparameters(frozen, space),
        reference=reference_values(reference, directions),
        features=space.space.features,
    )
    return data, constraint_names(known)


def _state(trial: FrozenTrial) -> State:
    if trial.state is TrialState.FAIL and trial.user_attrs.get(INTERRUPTED):
        return State.INTERRUPTED
    if trial.state is TrialState.COMPLETE and _not_finite(trial) is not None:
        return State.FAILED
    return STATES[trial.state]


def _not_finite(trial: FrozenTrial) -> float | None:
    """Return the first value of a trial that is not finite, ``None`` if all are."""
    measured = [*(trial.values or [math.inf]), *trial.constraints.values()]
    return next((value for value in measured if not math.isfinite(value)), None)


def _stored_params(trial: FrozenTrial, suggestions: Sequence[Suggestion], space: OptunaSpace | None) -> dict[str, Any]:
    """Return the parameters of a running trial: those it has taken, and those suggested that it has not taken yet."""
    if space is None or not suggestions:
        return trial.params
    own = next((one for one in suggestions if tuple(one.params) == space.names), suggestions[0])
    try:
        return space.external(own.params) | trial.params
    except IndexError:
        return trial.params  # a choice that there is no longer


def _suggestion(
    trial: FrozenTrial,
    suggestions: Sequence[Suggestion],
    columns: Collection[str] | None,
    params: Mapping[str, Any],
    x: Array | None,
) -> Suggestion:
    """Return the suggestion of a trial, with its forecasts if it was run with the parameters they were made for.

    Enqueued trials, and values out of a range that has changed, bypass what the sampler suggested.
    """
    used = {name: one.to_internal_repr(trial.params[name]) for name, one in trial.distributions.items()}
    fitting = [
        one
        for one in suggestions
        if one.forecasts is not None
        and all(used.get(name) == value for name, value in one.params.items())
        and (columns is None or set(one.params) == set(columns))
    ]
    bare = Suggestion({}, method=suggestions[0].method if suggestions else None)
    own = max(fitting, key=lambda one: len(one.params), default=bare)
    return replace(own, params=params, x=np.empty(0) if x is None else x, number=trial.number)


def _trial(trial: FrozenTrial, state: State, suggestion: Suggestion) -> Trial:
    error = trial.user_attrs.get(ERROR) if state is State.FAILED else None
    if trial.state is TrialState.COMPLETE and state is State.FAILED:
        error = f"the value is {_not_finite(trial)}"
    complete = state is State.COMPLETE
    return Trial(
        suggestion,
        state,
        values=tuple(trial.values) if complete else None,
        sem=read_sem(trial) if complete else None,
        constraints=trial.constraints,
        vector=read_vector(trial) if complete else (),
        intermediate=_last_values(trial) if state is State.PRUNED else (),
        started=trial.datetime_start,
        finished=trial.datetime_complete,
        error=error,
    )


def _encoded(points: Sequence[dict[str, Any]], space: OptunaSpace | None) -> list[Array | None]:
    """Return each point encoded, or ``None`` if it is not in the space."""
    if space is None:
        return [None] * len(points)
    try:
        return list(space.encode(points))
    except (SpaceError, ValueError):
        # Rare, so that only then each point is encoded by itself to find out which it is.
        return [_encoded_one(point, space) for point in points]


def _encoded_one(point: dict[str, Any], space: OptunaSpace) -> Array | None:
    try:
        return space.encode([point])[0]
    except (SpaceError, ValueError):
        return None


def _last_values(trial: FrozenTrial) -> tuple[float, ...]:
    """Return what a pruned trial reported last; empty if it reported nothing, or no finite number."""
    if not trial.intermediate_values:
        return ()
    last = trial.intermediate_values[max(trial.intermediate_values)]
    return (last,) if math.isfinite(last) else ()


def _latest_hyperparameters(trials: Sequence[FrozenTrial], space: OptunaSpace) -> tuple[tuple[float, ...], ...]:
    """Return those stored with the latest suggestion for the same parameters."""
    for trial in sorted(trials, key=lambda trial: trial.number, reverse=True):
        if _state(trial) not in _COUNTED:
            continue
        for suggestion in read_suggestions(trial):
            if suggestion.hyperparameters and tuple(suggestion.params) == space.names:
                return suggestion.hyperparameters
    return ()
