"""A storage shared by workers that may die, stall or lose their connection.

It stands in front of any storage of Optuna's, so that ``minimize``, a user's own ``study.optimize`` and ``ask`` and ``tell``
all get the same:

- A trial has a lease from the moment it is running, and one whose worker is gone is run again (leases.py).
- What a worker writes to its own trial is held back for a moment, as Optuna allows, and written in one transaction:
  a trial costs three of them, for its creation, its suggestion and its outcome.
- To its worker a trial is running until it has told the outcome. If another worker has finished it in the meantime, that
  result is kept, and this one's leads to a warning; if nobody has, the late result is stored.
- An outcome that cannot be stored is tried again for minutes, and then kept in a file (spool.py).
"""

from __future__ import annotations

import contextlib
import copy
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import optuna
from optuna.distributions import BaseDistribution, check_distribution_compatibility
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import BaseStorage, InMemoryStorage, RDBStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from calibo.errors import CaliboWarning, LateResultWarning, StudyError, warn
from calibo.study.backends import CLAIM, Backend, Known, Outdated, PlainBackend, Superseded, Writes
from calibo.study.database import SqlBackend
from calibo.study.keeper import Held, keeper, remember
from calibo.study.leases import (
    ERROR,
    INTERRUPTED,
    LEASE_SECONDS,
    MAX_ATTEMPTS,
    PREFIX,
    Lease,
    Observer,
    foreign_workers,
    log_take_over,
    read_lease,
    renewed_lease,
)
from calibo.study.optuna_private import in_optimize_loop, part
from calibo.study.owners import this_process
from calibo.study.persistence import PATIENCE, persistently, storage_failure
from calibo.study.spool import Spool, Spooled

_T = TypeVar("_T")


def backend_of(storage: BaseStorage) -> Backend:
    """Return the backend of any storage of Optuna's."""
    if isinstance(storage, LeasedStorage):
        return storage.backend
    if isinstance(storage, RDBStorage):
        return SqlBackend(storage)
    if type(storage).__name__ == "_CachedStorage":
        return SqlBackend(part(storage, "_backend"))
    return PlainBackend(storage)


class Reaper:
    """Finds the trials of a storage whose workers are gone, and has them run again.

    Args:
        backend: The storage.
        seconds: How long a trial without a lease may stay as it is.
        by_clock_only: As in ``Observer``.
    """

    def __init__(self, backend: Backend, seconds: float, *, by_clock_only: bool = False) -> None:
        self._backend = backend
        self._seconds = seconds
        self._observer = Observer(seconds, by_clock_only=by_clock_only)

    def reap(self, trials: Sequence[FrozenTrial]) -> int:
        """Take over what is found among the trials of a study, and return how many trials were."""
        held = keeper().held_in(self._backend)
        running = {part(one, "_trial_id"): one for one in trials if one.state is TrialState.RUNNING}
        ended = self._observer.ended({i: one for i, one in running.items() if i not in held})
        return sum(self.take_over(running[trial_id], trials) for trial_id in ended)

    def take_over(self, trial: FrozenTrial, trials: Sequence[FrozenTrial]) -> bool:
        """Have one of the trials of a study run again, or give it up; return whether this observer did so."""
        lease = read_lease(trial.system_attrs)
        if (lease is None or not lease.owner) and foreign_workers(trials):
            return False
        before = Lease(0, "", self._seconds) if lease is None else lease
        again = before.attempt < MAX_ATTEMPTS
        following = Lease(before.attempt + 1, "", before.seconds)
        writes, state = Writes(), TrialState.WAITING
        if not again:
            reason = f"its worker was killed or lost in each of {MAX_ATTEMPTS} attempts"
            writes, state = Writes(user_attrs={INTERRUPTED: True, ERROR: reason}), TrialState.FAIL
        if not self._backend.take_over(trial, following, writes, state):
            return False
        log_take_over(trial, lease, again)
        return True


@dataclass
class _Local:
    """A trial of this worker as it sees it, and what has not been written yet."""

    study_id: int
    trial: FrozenTrial
    attempt: int
    pending: Writes = field(default_factory=Writes)
    written: set[tuple[str, Any]] = field(default_factory=set)

    def view(self) -> FrozenTrial:
        """Return a copy that Optuna may change."""
        view = copy.copy(self.trial)
        view.params, view.distributions = dict(view.params), dict(view.distributions)
        for name in ("user_attrs", "system_attrs"):
            setattr(view, name, copy.deepcopy(getattr(view, name)))
        view.intermediate_values = dict(view.intermediate_values)
        return view

    def take(self) -> Writes:
        """Return what is to be written now."""
        writes = self.pending
        keys = _keys(writes)
        writes.replaces = self.attempt > 1 or not self.written.isdisjoint(keys)
        return writes

    def wrote(self, writes: Writes) -> None:
        self.written |= _keys(writes)
        if self.pending is writes:
            self.pending = Writes()


def _keys(writes: Writes) -> set[tuple[str, Any]]:
    parts: dict[str, Mapping[Any, Any]] = {"p": writes.params, "s": writes.system_attrs, "u": writes.user_attrs}
    return {(kind, key) for kind, some in parts.items() for key in some}


class LeasedStorage(BaseStorage):
    """Any storage of Optuna's, with leases.

    Args:
        backend: The storage behind it.
        lease: Seconds without a renewal after which a trial of this worker may be taken over by others.
        patience: Seconds for which a storage that cannot be used is tried again.
        spool: Where outcomes are kept that cannot be stored; ``None`` keeps none.
        by_clock_only: As in ``Observer``.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        lease: float = LEASE_SECONDS,
        patience: float = PATIENCE,
        spool: Spool | None = None,
        by_clock_only: bool = False,
    ) -> None:
        self.backend = backend
        self.lease = lease
        self.patience = patience
        self.spool = spool
        self._by_clock_only = by_clock_only
        self._set_up()

    def _set_up(self) -> None:
        self._reaper = Reaper(self.backend, self.lease, by_clock_only=self._by_clock_only)
        self._local: dict[int, _Local] = {}
        self._settled: dict[int, FrozenTrial] = {}
        #: Number of trials that each study may have (``budget.py``); studies that are not named here may have any.
        self.limits: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._directions: dict[int, list[StudyDirection]] = {}
        self._once: dict[tuple[int, str], Any] = {}
        # Studies of trials that wait, and the first distribution of every parameter of a study.
        self._waiting: dict[int, int] = {}
        self._distributions: dict[int, dict[str, BaseDistribution]] = defaultdict(dict)
        self._lock = threading.RLock()
        self._keeper = keeper()
        remember(self.backend)

    def __getstate__(self) -> dict[str, Any]:
        kept = ("backend", "lease", "patience", "spool", "_by_clock_only")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._set_up()

    def _own(self, trial_id: int) -> _Local | None:
        """Return a trial of this worker; in a forked process those of its parent are not its own."""
        if self._keeper is not keeper():
            self._set_up()
        return self._local.get(trial_id)

    def _try(self, action: Callable[[], _T], what: str) -> _T:
        return persistently(action, self.patience, what)

    # Studies.

    def create_new_study(self, directions: Sequence[StudyDirection], study_name: str | None = None) -> int:
        """Create a study."""
        return self.backend.storage.create_new_study(directions, study_name)

    def delete_study(self, study_id: int) -> None:
        """Delete a study."""
        self.backend.storage.delete_study(study_id)

    def set_study_user_attr(self, study_id: int, key: str, value: Any) -> None:
        """Set an attribute of a study."""
        self._try(lambda: self.backend.storage.set_study_user_attr(study_id, key, value), "writing to the study")

    def set_study_system_attr(self, study_id: int, key: str, value: Any) -> None:
        """Set a system attribute of a study."""
        self._try(lambda: self.backend.storage.set_study_system_attr(study_id, key, value), "writing to the study")

    def get_study_id_from_name(self, study_name: str) -> int:
        """Return the identifier of a study."""
        return self.backend.storage.get_study_id_from_name(study_name)

    def get_study_name_from_id(self, study_id: int) -> str:
        """Return the name of a study, which never changes."""
        if study_id not in self._names:
            self._names[study_id] = self.backend.storage.get_study_name_from_id(study_id)
        return self._names[study_id]

    def get_study_directions(self, study_id: int) -> list[StudyDirection]:
        """Return the directions of a study, which never change."""
        if study_id not in self._directions:
            storage = self.backend.storage
            self._directions[study_id] = self._try(lambda: storage.get_study_directions(study_id), "reading the study")
        return list(self._directions[study_id])

    def get_study_user_attrs(self, study_id: int) -> dict[str, Any]:
        """Return the attributes of a study."""
        return self._try(lambda: self.backend.storage.get_study_user_attrs(study_id), "reading the study")

    def get_study_system_attrs(self, study_id: int) -> dict[str, Any]:
        """Return the system attributes of a study."""
        return self._try(lambda: self.backend.storage.get_study_system_attrs(study_id), "reading the study")

    def get_once(self, study_id: int, key: str) -> Any:
        """Return a system attribute of a study that is never changed once it is there; ``None`` as long as it is not."""
        if (study_id, key) not in self._once:
            stored = self.get_study_system_attrs(study_id)
            if key not in stored:
                return None
            self._once[study_id, key] = stored[key]
        return self._once[study_id, key]

    def get_all_studies(self) -> list[Any]:
        """Return all studies, except those that only exist for the moment of a claim."""
        return [one for one in self.backend.storage.get_all_studies() if not one.study_name.startswith(CLAIM)]

    # Trials: their beginning and their end.

    def create_new_trial(self, study_id: int, template_trial: FrozenTrial | None = None) -> int:
        """Create a trial; one that is to be run at once has a lease from the beginning."""
        if template_trial is not None:
            storage = self.backend.storage
            return self._try(lambda: storage.create_new_trial(study_id, template_trial), "creating a trial")
        self.get_study_name_from_id(study_id)
        lease = Lease(1, this_process(), self.lease)
        limit = self.limits.get(study_id)
        trial = self._try(lambda: self.backend.create(study_id, lease, limit), "creating a trial")
        self._hold(study_id, trial, lease)
        return part(trial, "_trial_id")

    def set_trial_state_values(self, trial_id: int, state: TrialState, values: Sequence[float] | None = None) -> bool:
        """Begin a trial that waits, or finish one."""
        if state is TrialState.RUNNING:
            return self._begin(trial_id)
        if not state.is_finished():
            return self.backend.storage.set_trial_state_values(trial_id, state, values)
        self._finish(trial_id, state, values)
        return True

    def _begin(self, trial_id: int) -> bool:
        trial = self._try(lambda: self.backend.trial(trial_id), "reading a trial")
        if trial.state.is_finished():
            raise UpdateFinishedTrialError(f"trial {trial.number} is finished already")
        lease = renewed_lease(trial, self.lease)
        if not self._try(lambda: self.backend.begin(trial_id, lease), "beginning a trial"):
            return False
        begun = self._try(lambda: self.backend.trial(trial_id), "reading a trial")
        self._hold(self._waiting.get(trial_id, -1), begun, lease)
        return True

    def _hold(self, study_id: int, trial: FrozenTrial, lease: Lease) -> None:
        trial_id = part(trial, "_trial_id")
        with self._lock:
            self._own(trial_id)
            self._local[trial_id] = _Local(study_id, copy.deepcopy(trial), lease.attempt)
        held = Held(self.backend, trial_id, lease, flush=lambda: self.flush(trial_id, patience=0.0))
        keeper().hold(held)

    def _finish(self, trial_id: int, state: TrialState, values: Sequence[float] | None) -> None:
        local = self._own(trial_id)
        with self._lock:
            writes = Writes() if local is None else local.take()
        if local is None:
            self._try(lambda: self.backend.write(trial_id, writes, state, values), "storing the outcome of a trial")
            return
        what = f"storing the outcome of trial {local.trial.number}"
        attempt = local.attempt
        try:
            self._try(lambda: self.backend.write(trial_id, writes, state, values, attempt=attempt), what)
        except (UpdateFinishedTrialError, Superseded):
            outcome = self._spooled(local, state, values, writes)
            self._release(trial_id)
            self._try(lambda: settle(self.backend, local.study_id, trial_id, outcome), what)
        except Exception as error:
            if self.spool is None or storage_failure(error) is None:
                raise
            self._keep(trial_id, local, state, values, error)
        else:
            self._release(trial_id)

    def _spooled(self, local: _Local, state: TrialState, values: Sequence[float] | None, writes: Writes) -> Spooled:
        # Everything that this worker wrote to the trial, so that the outcome is whole wherever it is stored.
        trial = local.trial
        whole = Writes(
            {n: (d.to_internal_repr(trial.params[n]), d) for n, d in trial.distributions.items()},
            {**trial.system_attrs, **writes.system_attrs},
            {**trial.user_attrs, **writes.user_attrs},
            {**trial.intermediate_values, **writes.intermediate},
            replaces=True,
        )
        stored = None if values is None else tuple(float(value) for value in values)
        return Spooled(self._names.get(local.study_id, ""), trial.number, local.attempt, state, stored, whole)

    def _keep(
        self, trial_id: int, local: _Local, state: TrialState, values: Sequence[float] | None, error: Exception
    ) -> None:
        """Keep an outcome in a file, and say so."""
        assert self.spool is not None
        outcome = self._spooled(local, state, values, local.pending)
        failure = storage_failure(error) or error
        reason = str(failure.__cause__ or failure).partition("\n")[0]
        try:
            where = self.spool.save(outcome)
        except OSError as full:
            raise StudyError(
                f"the outcome of trial {local.trial.number}, {outcome.values}, could neither be stored ({reason}) nor kept "
                f"in a file ({full}): write it down, and tell it by study.tell({local.trial.number}, ...) later"
            ) from error
        settled = local.view()
        settled.state = state
        settled.values = None if values is None else list(values)  # pyright: ignore[reportAttributeAccessIssue]
        self._settled[trial_id] = settled
        self._release(trial_id)
        raise StudyError(
            f"the storage could not be used ({reason}); the outcome of trial {local.trial.number} is kept in {where}, and "
            "the next worker that opens the study there stores it. See that the storage can be reached and written, then "
            "call again with the same storage and study_name to go on"
        ) from error

    def _release(self, trial_id: int) -> None:
        with self._lock:
            self._local.pop(trial_id, None)
        keeper().drop(self.backend, trial_id)

    def leave(self, trial_id: int) -> None:
        """Let go of a trial of this worker that was asked for: it waits for whoever tells its outcome."""
        keeper().leave(self.backend, trial_id)
        with self._lock:
            self._local.pop(trial_id, None)

    @contextlib.contextmanager
    def telling(self, study_id: int, trial_id: int) -> Iterator[None]:
        """Write to a trial that somebody else has asked for: what is written is stored with its outcome, or not at all."""
        trial = self._try(lambda: self.backend.trial(trial_id), "reading a trial")
        self.get_study_name_from_id(study_id)
        lease = read_lease(trial.system_attrs)
        there = {("s", key) for key in trial.system_attrs} | {("u", key) for key in trial.user_attrs}
        local = _Local(study_id, copy.deepcopy(trial), 1 if lease is None else lease.attempt, written=there)
        with self._lock:
            self._own(trial_id)
            self._local[trial_id] = local
        try:
            yield
        finally:
            with self._lock:
                self._local.pop(trial_id, None)

    def begun_in_loop(self, trial_id: int) -> None:
        """Note that a loop runs a trial, which will not be told by anybody else if the loop ends."""
        held = keeper().get(self.backend, trial_id)
        if held is not None:
            held.in_loop = True

    # Trials: what is written to them.

    def set_trial_param(
        self, trial_id: int, param_name: str, param_value_internal: float, distribution: BaseDistribution
    ) -> None:
        """Set a parameter."""
        local = self._own(trial_id)
        if local is None:
            self.backend.storage.set_trial_param(trial_id, param_name, param_value_internal, distribution)
            return
        with self._lock:
            self._check_compatible(local, param_name, distribution)
            value = distribution.to_external_repr(param_value_internal)
            known = local.trial.distributions.get(param_name)
            if known == distribution and local.trial.params[param_name] == value:
                return
            local.pending.params[param_name] = (param_value_internal, distribution)
            local.trial.params = {**local.trial.params, param_name: value}
            local.trial.distributions = {**local.trial.distributions, param_name: distribution}

    def _check_compatible(self, local: _Local, name: str, distribution: BaseDistribution) -> None:
        known = self._distributions[local.study_id]
        if name not in known:
            trials = self.backend.trials(local.study_id) if local.study_id >= 0 else []
            known[name] = next((one.distributions[name] for one in trials if name in one.distributions), distribution)
        check_distribution_compatibility(known[name], distribution)

    def set_trial_user_attr(self, trial_id: int, key: str, value: Any) -> None:
        """Set an attribute."""
        local = self._own(trial_id)
        if local is None:
            self.backend.storage.set_trial_user_attr(trial_id, key, value)
            return
        with self._lock:
            local.pending.user_attrs[key] = value
            local.trial.set_user_attr(key, value)

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        """Set a system attribute."""
        local = self._own(trial_id)
        if local is None:
            self.backend.storage.set_trial_system_attr(trial_id, key, value)
            return
        with self._lock:
            local.pending.system_attrs[key] = value
            local.trial.system_attrs = {**local.trial.system_attrs, key: value}

    def set_trial_intermediate_value(self, trial_id: int, step: int, intermediate_value: float) -> None:
        """Report a value; other workers see it at once, as they may prune by it."""
        local = self._own(trial_id)
        if local is None:
            self.backend.storage.set_trial_intermediate_value(trial_id, step, intermediate_value)
            return
        with self._lock:
            local.pending.intermediate[step] = intermediate_value
            local.trial.intermediate_values = {**local.trial.intermediate_values, step: intermediate_value}
        self.flush(trial_id)

    def flush(self, trial_id: int, patience: float | None = None, *, known: Known | None = None) -> bool:
        """Write what has been held back for a trial.

        Args:
            trial_id: The trial.
            patience: Used instead of the storage's own.
            known: What was known of others when it was decided what to write.

        Returns:
            ``False`` if others have published more than was known: then it should be decided and written again.
        """
        local = self._own(trial_id)
        with self._lock:
            writes = None if local is None else local.take()
            if local is None or not writes:
                return True
            try:
                persistently(
                    lambda: self.backend.write(trial_id, writes, attempt=local.attempt, known=known),
                    self.patience if patience is None else patience,
                    f"writing to trial {local.trial.number}",
                )
                local.wrote(writes)
            except Outdated:
                return False
            except (UpdateFinishedTrialError, Superseded):
                # Another worker has it in the meantime; that is settled when this one tells its outcome.
                return True
        return True

    # Trials: reading.

    def get_trial(self, trial_id: int) -> FrozenTrial:
        """Return a trial, as it is for this worker."""
        local = self._own(trial_id)
        if local is not None:
            return local.view()
        if trial_id in self._settled:
            return self._settled[trial_id]
        return self._try(lambda: self.backend.trial(trial_id), "reading a trial")

    def get_all_trials(
        self, study_id: int, deepcopy: bool = True, states: Container[TrialState] | None = None
    ) -> list[FrozenTrial]:
        """Return the trials of a study, as they are for this worker.

        Optuna asks for those that wait whenever it is about to begin a trial: a good moment to look for trials whose
        workers are gone.
        """
        if states == (TrialState.WAITING,):
            trials = self._looked_after(study_id)[0]
        else:
            trials = self._read(study_id)
        mine = {one.trial.number: one for one in list(self._local.values()) if one.study_id == study_id}
        if mine:
            others = [one for one in trials if one.number not in mine]
            trials = sorted([*others, *(one.view() for one in mine.values())], key=lambda one: one.number)
        if states is not None:
            trials = [one for one in trials if one.state in states]
            self._waiting.update(
                {part(one, "_trial_id"): study_id for one in trials if one.state is TrialState.WAITING}
            )
        return copy.deepcopy(trials) if deepcopy else trials

    def look_after(self, study_id: int) -> int:
        """Store what is kept in files, and have trials run again whose workers are gone; return how many."""
        return self._looked_after(study_id)[1]

    def _looked_after(self, study_id: int) -> tuple[list[FrozenTrial], int]:
        self._fold_in(study_id)
        trials = self._read(study_id)
        taken = self._reaper.reap(trials)
        return (self._read(study_id) if taken else trials), taken

    def _read(self, study_id: int) -> list[FrozenTrial]:
        """Return the trials of a study; those of this worker need not be among them."""
        self._own(-1)
        held = [trial_id for trial_id, one in list(self._local.items()) if one.study_id == study_id]
        return self._try(lambda: self.backend.trials(study_id, held), "reading the trials")

    def take_over(self, trial: FrozenTrial) -> bool:
        """Have a running trial run again whose worker is gone; return whether this worker did so."""
        return self._reaper.take_over(trial, [trial])

    def _fold_in(self, study_id: int) -> None:
        if self.spool is None or not self.spool.files():
            return
        for outcome in list(self.spool.read(self.get_study_name_from_id(study_id))):
            fold_in(self.backend, study_id, outcome)

    def get_best_trial(self, study_id: int) -> FrozenTrial:
        """Return the best trial of a study with one objective, from those that are known here."""
        return super().get_best_trial(study_id)

    def get_trial_id_from_study_id_trial_number(self, study_id: int, trial_number: int) -> int:
        """Return the identifier of a trial."""
        return self.backend.storage.get_trial_id_from_study_id_trial_number(study_id, trial_number)

    def remove_session(self) -> None:
        """Close the connection of this thread."""
        self.backend.storage.remove_session()


#: Backends and reapers of storages that were not opened by calibo.
_plain: weakref.WeakKeyDictionary[BaseStorage, tuple[Backend, Reaper]] = weakref.WeakKeyDictionary()


def begin_trial(study: optuna.Study, trial: FrozenTrial, seconds: float) -> None:
    """Hold the lease of a trial that Optuna has begun, and look for trials of the study whose workers are gone.

    A ``LeasedStorage`` does both itself; for other storages that processes share it is done here, one step later.
    """
    storage, trial_id = part(study, "_storage"), part(trial, "_trial_id")
    if isinstance(storage, LeasedStorage):
        if in_optimize_loop(study):
            storage.begun_in_loop(trial_id)
        return
    if isinstance(storage, InMemoryStorage):
        return
    if storage not in _plain:
        backend = backend_of(storage)
        remember(backend)
        _plain[storage] = (backend, Reaper(backend, seconds))
    backend, reaper = _plain[storage]
    lease = renewed_lease(trial, seconds)
    backend.write(trial_id, Writes(system_attrs={lease.key: lease.value}, replaces=True))
    keeper().hold(Held(backend, trial_id, lease, in_loop=in_optimize_loop(study)))
    reaper.reap(study.get_trials(deepcopy=False))


def end_trial(study: optuna.Study, trial: FrozenTrial) -> None:
    """Let go of the lease of a trial whose outcome is about to be stored."""
    storage = part(study, "_storage")
    known = _plain.get(storage) if not isinstance(storage, LeasedStorage) else None
    if known is not None:
        keeper().drop(known[0], part(trial, "_trial_id"))


def fold_in(backend: Backend, study_id: int, outcome: Spooled) -> bool:
    """Store an outcome that was kept in a file, and remove the file; return whether it was still needed."""
    try:
        trial_id = backend.storage.get_trial_id_from_study_id_trial_number(study_id, outcome.number)
    except KeyError:
        return False
    needed = settle(backend, study_id, trial_id, outcome)
    if outcome.file is not None:
        outcome.file.unlink(missing_ok=True)
    if needed:
        warn(
            f"the outcome of trial {outcome.number}, which could not be stored when it was measured, is stored now",
            CaliboWarning,
        )
    return needed


def settle(backend: Backend, study_id: int, trial_id: int, outcome: Spooled) -> bool:
    """Store an outcome of a trial that another worker may have taken over or finished; return whether it was stored.

    Whoever tells a result of the same point first is right. A result of another point, of a worker that was lost before it
    had stored what it was about to run, becomes a trial of its own.
    """
    try:
        backend.write(trial_id, outcome.writes, outcome.state, outcome.values, attempt=outcome.attempt)
        return True
    except UpdateFinishedTrialError:
        pass
    except Superseded:
        # A failure is for the attempt that is under way to find out.
        if outcome.state is TrialState.COMPLETE and _same_point(backend.trial(trial_id), outcome):
            with contextlib.suppress(UpdateFinishedTrialError):
                backend.write(trial_id, outcome.writes, outcome.state, outcome.values)
                return True
    if outcome.state is not TrialState.COMPLETE:
        return False
    return _settle_late(backend, study_id, backend.trial(trial_id), outcome)


def _settle_late(backend: Backend, study_id: int, trial: FrozenTrial, outcome: Spooled) -> bool:
    same_point = _same_point(trial, outcome)
    if trial.state is TrialState.COMPLETE and same_point and list(trial.values or ()) == list(outcome.values or ()):
        # A connection that was lost at the last moment: it had been stored.
        return False
    if not same_point or (trial.state is TrialState.FAIL and trial.user_attrs.get(INTERRUPTED)):
        # Nobody has a result of this point.
        _add(backend, study_id, outcome)
        warn(
            f"trial {trial.number} had been given up or begun again elsewhere when its result {outcome.values} came; it is "
            "stored as a new trial",
            LateResultWarning,
        )
        return True
    warn(
        f"trial {trial.number} was not heard of for longer than its lease, and another worker has finished it in the "
        f"meantime ({trial.state.name.lower()}, {trial.values}); that is kept, and the result of this one "
        f"({outcome.values}) is not stored. If workers are often suspended for longer, open the storage with a longer lease",
        LateResultWarning,
    )
    return False


def _same_point(trial: FrozenTrial, outcome: Spooled) -> bool:
    stored = {name: one.to_internal_repr(trial.params[name]) for name, one in trial.distributions.items()}
    return stored == {name: value for name, (value, _) in outcome.writes.params.items()}


def _add(backend: Backend, study_id: int, outcome: Spooled) -> None:
    writes = outcome.writes
    made = optuna.trial.create_trial(
        state=outcome.state,
        values=outcome.values,
        params={name: d.to_external_repr(value) for name, (value, d) in writes.params.items()},
        distributions={name: d for name, (_, d) in writes.params.items()},
        system_attrs={key: value for key, value in writes.system_attrs.items() if not key.startswith(PREFIX)},
        user_attrs={key: value for key, value in writes.user_attrs.items() if key not in (INTERRUPTED, ERROR)},
    )
    backend.storage.create_new_trial(study_id, made)
