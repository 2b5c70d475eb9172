"""Who owns a trial: processes that have certainly ended."""

from __future__ import annotations

import os
from typing import Any

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from calibo.study.leases import Lease, Observer
from calibo.study.owners import certainly_ended, this_process


def _running(*attempts: Lease, **more: Any) -> FrozenTrial:
    attributes = {lease.key: lease.value for lease in attempts}
    return optuna.trial.create_trial(state=TrialState.RUNNING, system_attrs=attributes, **more)


@pytest.mark.skipif(os.name != "posix", reason="forks a process")
def test_a_process_that_has_ended_here_is_known_to_have_ended() -> None:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write, this_process().encode())
        os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    with os.fdopen(read) as said:
        ended = said.read()
    assert ended.count("/") == 5 and not certainly_ended(this_process())
    parts = ended.split("/")
    if not parts[1]:
        pytest.skip("nothing can be known of processes without /proc")
    assert certainly_ended(ended)
    # The same number on another machine, after another boot, or without all that is needed, says nothing.
    assert not certainly_ended("/".join([parts[0], "another boot", *parts[2:]]))
    assert not certainly_ended("/".join([*parts[:4], "", parts[5]]))
    assert not certainly_ended("someone")
    # The process number is in use again: it is another process.
    other = this_process().split("/")
    assert certainly_ended("/".join([*other[:4], "1", other[5]]))
    assert Observer(1.0).ended({1: _running(Lease(1, ended, 60.0))}) == [1]
    assert Observer(1.0, by_clock_only=True).ended({1: _running(Lease(1, ended, 60.0))}) == []
