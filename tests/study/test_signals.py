"""Signals that end a run, and blocks that they wait for."""

from __future__ import annotations

import os
import signal
import time

import pytest

from calibo.study.signals import Signalled, ending_signals, uninterrupted


def test_signals_wait_for_a_block_and_a_second_one_does_not() -> None:
    done: list[int] = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        done.append(1)
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
        done.append(2)
    assert done == [1] and signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
def test_handlers_of_others_stay() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append(1))
    try:
        with ending_signals():
            os.kill(os.getpid(), signal.SIGTERM)
        assert seen == [1]
    finally:
        signal.signal(signal.SIGTERM, before)
    with pytest.raises(Signalled, match="SIGTERM"), ending_signals():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)
