"""Leases: who runs a trial, and whether that worker is still there.

A running trial has one record for each attempt to run it: its owner, how long the lease lasts, and a mark that changes at
every renewal. An observer that has seen the same mark for that long, by its own monotonic clock, takes the trial over:
two machines' clocks are never compared. Taking over is one step that only one observer can take (``Backend.take_over``);
the trial then waits in the queue, with its parameters and its forecast, and is run again under the same number.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from optuna.trial import FrozenTrial

from calibo.study.owners import certainly_ended, shown_owner, this_process

#: Seconds without a renewal after which a trial is taken over.
LEASE_SECONDS = 60.0

#: How often a trial is run before it is given up: one whose worker was killed is run again twice.
MAX_ATTEMPTS = 3

#: Renewals per lease, so that a few may be late or fail.
RENEWALS_PER_LEASE = 4

#: System attributes of a trial: one for each attempt, numbered from 1.
PREFIX = "calibo:lease:"

#: Mark of a trial that was asked for by a process which has ended in good order: whoever measures it tells its outcome.
PARKED = "parked"

#: User attribute of a failed trial: reason of the failure.
ERROR = "error"
#: User attribute of a failed trial that was stopped by the user or lost its worker, which says nothing about its parameters.
INTERRUPTED = "interrupted"

_LOGGER = logging.getLogger("calibo")


@dataclass(frozen=True)
class Lease:
    """One attempt to run a trial.

    Attributes:
        attempt: Number of the attempt, from 1.
        owner: Name of the process that runs it (``owners.this_process``); empty while it waits to be run again.
        seconds: How long it lasts without a renewal.
        mark: Anything that changes at every renewal.
    """

    attempt: int
    owner: str
    seconds: float
    mark: int | str = 0

    @property
    def key(self) -> str:
        """Name of the attribute that it is stored in."""
        return f"{PREFIX}{self.attempt}"

    @property
    def value(self) -> dict[str, Any]:
        """What is stored."""
        return {"owner": self.owner, "seconds": self.seconds, "mark": self.mark}


def read_lease(attributes: Mapping[str, Any]) -> Lease | None:
    """Return the lease of a trial's latest attempt from its system attributes; ``None`` if it never had one."""
    attempts = [key[len(PREFIX) :] for key in attributes if key.startswith(PREFIX)]
    numbers = [int(text) for text in attempts if text.isdecimal()]
    if not numbers:
        return None
    stored = attributes[f"{PREFIX}{max(numbers)}"]
    stored = stored if isinstance(stored, dict) else {}
    seconds = stored.get("seconds")
    lasting = float(seconds) if isinstance(seconds, int | float) and seconds > 0 else LEASE_SECONDS
    owner, mark = stored.get("owner"), stored.get("mark")
    return Lease(
        max(numbers),
        owner if isinstance(owner, str) else "",
        lasting,
        mark if isinstance(mark, int | str) else 0,
    )


class Observer:
    """Watches the leases of running trials, and says which have ended.

    Args:
        seconds: How long a trial without a lease may stay as it is: its worker was killed before it wrote one.
        by_clock_only: Whether to wait for the lease even if its process is known to have ended, for tests of the waiting.
    """

    def __init__(self, seconds: float, *, by_clock_only: bool = False) -> None:
        self._seconds = seconds
        self._by_clock_only = by_clock_only
        self._seen: dict[int, tuple[object, float]] = {}
        self._lock = threading.Lock()

    def ended(self, running: Mapping[int, FrozenTrial]) -> list[int]:
        """Return which of the running trials have no worker any more.

        Args:
            running: Running trials that this process does not run itself, by identifier.
        """
        now = time.monotonic()
        with self._lock:
            self._seen = {trial_id: seen for trial_id, seen in self._seen.items() if trial_id in running}
            return [trial_id for trial_id, trial in running.items() if self._is_over(trial, trial_id, now)]

    def _is_over(self, trial: FrozenTrial, trial_id: int, now: float) -> bool:
        lease = read_lease(trial.system_attrs)
        if lease is not None and lease.mark == PARKED:
            return False
        if lease is not None and not self._by_clock_only and certainly_ended(lease.owner):
            return True
        # Without an owner the worker was killed on its way to writing its lease, or is not one of ours: any change counts.
        without = (len(trial.params), len(trial.system_attrs), len(trial.user_attrs), len(trial.intermediate_values))
        signature = without if lease is None or not lease.owner else (lease.attempt, lease.owner, lease.mark)
        seen, since = self._seen.get(trial_id, (None, now))
        if seen != signature:
            self._seen[trial_id] = (signature, now)
            return False
        return now - since >= (self._seconds if lease is None else lease.seconds)


def foreign_workers(trials: Iterable[FrozenTrial]) -> bool:
    """Return whether somebody runs trials of a study without leases, so that one without a lease may well be alive.

    Trials that were added finished, or were run before the study had leases, have none either.
    """
    leased = [trial for trial in trials if read_lease(trial.system_attrs) is not None]
    if not leased:
        return True
    first = min(trial.number for trial in leased)
    return any(
        trial.number > first
        and trial.datetime_start is not None
        and trial.state.is_finished()
        and read_lease(trial.system_attrs) is None
        and trial.datetime_start != trial.datetime_complete
        for trial in trials
    )


def renewed_lease(trial: FrozenTrial, seconds: float) -> Lease:
    """Return the lease with which this process begins a trial that waited: the attempt noted there, or the first."""
    lease = read_lease(trial.system_attrs)
    return Lease(1 if lease is None else lease.attempt + bool(lease.owner), this_process(), seconds)


def log_take_over(trial: FrozenTrial, lease: Lease | None, again: bool) -> None:
    """Tell the log that a trial was taken over, and what becomes of it."""
    who = "its worker" if lease is None else f"{shown_owner(lease.owner)} (attempt {lease.attempt})"
    what = "it is run again, with the same parameters" if again else f"it is given up after {MAX_ATTEMPTS} attempts"
    _LOGGER.info("trial %d: %s has ended or was not heard of for too long; %s", trial.number, who, what)
