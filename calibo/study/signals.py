"""Signals during a run: a run that is told to end settles its trial first, and is not interrupted while it stores one."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

#: Signals that end a run like Ctrl-C, if nobody else has an answer to them; a lost terminal and a cluster's order to end.
_ENDING = ("SIGTERM", "SIGHUP")


class Signalled(KeyboardInterrupt):
    """A signal asked the process to end.

    Attributes:
        number: The signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def ending_signals() -> Iterator[None]:
    """Raise ``Signalled`` in this block when a signal asks the process to end, instead of ending at once.

    Handlers that somebody else has set stay, and so does a signal that is ignored (``nohup``).
    """
    before: dict[int, Any] = {}

    def end(number: int, frame: FrameType | None) -> None:
        raise Signalled(number)

    try:
        if _in_main_thread():
            for name in _ENDING:
                number = getattr(signal, name, None)
                if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                    before[number] = signal.signal(number, end)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold signals back in this block; a second one of the same kind is let through."""
    if not _in_main_thread():
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []
    before: dict[int, Any] = {}

    def hold(number: int, frame: FrameType | None) -> None:
        if any(number == known for known, _ in waiting) and callable(before[number]):
            before[number](number, frame)
        waiting.append((number, frame))

    for number in (signal.SIGINT, *(getattr(signal, name) for name in _ENDING if hasattr(signal, name))):
        handler = signal.getsignal(number)
        if callable(handler):
            before[number] = handler
            signal.signal(number, hold)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for number, frame in waiting:
        before[number](number, frame)
