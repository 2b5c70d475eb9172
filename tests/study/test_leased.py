"""A storage in front of Optuna's: trials of workers that die or stall, late results, and storages that go away."""

from __future__ import annotations

import os
import pickle
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from calibo import CalibratedSampler, Float
from calibo.data import Suggestion
from calibo.errors import LateResultWarning
from calibo.study import load_result, minimize, open_storage
from calibo.study.attributes import read_suggestion, write_suggestion
from calibo.study.keeper import keeper
from calibo.study.leased import LeasedStorage
from calibo.study.leases import INTERRUPTED, MAX_ATTEMPTS, Lease, read_lease
from calibo.trials import State

SPACE = {"x": Float(0.0, 1.0)}
pytestmark = pytest.mark.usefixtures("quiet")
posix = pytest.mark.skipif(os.name != "posix", reason="forks a worker")


def _killed(work: Callable[[], None]) -> None:
    """Do something in a process that is killed right after."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL


@posix
def test_a_killed_workers_trial_is_run_again_as_it_was(
    opened: Callable[..., LeasedStorage], study_of: Callable[..., optuna.Study]
) -> None:
    def work() -> None:
        study = study_of(opened())
        for _ in range(6):
            trial = study.ask()
            study.tell(trial, trial.suggest_float("x", 0, 1) ** 2)
        study.ask().suggest_float("x", 0, 1)

    _killed(work)
    (before,) = [one for one in study_of(opened()).trials if one.state is TrialState.RUNNING]
    result = minimize(lambda p: p["x"] ** 2, SPACE, 1, "gp_ei", opened(), "s", seed=3, progress=False)
    (after,) = [one for one in result.trials if one.number == before.number]
    assert len(result.trials) == 7 and after.state is State.COMPLETE
    # What it had stored is what it is run with: under a journal it had got as far as its suggestion.
    assert after.params == load_result(opened()).trials[6].params and after.forecast is not None
    if before.params:
        assert after.params == before.params
    stored = result.optuna_trials[6].system_attrs
    assert read_lease(stored) == Lease(2, read_lease(stored).owner, 60.0)  # pyright: ignore[reportOptionalMemberAccess]
    assert stored["calibo:suggestion"] == before.system_attrs["calibo:suggestion"]
    assert result.failures == ()


@posix
def test_a_worker_that_was_killed_before_it_suggested_anything(
    opened: Callable[..., LeasedStorage], study_of: Callable[..., optuna.Study]
) -> None:
    _killed(lambda: (study_of(opened()).ask(), None)[1])
    study = study_of(opened())
    trial = study.ask()
    assert trial.number == 0 and len(study.trials) == 1
    study.tell(trial, trial.suggest_float("x", 0, 1))


def _suspended(study: optuna.Study, trial: optuna.Trial) -> None:
    """Let a worker be heard of no more, as if it were suspended."""
    keeper().drop(study._storage.backend, trial._trial_id)


def _again(study: optuna.Study) -> optuna.Trial:
    """Wait until another worker begins the only trial there is."""
    for _ in range(400):
        study._storage.look_after(study._study_id)
        if any(one.state is TrialState.WAITING for one in study.get_trials(deepcopy=False)):
            return study.ask()
        time.sleep(0.01)
    raise AssertionError("it was not taken over")


def test_a_late_result_is_settled(opened: Callable[..., LeasedStorage], study_of: Callable[..., optuna.Study]) -> None:
    slow, quick = study_of(opened(lease=0.1)), study_of(opened(lease=60, by_clock_only=True))
    first = slow.ask()
    x = first.suggest_float("x", 0, 1)
    slow._storage.flush(first._trial_id)
    _suspended(slow, first)
    second = _again(quick)
    assert second.number == first.number and second.suggest_float("x", 0, 1) == x
    quick.tell(second, 1.0)
    # What another worker has measured stays, and the one that wakes up is told so.
    with pytest.warns(LateResultWarning, match=r"trial 0 .*another worker has finished it .*\[1.0\].*\(2.0,\)"):
        slow.tell(first, 2.0)
    assert [one.values for one in study_of(opened()).trials] == [[1.0]]


def test_a_late_result_that_comes_first_is_kept(
    opened: Callable[..., LeasedStorage], study_of: Callable[..., optuna.Study]
) -> None:
    slow, quick = study_of(opened(lease=0.1)), study_of(opened(lease=60, by_clock_only=True))
    first = slow.ask()
    first.suggest_float("x", 0, 1)
    slow._storage.flush(first._trial_id)
    _suspended(slow, first)
    second = _again(quick)
    slow.tell(first, 2.0)
    with pytest.warns(LateResultWarning, match=r"trial 0"):
        quick.tell(second, 1.0)
    assert [one.values for one in study_of(opened()).trials] == [[2.0]]
    quick.tell(quick.ask(), 3.0)  # and goes on


def test_a_worker_that_was_lost_before_it_had_a_point_keeps_its_result_and_mixes_nothing_up(
    opened: Callable[..., LeasedStorage], study_of: Callable[..., optuna.Study]
) -> None:
    slow, quick = study_of(opened(lease=0.1)), study_of(opened(lease=60, by_clock_only=True))
    slow.sampler = CalibratedSampler("gp_ei", seed=4, space=SPACE)
    first = slow.ask()
    _suspended(slow, first)
    second = _again(quick)
    theirs = second.suggest_float("x", 0, 1)
    mine = first.suggest_float("x", 0, 1)  # it wakes up, and is about to run another point
    assert mine != theirs and second.number == first.number
    slow._storage.flush(first._trial_id)
    quick.tell(second, theirs)
    with pytest.warns(LateResultWarning, match="stored as a new trial"):
        slow.tell(first, mine)
    assert [(one.params["x"], one.value) for one in study_of(opened()).trials] == [(theirs, theirs), (mine, mine)]


def test_a_worker_that_wakes_up_and_fails_leaves_the_other_attempt_alone(
    tmp_path: Path, study_of: Callable[..., optuna.Study]
) -> None:
    slow, quick = study_of(open_storage(tmp_path / "a.db", lease=0.1)), study_of(open_storage(tmp_path / "a.db"))
    quick._storage._by_clock_only = True
    quick._storage._set_up()
    first = slow.ask()
    first.suggest_float("x", 0, 1)
    slow._storage.flush(first._trial_id)
    _suspended(slow, first)
    second = _again(quick)
    slow.tell(first, state=TrialState.FAIL)
    assert quick._storage.backend.trial(second._trial_id).state is TrialState.RUNNING
    quick.tell(second, 1.0)
    assert [one.value for one in quick.trials] == [1.0]


def test_a_trial_that_loses_every_worker_is_given_up_and_is_no_failure(
    tmp_path: Path, study_of: Callable[..., optuna.Study]
) -> None:
    def opened() -> LeasedStorage:
        storage = open_storage(tmp_path / "a.db", lease=0.1)
        assert isinstance(storage, LeasedStorage)
        storage._by_clock_only = True
        storage._set_up()
        return storage

    studies = [study_of(opened()) for _ in range(MAX_ATTEMPTS)]
    asked: list[optuna.Trial] = []
    for i, study in enumerate(studies):
        trial = study.ask() if i == 0 else _again(study)
        asked.append(trial)
        trial.suggest_float("x", 0, 1)
        study._storage.flush(trial._trial_id)
        _suspended(study, trial)
    watching = study_of(opened())
    for _ in range(100):
        watching._storage.look_after(watching._study_id)
        found = watching.trials[asked[-1].number]
        if found.state is TrialState.FAIL:
            break
        time.sleep(0.02)
    assert found.state is TrialState.FAIL and found.user_attrs[INTERRUPTED]
    assert "in each of 3 attempts" in found.user_attrs["error"]
    result = load_result(opened(), space=SPACE, method="gp_ei")
    assert result.failures == () and len(result.data().X_failed) == 0
    # A result that comes after all is not lost.
    with pytest.warns(LateResultWarning, match="stored as a new trial"):
        studies[-1].tell(asked[-1], 0.5)
    kept = watching.trials[-1]
    assert kept.value == 0.5 and kept.params == found.params


def test_a_worker_without_leases_is_left_alone(tmp_path: Path, study_of: Callable[..., optuna.Study]) -> None:
    file = f"sqlite:///{tmp_path / 'a.db'}"
    open_storage(file)
    theirs = optuna.create_study(storage=file, study_name="s", sampler=optuna.samplers.RandomSampler(seed=1))
    mine = study_of(open_storage(file, lease=0.1))
    mine.tell(mine.ask(), 1.0)
    theirs.tell(theirs.ask(), 1.0)
    running = theirs.ask()
    for _ in range(5):
        time.sleep(0.05)
        mine._storage.look_after(mine._study_id)
    theirs.tell(running, 2.0)
    assert [one.state for one in mine.trials] == [TrialState.COMPLETE] * 3


@posix
def test_a_sampler_on_a_storage_of_optunas(tmp_path: Path) -> None:
    """Leases are there as well, from the moment at which the sampler is first asked."""
    file = f"sqlite:///{tmp_path / 'a.db'}"
    open_storage(file)

    def study() -> optuna.Study:
        sampler = CalibratedSampler("gp_ei", seed=3, space=SPACE, lease=5.0)
        return optuna.create_study(storage=file, study_name="s", load_if_exists=True, sampler=sampler)

    def work() -> None:
        ours = study()
        ours.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
        ours.ask().suggest_float("x", 0, 1)

    _killed(work)
    ours = study()
    before = ours.trials[2]
    assert before.state is TrialState.RUNNING and read_lease(before.system_attrs) is not None
    ours.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    after = ours.trials[2]
    assert after.state is TrialState.COMPLETE and after.params == before.params
    assert [one.state for one in ours.trials] == [TrialState.COMPLETE] * 4


class _Racing(CalibratedSampler):
    """Lets another worker publish a point while this one is choosing its own for the first time."""

    def __init__(self, publish: Callable[[], None], **options: Any) -> None:
        super().__init__("gp_ei", space=SPACE, seed=3, **options)
        self.publish: Callable[[], None] | None = publish
        self.chosen: list[float] = []

    def _choose(self, *args: Any) -> Any:
        chosen = super()._choose(*args)
        self.chosen.append(chosen.stored["x"])
        if self.publish is not None:
            publish, self.publish = self.publish, None
            publish()
        return chosen


@pytest.mark.parametrize(("away", "again"), [(0.01, True), (0.3, False)])
def test_a_point_is_chosen_again_only_if_another_worker_has_published_one_near_it(
    opened: Callable[..., LeasedStorage], away: float, again: bool, study_of: Callable[..., optuna.Study]
) -> None:
    ours, theirs = study_of(opened()), study_of(opened())
    for _ in range(5):
        trial = ours.ask()
        ours.tell(trial, (trial.suggest_float("x", 0, 1) - 0.5) ** 2)
    other = theirs.ask()

    def publish() -> None:
        x = ours.sampler.chosen[0]  # pyright: ignore[reportAttributeAccessIssue]
        write_suggestion(theirs, theirs.trials[other.number], Suggestion({"x": x - away if x > 0.5 else x + away}))

    ours.sampler = _Racing(publish, takes_all=True)
    trial = ours.ask()
    x = trial.suggest_float("x", 0, 1)
    # Beside the other point, by the models that were fitted before.
    (first,) = ours.sampler.chosen
    assert (abs(x - first) > away) is again and (x == first) is not again
    ours._storage.flush(trial._trial_id)
    stored = next(one for one in study_of(opened()).trials if one.number == trial.number)
    suggestion = read_suggestion(stored)
    assert suggestion is not None and suggestion.params == {"x": x} and stored.params == {"x": x}


def test_threads_pickling_and_what_optuna_may_ask(tmp_path: Path, study_of: Callable[..., optuna.Study]) -> None:
    storage = open_storage(tmp_path / "a.db")
    study = study_of(pickle.loads(pickle.dumps(storage)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=6, n_jobs=3)
    trial = study.ask()
    trial.suggest_float("x", 0, 1)
    trial.report(1.0, 3)
    trial.set_user_attr("a", [1])
    trial.set_constraint("c", -1.0)
    seen = next(one for one in study.trials if one.number == trial.number)
    assert seen.user_attrs == {"a": [1]} and seen.constraints == {"c": -1.0} and seen.params == trial.params
    plain = optuna.load_study(study_name="s", storage=f"sqlite:///{tmp_path / 'a.db'}")
    assert plain.trials[6].intermediate_values == {3: 1.0}
    study.tell(trial, state=TrialState.PRUNED)
    assert plain.trials == study.trials and len(plain.trials) == 7
    with pytest.raises(ValueError, match="Cannot tell a PRUNED trial"):
        study.tell(trial, 1.0)
    assert study.best_value == min(one.value for one in study.trials[:6] if one.value is not None)
