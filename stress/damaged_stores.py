"""Damaged and hostile stores: a named error or the trial without its forecast, in bounded time and memory, never a raw error.

Files of studies (SQLite, Optuna's journal, the JSON file of ``rank``) are cut off, get bits flipped or records of another
shape with a valid checksum written into them. Each is then loaded, used for predictions and a report, and resumed, in a
process of its own with limited memory and CPU time.

Usage: ``python -m stress.damaged_stores [--cases 60] [--seed 0] [--no-store]``
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import collections
import json
import multiprocessing
import random
import resource
import shutil
import sqlite3
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

import calibo
from calibo import Float
from calibo.errors import CaliboError
from calibo.study import load_result
from stress.good_values import CSV
from stress.results import printed, store

SPACE = {"x": Float(0, 1), "y": Float(0, 1)}
#: CPU seconds and bytes of memory (beyond what is needed anyway) of one case.
SECONDS, BYTES = 60, 6 << 30
ACTIONS = ("load", "predict", "report", "resume")


def objective(params: dict[str, Any]) -> float:
    """Return a smooth value."""
    return (params["x"] - 0.3) ** 2 + (params["y"] - 0.6) ** 2


class Originals:
    """Undamaged stores, made once."""

    def __init__(self, folder: Path) -> None:
        self.folder: Path = folder
        self.sqlite: Path = folder / "good.db"
        calibo.minimize(objective, SPACE, 12, "ocbo", self.sqlite, "s", seed=3, progress=False)
        self.journal: Path = folder / "good.log"
        storage = JournalStorage(JournalFileBackend(str(self.journal)))
        calibo.minimize(objective, SPACE, 12, "ocbo", storage, "s", seed=3, progress=False)
        self.table: Path = folder / "good.csv"
        self.table.write_text(CSV)
        self.rank: Path = folder / "good.csv.calibo.json"
        calibo.rank(self.table, target="yield", n=2, method="gp_ei", progress=False)


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def _flipped(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice([1, 3, 30])):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _overwritten(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data))
    return data[:start] + chance.randbytes(min(4096, len(data) - start)) + data[start + 4096 :]


DAMAGE: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "cut off": _cut,
    "bits flipped": _flipped,
    "overwritten": _overwritten,
}


def _stamp(body: str, **head: Any) -> str:
    whole = {"version": 2, "number": 9, "pieces": 1, "sum": zlib.crc32(body.encode()), "text": body}
    return json.dumps(whole | head)


def _hostile_records(body: dict[str, Any]) -> dict[str, str]:
    """Return stamps of a wrong shape with valid checksums, by what is wrong with them."""

    def changed(**fields: Any) -> str:
        return _stamp(json.dumps(body | fields))

    forecast = body["forecasts"][0]
    return {
        "not JSON": _stamp("{"),
        "a number": _stamp("3"),
        "a list": _stamp("[]"),
        "an empty object": _stamp("{}"),
        "nested 100,000 deep": _stamp("[" * 100_000),
        "1e8 pieces": _stamp(json.dumps(body), pieces=10**8),
        "1e18 pieces": _stamp(json.dumps(body), pieces=10**18),
        "pieces of text": _stamp(json.dumps(body), pieces="2"),
        "no text": json.dumps({"version": 2, "number": 9, "pieces": 1, "sum": 0}),
        "text is a list": _stamp("x", text=["x"]),
        "wrong checksum": _stamp(json.dumps(body), sum=0),
        "no forecasts": changed(forecasts=[]),
        "forecasts are a number": changed(forecasts=5),
        "two forecasts for one objective": changed(forecasts=[forecast, forecast]),
        "no stages": changed(forecasts=[forecast | {"stages": []}]),
        "stages of text": changed(forecasts=[forecast | {"stages": ["a", "b"]}]),
        "stage without mean": changed(forecasts=[forecast | {"stages": [{"std": 1.0}]}]),
        "mean is infinite": changed(forecasts=[forecast | {"stages": [{"mean": 1e999, "std": 1.0}]}]),
        "std is negative": changed(forecasts=[forecast | {"stages": [{"mean": 0.0, "std": -1.0}]}]),
        "two quantiles": changed(forecasts=[forecast | {"stages": [{"mean": 0.0, "std": 1.0, "quantiles": [1, 2]}]}]),
        "falling quantiles": changed(
            forecasts=[forecast | {"stages": [{"mean": 0.0, "std": 1.0, "quantiles": list(range(33, 0, -1))}]}]
        ),
        "params are a list": changed(params=[1, 2]),
        "params of text": changed(params={"x": "a", "y": "b"}),
        "hyperparameters of text": changed(hyperparameters=[["a"]]),
        "hyperparameters are many": changed(hyperparameters=[[0.0] * 100_000]),
        "method is a number": changed(method=7),
        "method is unknown": changed(method="no_such_method"),
    }


def _with_record(original: Path, new: Path, record: str) -> None:
    shutil.copy(original, new)
    with sqlite3.connect(new) as connection:
        connection.execute(
            "update trial_system_attributes set value_json=? where trial_id=10 and key='calibo:suggestion'", (record,)
        )
    connection.close()


_STATEMENTS = {
    "description {}": "update study_system_attributes set value_json='{}' where key='calibo:study'",
    "description is text": "update study_system_attributes set value_json='\"x\"' where key='calibo:study'",
    "seed is text": "update study_system_attributes set value_json='\"x\"' where key='calibo:seed'",
    "seed is negative": "update study_system_attributes set value_json='-1' where key='calibo:seed'",
    "values 1e308": "update trial_values set value=1e308 where trial_id % 2 = 0",
    "parameter out of range": "update trial_params set param_value=7 where trial_id=5",
    "complete without value": "delete from trial_values where trial_id=5",
    "study called ../../x": "update studies set study_name='../../x'",
    "no directions": "delete from study_directions",
    "distribution is not JSON": "update trial_params set distribution_json='{' where trial_id=5",
    "attribute is not JSON": "update trial_system_attributes set value_json='{' where trial_id=5",
    "state is unknown": "update trials set state='NONSENSE' where trial_id=5",
}


def _with_statement(original: Path, new: Path, statement: str) -> None:
    shutil.copy(original, new)
    with sqlite3.connect(new) as connection:
        connection.execute(statement)
    connection.close()


def cases(originals: Originals, number: int, seed: int) -> list[tuple[str, str, Path]]:
    """Return kinds of stores, what was done to each, and their files."""
    chance, found = random.Random(seed), list[tuple[str, str, Path]]()
    body = _stored_body(originals.sqlite)

    def path(suffix: str) -> Path:
        folder = originals.folder / f"case{len(found)}"
        folder.mkdir()
        return folder / suffix

    for name, record in _hostile_records(body).items():
        new = path("s.db")
        _with_record(originals.sqlite, new, record)
        found.append(("SQLite", f"record: {name}", new))
    for name, statement in _STATEMENTS.items():
        new = path("s.db")
        _with_statement(originals.sqlite, new, statement)
        found.append(("SQLite", name, new))
    for kind, original in (("SQLite", originals.sqlite), ("journal", originals.journal), ("rank", originals.rank)):
        for i in range(number // 3):
            how = list(DAMAGE)[i % len(DAMAGE)]
            new = path({"SQLite": "s.db", "journal": "s.log", "rank": "t.csv.calibo.json"}[kind])
            new.write_bytes(DAMAGE[how](original.read_bytes(), chance))
            if kind == "rank":
                shutil.copy(originals.table, new.parent / "t.csv")
            found.append((kind, how, new))
    return found


def _stored_body(file: Path) -> dict[str, Any]:
    connection = sqlite3.connect(file)
    query = "select key, value_json from trial_system_attributes where trial_id=10"
    rows = {key: json.loads(value) for key, value in connection.execute(query)}
    connection.close()
    head = rows["calibo:suggestion"]
    return json.loads(head["text"] + "".join(rows[f"calibo:suggestion:{i}"] for i in range(1, head["pieces"])))


class _NotOpened(Exception):
    """Optuna's own class could not open a journal, so that calibo was not called."""


def _actions(kind: str, path: Path) -> dict[str, Callable[[], Any]]:
    if kind == "rank":
        table = path.parent / "t.csv"
        return {"rank": lambda: calibo.rank(table, target="yield", n=2, method="gp_ei", progress=False)}

    def storage() -> Any:
        try:
            return path if kind == "SQLite" else JournalStorage(JournalFileBackend(str(path)))
        except Exception as error:
            raise _NotOpened from error

    return {
        "load": lambda: load_result(storage()).trials,
        "predict": lambda: load_result(storage()).predict([{"x": 0.5, "y": 0.5}]),
        "report": lambda: load_result(storage()).report(path.parent / "r.html"),
        "resume": lambda: calibo.minimize(objective, SPACE, 1, None, storage(), "s", progress=False),
    }


def _tried(kind: str, path: Path, answers: Any) -> None:
    """Use a store in every way and send how each ended (in a process of its own)."""
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    used = int(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (used + SECONDS, used + SECONDS + 1))
    for action, run in _actions(kind, path).items():
        try:
            run()
            answers.put((action, "worked", ""))
        except CaliboError as error:
            answers.put((action, "named", str(error)[:150]))
        except _NotOpened:
            answers.put((action, "not opened", ""))
        except BaseException as error:
            frames = traceback.extract_tb(error.__traceback__)
            place = f"{frames[-1].filename[-45:]}:{frames[-1].lineno}"
            answers.put((action, "raw", f"{type(error).__name__}: {str(error)[:100]} at {place}"))
    answers.put(None)


def attempt(kind: str, path: Path) -> list[tuple[str, str, str]]:
    """Return how every use of a store ended; "stopped" if it used up its time."""
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    process = context.Process(target=_tried, args=(kind, path, answers))
    process.start()
    found: list[tuple[str, str, str]] = []
    while True:
        try:
            answer = answers.get(timeout=10 * SECONDS if process.is_alive() else 1)
        except Exception:
            found.append(("?", "stopped", f"exit status {process.exitcode}"))
            break
        if answer is None:
            break
        found.append(answer)
    process.join(10)
    if process.is_alive():
        process.kill()
    return found


def examine(number: int, seed: int = 0, progress: bool = False) -> tuple[list[list[Any]], list[str]]:
    """Try all cases; return the counts of how uses ended, by kind of store, and what was raw or stopped."""
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        originals = Originals(Path(name))
        for kind, how, path in cases(originals, number, seed):
            group = f"{kind}, {'hostile records' if kind == 'SQLite' and how not in DAMAGE else 'damaged files'}"
            counts[group]["stores"] += 1
            for action, ended, said in attempt(kind, path):
                counts[group][ended] += 1
                if ended in ("raw", "stopped"):
                    wrong.append(f"{kind}, {how}, {action}: {ended} {said}")
                    if progress:
                        print(wrong[-1], flush=True)
    kinds = ("stores", "worked", "named", "not opened", "raw", "stopped")
    return [[group, *(counter[kind] for kind in kinds)] for group, counter in counts.items()], wrong


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=60, help="damaged files, besides the hostile records")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-store", action="store_true")
    asked = parser.parse_args()
    rows, wrong = examine(asked.cases, asked.seed, progress=True)
    columns = (
        "stores",
        "number",
        "uses that worked",
        "named errors",
        "not opened by Optuna",
        "raw errors",
        "stopped (time, memory)",
    )
    print(printed(columns, rows))
    if not asked.no_store:
        total = sum(row[1] for row in rows)
        store(
            "damaged_stores",
            f"{total} damaged or hostile stores, each loaded, used for predictions and a report, and resumed: "
            f"{len(wrong)} raw errors or uses without bounds.",
            columns,
            rows,
            wrong=wrong[:20],
            seed=asked.seed,
            limits=f"{SECONDS} CPU s and {BYTES >> 30} GiB of address space for each store",
        )
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
