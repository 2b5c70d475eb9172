"""Storages of studies, opened so that many workers can share them, with errors that say what to do.

Optuna on SQLite reads, decides and writes in a transaction that takes its write lock only at the first write; two
workers can therefore act on the same reading, and one that loses the race crashes. Here every writing transaction takes
the lock when it begins and waits for it, and a new store appears in one transaction, under SQLite's own lock: there is
no lock file that could go stale, and a worker that dies while it creates a store leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optuna
import sqlalchemy
import sqlalchemy.event
import sqlalchemy.exc
import sqlalchemy.pool
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from sqlalchemy.engine import URL, make_url

from calibo.checks import is_text, message_of, shown
from calibo.errors import MissingExtra, RecipeError, StudyError
from calibo.secrets import redacted, without_secrets
from calibo.study.database import SqlBackend
from calibo.study.leased import LeasedStorage, backend_of
from calibo.study.leases import LEASE_SECONDS
from calibo.study.optuna_private import PRIVATE, journal_file, part, table_names
from calibo.study.persistence import PATIENCE
from calibo.study.spool import Spool
from calibo.study.transactions import begin, reading

#: How long a worker waits for others to finish their writing before it gives up, in seconds.
BUSY_TIMEOUT = 60.0

#: Number of PostgreSQL's advisory lock under which tables are created: the letters "calibo".
_LOCK = int.from_bytes(b"calibo", "big")

#: File endings that mean a SQLite store when a path is given instead of a URL.
FILE_ENDINGS = (".db", ".sqlite", ".sqlite3")

#: Public methods of ``RDBStorage`` that only read; those that its cache calls instead are in ``optuna_private``.
READING = (
    *("get_study_id_from_name", "get_study_name_from_id", "get_study_directions", "get_study_user_attrs"),
    *("get_study_system_attrs", "get_all_studies", "get_trial", "get_all_trials", "get_trial_param"),
    *("get_trial_user_attrs", "get_trial_system_attrs", "get_trial_id_from_study_id_trial_number"),
    *("get_best_trial", "get_current_version"),
)

#: Versions of the tables that Optuna has accepted in this process: to ask it takes a tenth of a second.
_accepted: set[str] = set()

#: Longest first line of a journal in bytes: another file may be one long line.
_LONGEST_LINE = 1 << 20
#: What Optuna and the drivers of databases raise if a storage cannot be opened, wrong settings in its URL included.
_FAILURES = (optuna.exceptions.StorageInternalError, RuntimeError, TypeError, ValueError)


def open_storage(
    storage: str | os.PathLike[str] | BaseStorage | None = None,
    *,
    create: bool = True,
    lease: float = LEASE_SECONDS,
    patience: float = PATIENCE,
) -> BaseStorage:
    """Open an Optuna storage for many workers, created if it is a database that does not exist yet.

    Trials have leases: one whose worker was killed, or is not heard of for as long as its lease lasts, is run again, with the
    same parameters and the same forecast. What a storage that cannot be reached does not take is tried again for minutes,
    and an outcome is then kept in a file.

    Args:
        storage: ``None`` for memory; a database URL (``sqlite:///study.db``, ``postgresql+psycopg://...``); the path of
            a SQLite file ending in .db, .sqlite or .sqlite3, or of a journal that Optuna has written; or an Optuna storage.
            One in memory is returned as it is.
        create: ``False`` refuses a SQLite file that does not exist, and ``None``, for those who only want to read.
        lease: Seconds without a sign of life after which other workers may take over the trials of this one.
        patience: Seconds for which a storage that cannot be used is tried again.

    Raises:
        StudyError: If the storage cannot be opened; whatever it holds is left as it is.
        MissingExtra: If the driver of that kind of database is not installed.
    """
    lease, patience = _seconds("lease", lease), _seconds("patience", patience, least=0.0)
    if storage is None:
        if not create:
            raise StudyError(
                "expected a study or its storage, got None: give what create_study() returned, not study.optimize(), which "
                "returns nothing"
            )
        return InMemoryStorage()
    if isinstance(storage, InMemoryStorage | LeasedStorage):
        return storage
    if isinstance(storage, BaseStorage):
        return LeasedStorage(backend_of(storage), lease=lease, patience=patience, spool=_spool_of(storage))
    if not is_text(storage) and not isinstance(storage, os.PathLike):
        raise StudyError(f"a storage is a URL, the path of a file, or an Optuna storage, got {shown(storage)}")
    journal = _named_journal(os.fspath(storage))
    if journal is not None:
        return open_storage(_open_journal(journal), lease=lease, patience=patience)
    url = _url(os.fspath(storage))
    opened, file = _open_database(url, create), _sqlite_file(url)
    if url.get_backend_name() == "sqlite" and file is None:
        return opened
    spool = Spool(str(file) if file is not None else _without_password(str(opened.url)), file)
    return LeasedStorage(SqlBackend(opened), lease=lease, patience=patience, spool=spool)


def _open_database(url: URL, create: bool) -> RDBStorage:
    file = _sqlite_file(url)
    if file is None:
        with _server_errors(url), _one_at_a_time(url):
            return RDBStorage(_untemplated(url.render_as_string(hide_password=False)))
    if not create and (not file.exists() or not file.stat().st_size):
        raise StudyError(f"{file}: there is no such file, or nothing in it, so there is no study in it")
    with _sqlite_errors(file):
        version = _create(file)
        known = version in _accepted
        name = url.set(database=str(file)).render_as_string(hide_password=False)
        storage = SqliteStorage(name, skip_compatibility_check=known, skip_table_creation=known)
        if version is not None:
            _accepted.add(version)
        return storage


def _named_journal(text: str) -> Path | None:
    """Return the file of a journal: one that exists, and begins with a line of a journal of Optuna's; else ``None``."""
    if "://" in text or text.endswith(FILE_ENDINGS):
        return None
    file = Path(text).expanduser().absolute()
    with contextlib.suppress(OSError, ValueError):
        with file.open("rb") as lines:
            first = json.loads(lines.readline(_LONGEST_LINE))
        return file if isinstance(first, dict) and "op_code" in first else None
    return None


def _open_journal(file: Path) -> JournalStorage:
    try:
        return JournalStorage(JournalFileBackend(str(file)))
    except Exception as error:  # of a damaged journal Optuna raises whatever comes
        raise StudyError(f"{file} cannot be opened as a study store: {_remedy(file, message_of(error))}") from error


def _spool_of(storage: BaseStorage) -> Spool:
    """Return where outcomes are kept that an Optuna storage does not take: beside its file if it is a journal."""
    if isinstance(storage, RDBStorage):
        return Spool(_without_password(storage.url))
    file = journal_file(storage)
    return Spool(type(storage).__name__) if file is None else Spool(str(file), file)


def _seconds(name: str, given: float, least: float = 0.1) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not least <= given < 1e9:
        raise RecipeError(f"{name} is a number of seconds, at least {least:g}, got {shown(given)}")
    return float(given)


def _without_password(address: str) -> str:
    try:
        return make_url(address).set(password=None).render_as_string(hide_password=True)
    except sqlalchemy.exc.ArgumentError:
        return address


@contextlib.contextmanager
def _one_at_a_time(url: URL) -> Iterator[None]:
    """Let one worker after the other open a PostgreSQL database: of those that create its tables at once all but one fail."""
    if url.get_backend_name() != "postgresql":
        yield
        return
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.pool.NullPool)
    with engine.connect() as connection:
        # The lock belongs to the connection: it is free again when that is closed, also by a worker's death.
        connection.execute(sqlalchemy.text("SELECT pg_advisory_lock(:key)"), {"key": _LOCK})
        yield


class SqliteStorage(RDBStorage):
    """Optuna's SQLite storage for many workers: transactions take the write lock when they begin.

    Methods known to read only (``READING``) do without the lock; one not listed there takes it, which is never wrong.
    """

    def __init__(self, url: str, **options: Any) -> None:
        # With isolation_level None the driver begins no transactions of its own, so that ours are the only ones. While
        # RDBStorage is being built none of ours are there yet, but it only reads: the tables exist already.
        engine = {"connect_args": {"timeout": BUSY_TIMEOUT, "isolation_level": None}}
        super().__init__(_untemplated(url), engine_kwargs=engine, **options)
        sqlalchemy.event.listen(self.engine, "begin", begin)

    def __setstate__(self, state: dict[Any, Any]) -> None:
        super().__setstate__(state)
        sqlalchemy.event.listen(self.engine, "begin", begin)


def _untemplated(url: str) -> str:
    """Return a URL for ``RDBStorage``, which takes it for a template, in which a brace must be written twice."""
    return url.replace("{", "{{").replace("}", "}}")


def _without_lock(name: str) -> Callable[..., Any]:
    """Return a method of ``RDBStorage``, looked up when it is called, whose transactions do not write."""

    def read(self: SqliteStorage, *args: Any, **kwargs: Any) -> Any:
        with reading():
            return part(RDBStorage, name)(self, *args, **kwargs)

    return read


for _name in (*READING, *PRIVATE["optuna.storages.RDBStorage"]):
    setattr(SqliteStorage, _name, _without_lock(_name))


def _url(text: str) -> URL:
    if "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
        raise StudyError(f"the name of a storage has no NUL characters or lone surrogates, got {shown(redacted(text))}")
    if "://" not in text:
        if text.endswith(FILE_ENDINGS):
            return URL.create("sqlite", database=text)
        raise StudyError(
            f"a storage is a URL such as sqlite:///study.db, a file ending in {', '.join(FILE_ENDINGS)}, or a journal "
            f"that Optuna has written, got {redacted(text)!r}"
        )
    try:
        return make_url(text)
    except (sqlalchemy.exc.ArgumentError, ValueError) as error:
        # The error itself, which may show the password, is left out of the traceback.
        said = without_secrets(str(error), text)
        raise StudyError(f"{redacted(text)!r} is not a database URL ({said}); write e.g. sqlite:///study.db") from None


def _sqlite_file(url: URL) -> Path | None:
    """Return the file of a SQLite URL; ``None`` for SQLite in memory, its own ``file:`` syntax and other databases."""
    name = url.database
    if url.get_backend_name() != "sqlite" or not name or name == ":memory:" or name.startswith("file:"):
        return None
    # Absolute, as connections are opened again later, when the process may work in another folder.
    return Path(name).expanduser().absolute()


def _create(file: Path) -> str | None:
    """Create the tables in a file that has none yet; of many workers one does it and the others wait.

    Returns:
        The version of its tables; ``None`` if it does not have all that this Optuna has.
    """
    if not file.parent.is_dir():
        raise StudyError(f"the folder {file.parent} does not exist; create it, or give another place for {file.name}")
    with contextlib.closing(sqlite3.connect(file, timeout=BUSY_TIMEOUT, isolation_level=None)) as connection:
        tables = _tables(connection)
        if not tables:
            # The template is made before the lock is taken, so that nobody waits for it.
            script = _table_script()
            connection.execute("BEGIN IMMEDIATE")
            if not _tables(connection):
                for statement in script:
                    connection.execute(statement)
            connection.execute("COMMIT")
            tables = _tables(connection)
        elif "studies" not in tables or "trials" not in tables:
            raise StudyError(
                f"{file} is a database of something else (its tables: {', '.join(sorted(tables)[:5])}) and was left as "
                "it is; give the study a file of its own"
            )
        if not tables >= table_names():
            return None
        versions = connection.execute("SELECT version_num FROM alembic_version").fetchall()
        return str(versions[0][0]) if len(versions) == 1 else None


def _tables(connection: sqlite3.Connection) -> set[str]:
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in rows}


@functools.cache
def _table_script() -> tuple[str, ...]:
    """Return the statements that create an empty Optuna storage, read off one made in memory."""
    pool = {"poolclass": sqlalchemy.pool.StaticPool}
    template = RDBStorage("sqlite://", engine_kwargs=pool)
    try:
        raw = template.engine.raw_connection()
        dump = list(raw.driver_connection.iterdump())  # pyright: ignore[reportOptionalMemberAccess]
        raw.close()
        _accepted.add(template.get_current_version())
    finally:
        template.engine.dispose()
    return tuple(line for line in dump if line not in ("BEGIN TRANSACTION;", "COMMIT;"))


@contextlib.contextmanager
def _sqlite_errors(file: Path) -> Iterator[None]:
    """Raise errors of SQLite as a ``StudyError`` that says what to do."""
    try:
        yield
    except (
        sqlite3.Error,
        sqlalchemy.exc.DBAPIError,
        optuna.exceptions.StorageInternalError,
        RuntimeError,
        OSError,
        TypeError,
        ValueError,
    ) as error:
        # A RuntimeError is Optuna's own check of the version of the tables; its message says which command to run.
        said = str(error) if isinstance(error, RuntimeError) else _remedy(file, str(error))
        raise StudyError(f"{file} cannot be opened as a study store: {said}") from error


def _remedy(file: Path, message: str) -> str:
    if file.is_dir():
        return "it is a folder; give the path of a file in it"
    if "not a database" in message or "malformed" in message or "encrypted" in message:
        return "it is not a SQLite database, or is damaged. It was left as it is; restore a copy or give another file"
    if "readonly" in message or "unable to open" in message or "disk I/O" in message:
        return "it cannot be written. Give write permission for the file and its folder, or another place"
    if "locked" in message:
        return f"another process has kept it locked for {BUSY_TIMEOUT:.0f} s; wait for it, or stop it"
    if "full" in message:
        return "the disk is full; make room and try again"
    return f"{message}. It was left as it is; give another file"


@contextlib.contextmanager
def _server_errors(url: URL) -> Iterator[None]:
    """Raise errors of other databases as a ``StudyError`` or ``MissingExtra``, without the password."""
    whole = url.render_as_string(hide_password=False)
    shown = redacted(whole)
    try:
        yield
    except ImportError as error:
        backend = url.get_backend_name()
        if backend == "postgresql":
            raise MissingExtra(
                f"{shown} needs a PostgreSQL driver: pip install 'calibo[postgres]', and write postgresql+psycopg://..."
            ) from error
        raise MissingExtra(f"{shown} needs the Python driver of {backend}, which is not installed") from error
    except sqlalchemy.exc.NoSuchModuleError as error:
        raise StudyError(
            f"{shown}: there is no kind of database called {url.drivername!r}; use sqlite:///FILE or postgresql+psycopg://..."
        ) from error
    except (
        sqlalchemy.exc.SQLAlchemyError,
        optuna.exceptions.StorageInternalError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        # The error of the driver may show the password, and would be printed above ours.
        raise StudyError(f"{shown} cannot be opened: {without_secrets(str(error), whole)}") from None
