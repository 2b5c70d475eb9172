"""Renewal of the leases that this process holds: by a thread, and by a watcher process while the thread cannot run.

An objective in C may hold Python's lock for minutes, in which no thread of the process runs. The watcher (watcher.py) is a
small process that is told which leases are held. It renews them when the thread has not been heard of, as long as the
worker is there and not suspended; it ends when the worker does.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from optuna.trial import TrialState

from calibo.study.backends import Backend, Writes
from calibo.study.leases import PARKED, RENEWALS_PER_LEASE, Lease


@dataclass
class Held:
    """A trial that this process runs.

    Attributes:
        backend: Where it is stored.
        trial_id: Its identifier.
        lease: The lease, as it was renewed last.
        in_loop: Whether it was begun by a loop that also finishes it, and not by a lone ``ask``.
        flush: Called at every renewal, to write what has been held back.
    """

    backend: Backend
    trial_id: int
    lease: Lease
    in_loop: bool = False
    flush: Callable[[], object] | None = None


class Keeper:
    """All leases of this process."""

    def __init__(self) -> None:
        self._held: dict[tuple[int, int], Held] = {}
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._watcher = _Watcher()
        self._counter = itertools.count(1)
        # Held while leases are written, so that none is renewed after it was parked.
        self._writing = threading.Lock()

    def hold(self, held: Held) -> None:
        """Renew a lease from now on."""
        with self._lock:
            self._held[_key(held)] = held
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="calibo leases", daemon=True)
                self._thread.start()
            self._watcher.hold(held)
        self._wake.set()

    def drop(self, backend: Backend, trial_id: int) -> Held | None:
        """Renew a lease no more."""
        with self._lock:
            held = self._held.pop((id(backend), trial_id), None)
            if held is not None:
                self._watcher.drop(held)
            return held

    def get(self, backend: Backend, trial_id: int) -> Held | None:
        """Return a lease that is held, if it is."""
        return self._held.get((id(backend), trial_id))

    def held_in(self, backend: Backend) -> frozenset[int]:
        """Return the identifiers of the trials of a storage that this process runs."""
        with self._lock:
            return frozenset(trial_id for owner, trial_id in self._held if owner == id(backend))

    def _run(self) -> None:
        while True:
            with self._lock:
                interval = min((one.lease.seconds for one in self._held.values()), default=4e9) / RENEWALS_PER_LEASE
            # A lease that ends sooner than those known so far wakes the thread.
            woken = self._wake.wait(min(interval, threading.TIMEOUT_MAX))
            self._wake.clear()
            if not woken:
                self.renew()

    def renew(self) -> None:
        """Renew all leases now; a storage that cannot be reached is tried again the next time."""
        with self._lock:
            held = list(self._held.values())
            mark = next(self._counter)
            for one in held:
                one.lease = replace(one.lease, mark=mark)
            self._watcher.tick()
        with self._writing:
            for backend in {id(one.backend): one.backend for one in held}.values():
                mine = [one for one in held if one.backend is backend and _key(one) in self._held]
                try:
                    backend.renew({one.trial_id: one.lease for one in mine})
                    for one in mine:
                        if one.flush is not None:
                            one.flush()
                except Exception:
                    # Whatever is wrong with the storage, the worker itself will meet it when it writes.
                    continue

    def park(self) -> None:
        """Say of trials that were asked for and not told that their process has ended in good order (at exit).

        One that a loop was running is handed back, to be run again.
        """
        with self._lock:
            left, self._held = list(self._held.values()), {}
            self._watcher.close()
        with self._writing:
            for one in left:
                self._park(one)

    @staticmethod
    def _park(one: Held) -> None:
        try:
            if one.flush is not None:
                one.flush()
            if one.in_loop:
                waiting = replace(one.lease, attempt=one.lease.attempt + 1, owner="", mark=0)
                one.backend.take_over(one.backend.trial(one.trial_id), waiting, Writes(), TrialState.WAITING)
            else:
                one.backend.renew({one.trial_id: replace(one.lease, mark=PARKED)})
        except Exception:
            # The storage cannot be reached: the lease will end by itself.
            return


class _Watcher:
    """The watcher process and the pipe to it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._targets: dict[int, int] = {}

    def hold(self, held: Held) -> None:
        target = self._target(held.backend)
        if target is not None:
            lease = held.lease
            stored = {"owner": lease.owner, "seconds": lease.seconds}
            self._send({"hold": [target, held.trial_id, lease.key, stored]})

    def drop(self, held: Held) -> None:
        if id(held.backend) in self._targets:
            self._send({"drop": [self._targets[id(held.backend)], held.trial_id]})

    def tick(self) -> None:
        if self._process is not None:
            self._send({"tick": True})

    def close(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            try:
                self._process.stdin.close()
                self._process.wait(2.0)
            except (OSError, subprocess.TimeoutExpired):
                self._process.kill()
            self._process = None

    def _target(self, backend: Backend) -> int | None:
        if self._process is not None and self._process.poll() is not None:
            self._process, self._targets = None, {}
        if id(backend) not in self._targets:
            target = backend.watched()
            if target is None or not self._start():
                return None
            number = len(self._targets) + 1
            self._targets[id(backend)] = number
            # The number of a backend that is gone may be that of a new one.
            weakref.finalize(backend, self._targets.pop, id(backend), None)
            self._send({"target": number, **target})
        return self._targets[id(backend)]

    def _start(self) -> bool:
        if self._process is not None:
            return True
        script = Path(__file__).with_name("watcher.py")
        try:
            self._process = subprocess.Popen(
                # Without site-packages it starts in a few hundredths of a second; it is told where they are.
                [sys.executable, "-S", "-E", str(script)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            return False
        self._send({"parent": os.getpid(), "path": sys.path, "renewals": RENEWALS_PER_LEASE})
        return True

    def _send(self, message: dict[str, Any]) -> None:
        process = self._process
        if process is None or process.stdin is None:
            return
        try:
            process.stdin.write((json.dumps(message) + "\n").encode())
            process.stdin.flush()
        except (OSError, ValueError):
            # It is gone, or this process is about to end. It is started again with the next trial.
            self._process, self._targets = None, {}


def _key(held: Held) -> tuple[int, int]:
    return id(held.backend), held.trial_id


_keeper = Keeper()
#: Backends whose connections a forked process must not use.
_backends: weakref.WeakSet[Backend] = weakref.WeakSet()


def keeper() -> Keeper:
    """Return the keeper of this process's leases."""
    return _keeper


def remember(backend: Backend) -> None:
    """Let a backend begin anew in processes that are forked from this one."""
    _backends.add(backend)


def _after_fork() -> None:
    global _keeper
    _keeper = Keeper()
    for backend in list(_backends):
        backend.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(lambda: _keeper.park())
