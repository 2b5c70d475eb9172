"""Eight workers that start at the same moment on a storage that does not exist yet, over and over.

usage: python -m stress.starts [--rounds 25] [--workers 8] [--store sqlite,postgresql]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import tempfile
import time
import warnings
from collections import Counter
from typing import Any

import optuna

from calibo import CalibratedSampler
from calibo.study import open_storage
from calibo.study.attributes import study_seed
from stress import postgres
from stress.results import record


def together(url: str, workers: int) -> list[dict[str, Any]]:
    """Let workers open a new storage, create the same study and ask for its seed; return what each says."""
    read, write = os.pipe()
    waiting, answered = os.pipe()
    begin = time.monotonic() + 0.3
    pids: list[int] = []
    for _ in range(workers):
        pid = os.fork()
        if pid == 0:
            os.close(read)
            os.close(answered)
            time.sleep(max(0.0, begin - time.monotonic()))
            try:
                warnings.simplefilter("ignore")
                sampler = CalibratedSampler("gp_ei")
                study = optuna.create_study(
                    storage=open_storage(url), study_name="s", load_if_exists=True, sampler=sampler
                )
                said: dict[str, Any] = {"seed": study_seed(study), "number": study.ask().number}
            except BaseException as error:
                said = {"error": f"{type(error).__name__}: {str(error)[:100]}"}
            os.write(write, (json.dumps(said) + "\n").encode())
            os.close(write)
            # Until all have answered: the trial of a worker that has ended would be given to the next one.
            os.read(waiting, 1)
            os._exit(0)
        pids.append(pid)
    os.close(write)
    with os.fdopen(read) as answers:
        lines = answers.read().splitlines()
    os.close(answered)
    os.close(waiting)
    for pid in pids:
        os.waitpid(pid, 0)
    return [json.loads(line) for line in lines]


def run(urls: Any, rounds: int, workers: int, limit: float) -> dict[str, Any]:
    """Start workers together on new storages."""
    begun, found, starts = time.monotonic(), Counter[str](), 0
    messages: Counter[str] = Counter()
    done = 0
    for _ in range(rounds):
        if time.monotonic() - begun > limit:
            break
        answers = together(next(urls), workers)
        done += 1
        starts += len(answers)
        errors = [one["error"] for one in answers if "error" in one]
        messages.update(errors)
        found["failed"] += len(errors) + workers - len(answers)
        found["rounds_with_several_seeds"] += len({one["seed"] for one in answers if "seed" in one}) > 1
        numbers = [one["number"] for one in answers if "number" in one]
        found["numbers_twice"] += len(numbers) - len(set(numbers))
    kept = {key: found[key] for key in ("failed", "rounds_with_several_seeds", "numbers_twice")}
    return {
        "rounds": done,
        "starts": starts,
        **kept,
        "messages": dict(messages),
        "seconds": round(time.monotonic() - begun),
    }


def main() -> None:
    """Run on each kind of storage and store the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--limit", type=float, default=240.0)
    parser.add_argument("--store", default="sqlite,postgresql")
    given = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for store in given.store.split(","):
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="calibo-stress-"))
            server = stack.enter_context(postgres.server()) if store == "postgresql" else None
            urls = (
                f"sqlite:///{folder}/{i}.db" if server is None else server.database(f"new{i}")
                for i in range(given.rounds + 1)
            )
            # What opening takes is imported once, so that workers get to the new storage at the same moment.
            open_storage(next(urls))
            found = run(urls, given.rounds, given.workers, given.limit)
            record("starts", {"store": store, "workers": given.workers, **found})


if __name__ == "__main__":
    main()
