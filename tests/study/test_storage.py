"""Stores: shared by many processes without harm, and clear about what is wrong with them."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from calibo.errors import MissingExtra, StudyError
from calibo.study import open_storage
from calibo.study.leased import LeasedStorage

WORKERS, TRIALS = 8, 5


def _value(params: dict[str, float | str]) -> float:
    return 1000 * float(params["x"]) + float(params["k"]) + 0.25 * len(str(params["c"]))


def _objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", 0, 1)
    trial.suggest_int("k", 0, 1000)
    trial.suggest_categorical("c", ["a", "bb", "ccc"])
    trial.set_user_attr("x", x)
    return _value(trial.params)


def _work(file: str, start: Any, seed: int) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    start.wait()
    sampler = optuna.samplers.RandomSampler(seed)
    study = optuna.create_study(storage=open_storage(file), study_name="shared", load_if_exists=True, sampler=sampler)
    for i in range(TRIALS):
        study.enqueue_trial({"x": (i + seed / 8) / 8})
    study.optimize(_objective, n_trials=TRIALS)


def _failed(file: str) -> int:
    """Run workers that start at the same moment; return the number that failed."""
    # What it takes to open any store is imported once, and not by each worker.
    open_storage(f"{file}.another.db")
    context = multiprocessing.get_context("fork")
    start = context.Barrier(WORKERS)
    workers = [context.Process(target=_work, args=(file, start, seed)) for seed in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(worker.exitcode != 0 for worker in workers)


@pytest.mark.skipif(os.name != "posix", reason="starts its workers by fork, to have them start at the same time")
def test_eight_processes_on_a_file_that_does_not_exist_yet(tmp_path: Path) -> None:
    """All start at once, none crashes, no trial is lost or run twice, and every value belongs to its parameters.

    Most trials come from a queue with one parameter set: were one taken by two workers, values and parameters would
    mix. A worker that sees only trials which others take at that moment makes a new one, and leaves one in the queue.
    """
    file = tmp_path / "shared.db"
    assert _failed(str(file)) == 0
    trials = optuna.load_study(study_name="shared", storage=open_storage(file)).trials
    done = [trial for trial in trials if trial.state is TrialState.COMPLETE]
    queued = [trial for trial in trials if "fixed_params" in trial.system_attrs]
    assert [trial.number for trial in trials] == list(range(len(trials)))
    assert len(done) == len(queued) == WORKERS * TRIALS
    for trial in done:
        assert trial.value == _value(trial.params)
        assert trial.user_attrs["x"] == trial.params["x"]
        assert trial.params["x"] == trial.system_attrs.get("fixed_params", trial.params)["x"]


def test_ways_to_name_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    optuna.create_study(storage=open_storage("sqlite:///a.db"), study_name="s")
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]
    storage = open_storage("a.db")
    optuna.create_study(storage=f"sqlite:///{tmp_path / 'a.db'}", study_name="made by Optuna")
    monkeypatch.chdir("/")
    assert [study.study_name for study in storage.get_all_studies()] == ["s", "made by Optuna"]
    mine = InMemoryStorage()
    assert open_storage(mine) is mine and isinstance(open_storage(None), InMemoryStorage)
    assert isinstance(open_storage("sqlite://"), RDBStorage)


def test_a_journal_is_named_by_its_file(tmp_path: Path) -> None:
    file = tmp_path / "with spaces" / "optuna_journal_storage.log"
    file.parent.mkdir()
    written = JournalStorage(JournalFileBackend(str(file)))
    optuna.create_study(storage=written, study_name="mine").optimize(_objective, n_trials=3)
    before = file.read_bytes()
    read = optuna.load_study(storage=open_storage(file, create=False), study_name="mine")
    assert len(read.trials) == 3 and file.read_bytes() == before
    assert [one.study_name for one in open_storage(str(file)).get_all_studies()] == ["mine"]

    file.write_bytes(before.replace(b'"op_code":4', b'"op_code":"?"'))
    with pytest.raises(StudyError, match="cannot be opened as a study store"):
        open_storage(file)
    file.write_text("number,value\n0,1.5\n")
    with pytest.raises(StudyError, match="or a journal that Optuna has written"):
        open_storage(file)


def spool_folders(storage: Path | JournalStorage) -> tuple[Path, ...]:
    opened = open_storage(storage)
    assert isinstance(opened, LeasedStorage) and opened.spool is not None
    return opened.spool.folders


def test_journals_keep_what_they_do_not_take_apart(tmp_path: Path) -> None:
    """Two studies of the same name in two journals must not get each other's outcomes."""
    files = [tmp_path / name for name in ("a.log", "b.log")]
    for file in files:
        optuna.create_study(storage=JournalStorage(JournalFileBackend(str(file))), study_name="s")
    spools = [spool_folders(JournalStorage(JournalFileBackend(str(file)))) for file in files]
    assert not set(spools[0]) & set(spools[1])
    assert [spool_folders(file) for file in files] == spools
    assert spools[0][0] == tmp_path / "a.log.spool"


def test_a_store_survives_pickling(tmp_path: Path) -> None:
    storage = open_storage(tmp_path / "a.db")
    optuna.create_study(storage=storage, study_name="s")
    again = pickle.loads(pickle.dumps(storage))
    assert [study.study_name for study in again.get_all_studies()] == ["s"]
    again.set_study_user_attr(again.get_study_id_from_name("s"), "a", 1)
    assert storage.get_study_user_attrs(storage.get_study_id_from_name("s")) == {"a": 1}


def test_a_name_with_braces_and_an_empty_file(tmp_path: Path) -> None:
    file = tmp_path / "{a}.db"
    file.touch()
    optuna.create_study(storage=open_storage(file), study_name="s")
    assert sqlite3.connect(file).execute("SELECT study_name FROM studies").fetchall() == [("s",)]


def _damaged(file: Path) -> None:
    optuna.create_study(storage=open_storage(file), study_name="s")
    content = file.read_bytes()
    file.write_bytes(content[:100] + os.urandom(8092) + content[8192:])


def _of_something_else(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE customers (name TEXT)")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda file: file.write_bytes(b"this is no database at all" * 100), "not a SQLite database, or is damaged"),
        (
            lambda file: file.write_bytes(b"SQLite format 3\x00" + b"\xff" * 4000),
            "not a SQLite database, or is damaged",
        ),
        (_damaged, r"a\.db cannot be opened"),
        (_of_something_else, r"something else.*customers.*a file of its own"),
    ],
)
def test_what_is_no_store_is_left_alone(tmp_path: Path, make: Callable[[Path], None], message: str) -> None:
    file = tmp_path / "a.db"
    make(file)
    before = file.read_bytes()
    with pytest.raises(StudyError, match=message):
        open_storage(file)
    assert file.read_bytes() == before


def test_a_file_that_is_only_to_be_read_is_not_created(tmp_path: Path) -> None:
    file = tmp_path / "typo.db"
    with pytest.raises(StudyError, match="no such file"):
        open_storage(file, create=False)
    assert not file.exists()
    file.touch()
    with pytest.raises(StudyError, match="nothing in it"):
        open_storage(file, create=False)
    assert not file.stat().st_size


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="does not exist; create it"):
        open_storage(tmp_path / "nowhere" / "a.db")
    with pytest.raises(StudyError, match="folder"):
        folder = tmp_path / "folder.db"
        folder.mkdir()
        open_storage(folder)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder in which not even root can write")
def test_a_folder_that_is_read_only() -> None:
    with pytest.raises(StudyError, match=r"cannot be written\. Give write permission"):
        open_storage("/proc/self/a.db")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_that_is_read_only_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    optuna.create_study(storage=open_storage(file), study_name="s")
    file.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        storage = open_storage(file)
        assert [study.study_name for study in storage.get_all_studies()] == ["s"]
    finally:
        tmp_path.chmod(0o755)


@pytest.mark.parametrize(
    ("storage", "message"),
    [
        ("study", "a URL such as sqlite"),
        ("nosuch://host/name", "no kind of database called 'nosuch'"),
        ("sqlite:///:nonsense:@@//x//y.db", "does not exist"),
        ("://", "not a database URL"),
    ],
)
def test_names_that_mean_no_storage(storage: str, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        open_storage(storage)


def test_a_driver_that_is_missing() -> None:
    with pytest.raises(MissingExtra, match=r"calibo\[postgres\]"):
        open_storage("postgresql+pg8000://user:secret@localhost/name")
    with pytest.raises(MissingExtra, match="driver of mysql"):
        open_storage("mysql+pymysql://user:secret@localhost/name")


def test_a_server_that_is_not_there_does_not_show_the_password() -> None:
    with pytest.raises(StudyError, match="cannot be opened") as caught:
        open_storage("postgresql+psycopg://user:secret@127.0.0.1:1/name")
    assert "secret" not in str(caught.value)
