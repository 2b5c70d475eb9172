"""What workers did, as they saw it themselves: lines that survive a kill, and what they say together with a study."""

from __future__ import annotations

import itertools
import json
import os
import select
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna

from calibo import Float
from calibo.study.leases import INTERRUPTED, read_lease

SPACE = {"x": Float(0.0, 1.0), "y": Float(-5.0, 5.0)}


def value_of(x: float, y: float) -> float:
    """Return the objective."""
    return (x - 0.3) ** 2 + 0.1 * y * y + 1.0


class Witness:
    """Appends lines to a file; one that was written is there even if the process is killed right after."""

    def __init__(self, folder: Path, worker: int) -> None:
        self._file = os.open(folder / f"{worker}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def say(self, event: str, **what: Any) -> None:
        """Write a line."""
        line = {"event": event, "pid": os.getpid(), "t": time.monotonic(), **what}
        os.write(self._file, (json.dumps(line) + "\n").encode())


def lines(folder: Path) -> list[dict[str, Any]]:
    """Return all lines; the last one of a killed worker may be cut."""
    found: list[dict[str, Any]] = []
    for file in sorted(folder.glob("*.log")):
        for line in file.read_bytes().decode().splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return found


def evaluated(witness: Witness, params: dict[str, float], seconds: float) -> float:
    """Evaluate the objective, and say when it began and ended."""
    key = [params["x"], params["y"]]
    witness.say("start", key=key)
    # Not time.sleep, which a faked clock breaks.
    select.select([], [], [], seconds)
    value = value_of(**params)
    witness.say("done", key=key, value=value)
    return value


def acknowledged(witness: Witness, end: Path) -> Callable[[optuna.Study, Any], None]:
    """Return a callback that says which results are stored, and stops once the file ``end`` is there."""

    def say(study: optuna.Study, trial: Any) -> None:
        witness.say("stored", number=trial.number, state=trial.state.name, values=trial.values)
        if end.exists():
            study.stop()

    return say


def verdict(study: optuna.Study, said: list[dict[str, Any]], ended: dict[int, float]) -> dict[str, int]:
    """Compare what workers said with what a study has.

    Args:
        study: The study.
        said: Their lines.
        ended: When each process ended, by its id.
    """
    trials = {trial.number: trial for trial in study.get_trials(deepcopy=False)}
    stored = [line for line in said if line["event"] == "stored" and line["state"] == "COMPLETE"]
    complete = [trial for trial in trials.values() if trial.state.name == "COMPLETE"]
    failed = [trial for trial in trials.values() if trial.state.name == "FAIL"]
    interrupted = [trial for trial in failed if trial.user_attrs.get(INTERRUPTED)]
    leases = [read_lease(trial.system_attrs) for trial in complete]
    return {
        "trials": len(trials),
        "complete": len(complete),
        "interrupted": len(interrupted),
        "run_again": sum(lease is not None and lease.attempt > 1 for lease in leases),
        "acknowledged": len(stored),
        "lost": sum(list(trials[line["number"]].values or []) != line["values"] for line in stored),
        "stuck": sum(trial.state.name == "RUNNING" for trial in trials.values()),
        "wrong_pairs": sum(abs(trial.value - value_of(**trial.params)) > 1e-12 for trial in complete),
        "failures": len(failed) - len(interrupted),
        "twice_at_once": twice_at_once(said, ended),
        "numbers_twice": len(study.get_trials(deepcopy=False)) - len(trials),
        "errors": sum(line["event"] == "error" for line in said),
    }


def twice_at_once(said: list[dict[str, Any]], ended: dict[int, float]) -> int:
    """Return how many evaluations of a trial began while another one of the same trial went on."""
    spans: dict[tuple[float, ...], list[tuple[float, float]]] = {}
    open_: dict[tuple[int, tuple[float, ...]], float] = {}
    for line in sorted(said, key=lambda one: one["t"]):
        if line["event"] == "start":
            open_[line["pid"], tuple(line["key"])] = line["t"]
        elif line["event"] == "done":
            begun = open_.pop((line["pid"], tuple(line["key"])), line["t"])
            spans.setdefault(tuple(line["key"]), []).append((begun, line["t"]))
    for (pid, key), begun in open_.items():
        spans.setdefault(key, []).append((begun, ended.get(pid, float("inf"))))
    found = 0
    for some in spans.values():
        some.sort()
        found += sum(after[0] < before[1] for before, after in itertools.pairwise(some))
    return found


def errors_of(said: list[dict[str, Any]]) -> dict[str, int]:
    """Return how often workers ended with which error."""
    return dict(Counter(line["what"] for line in said if line["event"] == "error"))
