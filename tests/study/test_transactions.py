"""SQLite's lock: taken at once by who writes, never by who reads."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import optuna
import pytest
import sqlalchemy.event

from calibo.study import open_storage
from calibo.study.leased import LeasedStorage
from calibo.study.storage import SqliteStorage


def test_transactions_that_write_take_the_lock_at_once_and_those_that_read_do_not(tmp_path: Path) -> None:
    storage = open_storage(tmp_path / "a.db")
    assert isinstance(storage, LeasedStorage) and isinstance(storage.backend.storage, SqliteStorage)
    begun: list[str] = []
    sqlalchemy.event.listen(
        storage.backend.storage.engine,
        "before_cursor_execute",
        lambda *args: begun.append(args[2]) if "BEGIN" in args[2] else None,
    )
    study = optuna.create_study(storage=storage, study_name="s")
    assert begun[0] == "BEGIN IMMEDIATE"
    begun.clear()
    trial = study.ask()
    trial.suggest_float("x", 0, 1)
    trial.set_user_attr("a", 1)
    study.tell(trial, 1.0)
    assert begun.count("BEGIN IMMEDIATE") == 2  # created; parameter, attribute and value
    begun.clear()
    assert study.best_value == 1.0
    assert len(study.trials) == 1
    assert set(begun) == {"BEGIN"}


def test_a_writer_waits_for_its_turn_and_readers_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibo.study.storage.BUSY_TIMEOUT", 0.2)
    storage = open_storage(tmp_path / "a.db", patience=0)
    study_id = storage.create_new_study([optuna.study.StudyDirection.MINIMIZE], "s")
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert storage.get_study_name_from_id(study_id) == "s"
        with pytest.raises(optuna.exceptions.StorageInternalError):
            storage.set_study_user_attr(study_id, "a", 1)
        other.execute("ROLLBACK")
    storage.set_study_user_attr(study_id, "a", 1)
    assert storage.get_study_user_attrs(study_id) == {"a": 1}
