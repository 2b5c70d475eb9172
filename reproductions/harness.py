"""What all reproductions share: jobs that are run once, in several processes, and kept on disk as they finish."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import calibo
from calibo.data import Array

#: Stands for the commit of runs without git, or from before commits were stored.
UNKNOWN = "unknown"
#: Between these lines of a README stand the tables made from stored runs.
_START, _END = "<!-- results -->", "<!-- end of results -->"


def present_commit() -> str:
    """Return the commit of the code as it is, with "+" if files of the package or of the reproductions differ from it.

    It is not known where the package is not the one beside the reproductions.
    """
    here = Path(__file__).resolve().parent
    if Path(calibo.__file__).resolve().parents[1] != here.parent:
        return UNKNOWN

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(here), *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "../calibo", "*.py")
        return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return UNKNOWN


def key_of(job: Any) -> str:
    """Return a job, a dataclass of plain values, as text: the same for the same job, and for no other."""
    return " ".join(f"{name}={value}" for name, value in asdict(job).items() if value is not None)


def of_seeds(job: Any, repeats: int) -> tuple[Any, ...]:
    """Return the same job with the first so many seeds."""
    return tuple(replace(job, seed=seed) for seed in range(repeats))


def seconds_of(jobs: Iterable[Any], found: Mapping[str, Mapping[str, Any]]) -> float:
    """Return the seconds that jobs took together, each counted once."""
    return float(sum(found[key]["seconds"] for key in {key_of(job) for job in jobs}))


@dataclass(frozen=True)
class Store:
    """A folder of finished runs, one line of JSON each, written at once. Deleting it starts afresh.

    Attributes:
        folder: Where the files are.
        kind: The dataclass of a job.
        filed_by: The field of a job by which its file is named.
    """

    folder: Path
    kind: type[Any]
    filed_by: str = "problem"

    def load(self) -> dict[str, dict[str, Any]]:
        """Return the results of all finished jobs by key; a line that was cut off is left out, and so is run again."""
        return {key: record["found"] for key, record in self._records().items()}

    def commits(self) -> dict[str, str]:
        """Return the commit of the code that each finished job was run with, by key."""
        return {key: record.get("commit", UNKNOWN) for key, record in self._records().items()}

    def _records(self) -> dict[str, dict[str, Any]]:
        records: dict[str, dict[str, Any]] = {}
        for file in sorted(self.folder.glob("*.jsonl")):
            for line in file.read_text().splitlines():
                try:
                    record = json.loads(line)
                    key, _ = key_of(self.kind(**record["job"])), record["found"]
                except (json.JSONDecodeError, KeyError, TypeError):
                    continue
                records[key] = record
        return records

    def add(self, job: Any, found: dict[str, Any], commit: str) -> None:
        """Record a finished job with the commit of the code that ran it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{getattr(job, self.filed_by)}.jsonl"
        settings = {name: value for name, value in asdict(job).items() if value is not None}
        line = json.dumps({"job": settings, "found": found, "commit": commit}, separators=(",", ":"))
        cut_off = file.exists() and not file.read_bytes().endswith(b"\n")
        with file.open("a") as stream:
            stream.write(("\n" if cut_off else "") + line + "\n")


def finish(
    jobs: Iterable[Any],
    perform: Callable[[Any], dict[str, Any]],
    store: Store,
    *,
    processes: int,
    order: Callable[[Any], Any],
) -> int:
    """Run the jobs that are not stored and return their number.

    Args:
        jobs: All that are needed; several may be the same.
        perform: What a job is; must be importable, for other processes.
        store: Where finished ones are kept.
        processes: How many to use.
        order: Of the jobs to run: seed by seed, so that what is there after a stop is balanced.
    """
    found, commit = store.load(), present_commit()
    missing = sorted((job for key, job in {key_of(job): job for job in jobs}.items() if key not in found), key=order)
    for job, result in tqdm(
        _performed(missing, perform, processes), total=len(missing), desc="runs", disable=not missing
    ):
        store.add(job, result, commit)
    return len(missing)


def _performed(
    jobs: Sequence[Any], perform: Callable[[Any], dict[str, Any]], processes: int
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the jobs with their results, in the order they finish."""
    if processes == 1:
        yield from ((job, perform(job)) for job in jobs)
        return
    with ProcessPoolExecutor(processes) as pool:
        futures = {pool.submit(perform, job): job for job in jobs}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@dataclass(frozen=True, eq=False)
class FinishedFigure:
    """A figure whose runs are there.

    Attributes:
        figure: The figure, with its ``jobs``.
        found: Results of its jobs, by key.
    """

    figure: Any
    found: Mapping[str, Mapping[str, Any]]

    def of(self, cell: Any, what: str = "curve") -> Array:
        """Return what the runs of a cell stored, repeats x length, or repeats where that is a number."""
        return np.array([self.found[key_of(job)][what] for job in cell.jobs])

    @property
    def seconds(self) -> float:
        """Seconds that all its runs took together."""
        return seconds_of(self.figure.jobs, self.found)


def fill(text: str, tables: str) -> str:
    """Return a README's text with new tables between its two marks."""
    head, rest = text.split(_START)
    return f"{head}{_START}\n{tables}\n{_END}{rest.split(_END)[1]}"
