"""Trials per second of an objective that takes no time, beside TPE on the same storage in the same run; and long studies.

Both get turns of a few seconds, one after the other, each with a study of its own that goes on in its next turn, so that what
else the machine does counts for both. Studies have some trials when the first turn begins.

usage: python -m stress.throughput [--seconds 4] [--turns 5] [--begun 80] [--store sqlite,postgresql] [--workers 1,8]
    [--long 10000]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import optuna
import sqlalchemy.event
from optuna.storages import RDBStorage

from calibo import CalibratedSampler, Float
from calibo.study import load_result, minimize, open_storage
from calibo.study.leased import LeasedStorage
from stress import postgres
from stress.results import record

SPACE = {"x": Float(0.0, 1.0), "y": Float(-5.0, 5.0)}
SAMPLERS: dict[str, Callable[[], Any]] = {
    "TPE, Optuna's storage": optuna.samplers.TPESampler,
    "ocbo": lambda: CalibratedSampler("ocbo", space=SPACE),
}


#: Seconds between two turns, in which trials that have been begun are finished.
PAUSE = 0.5


def objective(trial: optuna.Trial) -> float:
    """Evaluate at once."""
    return (trial.suggest_float("x", 0, 1) - 0.3) ** 2 + trial.suggest_float("y", -5, 5) ** 2


def opened(url: str, sampler: str) -> tuple[optuna.Study, Any]:
    """Return a study as a worker opens it, and the engine of its database."""
    storage: Any = RDBStorage(url) if sampler.startswith("TPE") else open_storage(url)
    engine = storage.backend.storage.engine if isinstance(storage, LeasedStorage) else storage.engine
    return optuna.load_study(storage=storage, study_name="s", sampler=SAMPLERS[sampler]()), engine


def worker(url: str, sampler: str, turns: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Run as many trials as there is time for in its turns, each from one moment to another."""
    study, engine = opened(url, sampler)
    wrote = [0, False]

    def executed(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        wrote[1] = wrote[1] or statement.lstrip()[:6].upper() in ("INSERT", "UPDATE", "DELETE")

    def committed(connection: Any) -> None:
        wrote[0] += bool(wrote[1])
        wrote[1] = False

    def given_up(connection: Any) -> None:
        wrote[1] = False

    study.get_trials(deepcopy=False)
    sqlalchemy.event.listen(engine, "before_cursor_execute", executed)
    sqlalchemy.event.listen(engine, "commit", committed)
    sqlalchemy.event.listen(engine, "rollback", given_up)
    done, cpu = 0, time.process_time()
    for first, last in turns:
        time.sleep(max(0.0, first - time.monotonic()))
        while time.monotonic() < last:
            study.optimize(objective, n_trials=1)
            done += 1
    return {"n": done, "writes": wrote[0], "cpu": time.process_time() - cpu}


def begin(url: str, sampler: str, trials: int) -> None:
    """Create a study with some trials."""
    optuna.create_study(storage=open_storage(url), study_name="s")
    study, _ = opened(url, sampler)
    study.optimize(objective, n_trials=trials)


def compete(urls: dict[str, str], workers: int, turns: int, seconds: float) -> dict[str, list[dict[str, Any]]]:
    """Let the workers of each sampler take turns with those of the others; return what each says it has done."""
    read, write = os.pipe()
    start, pids = time.monotonic() + 1.0 + workers * len(urls) / 4, list[int]()
    for place, (sampler, url) in enumerate(urls.items()):
        moments = [start + (i * len(urls) + place) * (seconds + PAUSE) for i in range(turns)]
        mine = [(moment, moment + seconds) for moment in moments]
        for _ in range(workers):
            pid = os.fork()
            if pid == 0:
                warnings.simplefilter("ignore")
                optuna.logging.set_verbosity(optuna.logging.ERROR)
                os.close(read)
                try:
                    said = worker(url, sampler, mine)
                except BaseException as error:
                    said = {"n": 0, "writes": 0, "cpu": 0.0, "error": f"{type(error).__name__}: {error}"[:150]}
                os.write(write, (json.dumps({"sampler": sampler, **said}) + "\n").encode())
                os._exit(0)
            pids.append(pid)
    os.close(write)
    with os.fdopen(read) as answers:
        found = [json.loads(line) for line in answers.read().splitlines()]
    for pid in pids:
        os.waitpid(pid, 0)
    return {sampler: [one for one in found if one["sampler"] == sampler] for sampler in urls}


def summary(found: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    """Return what workers have done in all turns together."""
    n = sum(one["n"] for one in found)
    errors = [one["error"] for one in found if "error" in one]
    return {
        "trials": n,
        "per_second": round(n / seconds, 1),
        "writes_per_trial": round(sum(one["writes"] for one in found) / max(1, n), 2),
        "cpu_ms": round(1000 * sum(one["cpu"] for one in found) / max(1, n), 1),
        **({"errors": errors[:2]} if errors else {}),
    }


def long_study(file: str, trials: int) -> None:
    """Make a study of many trials by multiplying the rows of a short one."""
    minimize(lambda p: p["x"] ** 2 + p["y"] ** 2, SPACE, 40, "gp_ei", file, "s", seed=1, progress=False)
    import sqlite3

    connection = sqlite3.connect(file)
    (last,) = connection.execute("SELECT max(trial_id) FROM trials").fetchone()
    of = last  # the trial that is multiplied: one with a forecast
    (number,) = connection.execute("SELECT number FROM trials WHERE trial_id = ?", (of,)).fetchone()
    head = connection.execute(
        "SELECT value_json FROM trial_system_attributes WHERE trial_id = ? AND key = 'calibo:suggestion'", (of,)
    ).fetchone()[0]
    params = connection.execute(
        "SELECT param_name, param_value, distribution_json FROM trial_params WHERE trial_id = ?", (of,)
    )
    kept = params.fetchall()
    new = range(last + 1, last + 1 + trials - 40)
    with connection:
        connection.executemany(
            "INSERT INTO trials SELECT ?, ?, study_id, state, datetime_start, datetime_complete FROM trials "
            "WHERE trial_id = ?",
            [(i, i - last + number, of) for i in new],
        )
        spread = [(i, (i * 0.618034) % 1.0) for i in new]
        connection.executemany(
            "INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) VALUES (?, ?, ?, ?)",
            [(i, n, u if n == "x" else 10 * ((7 * u) % 1.0) - 5, d) for i, u in spread for n, _, d in kept],
        )
        connection.executemany(
            "INSERT INTO trial_values (trial_id, objective, value, value_type) VALUES (?, 0, ?, 'FINITE')",
            [(i, u * u) for i, u in spread],
        )
        rows: list[tuple[int, str, str]] = []
        others = connection.execute(
            "SELECT key, value_json FROM trial_system_attributes WHERE trial_id = ? AND key <> 'calibo:suggestion'",
            (of,),
        ).fetchall()
        for i in new:
            own = json.loads(head)
            own["number"] = i - last + number
            rows += [(i, "calibo:suggestion", json.dumps(own)), *((i, key, value) for key, value in others)]
        connection.executemany("INSERT INTO trial_system_attributes (trial_id, key, value_json) VALUES (?, ?, ?)", rows)
    connection.close()


def cpu_of(action: Callable[[], Any]) -> float:
    """Return the CPU seconds that something takes."""
    begun = time.process_time()
    action()
    return round(time.process_time() - begun, 2)


def long(trials: int) -> None:
    """Measure opening a long study and what a suggestion costs beside the method."""
    from calibo.spaces import as_space
    from calibo.study.distributions import optuna_space
    from calibo.study.trials import TrialMemory, directions_of, study_data

    with tempfile.TemporaryDirectory(prefix="calibo-stress-") as folder:
        file = f"{folder}/long.db"
        long_study(file, trials)
        opening = cpu_of(lambda: load_result(file, "s").trials)
        result, page = load_result(file, "s"), Path(folder) / "report.html"
        writing = cpu_of(lambda: result.report(page))
        alone = cpu_of(
            lambda: optuna.load_study(study_name="s", storage=f"sqlite:///{file}").get_trials(deepcopy=False)
        )
        record("long", {"what": "open and read all trials", "trials_before": trials, "cpu": opening, "optuna": alone})
        what = {"what": "write the report", "trials_before": trials, "cpu": writing, "optuna": ""}
        record("long", {**what, "mb": round(page.stat().st_size / 1e6, 2)})
        study = optuna.load_study(study_name="s", storage=open_storage(file))
        space, memory = optuna_space(as_space(SPACE)), TrialMemory()

        def beside() -> None:
            asked = study.ask()
            trials = study.get_trials(deepcopy=False)
            study_data(trials, space, directions_of(study), asking=asked.number, memory=memory)
            study.tell(asked, 1.0)

        first, second = cpu_of(beside), cpu_of(beside)
        tpe = optuna.load_study(
            study_name="s", storage=f"sqlite:///{file}", sampler=optuna.samplers.TPESampler(multivariate=True)
        )

        def by_tpe() -> None:
            trial = tpe.ask()
            trial.suggest_float("x", 0, 1)
            trial.suggest_float("y", -5, 5)
            tpe.tell(trial, 1.0)

        cpu_of(by_tpe)
        whole = cpu_of(by_tpe)
        record(
            "long",
            {"what": "a suggestion beside the method, the first", "trials_before": trials, "cpu": first, "optuna": ""},
        )
        record(
            "long",
            {
                "what": "a suggestion beside the method (Optuna: one of TPE)",
                "trials_before": trials,
                "cpu": second,
                "optuna": whole,
            },
        )


def main() -> None:
    """Measure and store the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0, help="length of a turn")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--begun", type=int, default=80, help="trials that a study has before the first turn")
    parser.add_argument("--store", default="sqlite,postgresql")
    parser.add_argument("--workers", default="1,8")
    parser.add_argument("--long", type=int, default=10_000)
    given = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    if given.long:
        long(given.long)
    for store in filter(None, given.store.split(",")):
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="calibo-stress-"))
            server = stack.enter_context(postgres.server()) if store == "postgresql" else None
            for workers in map(int, given.workers.split(",")):
                urls: dict[str, str] = {}
                for i, sampler in enumerate(SAMPLERS):
                    name = f"t{workers}x{i}"
                    urls[sampler] = f"sqlite:///{folder}/{name}.db" if server is None else server.database(name)
                    begin(urls[sampler], sampler, given.begun)
                found = compete(urls, workers, given.turns, given.seconds)
                for sampler in SAMPLERS:
                    row = {"store": store, "sampler": sampler, "workers": workers, "begun": given.begun}
                    record("throughput", row | summary(found[sampler], given.turns * given.seconds))


if __name__ == "__main__":
    main()
