"""kill -9 over and over: are results lost, trials stuck, run twice at once or counted as failures?

usage: python -m stress.kills [--kills 100] [--workers 8] [--lease 4] [--store sqlite,postgresql] [--form minimize,sampler]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import optuna

import calibo
from calibo.study import minimize, open_storage
from calibo.study.leased import LeasedStorage
from stress import postgres
from stress.results import record
from stress.witness import SPACE, Witness, acknowledged, errors_of, evaluated, lines, verdict

METHOD = "gp_ei"


def shared(url: str, lease: float, by_clock: bool) -> LeasedStorage:
    """Open a storage; ``by_clock`` waits for leases even of processes that are known to have ended."""
    opened = open_storage(url, lease=lease)
    assert isinstance(opened, LeasedStorage)
    return LeasedStorage(opened.backend, lease=lease, spool=opened.spool, by_clock_only=by_clock)


def work(
    url: str, form: str, folder: Path, worker: int, seed: int, lease: float, seconds: float, by_clock: bool
) -> None:
    """Work until killed, told to end, or time is up."""
    rng, witness = random.Random(seed), Witness(folder, worker)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        storage = shared(url, lease, by_clock)
        told = acknowledged(witness, folder / "end")
        if form == "minimize":
            minimize(
                lambda params: evaluated(witness, params, rng.uniform(0.02, 0.3)),
                SPACE,
                n_trials=10**6,
                method=METHOD,
                storage=storage,
                study_name="s",
                progress=False,
                callbacks=[told],
                timeout=seconds,
            )
        else:
            study = optuna.create_study(
                sampler=calibo.CalibratedSampler(METHOD), storage=storage, study_name="s", load_if_exists=True
            )

            def objective(trial: optuna.Trial) -> float:
                params = {"x": trial.suggest_float("x", 0, 1), "y": trial.suggest_float("y", -5, 5)}
                return evaluated(witness, params, rng.uniform(0.02, 0.3))

            study.optimize(objective, n_trials=10**6, callbacks=[told], timeout=seconds)
    except KeyboardInterrupt:
        pass
    except BaseException as error:
        witness.say("error", what=f"{type(error).__name__}: {str(error)[:120]}")


def start(*args: Any) -> int:
    """Start a worker and return its process id."""
    pid = os.fork()
    if pid == 0:
        code = 9
        try:
            warnings.simplefilter("ignore")
            work(*args)
            code = 0
        finally:
            # A worker that ends in good order hands its trial back, as it does at the exit of Python.
            from calibo.study.keeper import keeper

            keeper().park()
            os._exit(code)
    return pid


def run(
    url: str,
    form: str,
    *,
    kills: int,
    workers: int,
    lease: float,
    limit: float,
    by_clock: bool = True,
    seed: int = 7,
    grace: float = 10.0,
) -> dict[str, Any]:
    """Kill workers at random moments and replace them; then let the others work for the lease and some seconds, and look.

    Args:
        url: A storage that does not exist yet.
        form: "minimize" or "sampler".
        kills: How many are killed.
        workers: How many work at once.
        lease: Seconds of their leases.
        limit: Seconds after which no more are killed.
        by_clock: Whether leases are waited for.
        seed: Seed of the moments.
        grace: Seconds after the lease that the others work before it is looked for trials that are stuck.
    """
    rng, begun = random.Random(seed), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="calibo-stress-") as name:
        folder = Path(name)
        ended: dict[int, float] = {}
        seconds = limit + lease + 40
        pids = {w: start(url, form, folder, w, w, lease, seconds, by_clock) for w in range(workers)}
        killed, generation = 0, workers
        while killed < kills and time.monotonic() - begun < limit:
            time.sleep(rng.uniform(0.05, 0.25))
            worker = rng.randrange(workers)
            file, pid = folder / f"{worker}.log", pids[worker]
            # Only workers that have got as far as a trial: those that are killed earlier test nothing.
            if not file.exists() or f'"event": "start", "pid": {pid},' not in file.read_text():
                continue
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            ended[pid], killed = time.monotonic(), killed + 1
            pids[worker] = start(url, form, folder, worker, generation, lease, seconds, by_clock)
            generation += 1
        time.sleep(lease + grace)
        (folder / "end").touch()
        end(pids.values(), ended, patience=60.0)
        study = optuna.load_study(storage=open_storage(url), study_name="s")
        said = lines(folder)
        found = verdict(study, said, ended)
    return {"kills": killed, **found, "messages": errors_of(said), "seconds": round(time.monotonic() - begun)}


def end(pids: Any, ended: dict[int, float], patience: float = 30.0) -> None:
    """Wait for processes to end; kill those that do not."""
    left, last = set(pids), time.monotonic() + patience
    while left:
        for pid in list(left):
            if os.waitpid(pid, os.WNOHANG)[0]:
                ended[pid] = time.monotonic()
                left.discard(pid)
            elif time.monotonic() > last:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def main() -> None:
    """Run all combinations and store the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--lease", type=float, default=4.0)
    parser.add_argument("--limit", type=float, default=240.0)
    parser.add_argument("--store", default="sqlite,postgresql")
    parser.add_argument("--form", default="minimize,sampler")
    given = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for store in given.store.split(","):
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="calibo-stress-"))
            server = stack.enter_context(postgres.server()) if store == "postgresql" else None
            for form in given.form.split(","):
                url = f"sqlite:///{folder}/{form}.db" if server is None else server.database(form)
                found = run(url, form, kills=given.kills, workers=given.workers, lease=given.lease, limit=given.limit)
                record("kills", {"store": store, "form": form, "workers": given.workers, "lease": given.lease, **found})


if __name__ == "__main__":
    main()
