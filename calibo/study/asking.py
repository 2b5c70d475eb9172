"""Asking and telling in separate processes: a suggestion is taken from a stored study, and its outcome told later.

A trial that was asked for waits for its outcome for as long as it takes: it has no worker whose life could be watched.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from calibo.checks import check_whole
from calibo.classifiers.composite import Outer
from calibo.data import Outcome
from calibo.errors import StudyError, ValueRejected
from calibo.optimize import Strategy
from calibo.spaces import Space, as_space
from calibo.study.distributions import optuna_space, suggest
from calibo.study.holding import ContextSource
from calibo.study.leased import LeasedStorage
from calibo.study.leases import ERROR, INTERRUPTED, PARKED, read_lease
from calibo.study.method import method_for
from calibo.study.opening import find_study, load_study, open_study, quiet_optuna, storage_errors
from calibo.study.optuna_private import part
from calibo.study.owners import certainly_ended, shown_owner
from calibo.study.recording import Recorder
from calibo.study.result import Result, load_result, result_of
from calibo.study.sampler import CalibratedSampler
from calibo.study.storage import open_storage
from calibo.trials import Direction, objective_names


def ask_study(
    storage: str | os.PathLike[str] | BaseStorage,
    study_name: str | None = None,
    n: int = 1,
    *,
    space: Any = None,
    directions: Sequence[str] | Mapping[str, str] | None = None,
    method: str | Strategy | None = None,
    seed: int | None = None,
    composite: Outer | None = None,
    fixed: Mapping[str, Any] | None = None,
    context: ContextSource = None,
) -> tuple[Result, list[int]]:
    """Take the next trials from a stored study; trials that wait to be run come first, such as those of a killed worker.

    Args:
        storage: See ``open_storage``.
        study_name: Name of the study; not needed if there is only one.
        n: Number of trials.
        space: The space; begins a new study if there is none of that name. Else only needed if it is not known from
            the storage.
        directions: As in ``minimize``; by default those of the study, and of a new one "minimize".
        method: By default that of the study, and of a new one "auto".
        seed: Makes the suggestions reproducible; by default that of the study.
        composite, fixed, context: As in ``minimize``.

    Returns:
        The study with the trials, and their numbers.

    Raises:
        StudyError: If there is no such study and no space to begin one with, or the space is not known.
    """
    n = check_whole("n, the number of trials to ask for,", n)
    opened = open_storage(storage, create=space is not None)
    begun = find_study(opened, study_name) if study_name is not None and space is not None else None
    if space is None:
        begun = load_study(opened, study_name)
        space = load_result(opened, begun.study_name).space
        if space is None:
            raise StudyError(
                f"the space of study {begun.study_name!r} is not known from its storage: give it (--space)"
            )
    seen = optuna_space(as_space(space))
    stored = None if begun is None else [one.name.lower() for one in begun.directions]
    given = directions if directions is not None else stored
    ways = Direction.several(Direction.MINIMIZE if given is None else given)
    own, _ = method_for(begun, method, composite).with_directions(ways)
    study, seed, point = open_study(
        opened,
        study_name if begun is None else begun.study_name,
        directions=ways,
        names=objective_names(directions),
        space=seen,
        seed=seed,
        method=own.name,
    )
    study.sampler = CalibratedSampler(
        own, seed=seed, space=seen.space, reference=point, fixed=fixed, context=context, takes_all=True
    )
    numbers: list[int] = []
    with storage_errors(), quiet_optuna():
        for _ in range(n):
            trial = study.ask()
            try:
                suggest(trial, seen)
            except BaseException:
                # Nobody could tell the outcome of a trial without parameters.
                trial.set_user_attr(INTERRUPTED, True)
                study.tell(trial, state=TrialState.FAIL)
                raise
            numbers.append(trial.number)
            held = part(study, "_storage")
            if isinstance(held, LeasedStorage):
                held.leave(part(trial, "_trial_id"))
    return result_of(study, space=seen, method=own, seed=seed, reference=point), numbers


def tell_study(
    storage: str | os.PathLike[str] | BaseStorage,
    study_name: str | None,
    number: int,
    outcome: Outcome | None = None,
    *,
    failed: str | None = None,
    interrupted: bool = False,
    space: Any = None,
    composite: Outer | None = None,
    force: bool = False,
) -> Result:
    """Store the outcome of a trial that was asked for.

    Args:
        storage: See ``open_storage``.
        study_name: Name of the study; not needed if there is only one.
        number: Number of the trial.
        outcome: What was measured.
        failed: Instead of an outcome: why the experiment failed, which counts against its parameters.
        interrupted: Instead of an outcome: it was not measured, which says nothing about its parameters.
        space: The space, if it is not known from the storage.
        composite: As in ``minimize``.
        force: Whether to store the outcome also if a worker is running the trial.

    Returns:
        The study with the outcome.

    Raises:
        StudyError: If there is no such trial, it is finished, waits to be run, or a worker is running it.
        ValueRejected: If the outcome is not one of the study's.
    """
    study = load_study(open_storage(storage, create=False), study_name)
    result = load_result(part(study, "_storage"), study.study_name, space=space)
    trial_id = part(_unfinished(study, number, force), "_trial_id")
    recorder: Recorder | None = None
    if outcome is not None:
        _check_constraints(outcome, result.constraints)
        _, function = method_for(study, None, composite).with_directions(result.directions)
        recorder = replace(Recorder.of(study, _known_space(result), function), remedy="tell a failure with --failed")
    with storage_errors(), quiet_optuna(), _one_step(study, trial_id):
        trial = optuna.Trial(study, trial_id)
        if recorder is not None:
            values = recorder(trial, outcome)
            study.tell(number, values)
        else:
            values = None
            if failed is not None:
                trial.set_user_attr(ERROR, failed)
            if interrupted:
                trial.set_user_attr(INTERRUPTED, True)
            study.tell(number, state=TrialState.FAIL)
    now = tuple(study.get_trials(deepcopy=False))
    if next(one for one in now if one.number == number).values != (None if values is None else list(values)):
        # Somebody else has told it in the same moment.
        raise _finished(study, number)
    return replace(result, optuna_trials=now)


def _check_constraints(outcome: Outcome, known: Sequence[str]) -> None:
    """Refuse an outcome without a constraint that the study has: the trial could not be used, and cannot be told again."""
    missing = [name for name in known if name not in (outcome.constraints or {})]
    if missing:
        wanted = " ".join(f"--constraint {name}=VALUE" for name in missing)
        raise ValueRejected(f"the outcome lacks the constraint {', '.join(map(repr, missing))}: give it too ({wanted})")


def _one_step(study: optuna.Study, trial_id: int) -> contextlib.AbstractContextManager[None]:
    """Return a context in which what is written to a trial is stored together with its outcome."""
    storage = part(study, "_storage")
    if isinstance(storage, LeasedStorage):
        return storage.telling(part(study, "_study_id"), trial_id)
    return contextlib.nullcontext()


def _known_space(result: Result) -> Space:
    if result.space is None:
        raise StudyError(f"the space of study {result.study_name!r} is not known from its storage: give it (--space)")
    return result.space


def _unfinished(study: optuna.Study, number: int, force: bool) -> FrozenTrial:
    """Return a trial whose outcome may be told."""
    trials = study.get_trials(deepcopy=False)
    found = next((one for one in trials if one.number == number), None)
    if found is None:
        running = [str(one.number) for one in trials if one.state is TrialState.RUNNING]
        there = f"awaited are the outcomes of {', '.join(running)}" if running else "no outcome is awaited"
        raise StudyError(f"study {study.study_name!r} has no trial {number}: {there}")
    if found.state.is_finished():
        raise _finished(study, number)
    if found.state is TrialState.WAITING:
        raise StudyError(f"trial {number} waits to be run: ask for it first (calibo ask), then tell its outcome")
    lease = read_lease(found.system_attrs)
    alive = lease is not None and lease.owner and lease.mark != PARKED and not certainly_ended(lease.owner)
    if lease is not None and alive and not force:
        raise StudyError(
            f"trial {number} is being run by {shown_owner(lease.owner)}, which tells its outcome itself; if you know better, "
            "give --force (force=True): whoever tells it first is right"
        )
    return found


def _finished(study: optuna.Study, number: int) -> StudyError:
    trial = next(one for one in study.get_trials(deepcopy=False) if one.number == number)
    what = f"with {', '.join(f'{value:g}' for value in trial.values)}" if trial.values else trial.state.name.lower()
    return StudyError(f"trial {number} is finished already ({what}): its outcome cannot be changed")
