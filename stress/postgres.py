"""A PostgreSQL server of the tests' own, started as an unprivileged user on a socket in a temporary folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: Why there is none, where there is none.
MISSING = "needs PostgreSQL's programs initdb, pg_ctl and psql (Debian: apt install postgresql) and psycopg"


#: The user that nothing belongs to.
UNPRIVILEGED = 65534


def _program(name: str) -> str | None:
    found = shutil.which(name)
    if found:
        return found
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(versions[-1]) if versions else None


def available() -> bool:
    """Return whether a server can be started here."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return False
    return os.name == "posix" and all(_program(name) for name in ("initdb", "pg_ctl"))


class Server:
    """A server that can be stopped, crashed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # PostgreSQL refuses to run as root.
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            os.chown(folder, UNPRIVILEGED, UNPRIVILEGED)
            self._as = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []}
        self._run("initdb", "-D", str(folder / "data"), "-U", "calibo", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.start()

    def _run(self, program: str, *words: str) -> None:
        path = _program(program)
        assert path is not None
        # Into files: a server that inherits a pipe would keep it open.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                [path, *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                check=False,
                **self._as,
            )
            output.seek(0)
            if done.returncode:
                raise RuntimeError(f"{program} failed: {output.read().decode(errors='replace')}")

    def start(self) -> None:
        """Start the server."""
        settings = (
            f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c fsync=off -c max_connections=60"
        )
        data = str(self.folder / "data")
        self._run("pg_ctl", "-D", data, "-l", str(self.folder / "log"), "-o", settings, "-w", "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop the server; ``immediate`` is a crash."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop")

    def database(self, name: str) -> str:
        """Create a database and return its URL."""
        import psycopg

        with psycopg.connect(f"host={self.folder} user=calibo dbname=postgres", autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return f"postgresql+psycopg://calibo@/{name}?host={self.folder}"


@contextlib.contextmanager
def server() -> Iterator[Server]:
    """Start a server that ends with this block."""
    folder = Path(tempfile.mkdtemp(prefix="calibo-pg-"))
    try:
        running = Server(folder)
        try:
            yield running
        finally:
            with contextlib.suppress(RuntimeError):
                running.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
