"""What calibo needs of a storage beyond Optuna's interface: steps that only one of many workers can take.

``SqlBackend`` (database.py) takes each in one transaction. ``PlainBackend``, for journals, servers and whatever Optuna has
else, builds them from the one thing that every storage gives to only one of many: the name of a new study.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.storages import BaseStorage, InMemoryStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from calibo.study.leases import ERROR, INTERRUPTED, PREFIX, Lease
from calibo.study.optuna_private import part

#: Beginning of the names of studies that only exist for the moment in which a step is taken.
CLAIM = "calibo:claim:"

#: Seconds after which a step that another worker began, and did not finish, may be tried again.
_UNFINISHED = 5.0


class Superseded(Exception):
    """A trial was taken over: another attempt is under way, or waits."""


class BudgetReached(Exception):
    """A study has as many trials as it may have."""


class Outdated(Exception):
    """Another worker has stored something since, that what is to be written should take into account."""


@dataclass(frozen=True)
class Known:
    """What a worker knew of the trials of a study that are running when it decided what to write.

    Attributes:
        study_id: The study.
        key: The system attribute that trials publish.
        numbers: Numbers of the trials of which it was known, and that of the trial itself.
    """

    study_id: int
    key: str
    numbers: frozenset[int]

    def lacks(self, trials: Sequence[FrozenTrial], before: int | None = None) -> bool:
        """Return whether a running trial has published what was not known, of those with a number below ``before``."""
        running = (one for one in trials if one.state is TrialState.RUNNING and self.key in one.system_attrs)
        return any(one.number not in self.numbers and (before is None or one.number < before) for one in running)


@dataclass
class Writes:
    """What is to be written to a trial in one go.

    Attributes:
        params: Internal values and distributions of parameters, by name.
        system_attrs: System attributes.
        user_attrs: User attributes.
        intermediate: Reported values by step.
        replaces: Whether some of it may be there already.
    """

    params: dict[str, tuple[float, BaseDistribution]] = field(default_factory=dict)
    system_attrs: dict[str, Any] = field(default_factory=dict)
    user_attrs: dict[str, Any] = field(default_factory=dict)
    intermediate: dict[int, float] = field(default_factory=dict)
    replaces: bool = False

    def __bool__(self) -> bool:
        return bool(self.params or self.system_attrs or self.user_attrs or self.intermediate)


class Backend(ABC):
    """A storage with the steps that leases are made of.

    Attributes:
        storage: The Optuna storage.
    """

    storage: BaseStorage

    @abstractmethod
    def create(self, study_id: int, lease: Lease, limit: int | None = None) -> FrozenTrial:
        """Create a running trial together with its first lease.

        Raises:
            BudgetReached: If the study has as many trials as it may have, those that were interrupted not counted.
        """

    @abstractmethod
    def begin(self, trial_id: int, lease: Lease) -> bool:
        """Let a waiting trial run under a lease; return ``False`` if another worker was quicker."""

    @abstractmethod
    def take_over(self, trial: FrozenTrial, lease: Lease, writes: Writes, state: TrialState) -> bool:
        """Give a running trial its next lease and another state, unless another observer has done so or it is finished."""

    @abstractmethod
    def renew(self, held: Mapping[int, Lease]) -> None:
        """Store the leases of the trials that this process runs."""

    @abstractmethod
    def write(
        self,
        trial_id: int,
        writes: Writes,
        state: TrialState | None = None,
        values: Sequence[float] | None = None,
        *,
        attempt: int | None = None,
        known: Known | None = None,
    ) -> None:
        """Write to a trial that is not finished, and finish it if a state is given.

        Raises:
            UpdateFinishedTrialError: If it is finished already.
            Superseded: If an attempt is given, and there is a later one.
            Outdated: If what was known is given, and there is more. Storages without transactions may have written it
                nevertheless.
        """

    @abstractmethod
    def set_once(self, study_id: int, key: str, value: Any) -> Any:
        """Set a system attribute of a study unless it has one of that name; return what it then has, for all workers."""

    @abstractmethod
    def trials(self, study_id: int, held: Collection[int] = ()) -> list[FrozenTrial]:
        """Return all trials of a study by number, as they are now; not to be changed.

        Those of its trials that this process holds need not be among them, or be as they are now.
        """

    @abstractmethod
    def trial(self, trial_id: int) -> FrozenTrial:
        """Return one trial as it is now."""

    def watched(self) -> dict[str, Any] | None:
        """Return what a watcher process needs to renew leases here; ``None`` if it cannot."""
        return None

    def after_fork(self) -> None:
        """Leave the connections of the parent alone, in a new process; by default there are none."""
        return


class PlainBackend(Backend):
    """Any storage of Optuna's, by its public interface."""

    def __init__(self, storage: BaseStorage) -> None:
        self.storage = storage

    def create(self, study_id: int, lease: Lease, limit: int | None = None) -> FrozenTrial:
        """Create a running trial together with its first lease."""
        if limit is not None and _counted(self.trials(study_id)) >= limit:
            raise BudgetReached
        template = optuna.trial.create_trial(state=TrialState.RUNNING, system_attrs={lease.key: lease.value})
        template.datetime_start = datetime.now()
        trial_id = self.storage.create_new_trial(study_id, template)
        trial = self.storage.get_trial(trial_id)
        if limit is not None:
            # Workers that counted at the same moment have all created one: those with the last numbers are too many.
            before = [one for one in self.trials(study_id) if one.number < trial.number]
            if _counted(before) >= limit:
                self.write(
                    trial_id, Writes(user_attrs={INTERRUPTED: True, ERROR: "one trial too many"}), TrialState.FAIL
                )
                raise BudgetReached
        return trial

    def begin(self, trial_id: int, lease: Lease) -> bool:
        """Let a waiting trial run under a lease; return ``False`` if another worker was quicker."""
        if not self.storage.set_trial_state_values(trial_id, TrialState.RUNNING):
            return False
        self.storage.set_trial_system_attr(trial_id, lease.key, lease.value)
        return True

    def take_over(self, trial: FrozenTrial, lease: Lease, writes: Writes, state: TrialState) -> bool:
        """Give a running trial its next lease and another state, unless another observer has done so or it is finished."""
        trial_id = part(trial, "_trial_id")
        with _claim(self.storage, f"{trial_id}:{lease.attempt}") as won:
            now = self.storage.get_trial(trial_id)
            if not won or now.state is not TrialState.RUNNING or lease.key in now.system_attrs:
                return False
            self.storage.set_trial_system_attr(trial_id, lease.key, lease.value)
            try:
                self.write(trial_id, writes, state)
            except optuna.exceptions.UpdateFinishedTrialError:
                return False
        return True

    def renew(self, held: Mapping[int, Lease]) -> None:
        """Store the leases of the trials that this process runs."""
        for trial_id, lease in held.items():
            try:
                self.storage.set_trial_system_attr(trial_id, lease.key, lease.value)
            except (optuna.exceptions.UpdateFinishedTrialError, KeyError):
                continue

    def write(
        self,
        trial_id: int,
        writes: Writes,
        state: TrialState | None = None,
        values: Sequence[float] | None = None,
        *,
        attempt: int | None = None,
        known: Known | None = None,
    ) -> None:
        """Write to a trial that is not finished, one thing after the other, its state last."""
        trial = self.storage.get_trial(trial_id)
        self.storage.check_trial_is_updatable(trial_id, trial.state)
        if attempt is not None and f"{PREFIX}{attempt + 1}" in trial.system_attrs:
            raise Superseded
        if known is not None and known.lacks(self.trials(known.study_id)):
            raise Outdated
        for key, value in writes.system_attrs.items():
            self.storage.set_trial_system_attr(trial_id, key, value)
        # Of workers that write at the same moment, and see each other now, the later trials give way. Parameters can be set
        # once only.
        if known is not None and known.lacks(self.trials(known.study_id), before=trial.number):
            raise Outdated
        for name, (value, distribution) in writes.params.items():
            if name not in trial.distributions:
                self.storage.set_trial_param(trial_id, name, value, distribution)
        for key, value in writes.user_attrs.items():
            self.storage.set_trial_user_attr(trial_id, key, value)
        for step, value in writes.intermediate.items():
            self.storage.set_trial_intermediate_value(trial_id, step, value)
        if state is not None:
            self.storage.set_trial_state_values(trial_id, state, values)

    def set_once(self, study_id: int, key: str, value: Any) -> Any:
        """Set a system attribute of a study unless it has one of that name; return what it then has, for all workers."""
        while True:
            stored = self.storage.get_study_system_attrs(study_id)
            if key in stored:
                return stored[key]
            with _claim(self.storage, f"{study_id}:{key}") as won:
                if won and key not in self.storage.get_study_system_attrs(study_id):
                    self.storage.set_study_system_attr(study_id, key, value)
            if not won:
                time.sleep(0.02)

    def trials(self, study_id: int, held: Collection[int] = ()) -> list[FrozenTrial]:
        """Return all trials of a study by number, as they are now; not to be changed."""
        return self.storage.get_all_trials(study_id, deepcopy=False)

    def trial(self, trial_id: int) -> FrozenTrial:
        """Return one trial as it is now."""
        return self.storage.get_trial(trial_id)

    def watched(self) -> dict[str, Any] | None:
        """Return the storage, pickled, for a process that imports Optuna."""
        import base64
        import pickle

        if isinstance(self.storage, InMemoryStorage):
            return None
        try:
            return {"kind": "optuna", "storage": base64.b64encode(pickle.dumps(self.storage)).decode()}
        except (TypeError, AttributeError, pickle.PicklingError):
            return None


def _counted(trials: Sequence[FrozenTrial]) -> int:
    return sum(not (one.state is TrialState.FAIL and one.user_attrs.get(INTERRUPTED)) for one in trials)


class _claim:
    """Claim a step by the name of a study: of many workers only one gets it. The study is deleted afterwards.

    A worker that dies in between leaves the study behind. Others then see the same study for a few seconds, by their own
    clock, and remove it.
    """

    def __init__(self, storage: BaseStorage, step: str) -> None:
        self._storage = storage
        self._name = f"{CLAIM}{step}"
        self._study: int | None = None

    def __enter__(self) -> bool:
        try:
            self._study = self._storage.create_new_study([StudyDirection.MINIMIZE], self._name)
        except optuna.exceptions.DuplicatedStudyError:
            self._clear()
            return False
        return True

    def __exit__(self, *_: object) -> None:
        if self._study is not None:
            self._storage.delete_study(self._study)

    def _clear(self) -> None:
        """Remove the claim of a worker that died while it had it."""
        begun, first = time.monotonic(), self._claimed()
        while first is not None and time.monotonic() - begun < _UNFINISHED:
            time.sleep(0.05)
            if self._claimed() != first:
                return
        if first is not None:
            try:
                self._storage.delete_study(first)
            except KeyError:
                return

    def _claimed(self) -> int | None:
        try:
            return self._storage.get_study_id_from_name(self._name)
        except KeyError:
            return None
