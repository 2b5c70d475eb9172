"""Steps that only one of many workers can take, on every kind of storage."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from calibo.study.backends import Known, Writes
from calibo.study.leased import LeasedStorage
from calibo.study.leases import Lease

pytestmark = pytest.mark.usefixtures("quiet")


def test_only_one_observer_takes_a_trial_over(
    opened: Callable[..., LeasedStorage], study_of: Callable[..., optuna.Study]
) -> None:
    study = study_of(opened())
    study.ask().suggest_float("x", 0, 1)
    study._storage.flush(study.trials[0]._trial_id)
    trial, lease = study.trials[0], Lease(2, "", 1.0)
    backends = [opened().backend for _ in range(4)]
    won: list[bool] = []

    def take(backend: Any) -> None:
        won.append(backend.take_over(trial, lease, Writes(), TrialState.WAITING))

    threads = [threading.Thread(target=take, args=(backend,)) for backend in backends]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False, False, False, True]
    assert [one.study_name for one in opened().get_all_studies()] == ["s"]
    assert optuna.load_study(study_name="s", storage=opened()).trials[0].state is TrialState.WAITING


def test_workers_that_start_together_agree_on_a_seed(
    opened: Callable[..., LeasedStorage], study_of: Callable[..., optuna.Study]
) -> None:
    study_id = study_of(opened())._study_id
    backends = [opened().backend for _ in range(4)]
    seen: list[int] = []
    threads = [
        threading.Thread(target=lambda b=b, i=i: seen.append(b.set_once(study_id, "seed", i)))
        for i, b in enumerate(backends)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 4 and len(set(seen)) == 1
    assert opened().get_study_system_attrs(study_id)["seed"] == seen[0]


def test_a_point_is_published_unless_others_have_one_that_was_not_known(
    opened: Callable[..., LeasedStorage], study_of: Callable[..., optuna.Study]
) -> None:
    ours, theirs = study_of(opened()), study_of(opened())
    mine, other = ours.ask(), theirs.ask()

    def published(study: optuna.Study, trial: optuna.Trial, known: set[int]) -> bool:
        study._storage.set_trial_system_attr(trial._trial_id, "point", trial.number)
        known = {*known, trial.number}
        return study._storage.flush(trial._trial_id, known=Known(study._study_id, "point", frozenset(known)))

    assert published(ours, mine, set())
    assert not published(theirs, other, set())
    assert published(theirs, other, {mine.number})
    assert {one.system_attrs["point"] for one in study_of(opened()).trials} == {0, 1}
    # Trials that are finished are no reason to choose again.
    ours.tell(mine, 1.0)
    third = ours.ask()
    assert published(ours, third, {other.number})
