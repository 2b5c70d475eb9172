"""What tests of storages share: servers that are started when they are first needed, and every kind of storage."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.exceptions import StorageInternalError
from optuna.storages import BaseStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend

from calibo import CalibratedSampler, Float
from calibo.study import open_storage
from calibo.study.backends import Writes
from calibo.study.leased import LeasedStorage
from stress import postgres


@pytest.fixture(scope="session")
def postgresql() -> Iterator[postgres.Server]:
    """Return a server of the tests' own; skips where there are no programs for one."""
    if not postgres.available():
        pytest.skip(postgres.MISSING)
    with postgres.server() as running:
        yield running


_GRPC = """
import sys
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
storage = optuna.storages.InMemoryStorage()  # identifiers are not given twice
optuna.storages.run_grpc_proxy_server(storage, host="localhost", port=int(sys.argv[1]))
"""


@pytest.fixture(scope="session")
def grpc_port() -> Iterator[int]:
    """Return the port of a proxy server."""
    pytest.importorskip("grpc", reason="needs grpcio: pip install 'calibo[grpc]'")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-c", _GRPC, str(port)])
    try:
        yield port
    finally:
        server.kill()
        server.wait()


KINDS = ["sqlite", "journal", "postgresql", pytest.param("grpc", marks=pytest.mark.extras)]
_names = (f"d{i}" for i in itertools.count())


@pytest.fixture
def quiet() -> Iterator[None]:
    """Let Optuna say nothing but errors."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., LeasedStorage]:
    """Return a function that opens the same storage again, as another worker would."""
    where: Any = tmp_path / "a.db"
    if request.param == "postgresql":
        where = request.getfixturevalue("postgresql").database(f"{next(_names)}x{os.getpid()}")
    if request.param == "grpc":
        where = request.getfixturevalue("grpc_port")
        _emptied(_proxy(where))

    def again(by_clock_only: bool = False, **options: Any) -> LeasedStorage:
        given = JournalStorage(JournalFileBackend(str(tmp_path / "log"))) if request.param == "journal" else where
        storage = open_storage(_proxy(where) if request.param == "grpc" else given, **options)
        assert isinstance(storage, LeasedStorage)
        storage._by_clock_only = by_clock_only
        storage._set_up()
        return storage

    return again


def _proxy(port: int) -> BaseStorage:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        proxy = optuna.storages.GrpcStorageProxy(host="localhost", port=port)
    proxy.wait_server_ready(timeout=60)
    return proxy


def _emptied(storage: BaseStorage) -> None:
    for study in storage.get_all_studies():
        storage.delete_study(study._study_id)


@pytest.fixture
def study_of() -> Callable[..., optuna.Study]:
    """Return a function that makes or opens the study "s" of a storage, of one parameter."""

    def study(storage: BaseStorage, **options: Any) -> optuna.Study:
        sampler = CalibratedSampler("gp_ei", seed=3, space={"x": Float(0.0, 1.0)})
        return optuna.create_study(storage=storage, study_name="s", load_if_exists=True, sampler=sampler, **options)

    return study


class Outage:
    """Makes a backend fail for a number of writes that finish a trial."""

    def __init__(self, storage: LeasedStorage, times: int) -> None:
        self._real, self.left = storage.backend.write, times
        storage.backend.write = self  # pyright: ignore[reportAttributeAccessIssue]

    def __call__(self, trial_id: int, writes: Writes, state: Any = None, values: Any = None, **more: Any) -> None:
        if state is not None and self.left:
            self.left -= 1
            raise StorageInternalError("the server closed the connection unexpectedly")
        self._real(trial_id, writes, state, values, **more)


@pytest.fixture
def outage() -> type[Outage]:
    """Return what makes a storage fail."""
    return Outage
