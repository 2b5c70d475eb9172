"""Workers that a call starts itself: processes that share a storage, or threads."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import pickle
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial

from calibo.errors import CaliboWarning, StudyError, warn
from calibo.study.opening import quiet_optuna, storage_errors
from calibo.study.optuna_private import request_stop
from calibo.study.processes import reason_of, sendable, started
from calibo.study.running import Callback, Run
from calibo.study.signals import ending_signals, uninterrupted

#: Seconds between two looks at the workers.
_LOOK = 0.2

#: Seconds that a worker which is told to end has for its trial.
_FAREWELL = 30.0

#: What to do if workers cannot be given what they are to run.
_REMEDY = 'define the objective and the callbacks at the top of a module, or ask for parallel="threads"'


@contextlib.contextmanager
def temporary_store() -> Iterator[Path]:
    """Yield the path of a SQLite file for processes that have no storage to share."""
    with tempfile.TemporaryDirectory(prefix="calibo-") as folder:
        yield Path(folder) / "study.db"


def run_threads(run: Run, study: optuna.Study, callbacks: Sequence[Callback], n: int) -> KeyboardInterrupt | None:
    """Run trials in ``n`` threads; return what stopped them, as ``Run.work`` does."""
    one_at_a_time = threading.Lock()

    def locked(callback: Callback) -> Callback:
        def call(study: optuna.Study, trial: FrozenTrial) -> None:
            with one_at_a_time:
                callback(study, trial)

        return call

    safe = [locked(callback) for callback in callbacks]
    stopped: KeyboardInterrupt | None = None
    with ThreadPoolExecutor(n) as executor:
        futures = [executor.submit(run.work, study, safe) for _ in range(n)]
        try:
            with ending_signals():
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        except KeyboardInterrupt as stop:
            # Only the main thread is interrupted: the others finish the trials they have.
            stopped, done = stop, set()
        if stopped is not None or any(one.exception() is not None for one in done):
            request_stop(study)
    answers = [one.result() for one in futures]
    return stopped or next((one for one in answers if one is not None), None)


def run_processes(
    run: Run, study: optuna.Study, callbacks: Sequence[Callback], show: Callback, n: int
) -> KeyboardInterrupt | None:
    """Run trials in ``n`` processes; return what stopped them, as ``Run.work`` does.

    One that is killed is not replaced: the others run its trial again.

    Args:
        run: The run; its budget is shared by all.
        study: The study, in a storage that processes can share.
        callbacks: Called after each trial in the process that ran it.
        show: Called in this process whenever trials have been finished.
        n: Number of processes.
    """
    run.elsewhere = True
    workers: dict[Any, Any] = {}
    try:
        with ending_signals():
            # A signal while they are being started must not be lost in a hook of the interpreter.
            with uninterrupted():
                for _ in range(n):
                    pipe, worker = started(_work, run, study, callbacks, remedy=_REMEDY)
                    workers[pipe] = worker
            errors, stopped = _wait(workers, study, show)
    except KeyboardInterrupt as stop:
        errors, stopped = [], stop
    finally:
        _end(workers.values())
    if errors:
        raise errors[0]
    return stopped


def _wait(
    workers: dict[Any, Any], study: optuna.Study, show: Callback
) -> tuple[list[BaseException], KeyboardInterrupt | None]:
    """Wait for all workers, or for the first error."""
    open_pipes, finished = set(workers), 0
    stopped: KeyboardInterrupt | None = None
    while open_pipes:
        for pipe in multiprocessing.connection.wait(list(open_pipes), timeout=_LOOK):
            open_pipes.discard(pipe)
            try:
                answer = pickle.loads(pipe.recv_bytes())  # pyright: ignore[reportAttributeAccessIssue]
            except EOFError:
                workers[pipe].join()
                warn(
                    f"a worker process ended unexpectedly (exit status {workers[pipe].exitcode}); the others run its trial "
                    "again",
                    CaliboWarning,
                )
                continue
            if isinstance(answer, KeyboardInterrupt):
                stopped = answer
            elif answer is not None:
                return [answer], stopped
        done = [one for one in study.get_trials(deepcopy=False) if one.state.is_finished()]
        if len(done) > finished:
            finished = len(done)
            show(study, done[-1])
    return [], stopped


def _end(workers: Any) -> None:
    for worker in workers:
        if worker.is_alive():
            worker.terminate()
    end = time.monotonic() + _FAREWELL
    for worker in workers:
        worker.join(max(0.1, end - time.monotonic()))
        if worker.is_alive():
            worker.kill()
            worker.join()


def _work(run: Run, study: optuna.Study, callbacks: Sequence[Callback], answers: Any) -> None:
    """Run trials and send how that ended (in a worker process)."""
    # A terminal sends Ctrl-C to all processes: the parent's request to end is the one that counts. Not ignored, since the
    # commands of an objective would inherit that.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    answer: BaseException | None
    try:
        with storage_errors(), quiet_optuna():
            answer = run.work(study, callbacks)
    except BaseException as error:
        answer = error
    answers.send_bytes(sendable(answer, lambda: _unsendable(answer)))
    answers.close()


def _unsendable(answer: BaseException | None) -> StudyError:
    """Return what is sent instead of an exception that cannot be."""
    return StudyError("a worker process ended" + ("" if answer is None else f" with {reason_of(answer)}"))
