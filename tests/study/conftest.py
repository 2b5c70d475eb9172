"""A PostgreSQL server for the tests of studies, started when it is first needed."""

from __future__ import annotations

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
