"""What the doctor finds and repairs, and copies that are the same."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import optuna
import pytest
from typer.testing import CliRunner, Result

from calibo import CalibratedSampler, Float
from calibo.cli.app import FAILED, app
from calibo.study import load_result, minimize, open_storage
from calibo.study.copying import study_hash
from calibo.study.doctor import examine
from calibo.study.opening import load_study

SPACE = {"x": Float(0, 1)}


def calibo(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def _begun(file: Path, n: int = 4) -> None:
    minimize(lambda p: p["x"], SPACE, n, "gp_ei", file, "s", seed=1, progress=False)


@pytest.mark.skipif(os.name != "posix", reason="forks a worker")
def test_what_is_stuck_is_found_and_repaired(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    _begun(file)
    assert calibo("doctor", str(file)).stdout == "Nothing is wrong.\n"
    pid = os.fork()
    if pid == 0:
        sampler = CalibratedSampler("gp_ei", seed=1, space=SPACE)
        optuna.load_study(study_name="s", storage=open_storage(file), sampler=sampler).ask().suggest_float("x", 0, 1)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    found = calibo("doctor", str(file))
    assert found.exit_code == 1 and "s: trial 4 is running, and process" in found.stdout
    assert "is gone (repairable)" in found.stdout and "calibo doctor --repair repairs" in found.stdout
    assert load_result(file).trials[4].state == "running"  # nothing was changed
    assert calibo("doctor", str(file), "--repair").exit_code == 0
    assert load_result(file).trials[4].state == "waiting"
    assert calibo("doctor", str(file)).stdout == "Nothing is wrong.\n"


def test_forecasts_and_files(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    _begun(file)
    storage: Any = open_storage(file)
    study = load_study(storage, "s")
    with storage.backend.storage.engine.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE trial_system_attributes SET value_json = '3' WHERE key = 'calibo:suggestion' AND trial_id = 2"
        )
    study.add_trial(
        optuna.trial.create_trial(value=1.0, params={"x": 0.5}, distributions=study.trials[0].distributions)
    )
    storage.spool.folders[0].mkdir()
    (storage.spool.folders[0] / f"1-1-1-1{'.result.json'}").write_text("{")
    said = [finding.text for finding in examine(file)]
    assert any("the forecasts of trials 1 are damaged" in one for one in said)
    assert any("trials 4 have no forecast" in one for one in said)
    assert any("cannot be read as the outcome of a trial" in one for one in said)


def test_copies_are_the_same(tmp_path: Path) -> None:
    _begun(tmp_path / "a.db")
    done = calibo("copy", str(tmp_path / "a.db"), f"sqlite:///{tmp_path / 'b.db'}")
    assert done.exit_code == 0, done.output
    first, second = (load_study(open_storage(tmp_path / name), "s") for name in ("a.db", "b.db"))
    assert study_hash(first) == study_hash(second) and study_hash(first)[:16] in done.stdout
    assert [one.forecast for one in load_result(tmp_path / "b.db").trials] == [
        one.forecast for one in load_result(tmp_path / "a.db").trials
    ]
    again = calibo("copy", str(tmp_path / "a.db"), str(tmp_path / "b.db"))
    assert again.exit_code == FAILED and "there is a study 's' in the storage to copy to" in again.stderr
    # A copy goes on as the study would.
    _begun(tmp_path / "a.db", 1)
    _begun(tmp_path / "b.db", 1)
    assert load_result(tmp_path / "a.db").trials[4].params == load_result(tmp_path / "b.db").trials[4].params
