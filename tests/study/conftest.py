"""Servers for the tests of studies, started when they are first needed: PostgreSQL, and Optuna's gRPC proxy."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

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
