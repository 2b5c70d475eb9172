"""The private parts of Optuna that calibo uses, all of them.

Optuna has no public way to write system attributes, which a user's own attributes cannot collide with, to mark a storage's
transactions as reading, to write several things to a trial in one transaction, or to tell where a journal lies. A part that
has moved raises a ``StudyError`` that names it when it is used; importing this package always works.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend

from calibo.errors import StudyError

#: Private attributes by the public name of their owner. ``tests/study/test_optuna_private.py`` checks each of them.
PRIVATE: dict[str, tuple[str, ...]] = {
    # The flags by which a callback stops a run; Optuna's own loop cannot settle every trial that calibo's does.
    "optuna.Study": ("_storage", "_study_id", "_stop_flag", "_thread_local"),
    "optuna.Trial": ("_trial_id",),
    "optuna.trial.FrozenTrial": ("_trial_id",),
    # A database that was not opened by calibo is behind this cache.
    "optuna.storages._CachedStorage": ("_backend",),
    # Where a journal lies, to keep beside it what it does not take.
    "optuna.storages.JournalStorage": ("_backend",),
    "optuna.storages.journal.JournalFileBackend": ("_file_path",),
    # Optuna's cache in front of a database calls these instead of the public methods.
    "optuna.storages.RDBStorage": ("_get_trials", "_get_best_trial_id", "_get_stale_trial_ids"),
}

#: Tables of Optuna's databases, which ``study/database.py`` reads and writes, with the columns it uses.
TABLES: dict[str, tuple[str, ...]] = {
    "studies": ("study_id",),
    "study_system_attributes": ("study_id", "key", "value_json"),
    "trials": ("trial_id", "number", "study_id", "state", "datetime_start", "datetime_complete"),
    "trial_params": ("param_id", "trial_id", "param_name", "param_value", "distribution_json"),
    "trial_values": ("trial_id", "objective", "value", "value_type"),
    "trial_user_attributes": ("trial_id", "key", "value_json"),
    "trial_system_attributes": ("trial_id", "key", "value_json"),
    "trial_intermediate_values": ("trial_id", "step", "intermediate_value", "intermediate_value_type"),
}


def tables() -> dict[str, Any]:
    """Return the tables of Optuna's databases by name, as SQLAlchemy describes them.

    Raises:
        StudyError: If this version of Optuna does not have them, or not these columns.
    """
    try:
        from optuna.storages._rdb import models

        found = models.BaseModel.metadata.tables
        for name, columns in TABLES.items():
            for column in columns:
                _ = found[name].c[column]
    except (ImportError, AttributeError, KeyError) as error:
        raise StudyError(
            f"the databases of Optuna {optuna.__version__} are not as calibo knows them ({error}): install optuna>=5,<6, "
            "and report the version"
        ) from None
    return {name: found[name] for name in TABLES}


def table_names() -> frozenset[str]:
    """Return the names of all tables of Optuna's databases, that of their version included."""
    return frozenset({*tables()["trials"].metadata.tables, "alembic_version"})


def part(owner: object, name: str) -> Any:
    """Return an attribute of one of Optuna's objects or classes.

    Raises:
        StudyError: If this version of Optuna does not have it.
    """
    try:
        return getattr(owner, name)
    except AttributeError:
        kind = owner if isinstance(owner, type) else type(owner)
        raise StudyError(
            f"Optuna {optuna.__version__} has no {kind.__name__}.{name}, which calibo uses: install optuna>=5,<6, and "
            "report the version"
        ) from None


def journal_file(storage: BaseStorage) -> Path | None:
    """Return the file of a journal; ``None`` for other storages, and for journals that are not files."""
    backend = part(storage, "_backend") if isinstance(storage, JournalStorage) else None
    return Path(part(backend, "_file_path")).absolute() if isinstance(backend, JournalFileBackend) else None


@contextlib.contextmanager
def optimize_loop(study: optuna.Study) -> Iterator[None]:
    """Let callbacks in this block call ``study.stop()``, as in Optuna's own loop.

    Raises:
        StudyError: If this version of Optuna does not have the flags.
    """
    local = part(study, "_thread_local")
    local.in_optimize_loop = True
    try:
        yield
    finally:
        local.in_optimize_loop = False


def clear_stop(study: optuna.Study) -> None:
    """Forget that an earlier run of a study was stopped."""
    part(study, "_stop_flag")
    setattr(study, "_stop_flag", False)  # noqa: B010 (a private attribute of Optuna's, which is named only here)


def request_stop(study: optuna.Study) -> None:
    """Let the runs of a study, in this process, begin no more trials."""
    part(study, "_stop_flag")
    setattr(study, "_stop_flag", True)  # noqa: B010


def in_optimize_loop(study: optuna.Study) -> bool:
    """Return whether a trial is begun by a loop, which also finishes it."""
    return bool(getattr(part(study, "_thread_local"), "in_optimize_loop", False))
