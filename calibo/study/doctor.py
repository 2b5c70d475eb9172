"""Examination of a storage: what is stuck, lost, damaged or odd, and which of it can safely be put right."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from calibo.errors import CaliboError
from calibo.study.attributes import VERSION, read_description, read_suggestion
from calibo.study.backends import CLAIM
from calibo.study.leased import LeasedStorage, fold_in
from calibo.study.leases import PARKED, Observer, read_lease
from calibo.study.opening import quiet_optuna, storage_errors
from calibo.study.optuna_private import part
from calibo.study.owners import shown_owner
from calibo.study.storage import open_storage

#: Seconds between two looks at a lease.
_LOOK = 0.5


@dataclass(frozen=True)
class Finding:
    """Something that an examination found.

    Attributes:
        text: What it is, in words.
        study: Study that it is about; empty if it is about the storage.
        wrong: Whether something is wrong, and it is not only worth knowing.
        repairable: Whether it can be repaired without losing anything.
        repaired: Whether it has been.
    """

    text: str
    study: str = ""
    wrong: bool = True
    repairable: bool = False
    repaired: bool = False


def examine(
    storage: str | os.PathLike[str] | BaseStorage, *, repair: bool = False, wait: float | None = None
) -> list[Finding]:
    """Examine all studies of a storage.

    Args:
        storage: See ``open_storage``.
        repair: Whether to store results that are kept in files, have trials run again whose workers are gone, and remove
            what a worker left behind that died in the middle of a step. Nothing that was measured is changed.
        wait: Seconds to watch the leases of running trials for; by default as long as the longest lasts. None are waited for
            whose process is known to have ended.

    Returns:
        What was found, study by study.
    """
    opened = open_storage(storage, create=False)
    found: list[Finding] = []
    with quiet_optuna(), storage_errors():
        found += _claims(opened, repair)
        studies = [optuna.load_study(storage=opened, study_name=one.study_name) for one in opened.get_all_studies()]
        if not studies:
            found.append(Finding("there is no study in the storage", wrong=False))
        for study in studies:
            found += _forecasts(study)
            found += _numbers(study)
            if isinstance(opened, LeasedStorage):
                found += _spooled(opened, study, repair)
                found += _workers(opened, study, repair, wait)
        if isinstance(opened, LeasedStorage):
            found += _unreadable(opened, [study.study_name for study in studies])
    return found


def _claims(storage: BaseStorage, repair: bool) -> Iterator[Finding]:
    """Yield steps in the middle of which a worker died (journals and servers)."""
    backend = storage.backend.storage if isinstance(storage, LeasedStorage) else storage
    for one in backend.get_all_studies():
        if one.study_name.startswith(CLAIM):
            if repair:
                backend.delete_study(part(one, "_study_id"))
            text = "a step that a worker began, and did not finish, is left behind (repairable)"
            yield Finding(text, repairable=True, repaired=repair)


def _forecasts(study: optuna.Study) -> Iterator[Finding]:
    """Yield trials whose forecasts are missing or damaged, and records of another version."""
    try:
        description = read_description(study)
    except CaliboError as error:
        yield Finding(str(error), study.study_name)
        return
    without: list[int] = []
    damaged: list[int] = []
    copies: list[int] = []
    versions: set[object] = set()
    for trial in study.get_trials(deepcopy=False):
        head = trial.system_attrs.get("calibo:suggestion")
        if head is None:
            if description is not None and trial.state is TrialState.COMPLETE:
                without.append(trial.number)
        elif not isinstance(head, dict):
            damaged.append(trial.number)
        elif head.get("version") != VERSION:
            versions.add(head.get("version"))
        elif head.get("number") != trial.number:
            copies.append(trial.number)
        elif not _readable(trial):
            damaged.append(trial.number)
    name = study.study_name
    if versions:
        yield Finding(
            f"some trials were stored in format {sorted(map(str, versions))}, and this calibo reads {VERSION}", name
        )
    if damaged:
        yield Finding(f"the forecasts of {_listed(damaged)} are damaged; their values are used without them", name)
    if without:
        yield Finding(
            f"{_listed(without)} have no forecast: they were enqueued or added, or run by others", name, wrong=False
        )
    if copies:
        yield Finding(f"{_listed(copies)} are copies of other trials, whose forecasts are not used", name, wrong=False)


def _readable(trial: FrozenTrial) -> bool:
    try:
        return read_suggestion(trial) is not None
    except (CaliboError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return False


def _numbers(study: optuna.Study) -> Iterator[Finding]:
    """Yield trials that share a number."""
    numbers = [trial.number for trial in study.get_trials(deepcopy=False)]
    twice = (
        sorted({number for number in numbers if numbers.count(number) > 1}) if len(set(numbers)) < len(numbers) else []
    )
    if twice:
        yield Finding(
            f"the numbers {twice} are those of several trials: workers with different clocks or tools", study.study_name
        )


def _spooled(storage: LeasedStorage, study: optuna.Study, repair: bool) -> Iterator[Finding]:
    """Yield results that are kept in files."""
    for outcome in [] if storage.spool is None else list(storage.spool.read(study.study_name)):
        if repair:
            fold_in(storage.backend, part(study, "_study_id"), outcome)
        text = f"the outcome of trial {outcome.number} is kept in {outcome.file} (repairable)"
        yield Finding(text, study.study_name, repairable=True, repaired=repair)


def _unreadable(storage: LeasedStorage, studies: list[str]) -> Iterator[Finding]:
    if storage.spool is None:
        return
    for path in storage.spool.unreadable():
        yield Finding(f"{path} cannot be read as the outcome of a trial; it is left as it is")
    for outcome in storage.spool.read():
        if outcome.study not in studies:
            yield Finding(f"{outcome.file} has an outcome of study {outcome.study!r}, which is not in this storage")


def _workers(storage: LeasedStorage, study: optuna.Study, repair: bool, wait: float | None) -> Iterator[Finding]:
    """Yield trials that are running without a worker, once their leases are over."""
    observer, name = Observer(storage.lease), study.study_name
    end = time.monotonic() + (_longest(_running(study), storage.lease) + _LOOK if wait is None else wait)
    gone: set[int] = set()
    while True:
        running = _running(study)
        gone |= set(observer.ended(running))
        signs = {trial_id: _parked(one) for trial_id, one in running.items()}
        if set(signs) <= gone | {trial_id for trial_id, parked in signs.items() if parked} or time.monotonic() >= end:
            break
        time.sleep(_LOOK)
    for trial_id, trial in running.items():
        lease = read_lease(trial.system_attrs)
        if trial_id in gone:
            again = repair and storage.take_over(trial)
            who = "a worker that had no lease yet" if lease is None else shown_owner(lease.owner)
            text = f"trial {trial.number} is running, and {who} is gone{'' if again else ' (repairable)'}"
            yield Finding(text, name, repairable=True, repaired=again)
        elif _parked(trial):
            yield Finding(f"trial {trial.number} was asked for, and waits to be told its outcome", name, wrong=False)


def _running(study: optuna.Study) -> dict[int, FrozenTrial]:
    trials = study.get_trials(deepcopy=False)
    return {part(one, "_trial_id"): one for one in trials if one.state is TrialState.RUNNING}


def _longest(running: Mapping[int, FrozenTrial], without: float) -> float:
    leases = [read_lease(one.system_attrs) for one in running.values()]
    return max((without if one is None else one.seconds for one in leases), default=0.0)


def _parked(trial: FrozenTrial) -> bool:
    lease = read_lease(trial.system_attrs)
    return lease is not None and lease.mark == PARKED


def _listed(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return f"trials {shown}{' and others' if len(numbers) > 8 else ''}"
