"""The loop of a run: whatever ends an evaluation, the trial is settled."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import optuna
import pytest

from calibo import Float
from calibo.errors import ObjectiveError, TrialFailedWarning
from calibo.study import Interrupted, load_result, minimize, open_storage
from calibo.trials import State

SPACE = {"x": Float(0, 1)}


class _Own(BaseException):
    pass


def _third(what: Any) -> Any:
    """Return an objective that does something else the third time."""
    calls: list[int] = []

    def objective(params: dict[str, Any]) -> float:
        calls.append(1)
        if len(calls) == 3:
            what()
        return params["x"]

    return objective


def _raise(error: BaseException) -> Any:
    def raise_() -> None:
        raise error

    return raise_


@pytest.mark.parametrize("error", [asyncio.CancelledError(), GeneratorExit(), _Own("mine")])
def test_what_is_no_exception_ends_the_run_and_settles_its_trial(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(type(error)):
        minimize(_third(_raise(error)), SPACE, 5, "gp_ei", tmp_path / "a.db", "s", seed=1, progress=False)
    trials = load_result(tmp_path / "a.db").trials
    assert [one.state for one in trials] == [State.COMPLETE, State.COMPLETE, State.INTERRUPTED]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_signals_end_the_run_in_good_order(tmp_path: Path, name: str) -> None:
    number = getattr(signal, name)

    def hit() -> None:
        os.kill(os.getpid(), number)
        time.sleep(5)

    before = signal.getsignal(number)
    with pytest.raises(Interrupted) as caught:
        minimize(_third(hit), SPACE, 5, "gp_ei", tmp_path / "a.db", "s", seed=1, progress=False)
    assert caught.value.signal == number and signal.getsignal(number) is before
    assert [one.state for one in caught.value.result.trials][2:] == [State.INTERRUPTED]


@pytest.mark.parametrize("error", [KeyboardInterrupt, optuna.exceptions.StorageInternalError])
def test_an_interruption_while_an_outcome_is_stored(tmp_path: Path, error: type[BaseException]) -> None:
    storage: Any = open_storage(tmp_path / "a.db")
    real, finished, measured = storage.backend.write, [0], list[float]()

    def write(trial_id: int, writes: Any, state: Any = None, values: Any = None, **more: Any) -> None:
        finished[0] += state is not None
        if state is not None and finished[0] == 3:
            finished[0] += 1
            raise error("once")
        real(trial_id, writes, state, values, **more)

    def objective(params: dict[str, Any]) -> float:
        measured.append(params["x"])
        return params["x"]

    storage.backend.write = write
    try:
        minimize(objective, SPACE, 5, "gp_ei", storage, "s", seed=1, progress=False)
        assert error is not KeyboardInterrupt
    except Interrupted:
        assert error is KeyboardInterrupt
    stored = load_result(tmp_path / "a.db").trials
    assert [one.value for one in stored] == measured and len(measured) == (3 if error is KeyboardInterrupt else 5)


def test_the_first_five_failures_are_counted_over_all_workers(tmp_path: Path) -> None:
    calls: list[int] = []

    def fails(params: dict[str, float]) -> float:
        calls.append(1)
        raise ValueError("broken")

    def worker(n_trials: int) -> None:
        with pytest.raises(ObjectiveError, match="succeeded"), pytest.warns(TrialFailedWarning):
            minimize(fails, SPACE, n_trials, "gp_ei", tmp_path / "a.db", "s", seed=1, progress=False)

    worker(3)
    worker(9)
    assert len(calls) == 5  # the second one ends with the fifth
    worker(9)
    assert len(calls) == 6  # one that comes later with the first of its own
