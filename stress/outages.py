"""Storages that go away, are locked, full or read-only, and workers that are suspended or have wrong clocks.

usage: python -m stress.outages [--what crashes,suspended,locked,full,readonly,clocks] [--crashes 10]
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna

from calibo.errors import CaliboError
from calibo.study import minimize, open_storage
from stress import postgres
from stress.kills import end
from stress.results import record
from stress.witness import SPACE, Witness, acknowledged, errors_of, evaluated, lines, verdict

METHOD = "gp_ei"


def work(url: str, folder: Path, worker: int, seconds: float, *, lease: float, patience: float, pause: float) -> None:
    """Work until told to end; an error of calibo's own is noted, and the worker begins again."""
    rng, witness, last = random.Random(worker), Witness(folder, worker), time.monotonic() + seconds
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    while time.monotonic() < last and not (folder / "end").exists():
        try:
            minimize(
                lambda params: evaluated(witness, params, rng.uniform(0.5, 1.5) * pause),
                SPACE,
                n_trials=10**6,
                method=METHOD,
                storage=open_storage(url, lease=lease, patience=patience),
                study_name="s",
                progress=False,
                callbacks=[acknowledged(witness, folder / "end")],
                timeout=max(0.1, last - time.monotonic()),
            )
        except CaliboError as error:
            witness.say("named", what=f"{type(error).__name__}: {str(error)[:160]}")
            time.sleep(1.0)
        except BaseException as error:
            witness.say("error", what=f"{type(error).__name__}: {str(error)[:160]}")
            time.sleep(1.0)


def start(setup: Callable[[], None], *args: Any, **settings: Any) -> int:
    """Start a worker after some preparation of its process, and return its id."""
    pid = os.fork()
    if pid == 0:
        code = 9
        try:
            setup()
            work(*args, **settings)
            code = 0
        finally:
            from calibo.study.keeper import keeper

            keeper().park()
            os._exit(code)
    return pid


def study_of(
    url: str,
    happening: Callable[[list[int]], None],
    *,
    workers: int = 3,
    lease: float = 20.0,
    patience: float = 120.0,
    pause: float = 0.2,
    limit: float = 120.0,
    setup: Callable[[int], Callable[[], None]] = lambda worker: lambda: None,
    prepare: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Let workers work while something happens to them or to their storage; then look at the study."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="calibo-stress-") as name:
        folder, ended = Path(name), dict[int, float]()
        # Workers may be those of another user.
        os.chmod(folder, 0o777)
        minimize(lambda p: 1.0, SPACE, 1, METHOD, open_storage(url), "first", progress=False)
        prepare()
        settings = {"lease": lease, "patience": patience, "pause": pause}
        pids = [start(setup(w), url, folder, w, limit, **settings) for w in range(workers)]
        try:
            happening(pids)
            time.sleep(3.0)
        finally:
            (folder / "end").touch()
            end(pids, ended, patience=60.0)
        # One more worker, to store what is kept in files.
        (folder / "end").unlink()
        minimize(
            lambda p: evaluated(Witness(folder, 99), p, 0.0), SPACE, 1, METHOD, open_storage(url), "s", progress=False
        )
        said = lines(folder)
        study = optuna.load_study(storage=open_storage(url), study_name="s")
        found = verdict(study, said, ended)
        measured = [line for line in said if line["event"] == "done"]
        stored = {tuple(t.params.values()) for t in study.get_trials(deepcopy=False) if t.state.name == "COMPLETE"}
        missing = sum(tuple(line["key"]) not in stored for line in measured)
    named = {line["what"] for line in said if line["event"] == "named"}
    return {
        **found,
        "measured": len(measured),
        "measured_not_stored": missing,
        "named_errors": sum(line["event"] == "named" for line in said),
        "names": sorted(named)[:3],
        "messages": errors_of(said),
        "seconds": round(time.monotonic() - begun),
    }


def crashes(times: int) -> dict[str, Any]:
    """Crash PostgreSQL over and over."""
    with postgres.server() as server:

        def crash(pids: list[int]) -> None:
            for _ in range(times):
                time.sleep(4.0)
                server.stop("immediate")
                time.sleep(1.0)
                server.start()
            time.sleep(5.0)

        return study_of(server.database("crashed"), crash, limit=40.0 + 30.0 * times)


def suspended() -> dict[str, Any]:
    """Suspend a worker for longer than its lease, and wake it."""

    def suspend(pids: list[int]) -> None:
        time.sleep(8.0)
        for pid in pids[:2]:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(8.0)
            os.kill(pid, signal.SIGCONT)
        time.sleep(4.0)

    with tempfile.TemporaryDirectory(prefix="calibo-stress-") as folder:
        return study_of(f"sqlite:///{folder}/s.db", suspend, lease=3.0, pause=0.4)


def locked() -> dict[str, Any]:
    """Hold SQLite's lock for 20 s."""
    with tempfile.TemporaryDirectory(prefix="calibo-stress-") as folder:

        def lock(pids: list[int]) -> None:
            time.sleep(5.0)
            connection = sqlite3.connect(f"{folder}/s.db", isolation_level=None, timeout=30.0)
            connection.execute("BEGIN IMMEDIATE")
            time.sleep(20.0)
            connection.execute("ROLLBACK")
            connection.close()
            time.sleep(5.0)

        return study_of(f"sqlite:///{folder}/s.db", lock, lease=30.0)


def full() -> dict[str, Any]:
    """Let the database file reach the largest size that its workers may write."""
    with tempfile.TemporaryDirectory(prefix="calibo-stress-") as folder:
        file = Path(folder) / "s.db"

        def limited(worker: int) -> Callable[[], None]:
            def setup() -> None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                most = file.stat().st_size + 12 * 1024
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

            return setup

        return study_of(
            f"sqlite:///{file}", lambda pids: time.sleep(15.0), workers=2, patience=2.0, setup=limited, pause=0.05
        )


def readonly() -> dict[str, Any]:
    """Let workers, of another user where this one is root, find a file that they may not write for a while."""
    folder = Path(tempfile.mkdtemp(prefix="calibo-stress-"))
    try:
        file = folder / "s.db"

        def unprivileged(worker: int) -> Callable[[], None]:
            def setup() -> None:
                if os.geteuid() == 0:
                    os.setgid(65534)
                    os.setuid(65534)

            return setup

        def close() -> None:
            os.chmod(folder, 0o777)
            os.chmod(file, 0o444)

        def open_again(pids: list[int]) -> None:
            time.sleep(8.0)
            os.chmod(file, 0o666)
            time.sleep(8.0)

        os.chmod(folder, 0o777)
        return study_of(f"sqlite:///{file}", open_again, workers=2, setup=unprivileged, prepare=close)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


CLOCK = """
import sys, warnings, optuna
from pathlib import Path
from stress.outages import work
warnings.simplefilter("ignore")
work(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), 40.0, lease=3.0, patience=60.0, pause=0.3)
"""


def clocks() -> dict[str, Any]:
    """Let workers have clocks 24 h apart and other time zones (libfaketime, where it is installed; else zones alone)."""
    given = os.environ.get("LIBFAKETIME")
    known = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    library = Path(given) if given else next(iter(known), None)
    with postgres.server() as server:
        url = server.database("clocks")
        with tempfile.TemporaryDirectory(prefix="calibo-stress-") as name:
            folder, began = Path(name), time.monotonic()
            settings = [("UTC", "+0"), ("Asia/Tokyo", "+24h"), ("America/Los_Angeles", "-24h")]
            processes: list[subprocess.Popen[bytes]] = []
            for worker, (zone, offset) in enumerate(settings):
                more = {"TZ": zone, "PGTZ": zone}
                if library is not None:
                    more |= {"LD_PRELOAD": str(library), "FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
                command = [sys.executable, "-c", CLOCK, url, str(folder), str(worker)]
                processes.append(subprocess.Popen(command, env=os.environ | more))
            while time.monotonic() - began < 60.0 and any(one.poll() is None for one in processes):
                time.sleep(0.5)
            (folder / "end").touch()
            for one in processes:
                one.wait(60)
            said = lines(folder)
            study = optuna.load_study(storage=open_storage(url), study_name="s")
            found = verdict(study, said, {})
        how = "clocks and zones" if library is not None else "zones only: libfaketime is not installed"
        return {**found, "how": how, "messages": errors_of(said), "seconds": round(time.monotonic() - began)}


def main() -> None:
    """Run what is asked for and store the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--what", default="suspended,locked,full,readonly,crashes,clocks")
    parser.add_argument("--crashes", type=int, default=10)
    given = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    tests: dict[str, Callable[[], dict[str, Any]]] = {
        "crashes": lambda: {"crashes": given.crashes, **crashes(given.crashes)},
        "suspended": suspended,
        "locked": locked,
        "full": full,
        "readonly": readonly,
        "clocks": clocks,
    }
    for what in given.what.split(","):
        record("outages", {"what": what, **tests[what]()})


if __name__ == "__main__":
    main()
