"""Processes that a run starts: how they are started, and what they send back."""

from __future__ import annotations

import multiprocessing
import pickle
import sys
from collections.abc import Callable
from typing import Any

from calibo.checks import message_of
from calibo.errors import RecipeError
from calibo.secrets import redacted

#: Longest reason of a failure, in characters, that is stored with its trial.
REASON_LENGTH = 500


def reason_of(error: BaseException) -> str:
    """Return an exception in words, whatever its own ``__str__`` does, without passwords."""
    return redacted(f"{type(error).__name__}: {message_of(error)[: 4 * REASON_LENGTH]}")[:REASON_LENGTH]


def start_method() -> str:
    """Return how processes are started: as the user has set it, or by fork, which takes any function."""
    set_by_user = multiprocessing.get_start_method(allow_none=True)
    if set_by_user is not None:
        return set_by_user
    return "fork" if "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin" else "spawn"


def started(target: Callable[..., None], *args: Any, remedy: str) -> tuple[Any, Any]:
    """Start a process whose function takes, after the arguments, the end of a pipe to answer on.

    Args:
        target: The function.
        args: Its arguments.
        remedy: What to do if it cannot be given to another process, for the message.

    Returns:
        The other end of the pipe, and the process.

    Raises:
        RecipeError: If the function or its arguments cannot be given to another process.
    """
    context: Any = multiprocessing.get_context(start_method())
    answers, theirs = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(*args, theirs))
    try:
        process.start()
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise RecipeError(f"what a process of its own is to run cannot be given to it ({error}): {remedy}") from error
    theirs.close()
    return answers, process


def sendable(answer: Any, instead: Callable[[], Any]) -> bytes:
    """Return an answer as bytes, or what ``instead`` returns if the other side could not read it."""
    try:
        text = pickle.dumps(answer)
        pickle.loads(text)
        return text
    except Exception:  # whatever the user's own class does when it is copied
        return pickle.dumps(instead())
