"""Optuna's trials as calibo's: for people by number, for strategies as a dataset.

Outcomes are ordered by the time of their completion (then by number), as stored, so that all workers and a restarted one
see them alike. A pruned trial has no final measurement: its point counts as one that failed, so that it is not suggested
again and its surroundings become less likely; its last intermediate value is kept for methods that use it. Trials whose
parameters are not in the space (a range that has changed since) and those that the user stopped are left out of the
dataset. An infinite value of an objective or a constraint counts as a failure: nothing finite was measured.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import optuna
from optuna.trial import FrozenTrial, TrialState

from calibo.data import Array, Dataset, Suggestion
from calibo.errors import ContextWarning, SpaceError
from calibo.spaces import checked_context, moved_point
from calibo.study.attributes import read_context, read_sem, read_suggestion, read_vector
from calibo.study.distributions import OptunaSpace
from calibo.study.leases import ERROR, INTERRUPTED
from calibo.trials import Direction, State, Trial, constraint_names, dataset, in_order_of_completion, reference_values

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
    return sorted(done, key=lambda trial: (local_time(trial.datetime_complete), trial.number))


def local_time(when: datetime | None) -> datetime | None:
    """Return a time as Optuna writes it, local and without a zone: one of a trial that was added by hand may have one."""
    return when if when is None or when.tzinfo is None else when.astimezone().replace(tzinfo=None)


class TrialMemory:
    """Trials that have been read before: one that is finished never changes, and a sampler reads all at every suggestion.

    It belongs to one sampler, so that parameters with the same distributions are those of the same space.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], tuple[Mapping[str, Any], dict[int, tuple[FrozenTrial, Trial]]]] = {}

    def read(self, trials: Iterable[FrozenTrial], space: OptunaSpace) -> list[Trial]:
        """Return Optuna's trials as calibo's, by number, with the forecasts made for the columns of the space."""
        distributions, known = self._known.get(space.names, (None, {}))
        if distributions != space.distributions:
            known = {}
        frozen = sorted(trials, key=lambda trial: trial.number)
        new = [one for one in frozen if one.number not in known or known[one.number][0] is not one]
        read = dict(zip((one.number for one in new), read_trials(new, space, columns=space.names), strict=True))
        found = [read[one.number] if one.number in read else known[one.number][1] for one in frozen]
        known.update({one.number: (one, read[one.number]) for one in new if one.state.is_finished()})
        self._known[space.names] = (dict(space.distributions), known)
        return found


def read_trials(
    trials: Iterable[FrozenTrial],
    space: OptunaSpace | None = None,
    *,
    columns: Collection[str] | None = None,
    constrained: bool = True,
) -> list[Trial]:
    """Return Optuna's trials as calibo's, by number.

    Args:
        trials: Optuna's trials.
        space: Space of the study, if it is known: parameters are then the values of its columns, and encoded;
            ``with_user_params`` decodes them.
        columns: Names of parameters. Given these, only forecasts made for all of them that the trial has count: others
            did not know its point.
        constrained: Whether constraints count; if not, they are left out, and one that is infinite is no failure.
    """
    frozen = sorted(trials, key=lambda trial: trial.number)
    states = [_state(trial, constrained=constrained) for trial in frozen]
    stored = [trial.params if space is None else _stored_params(trial, space) for trial in frozen]
    observed = [read_context(trial) for trial in frozen]
    begun = [i for i, state in enumerate(states) if state is not State.WAITING]
    points = dict(zip(begun, _encoded([_observed(stored[i], observed[i], space) for i in begun], space), strict=True))
    params = stored if space is None else [space.restored(one) for one in stored]
    params = [{**one, **context} for one, context in zip(params, observed, strict=True)]
    suggestions = [replace(_forecast_of(trial, columns), params=p) for trial, p in zip(frozen, params, strict=True)]
    read = [
        _trial(trial, state, replace(suggestion, x=points.get(i, np.empty(0)), number=trial.number))
        for i, (trial, state, suggestion) in enumerate(zip(frozen, states, suggestions, strict=True))
    ]
    return read if constrained else [replace(one, constraints={}) for one in read]


def with_user_params(trials: Sequence[Trial], space: OptunaSpace | None) -> list[Trial]:
    """Return trials with the parameters that the objective takes, instead of the values of the space's columns.

    Only trials whose point is in the space are changed, and only if these are not the same: for a pool with columns that
    are no features, and for spaces with a ``decode`` of their own.
    """
    inside = [i for i, trial in enumerate(trials) if len(trial.x)]
    changed = list(trials)
    if space is None or not inside:
        return changed
    X = np.stack([trials[i].x for i in inside])
    for i, params, values in zip(inside, space.space.decode(X), space.space.values(X), strict=True):
        if params != values:
            others = {name: value for name, value in trials[i].params.items() if name not in space.names}
            changed[i] = replace(trials[i], suggestion=replace(trials[i].suggestion, params=others | params))
    return changed


def study_data(
    trials: Iterable[FrozenTrial],
    space: OptunaSpace,
    directions: Sequence[Direction],
    *,
    reference: Sequence[float] | None = None,
    asking: int | None = None,
    memory: TrialMemory | None = None,
) -> tuple[Dataset, tuple[str, ...]]:
    """Return Optuna's trials as a dataset, and the names of its constraints.

    Trials outside of the space are left out, and so is the one for which a point is to be suggested (``asking``), which
    is not pending for itself. The reference point is in the user's sign. ``memory`` remembers trials that are finished.
    """
    frozen = [trial for trial in trials if trial.number != asking]
    known = trials_inside(frozen, space, memory)
    names = constraint_names(known)
    data = dataset(
        known,
        directions=directions,
        categories=space.space.categories,
        hyperparameters=_latest_hyperparameters(frozen, space, names),
        reference=reference_values(reference, directions),
        features=space.space.features,
        from_pool=space.space.is_pool,
        descriptors=space.space.descriptors,
        contexts=space.space.context_columns,
        activity=space.space.activity,
    )
    return data, names


def trials_inside(trials: Iterable[FrozenTrial], space: OptunaSpace, memory: TrialMemory | None = None) -> list[Trial]:
    """Return Optuna's trials in a space as calibo's, in the order in which they were completed."""
    # Which parameters a trial of a conditional space may have is learned from the trials, so that nothing is remembered.
    known = memory if space.space.activity is None else None
    read = read_trials(trials, space, columns=space.names) if known is None else known.read(trials, space)
    return in_order_of_completion(trial for trial in read if len(trial.x))


def _state(trial: FrozenTrial, *, constrained: bool = True) -> State:
    if trial.state is TrialState.FAIL and trial.user_attrs.get(INTERRUPTED):
        return State.INTERRUPTED
    if trial.state is TrialState.COMPLETE and _not_finite(trial, constrained=constrained) is not None:
        return State.FAILED
    return STATES[trial.state]


def _not_finite(trial: FrozenTrial, *, constrained: bool = True) -> float | None:
    measured = [*(trial.values or [math.inf]), *(trial.constraints.values() if constrained else ())]
    return next((value for value in measured if not math.isfinite(value)), None)


def _stored_params(trial: FrozenTrial, space: OptunaSpace) -> dict[str, Any]:
    """Return the parameters that a trial has taken, and while it is running those suggested that it has yet to take."""
    own = read_suggestion(trial) if trial.state is TrialState.RUNNING else None
    if own is None:
        return trial.params
    try:
        return space.external(own.params) | trial.params
    except IndexError:
        return trial.params  # a choice that there is no longer


def _observed(stored: dict[str, Any], context: dict[str, Any], space: OptunaSpace | None) -> dict[str, Any]:
    """Return what a trial stores with the contexts that were observed in it, as values that their parameters have."""
    own = {name: value for name, value in context.items() if space is not None and name in space.space.contexts}
    if space is None or not own:
        return stored
    with warnings.catch_warnings():
        # The user was told when it was observed.
        warnings.simplefilter("ignore", ContextWarning)
        inside = checked_context(space.space, own, partly=True)
    try:
        x = space.encode([stored])[0]
        return {**stored, **space.stored(moved_point(space.space, x, inside))}
    except SpaceError:
        # It decides which parameters there are, or some are missing: a point of no space, which is left out of the data.
        return {**stored, **own}


def _forecast_of(trial: FrozenTrial, columns: Collection[str] | None) -> Suggestion:
    """Return the stored suggestion for the parameters that a trial was run with, or else one without forecasts.

    Enqueued trials, and values out of a range that has changed, bypass what the sampler suggested.
    """
    suggestion = read_suggestion(trial)
    moved = any(trial.params.get(name) != value for name, value in read_context(trial).items())
    if suggestion is None or suggestion.forecasts is None or moved:
        # A forecast for another context than the one observed does not count.
        return Suggestion({}, method=None if suggestion is None else suggestion.method)
    used = {name: one.to_internal_repr(trial.params[name]) for name, one in trial.distributions.items()}
    as_suggested = all(used.get(name) == value for name, value in suggestion.params.items())
    complete = columns is None or set(suggestion.params) == {name for name in columns if name in used}
    return suggestion if as_suggested and complete else Suggestion({}, method=suggestion.method)


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
        started=local_time(trial.datetime_start),
        finished=local_time(trial.datetime_complete),
        error=error,
    )


def _encoded(points: list[dict[str, Any]], space: OptunaSpace | None) -> list[Array]:
    """Return each point encoded, empty if it is not in the space."""
    if space is None:
        return [np.empty(0)] * len(points)
    try:
        return list(space.encode(points))
    except (SpaceError, ValueError):
        if len(points) == 1:
            return [np.empty(0)]
        # Rare, so that only then each point is encoded by itself to find out which it is.
        return [_encoded([point], space)[0] for point in points]


def _last_values(trial: FrozenTrial) -> tuple[float, ...]:
    """Return what a pruned trial reported last; empty if it reported nothing, or no finite number."""
    _, last = max(trial.intermediate_values.items(), default=(0, math.nan))
    return (last,) if math.isfinite(last) else ()


def _latest_hyperparameters(
    trials: Sequence[FrozenTrial], space: OptunaSpace, constraints: tuple[str, ...]
) -> tuple[tuple[float, ...], ...]:
    """Return those stored with the latest suggestion for the same parameters; none if it knew other constraints."""
    latest = sorted(trials, key=lambda trial: trial.number, reverse=True)
    counted = (trial for trial in latest if _state(trial) in _COUNTED)
    suggested = (one for trial in counted if (one := read_suggestion(trial)) is not None and one.hyperparameters)
    found = next((one for one in suggested if (one.columns or tuple(one.params)) == space.names), None)
    return () if found is None or found.constraints != constraints else found.hyperparameters
