"""Objectives with a time limit: evaluated in a process of their own, which is ended when time is up."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from calibo.checks import shown
from calibo.data import Params
from calibo.errors import ObjectiveError
from calibo.study.processes import reason_of, sendable, started

#: Seconds that an evaluation may take to end by itself once it is told to.
PATIENCE = 5.0


#: Seconds in which a process that has answered ends by itself.
_FAREWELL = 0.5


class TrialTimedOut(ObjectiveError):
    """An evaluation took longer than a trial may; it counts as a failure."""


class RunTimedOut(BaseException):
    """The time of the whole run is over; the trial it interrupts says nothing about its parameters."""


@dataclass
class Isolated:
    """An objective that is evaluated in a process of its own.

    A process that dies (a segmentation fault, ``os._exit``, too little memory) is a failed evaluation, and the run goes on.

    Attributes:
        objective: The objective.
        trial_timeout: Seconds that an evaluation may take; ``None`` for any.
        deadline: Monotonic time at which the run ends, in the middle of an evaluation too; ``None`` for none.
    """

    objective: Callable[[Params], Any]
    trial_timeout: float | None = None
    deadline: float | None = None

    def __call__(self, params: Params) -> Any:
        """Evaluate the objective.

        Raises:
            TrialTimedOut: If it takes too long.
            RunTimedOut: If the run's time is over first.
            ObjectiveError: If its process ends without an answer.
            Exception: What the objective raised.
        """
        begun = time.monotonic()
        of_trial = None if self.trial_timeout is None else begun + self.trial_timeout
        ends = [end for end in (of_trial, self.deadline) if end is not None]
        remedy = "define an objective with a time limit at the top of a module"
        answers, process = started(_evaluate, self.objective, params, os.getpid(), remedy=remedy)
        try:
            if not answers.poll(max(0.0, min(ends) - begun) if ends else None):
                if self.deadline is not None and time.monotonic() >= self.deadline:
                    raise RunTimedOut("the time of the run is over")
                raise TrialTimedOut(f"it took longer than trial_timeout={self.trial_timeout:g} s and was ended")
            try:
                kind, answer = pickle.loads(answers.recv_bytes())
            except EOFError:
                process.join(PATIENCE)
                raise ObjectiveError(f"the process of the objective {_ended(process.exitcode)}") from None
            process.join(_FAREWELL)
        finally:
            _end(process)
            answers.close()
        if kind == "raised":
            raise answer
        return answer


def _evaluate(objective: Callable[[Params], Any], params: Params, parent: int, answers: Any) -> None:
    """Evaluate an objective and send the answer (in the process of its own)."""
    # A group of its own, so that it is ended with all that it has started.
    if hasattr(os, "setpgrp"):
        os.setpgrp()
    for name in ("SIGTERM", "SIGHUP", "SIGINT"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    _end_with(parent)
    try:
        answer: tuple[str, Any] = ("returned", objective(params))
    except SystemExit as stop:
        answer = ("raised", ObjectiveError(f"the objective called sys.exit({shown(stop.code)})"))
    except BaseException as error:
        answer = ("raised", error)
    answers.send_bytes(sendable(answer, lambda: _unsendable(*answer)))
    answers.close()


def _unsendable(kind: str, what: Any) -> tuple[str, ObjectiveError]:
    """Return what is sent instead of an answer that cannot be."""
    if kind == "raised":
        return "raised", ObjectiveError(reason_of(what))
    return "raised", ObjectiveError(
        f"the objective returned a {type(what).__name__}, which cannot be sent between processes"
    )


def _end_with(parent: int) -> None:
    """End this process when its parent does."""
    if sys.platform.startswith("linux"):
        # PR_SET_PDEATHSIG: also while the objective holds Python's lock.
        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _end(process: Any) -> None:
    """End a process and all that it has started: politely first."""
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if process.is_alive():
            _signal_group(process.pid, number)
            process.join(PATIENCE)
    if process.pid is not None:
        # What it started may have outlived it.
        _signal_group(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    process.join(PATIENCE)
    process.close()


def _signal_group(pid: int, number: int) -> None:
    # It may not have got to making a group of its own.
    for send in (os.killpg, os.kill) if hasattr(os, "killpg") else (os.kill,):
        try:
            send(pid, number)
            return
        except (ProcessLookupError, PermissionError):
            continue


def _ended(code: int | None) -> str:
    if code is None or code >= 0:
        return f"ended with exit status {code} before it returned anything"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
