"""How many trials a run may have: a number of its own, or a total that all workers of a study share."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from calibo.study.leased import LeasedStorage
from calibo.study.leases import INTERRUPTED, LEASE_SECONDS, PARKED, read_lease
from calibo.study.optuna_private import part

#: Seconds between two looks at the trials of others, while it is seen whether their workers are alive.
_LOOK = 0.5


def counted(trials: list[FrozenTrial]) -> tuple[int, int]:
    """Return how many trials are finished, and how many are running or waiting; interrupted ones count as neither."""
    finished = [one for one in trials if one.state.is_finished()]
    interrupted = sum(one.state is TrialState.FAIL and bool(one.user_attrs.get(INTERRUPTED)) for one in finished)
    return len(finished) - interrupted, len(trials) - len(finished)


@dataclass
class Budget:
    """Number of trials.

    Attributes:
        own: Trials of this run, whatever others do; ``None`` for any number.
        total: Trials of the study, of all workers together; ``None`` for any number. A worker stops when it is reached. If
            others run the last trials, it waits until it has seen a sign of life of each, and runs those without one
            again.
    """

    own: int | None = None
    total: int | None = None
    _begun: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def another(self, study: optuna.Study, deadline: float | None = None) -> bool:
        """Return whether another trial may be begun, and count it."""
        with self._lock:
            if self.own is not None and self._begun >= self.own:
                return False
            self._begun += 1
        return self.total is None or self._below_total(study, deadline)

    def refused(self) -> None:
        """Note that a trial was not begun after all."""
        with self._lock:
            self._begun -= 1

    def close(self, study: optuna.Study) -> None:
        """Let others use the storage without the limit."""
        storage = part(study, "_storage")
        if isinstance(storage, LeasedStorage):
            storage.limits.pop(part(study, "_study_id"), None)

    def _below_total(self, study: optuna.Study, deadline: float | None) -> bool:
        assert self.total is not None
        storage, study_id = part(study, "_storage"), part(study, "_study_id")
        finished, unfinished = counted(study.get_trials(deepcopy=False))
        if isinstance(storage, LeasedStorage):
            # Creation itself counts again, so that of workers that see the same number only as many create one.
            storage.limits[study_id] = self.total
        if finished >= self.total:
            return False
        if finished + unfinished < self.total:
            return True
        return isinstance(storage, LeasedStorage) and self._waited(study, storage, study_id, deadline)

    def _waited(self, study: optuna.Study, storage: LeasedStorage, study_id: int, deadline: float | None) -> bool:
        """Wait for a trial of somebody else that is to be run again; return whether there is one."""
        assert self.total is not None
        alive: dict[int, object] = {}
        first: dict[int, object] = {}
        end = time.monotonic() + _longest(study.get_trials(deepcopy=False)) + 2 * _LOOK
        while time.monotonic() < end and (deadline is None or time.monotonic() < deadline):
            storage.look_after(study_id)
            trials = study.get_trials(deepcopy=False)
            finished, unfinished = counted(trials)
            if any(one.state is TrialState.WAITING for one in trials):
                return True
            if finished >= self.total:
                return False
            if finished + unfinished < self.total:
                return True
            running = {one.number: _mark(one) for one in trials if one.state is TrialState.RUNNING}
            for number, mark in running.items():
                if first.setdefault(number, mark) != mark or mark == PARKED:
                    alive[number] = mark
            if set(running) <= set(alive):
                return False
            time.sleep(_LOOK)
        return False


def _mark(trial: FrozenTrial) -> object:
    lease = read_lease(trial.system_attrs)
    return None if lease is None else lease.mark if lease.mark == PARKED else (lease.attempt, lease.owner, lease.mark)


def _longest(trials: list[FrozenTrial]) -> float:
    """Return how long the longest lease of the running trials lasts."""
    leases = [read_lease(one.system_attrs) for one in trials if one.state is TrialState.RUNNING]
    return max((one.seconds for one in leases if one is not None), default=LEASE_SECONDS)
