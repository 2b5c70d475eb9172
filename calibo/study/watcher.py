"""The watcher process: renews the leases of its parent while that cannot do so itself.

It is run as a script by ``keeper.py`` and imports only the standard library and the driver of the database, so that it is
small; a storage that is no database is unpickled, which imports Optuna. It reads lines of JSON from its standard input
and ends when that is closed or its parent is gone.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from typing import Any

#: Seconds between two looks at the parent.
LOOK = 1.0


class Sqlite:
    """Leases in a SQLite file."""

    def __init__(self, target: dict[str, Any]) -> None:
        self._file = target["file"]

    def renew(self, rows: list[tuple[str, int, str]]) -> None:
        """Store leases: rows of (JSON, trial, key)."""
        import sqlite3
        from urllib.parse import quote

        # A file that was moved away is not created again.
        connection = sqlite3.connect(f"file:{quote(self._file)}?mode=rw", timeout=5.0, uri=True)
        try:
            with connection:
                connection.executemany(UPDATE.format(mark="?"), rows)
        finally:
            connection.close()


class Postgresql:
    """Leases in a PostgreSQL database."""

    def __init__(self, target: dict[str, Any]) -> None:
        self._driver, self._address = target["driver"], target["address"]

    def renew(self, rows: list[tuple[str, int, str]]) -> None:
        """Store leases: rows of (JSON, trial, key)."""
        driver = __import__(self._driver)
        connection = driver.connect(self._address, connect_timeout=5)
        try:
            with connection.cursor() as cursor:
                cursor.executemany(UPDATE.format(mark="%s"), rows)
            connection.commit()
        finally:
            connection.close()


class Optuna:
    """Leases in any other storage of Optuna's."""

    def __init__(self, target: dict[str, Any]) -> None:
        self._pickled, self._storage = target["storage"], None

    def renew(self, rows: list[tuple[str, int, str]]) -> None:
        """Store leases: rows of (JSON, trial, key)."""
        if self._storage is None:
            import base64
            import pickle

            self._storage = pickle.loads(base64.b64decode(self._pickled))
        for text, trial_id, key in rows:
            self._storage.set_trial_system_attr(trial_id, key, json.loads(text))


UPDATE = (
    "UPDATE trial_system_attributes SET value_json = {mark} WHERE trial_id = {mark} AND key = {mark} "
    "AND trial_id IN (SELECT trial_id FROM trials WHERE state = 'RUNNING')"
)
KINDS = {"sqlite": Sqlite, "postgresql": Postgresql, "optuna": Optuna}


def stopped(pid: int) -> bool:
    """Return whether a process is suspended; a suspended worker does not work on its trials."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "T"
    except (OSError, IndexError):
        pass
    if os.path.isdir("/proc/self"):
        return False
    import subprocess

    found = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return found.stdout.strip().startswith("T")


class Watch:
    """What the parent holds, and when it was heard of last."""

    def __init__(self) -> None:
        self.parent = os.getppid()
        self.renewals = 4
        self.targets: dict[int, Any] = {}
        self.held: dict[tuple[int, int], tuple[str, dict[str, Any]]] = {}
        self.heard = time.monotonic()
        self.count = 0

    def receive(self, message: dict[str, Any]) -> None:
        """Take in one message."""
        self.heard = time.monotonic()
        if "parent" in message:
            self.parent, self.renewals = message["parent"], message["renewals"]
            sys.path[:] = message["path"]
        elif "target" in message:
            self.targets[message["target"]] = KINDS[message["kind"]](message)
        elif "hold" in message:
            target, trial_id, key, stored = message["hold"]
            self.held[target, trial_id] = (key, stored)
        elif "drop" in message:
            self.held.pop(tuple(message["drop"]), None)

    def interval(self) -> float:
        """Return the seconds between two renewals."""
        return min((stored["seconds"] for _, stored in self.held.values()), default=4 * LOOK) / self.renewals

    def renew(self) -> None:
        """Renew everything, if the parent has not done so itself, is there and is not suspended."""
        if not self.held or time.monotonic() - self.heard < 1.5 * self.interval() or stopped(self.parent):
            return
        self.count += 1
        for number, target in self.targets.items():
            rows = [
                (json.dumps({**stored, "mark": f"watcher {self.count}"}), trial_id, key)
                for (of, trial_id), (key, stored) in self.held.items()
                if of == number
            ]
            try:
                if rows:
                    target.renew(rows)
            except Exception:
                # It is tried again in a moment.
                continue


def main() -> None:
    """Watch until the parent is gone."""
    lines: queue.Queue[bytes | None] = queue.Queue()

    def read() -> None:
        for line in sys.stdin.buffer:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    watch = Watch()
    while os.getppid() == watch.parent or os.name != "posix":
        try:
            line = lines.get(timeout=min(LOOK, watch.interval() / 2))
            if line is None:
                return
            watch.receive(json.loads(line))
        except queue.Empty:
            watch.renew()


if __name__ == "__main__":
    main()
