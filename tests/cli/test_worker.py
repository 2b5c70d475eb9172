"""Workers on the command line, and a total that they share."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from calibo.cli.app import FAILED, app
from calibo.study import load_result

OBJECTIVE = """
import os, signal, time
def ended(params):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(5)
def objective(params):
    time.sleep(0.02)
    return params["x"] ** 2
def slow(params):
    time.sleep(20 * (params["x"] > 0.5))
    return params["x"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "worked.py").write_text(OBJECTIVE)
    (tmp_path / "space.toml").write_text('[x]\ntype = "float"\nlow = 0.0\nhigh = 1.0\n')
    return tmp_path


def calibo(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def run(*words: str) -> Result:
    fixed = ("worked.py", "--space", "space.toml", "--no-progress", "--seed", "1", "--method", "gp_ei", "--study", "s")
    return calibo("run", *fixed, *words)


@pytest.mark.whole
def test_a_total_is_shared_and_a_worker_joins(folder: Path) -> None:
    assert run("--trials", "3").exit_code == 0
    again = run("--trials", "3")
    assert again.exit_code == 0 and "3 trials (3 complete)" in again.stdout  # it has them already
    assert "5 trials (5 complete)" in run("--trials", "5").stdout
    joined = calibo("worker", "calibo.db", "s", "worked.py", "--trials", "7")
    assert joined.exit_code == 0, joined.output
    assert "Study 's': 7 trials (7 complete) of 7." in joined.stdout
    # Without a number it works for the one the study was begun with last.
    assert "of 7." in calibo("worker", "calibo.db", "s", "worked.py").stdout
    assert "8 trials (8 complete)" in run("--more", "1").stdout


def test_processes_stop_together(folder: Path) -> None:
    done = run("--trials", "9", "--workers", "3")
    assert done.exit_code == 0, done.output
    trials = load_result("calibo.db").trials
    assert [one.number for one in trials] == list(range(9)) and {one.state for one in trials} == {"complete"}


def test_an_evaluation_that_takes_too_long_is_ended(folder: Path) -> None:
    words = ["worked.py:slow", "--space", "space.toml", "--no-progress", "--seed", "1", "--method", "gp_ei"]
    done = calibo("run", *words, "--trials", "4", "--trial-timeout", "0.7")
    assert done.exit_code == 0, done.output
    reasons = {one.error for one in load_result("calibo.db").failures}
    assert reasons == {"TrialTimedOut: it took longer than trial_timeout=0.7 s and was ended"}


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_cluster_that_ends_a_job(folder: Path) -> None:
    words = [
        "worked.py:ended",
        "--space",
        "space.toml",
        "--no-progress",
        "--seed",
        "1",
        "--study",
        "s",
        "--trials",
        "4",
    ]
    stopped = calibo("run", *words[:-3], "j", "--trials", "4", "--json")
    assert stopped.exit_code == 128 + signal.SIGTERM
    interrupted = json.loads(stopped.stdout)["interrupted"]
    assert interrupted["signal"] == signal.SIGTERM and interrupted["resume"].startswith("calibo run worked.py:ended")
    ended = calibo("run", *words)
    assert ended.exit_code == 128 + signal.SIGTERM
    assert "Stopped. All 0 completed trials are stored. To go on:" in ended.stdout and "--trials 4" in ended.stdout
    assert [one.state for one in load_result("calibo.db", "s").trials] == ["interrupted"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("calibo.db", "s"), "give either FILE.py:FUNCTION or --command"),
        (("nowhere.db", "s", "worked.py"), "there is no such file"),
        (("calibo.db", "other", "worked.py"), "there is no study 'other'"),
    ],
)
def test_what_is_wrong(folder: Path, words: tuple[str, ...], said: str) -> None:
    assert run("--trials", "1").exit_code == 0
    failed = calibo("worker", *words)
    assert failed.exit_code == FAILED and said in failed.stderr
