"""Objectives in a process of their own: time limits, deaths, and what comes back."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from calibo import Float
from calibo.data import Outcome
from calibo.errors import ObjectiveError, RecipeError
from calibo.study import load_result, minimize
from calibo.study.isolation import Isolated, RunTimedOut, TrialTimedOut

SPACE = {"x": Float(0, 1)}


class Unsendable(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__("it cannot be sent")


def _unsendable(params: Any) -> float:
    raise Unsendable(1, 2)


def test_what_comes_back() -> None:
    assert Isolated(lambda p: Outcome(p["x"], {"c": 1.0}), 20.0)({"x": 2.0}) == Outcome(2.0, {"c": 1.0})
    with pytest.raises(ZeroDivisionError):
        Isolated(lambda p: 1 / p["x"], 20.0)({"x": 0})
    with pytest.raises(ObjectiveError, match="Unsendable: it cannot be sent"):
        Isolated(_unsendable, 20.0)({})
    with pytest.raises(ObjectiveError, match="returned a function, which cannot be sent"):
        Isolated(lambda p: lambda: 1, 20.0)({})
    with pytest.raises(ObjectiveError, match="ended with exit status 5 before it returned"):
        Isolated(lambda p: os._exit(5), 20.0)({})
    with pytest.raises(ObjectiveError, match="was ended by SIGKILL"):
        Isolated(lambda p: os.kill(os.getpid(), signal.SIGKILL), 20.0)({})


@pytest.mark.skipif(os.name != "posix", reason="looks for processes that were left behind")
def test_time_is_up_for_all_that_was_started(tmp_path: Path) -> None:
    def slow(params: Any) -> None:
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        (tmp_path / "child").write_text(str(child))
        time.sleep(60)

    begun = time.monotonic()
    with pytest.raises(TrialTimedOut, match="longer than trial_timeout=1 s and was ended"):
        Isolated(slow, 1.0)({})
    assert time.monotonic() - begun < 30
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        try:
            state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            break
        if state == "Z":
            break
        time.sleep(0.05)
    else:
        raise AssertionError("what the objective had started goes on")


def test_the_run_ends_in_the_middle_of_an_evaluation(tmp_path: Path) -> None:
    with pytest.raises(RunTimedOut):
        Isolated(lambda p: time.sleep(60), None, time.monotonic() + 0.2)({})
    begun = time.monotonic()
    settings: dict[str, Any] = {"storage": tmp_path / "a.db", "study_name": "s", "progress": False, "seed": 1}
    minimize(lambda p: time.sleep(60), SPACE, 5, "gp_ei", timeout=1.5, hard_timeout=True, **settings)
    assert time.monotonic() - begun < 30
    assert [one.state for one in load_result(tmp_path / "a.db").trials] == ["interrupted"]
    with pytest.raises(RecipeError, match="give timeout="):
        minimize(lambda p: 1.0, SPACE, hard_timeout=True)
    with pytest.raises(RecipeError, match="trial_timeout is a number of seconds"):
        minimize(lambda p: 1.0, SPACE, trial_timeout=-1)
