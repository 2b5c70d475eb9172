"""Leases: what is stored, and when a worker counts as gone."""

from __future__ import annotations

from typing import Any

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from calibo.study import leases
from calibo.study.leases import PARKED, Lease, Observer, foreign_workers, read_lease, renewed_lease
from calibo.study.owners import this_process


def _running(*attempts: Lease, **more: Any) -> FrozenTrial:
    attributes = {lease.key: lease.value for lease in attempts}
    return optuna.trial.create_trial(state=TrialState.RUNNING, system_attrs=attributes, **more)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(leases.time, "monotonic", lambda: now[0])
    return now


def test_the_latest_attempt_counts_and_damage_is_no_error() -> None:
    first, second = Lease(1, "a", 5.0, 3), Lease(2, "b", 6.0, "watcher 1")
    assert read_lease(_running(first, second).system_attrs) == second
    assert read_lease({}) is None and read_lease({"calibo:lease:x": 1}) is None
    assert read_lease({"calibo:lease:10": None, "calibo:lease:9": {}}) == Lease(10, "", leases.LEASE_SECONDS, 0)
    assert read_lease({"calibo:lease:1": {"seconds": "a", "owner": 3, "mark": [1]}}) == Lease(1, "", 60.0, 0)
    waiting = Lease(2, "", 6.0)
    assert renewed_lease(_running(first, waiting), 7.0) == Lease(2, this_process(), 7.0)
    assert renewed_lease(_running(first), 7.0).attempt == 2 and renewed_lease(_running(), 7.0).attempt == 1


def test_a_lease_lasts_as_long_as_its_owner_said_by_the_observers_clock(clock: list[float]) -> None:
    observer = Observer(1.0)
    assert observer.ended({7: _running(Lease(1, "elsewhere", 5.0, 1))}) == []
    clock[0] += 4.9
    assert observer.ended({7: _running(Lease(1, "elsewhere", 5.0, 1))}) == []
    assert observer.ended({7: _running(Lease(1, "elsewhere", 5.0, 2))}) == []  # a sign of life
    clock[0] += 4.9
    assert observer.ended({7: _running(Lease(1, "elsewhere", 5.0, 2))}) == []
    clock[0] += 0.2
    assert observer.ended({7: _running(Lease(1, "elsewhere", 5.0, 2))}) == [7]
    assert Observer(1.0).ended({7: _running(Lease(1, "elsewhere", 5.0, 2))}) == []  # another observer has just begun


def test_a_trial_without_a_lease_may_change_for_as_long_as_it_likes(clock: list[float]) -> None:
    observer = Observer(3.0)
    for step in range(4):
        changing = _running(user_attrs={str(i): i for i in range(step)})
        assert observer.ended({1: changing, 2: _running()}) == ([2] if step > 1 else [])
        clock[0] += 2.0


def test_a_parked_trial_waits_for_its_outcome(clock: list[float]) -> None:
    observer = Observer(1.0)
    for _ in range(3):
        assert observer.ended({1: _running(Lease(1, "elsewhere", 1.0, PARKED))}) == []
        clock[0] += 100.0


def test_who_works_without_leases_is_noticed() -> None:
    study = optuna.create_study()
    study.add_trial(optuna.trial.create_trial(value=1.0))
    assert foreign_workers(study.trials)  # nobody has a lease
    study.add_trial(optuna.trial.create_trial(value=1.0, system_attrs={"calibo:lease:1": Lease(1, "a", 5.0).value}))
    assert not foreign_workers(study.trials)
    study.tell(study.ask(), 1.0)
    assert foreign_workers(study.trials)
