"""A total that many workers share."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from calibo import Float
from calibo.study import load_result, minimize, open_storage
from calibo.study.backends import BudgetReached
from calibo.study.leased import LeasedStorage

SPACE = {"x": Float(0, 1)}
posix = pytest.mark.skipif(os.name != "posix", reason="forks workers")


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
