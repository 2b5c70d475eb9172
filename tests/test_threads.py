"""Threads of linear algebra are limited around calibo's own computations, and given back."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from calibo import Float, Optimizer
from calibo.threads import single_threaded


def _threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def two_threads() -> Iterator[set[int]]:
    """Set what a user may have set: two threads."""
    _ = np.ones((2, 2)) @ np.ones((2, 2))
    limits = threadpool_limits(limits=2)
    yield _threads()
    limits.restore_original_limits()


def test_the_users_setting_is_given_back(two_threads: set[int]) -> None:
    inside, leave, seen = threading.Event(), threading.Event(), list[set[int]]()

    def other() -> None:
        with single_threaded():
            seen.append(_threads())
            inside.set()
            leave.wait(5)

    with single_threaded(), single_threaded():
        assert _threads() == {1}
        thread = threading.Thread(target=other)
        thread.start()
        inside.wait(5)
        assert _threads() == {1}
    assert _threads() == two_threads  # though the other thread is still computing
    leave.set()
    thread.join()
    assert seen == [{1}] and _threads() == two_threads


def test_a_suggestion_leaves_the_setting(two_threads: set[int]) -> None:
    optimizer = Optimizer({"x": Float(0, 1)}, "gp_ei", seed=1)
    for _ in range(6):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, suggestion.params["x"])
    assert _threads() == two_threads
