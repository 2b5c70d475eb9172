"""Optuna's databases, with SQL of our own where many workers need a step to be one transaction.

The tables are Optuna's (``optuna_private.tables``), so that its own tools go on reading and writing them. Trials that are
finished never change and are kept in memory; a reading fetches only those that are new or not finished.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
import sqlalchemy.exc
from optuna.distributions import BaseDistribution, distribution_to_json, json_to_distribution
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.storages import BaseStorage, RDBStorage
from optuna.trial import FrozenTrial, TrialState

from calibo.errors import StudyError
from calibo.study.backends import Backend, BudgetReached, Known, Outdated, Superseded, Writes
from calibo.study.leases import INTERRUPTED, PREFIX, Lease
from calibo.study.optuna_private import part, tables
from calibo.study.transactions import reading

#: Identifiers that are asked for at once; databases have limits of their own.
_AT_ONCE = 150
#: More than any identifier: no trial is new.
_LARGEST = 2**31 - 1


class SqlBackend(Backend):
    """A database of Optuna's."""

    def __init__(self, storage: RDBStorage) -> None:
        self.storage: BaseStorage = storage
        self._engine = storage.engine
        self._tables = tables()
        self._sql = _statements()
        self._known: dict[int, _Known] = defaultdict(_Known)
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {"storage": self.storage}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["storage"])

    def create(self, study_id: int, lease: Lease, limit: int | None = None) -> FrozenTrial:
        """Create a running trial together with its first lease."""
        start = datetime.now()
        with self._transaction() as connection:
            # Numbers follow each other, so that workers create trials one after the other.
            self._lock_study(connection, study_id)
            number = connection.execute(self._sql.count, {"study": study_id}).scalar_one()
            if limit is not None and number - self._interrupted(connection, study_id) >= limit:
                raise BudgetReached
            row = {"number": number, "study_id": study_id, "state": TrialState.RUNNING, "datetime_start": _utc(start)}
            made = connection.execute(self._sql.insert["trials"], row)
            trial_id = made.inserted_primary_key[0]  # pyright: ignore[reportOptionalSubscript]
            connection.execute(self._sql.insert["trial_system_attributes"], _row(trial_id, lease))
        return _frozen(trial_id, number, TrialState.RUNNING, start, None, system_attrs={lease.key: lease.value})

    def _lock_study(self, connection: sa.Connection, study_id: int) -> None:
        """Let other workers wait that lock the study, until the end of the transaction."""
        if connection.execute(self._sql.lock_study, {"study": study_id}).first() is None:
            raise KeyError(f"there is no study {study_id}")

    def _interrupted(self, connection: sa.Connection, study_id: int) -> int:
        """Return how many trials of a study were interrupted."""
        trials, attributes = self._tables["trials"], self._tables["trial_user_attributes"]
        where = (trials.c.study_id == study_id) & (trials.c.state == TrialState.FAIL)
        where &= attributes.c.key == INTERRUPTED
        joined = trials.join(attributes, attributes.c.trial_id == trials.c.trial_id)
        return connection.execute(sa.select(sa.func.count()).select_from(joined).where(where)).scalar_one()

    def begin(self, trial_id: int, lease: Lease) -> bool:
        """Let a waiting trial run under a lease; return ``False`` if another worker was quicker."""
        with self._transaction() as connection:
            if not self._change_state(connection, trial_id, TrialState.WAITING, TrialState.RUNNING):
                return False
            self._put(connection, "trial_system_attributes", trial_id, {lease.key: lease.value}, replaces=True)
        return True

    def take_over(self, trial: FrozenTrial, lease: Lease, writes: Writes, state: TrialState) -> bool:
        """Give a running trial its next lease and another state, unless another observer has done so or it is finished."""
        trial_id = part(trial, "_trial_id")
        try:
            with self._transaction() as connection:
                # Two observers cannot both insert the same attempt.
                connection.execute(self._sql.insert["trial_system_attributes"], _row(trial_id, lease))
                if not self._change_state(connection, trial_id, TrialState.RUNNING, state):
                    raise _Late
                self._put_all(connection, trial_id, writes, replaces=True)
        except (sqlalchemy.exc.IntegrityError, _Late):
            return False
        return True

    def renew(self, held: Mapping[int, Lease]) -> None:
        """Store the leases of the trials that this process runs."""
        table, trials = self._tables["trial_system_attributes"], self._tables["trials"]
        running = sa.select(trials.c.trial_id).where(trials.c.state == TrialState.RUNNING)
        where = (table.c.trial_id == sa.bindparam("of_trial")) & (table.c.key == sa.bindparam("of_key"))
        where &= table.c.trial_id.in_(running)
        rows = [
            {"of_trial": i, "of_key": lease.key, "value_json": json.dumps(lease.value)} for i, lease in held.items()
        ]
        if rows:
            with self._transaction() as connection:
                connection.execute(table.update().where(where), rows)

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
        """Write to a trial that is not finished, and finish it if a state is given, in one transaction."""
        try:
            self._write(trial_id, writes, state, values, attempt, known, replaces=writes.replaces)
        except sqlalchemy.exc.IntegrityError:
            # Some of it is there already.
            self._write(trial_id, writes, state, values, attempt, known, replaces=True)

    def _write(
        self,
        trial_id: int,
        writes: Writes,
        state: TrialState | None,
        values: Sequence[float] | None,
        attempt: int | None,
        known: Known | None,
        *,
        replaces: bool,
    ) -> None:
        with self._transaction() as connection:
            before = connection.execute(self._sql.lock_trial, {"trial": trial_id}).scalar_one_or_none()
            if before is None:
                raise KeyError(f"there is no trial {trial_id}")
            if before.is_finished():
                raise UpdateFinishedTrialError(f"the trial is finished already ({before.name.lower()})")
            if attempt is not None:
                later = {"trial": trial_id, "key": f"{PREFIX}{attempt + 1}"}
                if connection.execute(self._sql.attribute, later).first() is not None:
                    raise Superseded
            self._put_all(connection, trial_id, writes, replaces=replaces)
            if values is not None:
                self._put_values(connection, trial_id, values, replaces=replaces)
            if state is not None:
                self._change_state(connection, trial_id, before, state)
            if known is not None:
                # Whoever publishes at the same moment waits for the end of this transaction, and then sees what it wrote.
                # Last of all, as workers wait for each other as long as one has the lock.
                self._lock_study(connection, known.study_id)
                published = connection.execute(self._sql.published, {"study": known.study_id, "key": known.key})
                if not known.numbers.issuperset(published.scalars()):
                    raise Outdated

    def set_once(self, study_id: int, key: str, value: Any) -> Any:
        """Set a system attribute of a study unless it has one of that name; return what it then has, for all workers."""
        table = self._tables["study_system_attributes"]
        row = {"study_id": study_id, "key": key, "value_json": json.dumps(value)}
        with contextlib.suppress(sqlalchemy.exc.IntegrityError), self._transaction() as connection:
            connection.execute(table.insert().values(row))
        return self.storage.get_study_system_attrs(study_id)[key]

    def trials(self, study_id: int, held: Collection[int] = ()) -> list[FrozenTrial]:
        """Return all trials of a study by number, as they are now; not to be changed.

        Those that are held are not read, but once they are no longer held.
        """
        with self._lock:
            known = self._known[study_id]
            left = sorted(known.unfinished.difference(held))
            known.unfinished.update(held)
            if not known.trials:
                known.update(self._read(self._sql.all, {"study": study_id}, held, joined=True))
                return known.by_number()
            latest = known.latest
            for some in _chunks(left) or [[]]:
                wanted = {"study": study_id, "latest": latest, "ids": some}
                known.update(self._read(self._sql.new, wanted, held))
                latest = _LARGEST
            return known.by_number()

    def trial(self, trial_id: int) -> FrozenTrial:
        """Return one trial as it is now."""
        found = self._read(self._sql.one, {"trial": trial_id})
        if not found:
            raise KeyError(f"there is no trial {trial_id}")
        return found[0]

    def watched(self) -> dict[str, Any] | None:
        """Return how a small process without SQLAlchemy reaches the database."""
        url = self._engine.url
        if url.get_backend_name() == "sqlite":
            if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
                return None
            return {"kind": "sqlite", "file": url.database}
        if url.get_backend_name() == "postgresql" and url.get_driver_name() in ("psycopg", "psycopg2"):
            plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
            return {"kind": "postgresql", "driver": url.get_driver_name(), "address": plain}
        return None

    def after_fork(self) -> None:
        """Leave the connections of the parent alone, in a new process."""
        self._lock = threading.RLock()
        self._engine.dispose(close=False)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except sqlalchemy.exc.IntegrityError:
            raise
        except sqlalchemy.exc.SQLAlchemyError as error:
            raise StorageInternalError(str(error).splitlines()[0]) from error

    def _change_state(self, connection: sa.Connection, trial_id: int, before: TrialState, state: TrialState) -> bool:
        trials = self._tables["trials"]
        change: dict[str, Any] = {"state": state}
        if state is TrialState.RUNNING:
            change["datetime_start"] = _utc(datetime.now())
        elif state.is_finished():
            change["datetime_complete"] = _utc(datetime.now())
        where = (trials.c.trial_id == trial_id) & (trials.c.state == before)
        return connection.execute(trials.update().where(where).values(change)).rowcount == 1

    def _put_all(self, connection: sa.Connection, trial_id: int, writes: Writes, *, replaces: bool) -> None:
        rows = [
            {"trial_id": trial_id, "param_name": n, "param_value": v, "distribution_json": distribution_to_json(d)}
            for n, (v, d) in writes.params.items()
        ]
        if rows and replaces:
            connection.execute(self._sql.delete["trial_params"], {"trial": trial_id, "names": list(writes.params)})
        if rows:
            connection.execute(self._sql.insert["trial_params"], rows)
        self._put(connection, "trial_system_attributes", trial_id, writes.system_attrs, replaces=replaces)
        self._put(connection, "trial_user_attributes", trial_id, writes.user_attrs, replaces=replaces)
        self._put_intermediate(connection, trial_id, writes.intermediate)

    def _put(
        self, connection: sa.Connection, table: str, trial_id: int, attributes: Mapping[str, Any], *, replaces: bool
    ) -> None:
        if not attributes:
            return
        if replaces:
            connection.execute(self._sql.delete[table], {"trial": trial_id, "names": list(attributes)})
        rows = [{"trial_id": trial_id, "key": k, "value_json": json.dumps(v)} for k, v in attributes.items()]
        connection.execute(self._sql.insert[table], rows)

    def _put_values(self, connection: sa.Connection, trial_id: int, values: Sequence[float], *, replaces: bool) -> None:
        table = self._tables["trial_values"]
        kinds = table.c.value_type.type.enum_class  # pyright: ignore[reportAttributeAccessIssue]
        rows = [{"trial_id": trial_id, "objective": i, **_number(v, kinds, "value")} for i, v in enumerate(values)]
        if replaces:
            names = {"trial": trial_id, "names": list(range(len(values)))}
            connection.execute(self._sql.delete["trial_values"], names)
        connection.execute(self._sql.insert["trial_values"], rows)

    def _put_intermediate(self, connection: sa.Connection, trial_id: int, reported: Mapping[int, float]) -> None:
        if not reported:
            return
        table = self._tables["trial_intermediate_values"]
        kinds = table.c.intermediate_value_type.type.enum_class  # pyright: ignore[reportAttributeAccessIssue]
        rows = [
            {"trial_id": trial_id, "step": s, **_number(v, kinds, "intermediate_value")} for s, v in reported.items()
        ]
        names = {"trial": trial_id, "names": list(reported)}
        connection.execute(self._sql.delete["trial_intermediate_values"], names)
        connection.execute(self._sql.insert["trial_intermediate_values"], rows)

    def _read(
        self, query: sa.Executable, values: Mapping[str, Any], held: Collection[int] = (), *, joined: bool = False
    ) -> list[FrozenTrial]:
        """Return the trials that a query finds but those held, with what belongs to them.

        ``joined`` asks for what belongs to any trial of the study, else it is asked for by identifier.
        """
        try:
            with reading(), self._transaction() as connection:
                rows = [row for row in connection.execute(query, values) if row[0] not in held]
                if not rows:
                    return []
                query = self._sql.of_study if joined else self._sql.of_trials
                asked = [values] if joined else [{"ids": some} for some in _chunks([row[0] for row in rows])]
                found: dict[int, list[tuple[Any, ...]]] = {}
                for some in asked:
                    for trial_id, *own in connection.execute(query, some):
                        found.setdefault(trial_id, []).append(tuple(own))
            return [_from_rows(row, found.get(row[0], [])) for row in rows]
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise StudyError(
                f"the storage holds a trial that cannot be read ({type(error).__name__}: {error}): it was damaged, or "
                "written by another program. Everything else in it is left as it is"
            ) from error


class _Late(Exception):
    """A trial that was to be taken over has been finished in the meantime."""


class _Known:
    """Trials of a study as they were read last."""

    def __init__(self) -> None:
        self.trials: dict[int, FrozenTrial] = {}
        self.unfinished: set[int] = set()
        self.latest = -1
        self._ordered: list[FrozenTrial] | None = None

    def update(self, trials: Iterable[FrozenTrial]) -> None:
        for trial in trials:
            trial_id = part(trial, "_trial_id")
            self.trials[trial_id] = trial
            self.latest = max(self.latest, trial_id)
            (self.unfinished.discard if trial.state.is_finished() else self.unfinished.add)(trial_id)
            self._ordered = None

    def by_number(self) -> list[FrozenTrial]:
        if self._ordered is None:
            self._ordered = sorted(self.trials.values(), key=lambda trial: trial.number)
        return list(self._ordered)


#: Tables with what belongs to a trial, and the columns that are read: a name, a number, a text and a place. All are asked for
#: by one statement, the parameters first, whose columns have types.
_PARTS: dict[str, tuple[str | None, str | None, str, str | None]] = {
    "trial_params": ("param_name", "param_value", "distribution_json", "param_id"),
    "trial_values": (None, "value", "value_type", "objective"),
    "trial_user_attributes": ("key", None, "value_json", None),
    "trial_system_attributes": ("key", None, "value_json", None),
    "trial_intermediate_values": (None, "intermediate_value", "intermediate_value_type", "step"),
}


@dataclass(frozen=True)
class _Statements:
    """Statements that every trial needs: they are built once, which takes as long as a database needs to answer one.

    Attributes:
        lock_study: Locks the study ``study``.
        lock_trial: Locks the trial ``trial`` and returns its state.
        count: Number of trials of a study.
        published: Numbers of the running trials of a study that have the system attribute ``key``.
        attribute: The trial ``trial``, if it has the system attribute ``key``.
        all, new, one: Trials of a study; those beyond ``latest`` or among ``ids``; the trial ``trial``.
        of_study, of_trials: What belongs to all trials of a study, or to the trials ``ids``: trial, table, name, number, text
            and place.
        insert: Adds rows to a table.
        delete: Removes what the trial ``trial`` has by some ``names`` (keys, steps, numbers) from a table.
    """

    lock_study: sa.Executable
    lock_trial: sa.Executable
    count: sa.Executable
    published: sa.Executable
    attribute: sa.Executable
    all: sa.Executable
    new: sa.Executable
    one: sa.Executable
    of_study: sa.Executable
    of_trials: sa.Executable
    insert: Mapping[str, sa.Insert]
    delete: Mapping[str, sa.Delete]


#: What tells the rows of a trial apart in a table.
_NAMES = {
    "trial_params": "param_name",
    "trial_values": "objective",
    "trial_user_attributes": "key",
    "trial_system_attributes": "key",
    "trial_intermediate_values": "step",
}


def _part(table: sa.Table, name: str) -> Any:
    """Return the statement that reads what a table has, in the columns that all tables have in common."""
    key, number, text, place = (None if one is None else table.c[one] for one in _PARTS[name])
    kind = sa.literal_column(str(list(_PARTS).index(name)))
    nothing = sa.null()
    return sa.select(
        table.c.trial_id,
        kind,
        nothing if key is None else key,
        nothing if number is None else number,
        sa.cast(text, sa.Text),
        nothing if place is None else place,
    )


@functools.cache
def _statements() -> _Statements:
    known = tables()
    trials, studies, attributes = known["trials"], known["studies"], known["trial_system_attributes"]
    of_study, of_trial = trials.c.study_id == sa.bindparam("study"), trials.c.trial_id == sa.bindparam("trial")
    columns = [trials.c[name] for name in ("trial_id", "number", "state", "datetime_start", "datetime_complete")]
    chosen = sa.select(*columns).order_by(trials.c.trial_id)
    new = (trials.c.trial_id > sa.bindparam("latest")) | trials.c.trial_id.in_(sa.bindparam("ids", expanding=True))
    with_key, ids = attributes.c.key == sa.bindparam("key"), sa.bindparam("ids", expanding=True)
    published = trials.join(attributes, attributes.c.trial_id == trials.c.trial_id)
    return _Statements(
        lock_study=sa.select(studies.c.study_id).where(studies.c.study_id == sa.bindparam("study")).with_for_update(),
        lock_trial=sa.select(trials.c.state).where(of_trial).with_for_update(),
        count=sa.select(sa.func.count()).select_from(trials).where(of_study),
        published=sa.select(trials.c.number)
        .select_from(published)
        .where(of_study & (trials.c.state == TrialState.RUNNING) & with_key),
        attribute=sa.select(attributes.c.trial_id).where((attributes.c.trial_id == sa.bindparam("trial")) & with_key),
        all=chosen.where(of_study),
        new=chosen.where(of_study & new),
        one=chosen.where(of_trial),
        of_study=sa.union_all(
            *(
                _part(known[name], name).join(trials, known[name].c.trial_id == trials.c.trial_id).where(of_study)
                for name in _PARTS
            )
        ),
        of_trials=sa.union_all(*(_part(known[name], name).where(known[name].c.trial_id.in_(ids)) for name in _PARTS)),
        insert={name: known[name].insert() for name in ("trials", *_PARTS)},
        delete={
            name: known[name]
            .delete()
            .where(
                (known[name].c.trial_id == sa.bindparam("trial"))
                & known[name].c[one].in_(sa.bindparam("names", expanding=True))
            )
            for name, one in _NAMES.items()
        },
    )


# A study has few distributions, and Optuna never changes one.
@functools.lru_cache(maxsize=1024)
def _distribution(text: str) -> BaseDistribution:
    return json_to_distribution(text)


def _from_rows(row: Any, parts: Sequence[tuple[Any, ...]]) -> FrozenTrial:
    """Return the trial of a row, with what other tables have of it: table, name, number, text and place each."""
    trial_id, number, state, start, complete = row
    own: tuple[list[Any], ...] = tuple([] for _ in _PARTS)
    for kind, name, value, text, place in parts:
        own[kind].append((place, name, value, text))
    given, values, user, system, intermediate = own
    given.sort()
    distributions = {name: _distribution(text) for _, name, _, text in given}
    values.sort()
    return _frozen(
        trial_id,
        number,
        state,
        _local(start),
        _local(complete),
        values=[_float(value, kind) for _, _, value, kind in values] or None,
        params={name: distributions[name].to_external_repr(value) for _, name, value, _ in given},
        distributions=distributions,
        user_attrs={key: json.loads(text) for _, key, _, text in user},
        system_attrs={key: json.loads(text) for _, key, _, text in system},
        intermediate_values={step: _float(value, kind) for step, _, value, kind in intermediate},
    )


def _frozen(
    trial_id: int,
    number: int,
    state: TrialState,
    start: datetime | None,
    complete: datetime | None,
    **rest: Any,
) -> FrozenTrial:
    empty: dict[str, Any] = {"params": {}, "distributions": {}, "user_attrs": {}, "system_attrs": {}}
    given = empty | {"values": None, "intermediate_values": {}} | rest
    return FrozenTrial(
        number=number,
        state=state,
        value=None,
        datetime_start=start,
        datetime_complete=complete,
        trial_id=trial_id,
        **given,
    )


#: Numbers that Optuna stores by their kind, and a finite one that is missing.
_NOT_FINITE = {"INF_POS": math.inf, "INF_NEG": -math.inf, "NAN": math.nan, "FINITE": math.nan}


def _row(trial_id: int, lease: Lease) -> dict[str, Any]:
    return {"trial_id": trial_id, "key": lease.key, "value_json": json.dumps(lease.value)}


def _number(value: float, kinds: Any, column: str) -> dict[str, Any]:
    """Return a number as Optuna stores it: infinite ones, and those that are not a number, by their kind."""
    value = float(value)
    if math.isnan(value):
        kind = kinds.NAN
    elif math.isinf(value):
        kind = kinds.INF_POS if value > 0 else kinds.INF_NEG
    else:
        kind = kinds.FINITE
    return {column: value if kind is kinds.FINITE else None, f"{column}_type": kind}


def _float(value: float | None, kind: str) -> float:
    return _NOT_FINITE[kind] if kind != "FINITE" or value is None else value


def _utc(local: datetime) -> datetime:
    return local.astimezone(UTC).replace(tzinfo=None)


def _local(utc: datetime | None) -> datetime | None:
    return None if utc is None else utc.replace(tzinfo=UTC).astimezone().replace(tzinfo=None)


def _chunks(ids: list[int]) -> list[list[int]]:
    return [ids[i : i + _AT_ONCE] for i in range(0, len(ids), _AT_ONCE)]
