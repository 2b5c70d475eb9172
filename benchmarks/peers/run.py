"""Run optimizers on problems, in the background and over several sittings: what is done is not done again.

    python -m benchmarks.peers.run --optimizers gp_ei,ocbo,optuna_tpe --problems all --seeds 0-9
    python -m benchmarks.peers.run --optimizers mine=experiment.py:strategy --problems bbob5,hpobench_car --deadline 06:50

An optimizer is a peer (``benchmarks/peers/adapters``), a method of calibo by name, or a strategy ``[label=]file.py:name``.
Seeds are the outermost loop, so that a run that is stopped compares all optimizers on the same problems.
"""

from __future__ import annotations

import os

from benchmarks.peers.hosts import THREADS, Host, host_of

os.environ.update(THREADS)

import argparse
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from datetime import datetime, timedelta
from pathlib import Path

from tqdm import tqdm

from benchmarks.peers import problems, store
from benchmarks.peers.adapters import label_of, peer
from benchmarks.peers.protocol import Job, Run, perform

#: Optimizers that this process has loaded, by name; those of other environments are processes.
_HOSTS: dict[str, Host] = {}


def main(arguments: list[str] | None = None) -> None:
    """Run what is not done yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--optimizers", required=True, help="names, separated by commas")
    parser.add_argument("--problems", default="all", help="suites or problems, separated by commas")
    parser.add_argument("--seeds", default="0-9", help="such as 0-9 or 0,3,5")
    parser.add_argument("--budget", type=int, default=60, help="evaluations, initial points included")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--deadline", help="HH:MM, local time, after which no run is begun")
    parser.add_argument("--runs", type=Path, default=store.FOLDER, help="folder of the finished runs")
    parser.add_argument("--retry", action="store_true", help="run again what failed before")
    given = parser.parse_args(arguments)
    jobs = wanted(given.optimizers.split(","), names_of(given.problems), seeds_of(given.seeds), given.budget)
    finish(jobs, given.runs, processes=given.jobs, until=deadline(given.deadline), retry=given.retry)


def names_of(given: str) -> list[str]:
    """Return the problems of suites and names, each once, in order."""
    names = [name for part in given.split(",") for name in problems.SUITES.get(part, (part,))]
    return list(dict.fromkeys(names))


def seeds_of(given: str) -> list[int]:
    """Return the seeds of a text such as "0-3,7"."""
    found: list[int] = []
    for part in given.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def deadline(given: str | None) -> float:
    """Return the next time of day HH:MM in seconds since the epoch; infinite without one."""
    if given is None:
        return float("inf")
    now = datetime.now()
    hour, minute = map(int, given.split(":"))
    then = now.replace(hour=hour, minute=minute, second=0)
    return (then if then > now else then + timedelta(days=1)).timestamp()


def wanted(optimizers: list[str], names: list[str], seeds: list[int], budget: int) -> Iterator[Job]:
    """Yield the jobs, one seed after the other, without those whose space an optimizer cannot search."""
    able = {
        (optimizer, name): peer(optimizer).takes(problems.get(name, seeds[0]).space)
        for optimizer in optimizers
        for name in names
    }
    for seed in seeds:
        for name in names:
            yield from (Job(optimizer, name, seed, budget) for optimizer in optimizers if able[optimizer, name])


def finish(jobs: Iterator[Job], folder: Path, *, processes: int, until: float, retry: bool) -> None:
    """Run the jobs that are not done, and record each as it ends."""
    done, failed = store.runs(folder), {} if retry else store.failures(folder)
    left = [
        job
        for job in jobs
        if len(done[key].values if (key := store.key_of(job)) in done else ()) < job.budget and key not in failed
    ]
    with tqdm(total=len(left), mininterval=5.0) as bar:
        for job, run, error in _results(left, processes, until):
            store.add(folder, job, run, error)
            bar.update()
            bar.set_postfix_str(f"{label_of(job.optimizer)} {job.problem} {job.seed}" + (f": {error}" if error else ""))
    for host in _HOSTS.values():
        host.close()
    _HOSTS.clear()


def _results(jobs: list[Job], processes: int, until: float) -> Iterator[tuple[Job, Run | None, str | None]]:
    if processes == 1:
        for job in jobs:
            if time.time() > until:
                return
            yield _attempt(job, until)
        return
    with ProcessPoolExecutor(processes) as pool:
        pending: list[Future[tuple[Job, Run | None, str | None]]] = [pool.submit(_attempt, job, until) for job in jobs]
        for future in as_completed(pending):
            job, run, error = future.result()
            if run is not None or error is not None:
                yield job, run, error


def _attempt(job: Job, until: float) -> tuple[Job, Run | None, str | None]:
    """Perform a job unless it is too late; what the optimizer raises is recorded as a failure of the run."""
    if time.time() > until:
        return job, None, None
    try:
        if job.optimizer not in _HOSTS:
            _HOSTS[job.optimizer] = host_of(job.optimizer)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return job, perform(job, _HOSTS[job.optimizer]), None
    except Exception as error:
        _HOSTS.pop(job.optimizer, None)
        return job, None, f"{type(error).__name__}: {error}"[:500]


if __name__ == "__main__":
    main()
