"""The process that renews leases while an objective holds Python's lock, but not those of a suspended worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import optuna
import pytest

from calibo.study import open_storage

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
from calibo import Float
from calibo.study import minimize, open_storage
def objective(params):
    print("begun", flush=True)
    time.sleep(1)
    return 0.25
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    minimize(objective, {"x": Float(0, 1)}, 1, "gp_ei", open_storage(sys.argv[1], lease=0.5), "s", seed=1, progress=False)
print("late" if any("another worker has finished it" in str(one.message) for one in caught) else "in time")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="suspends a process")
def test_a_suspended_worker_is_not_kept_alive_by_its_watcher(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SUSPENDED, str(tmp_path / "a.db")]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None and worker.stdout.readline() == "begun\n"
    time.sleep(0.3)
    os.kill(worker.pid, signal.SIGSTOP)
    try:
        storage: Any = open_storage(tmp_path / "a.db", lease=0.5)
        study = optuna.load_study(study_name="s", storage=storage)
        end = time.monotonic() + 30
        while not storage.look_after(study._study_id) and time.monotonic() < end:
            time.sleep(0.1)
        study.tell(study.ask(), 1.0)
    finally:
        os.kill(worker.pid, signal.SIGCONT)
    assert worker.communicate(timeout=60)[0] == "late\n" and worker.returncode == 0
    assert [one.value for one in study.trials] == [1.0]
