"""Workers that a call starts, a total that many share, and what they withstand (short versions of stress/)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from calibo import Float
from calibo.errors import ObjectiveError, RecipeError
from calibo.study import load_result, minimize, open_storage
from calibo.study.backends import BudgetReached
from calibo.study.leased import LeasedStorage
from stress import kills, starts

SPACE = {"x": Float(0, 1)}
posix = pytest.mark.skipif(os.name != "posix", reason="forks workers")


@posix
def test_processes_without_a_storage() -> None:
    result = minimize(lambda p: p["x"], SPACE, 6, "gp_ei", seed=1, progress=False, n_jobs=2)
    assert len(result.trials) == 6 and {one.state for one in result.trials} == {"complete"}
    # Its file is gone, and the study goes on in memory.
    result.study.tell(result.study.ask(), 1.0)
    with (
        warnings.catch_warnings(),
        pytest.raises(ObjectiveError, match=r"none of \d+ trials succeeded; the last failed with ZeroDivisionError"),
    ):
        warnings.simplefilter("ignore")
        minimize(lambda p: 1 / 0, SPACE, 20, "gp_ei", seed=1, progress=False, n_jobs=2)
    with pytest.raises(RecipeError, match='parallel is "processes" or "threads"'):
        minimize(lambda p: 1.0, SPACE, parallel="fibres")


def test_threads() -> None:
    seen: list[int] = []
    settings: dict[str, Any] = {"n_jobs": 3, "parallel": "threads", "callbacks": [lambda s, t: seen.append(t.number)]}
    result = minimize(lambda p: p["x"], SPACE, 7, "gp_ei", seed=1, progress=False, **settings)
    assert sorted(seen) == list(range(7)) and len(result.trials) == 7
    with pytest.raises(GeneratorExit):
        minimize(lambda p: (_ for _ in ()).throw(GeneratorExit()), SPACE, 5, "gp_ei", progress=False, **settings)


@pytest.mark.parametrize("kind", ["sqlite", "journal"])
def test_no_more_trials_than_the_total(tmp_path: Path, kind: str) -> None:
    """Even if several workers see that one is left."""
    where: Any = tmp_path / "a.db"
    if kind == "journal":
        where = JournalStorage(JournalFileBackend(str(tmp_path / "log")))
    storage = open_storage(where)
    assert isinstance(storage, LeasedStorage)
    study = optuna.create_study(storage=storage, study_name="s")
    storage.limits[study._study_id] = 2
    trials = [study.ask(), study.ask()]
    with pytest.raises(BudgetReached):
        study.ask()
    study.tell(trials[0], state=optuna.trial.TrialState.FAIL)
    with pytest.raises(BudgetReached):
        study.ask()  # a failure counts
    trials[1].set_user_attr("interrupted", True)
    study.tell(trials[1], state=optuna.trial.TrialState.FAIL)
    assert study.ask().number == 2  # an interrupted one does not


@posix
def test_the_last_trial_of_a_worker_that_was_killed_is_run_again(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    settings: dict[str, Any] = {"storage": file, "study_name": "s", "seed": 1, "progress": False, "total": 3}
    pid = os.fork()
    if pid == 0:
        calls: list[int] = []

        def objective(params: dict[str, float]) -> float:
            calls.append(1)
            if len(calls) == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            return params["x"]

        minimize(objective, SPACE, method="gp_ei", **settings)
        os._exit(0)
    os.waitpid(pid, 0)
    assert [one.state for one in load_result(file).trials] == ["complete", "complete", "running"]
    result = minimize(lambda p: p["x"], SPACE, method="gp_ei", **settings)
    assert [one.state for one in result.trials] == ["complete"] * 3


@posix
def test_kills(tmp_path: Path) -> None:
    found = kills.run(
        f"sqlite:///{tmp_path / 'a.db'}", "sampler", kills=2, workers=2, lease=1.0, limit=60.0, by_clock=True, grace=4.0
    )
    assert found["kills"] == 2, found
    bad = ("lost", "stuck", "wrong_pairs", "failures", "twice_at_once", "numbers_twice", "errors")
    assert {name: found[name] for name in bad} == dict.fromkeys(bad, 0), found


@posix
def test_starting_together_on_a_new_file(tmp_path: Path) -> None:
    found = starts.run(iter([f"sqlite:///{tmp_path / 'a.db'}"]), 1, 4, 60.0)
    assert (found["starts"], found["failed"], found["rounds_with_several_seeds"], found["numbers_twice"]) == (
        4,
        0,
        0,
        0,
    )


@posix
def test_starting_together_on_a_new_database(postgresql: Any) -> None:
    found = starts.run(iter([postgresql.database(f"together{os.getpid()}")]), 1, 4, 60.0)
    assert (found["starts"], found["failed"], found["rounds_with_several_seeds"], found["numbers_twice"]) == (
        4,
        0,
        0,
        0,
    ), found


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
