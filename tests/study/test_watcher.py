"""The process that renews leases while an objective holds Python's lock, but not those of a suspended worker."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest

from calibo.study import open_storage
from calibo.study.watcher import stopped

WORKER = """
import ctypes, sys
from calibo import Float
from calibo.study import minimize, open_storage
library = ctypes.PyDLL(None)  # holds Python's lock, as a C extension may
def objective(params):
    print("begun", flush=True)
    library.sleep(3)
    return 0.25
minimize(objective, {"x": Float(0, 1)}, 1, "gp_ei", open_storage(sys.argv[1], lease=1.0), "s", seed=1, progress=False)
"""


@pytest.mark.whole
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="calls sleep of the C library")
def test_an_objective_that_holds_pythons_lock_is_not_taken_for_dead(tmp_path: Path) -> None:
    """The watcher renews its lease, three times as long as the lease lasts, and a suspended worker's it does not."""
    command = [sys.executable, "-c", WORKER, str(tmp_path / "a.db")]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None and worker.stdout.readline() == "begun\n"
    storage: Any = open_storage(tmp_path / "a.db", lease=1.0)
    study = optuna.load_study(study_name="s", storage=storage)
    taken = 0
    while worker.poll() is None:
        taken += storage.look_after(study._study_id)
        time.sleep(0.1)
    assert worker.returncode == 0 and taken == 0
    assert [one.value for one in study.trials] == [0.25]


SUSPENDED = """
import sys, time, warnings
from pathlib import Path
from calibo import Float
from calibo.study import minimize, open_storage
def objective(params):
    print("begun", flush=True)
    while not Path(sys.argv[2]).exists():
        time.sleep(0.02)
    return 0.25
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    minimize(objective, {"x": Float(0, 1)}, 1, "gp_ei", open_storage(sys.argv[1], lease=0.5), "s", seed=1, progress=False)
print("late" if any("another worker has finished it" in str(one.message) for one in caught) else "in time")
"""


def _until(happened: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, f"did not happen within {seconds} s"
        time.sleep(0.05)


@contextlib.contextmanager
def _suspended(worker: subprocess.Popen[str], database: Path) -> Iterator[None]:
    """Suspend a worker at a moment when it has no lock of the database, which it would keep."""
    with contextlib.closing(sqlite3.connect(database, timeout=60, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        os.kill(worker.pid, signal.SIGSTOP)
        _until(lambda: stopped(worker.pid))
        connection.execute("ROLLBACK")
    try:
        yield
    finally:
        os.kill(worker.pid, signal.SIGCONT)


@pytest.mark.whole
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="suspends a process")
def test_a_suspended_worker_is_not_kept_alive_by_its_watcher(tmp_path: Path) -> None:
    database, end = tmp_path / "a.db", tmp_path / "end"
    command = [sys.executable, "-c", SUSPENDED, str(database), str(end)]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert worker.stdout is not None and worker.stdout.readline() == "begun\n"
        storage: Any = open_storage(database, lease=0.5)
        study = optuna.load_study(study_name="s", storage=storage)
        _until(lambda: study.trials[0].system_attrs["calibo:lease:1"]["mark"] != 0)  # it was renewed
        with _suspended(worker, database):
            _until(lambda: storage.look_after(study._study_id))
            study.tell(study.ask(), 1.0)
            end.touch()
        assert worker.communicate(timeout=60)[0] == "late\n" and worker.returncode == 0
    finally:
        worker.kill()
    assert [one.value for one in study.trials] == [1.0]
