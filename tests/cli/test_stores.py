"""What the doctor repairs, and copies, from the command line."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import optuna
import pytest
from typer.testing import CliRunner, Result

from calibo import CalibratedSampler, Float
from calibo.cli.app import FAILED, app
from calibo.study import load_result, minimize, open_storage
from calibo.study.copying import study_hash
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


def test_copies(tmp_path: Path) -> None:
    _begun(tmp_path / "a.db")
    done = calibo("copy", str(tmp_path / "a.db"), f"sqlite:///{tmp_path / 'b.db'}")
    assert done.exit_code == 0, done.output
    assert study_hash(load_study(open_storage(tmp_path / "b.db"), "s"))[:16] in done.stdout
    again = calibo("copy", str(tmp_path / "a.db"), str(tmp_path / "b.db"))
    assert again.exit_code == FAILED and "there is a study 's' in the storage to copy to" in again.stderr
