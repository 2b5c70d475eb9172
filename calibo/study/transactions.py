"""Transactions of SQLite: those that write take the lock when they begin, those that read do without it."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

import sqlalchemy

_reading: contextvars.ContextVar[bool] = contextvars.ContextVar("reading", default=False)


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """Declare that transactions in this block do not write."""
    token = _reading.set(True)
    try:
        yield
    finally:
        _reading.reset(token)


def begin(connection: sqlalchemy.Connection) -> None:
    """Begin a transaction (an event of SQLAlchemy's)."""
    connection.exec_driver_sql("BEGIN" if _reading.get() else "BEGIN IMMEDIATE")
