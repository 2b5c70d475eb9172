"""Storages that cannot be reached for a while: what is done with them is tried again, with growing pauses."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import TypeVar

import optuna
import sqlalchemy.exc

#: Seconds for which a storage that cannot be used is tried again before a run gives up.
PATIENCE = 300.0

#: Longest pause between two attempts, in seconds.
LONGEST_PAUSE = 15.0

_LOGGER = logging.getLogger("calibo")
_T = TypeVar("_T")

#: Parts of messages of databases that no waiting helps against.
_LASTING = (
    "readonly",
    "read-only",
    "no such table",
    "no such column",
    "does not exist",
    "not a database",
    "malformed",
    "could not decode",
    "unable to open",
    "permission denied",
    "authentication failed",
)


def storage_failure(error: BaseException | None) -> BaseException | None:
    """Return the failure of a storage behind an error; ``None`` if it is about something else."""
    while error is not None:
        if isinstance(error, optuna.exceptions.StorageInternalError | sqlalchemy.exc.SQLAlchemyError):
            return error
        # A server behind gRPC that is not there.
        if type(error).__module__.partition(".")[0] == "grpc":
            return error
        error = error.__cause__ or error.__context__
    return None


def may_pass(error: BaseException) -> bool:
    """Return whether a failure of a storage may be over in a moment."""
    failure = storage_failure(error)
    if failure is None:
        return False
    text = " ".join(str(one) for one in (failure, failure.__cause__) if one is not None).lower()
    return not any(words in text for words in _LASTING)


def persistently(action: Callable[[], _T], patience: float, what: str) -> _T:
    """Do something with a storage, again and again for ``patience`` seconds while it cannot be used.

    Args:
        action: What is done; it must be harmless to do it twice.
        patience: Seconds after which the last failure is raised.
        what: What is tried, for the log.
    """
    begun, pause = time.monotonic(), 0.1
    while True:
        try:
            return action()
        except Exception as error:
            left = patience - (time.monotonic() - begun)
            if left <= 0 or not may_pass(error):
                raise
            failure = storage_failure(error) or error
            reason = str(failure.__cause__ or failure).partition("\n")[0]
            _LOGGER.warning("%s: the storage cannot be used at the moment (%s); trying again", what, reason)
            # Workers that were thrown out together do not come back together.
            time.sleep(min(left, pause * random.uniform(0.5, 1.0)))
            pause = min(2 * pause, LONGEST_PAUSE)
