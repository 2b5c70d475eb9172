"""Finished runs, one line of JSON each, in a folder that git does not keep."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.peers.adapters import label_of
from benchmarks.peers.protocol import Job, Run

FOLDER = Path(__file__).parent / "runs"
#: Optimizer, problem and seed.
Key = tuple[str, str, int]


def key_of(job: Job) -> Key:
    """Return what tells runs apart: a longer run replaces a shorter one."""
    return label_of(job.optimizer), job.problem, job.seed


def add(folder: Path, job: Job, run: Run | None, error: str | None = None) -> None:
    """Record a finished run, or why it failed."""
    folder.mkdir(parents=True, exist_ok=True)
    record = {"job": {**asdict(job), "optimizer": label_of(job.optimizer)}}
    record |= {"error": error} if run is None else {"run": run.as_json()}
    file = folder / f"{label_of(job.optimizer)}.jsonl"
    cut_off = file.exists() and not file.read_bytes().endswith(b"\n")
    with file.open("a") as stream:
        stream.write(("\n" if cut_off else "") + json.dumps(record, separators=(",", ":")) + "\n")


def records(*folders: Path) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Yield all records; a line that was cut off is left out, and so is run again."""
    for file in (file for folder in folders for file in sorted(folder.glob("*.jsonl"))):
        for line in file.read_text().splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            yield Job(**record["job"]), record


def runs(*folders: Path) -> dict[Key, Run]:
    """Return the longest finished run of each key."""
    found: dict[Key, Run] = {}
    for job, record in records(*folders):
        if "run" in record:
            run, before = Run(**record["run"]), found.get(key_of(job))
            if before is None or len(run.values) > len(before.values):
                found[key_of(job)] = run
    return found


def failures(*folders: Path) -> dict[Key, str]:
    """Return the last error of each key that has no finished run."""
    done = runs(*folders)
    failed = {key_of(job): record["error"] for job, record in records(*folders) if "error" in record}
    return {key: error for key, error in failed.items() if key not in done}
