"""A storage in front of Optuna's: trials of workers that die or stall, late results, and storages that go away."""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
import sqlalchemy.event
from optuna.exceptions import StorageInternalError
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from calibo import CalibratedSampler, Float
from calibo.data import Suggestion
from calibo.errors import CaliboWarning, LateResultWarning, StudyError
from calibo.study import load_result, minimize, open_storage
from calibo.study.attributes import read_suggestion, write_suggestion
from calibo.study.backends import Known, Writes
from calibo.study.keeper import keeper
from calibo.study.leased import LeasedStorage, backend_of
from calibo.study.leases import INTERRUPTED, MAX_ATTEMPTS, Lease, read_lease
from calibo.trials import State

posix = pytest.mark.skipif(os.name != "posix", reason="forks a worker")
SPACE = {"x": Float(0.0, 1.0)}
KINDS = ["sqlite", "journal", "postgresql", pytest.param("grpc", marks=pytest.mark.extras)]
_names = (f"d{i}" for i in itertools.count())


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., LeasedStorage]:
    """Return a function that opens the same storage again, as another worker would."""
    where: Any = tmp_path / "a.db"
    if request.param == "postgresql":
        where = request.getfixturevalue("postgresql").database(f"{next(_names)}x{os.getpid()}")
    if request.param == "grpc":
        where = request.getfixturevalue("grpc_port")
        _emptied(_proxy(where))

    def again(by_clock_only: bool = False, **options: Any) -> LeasedStorage:
        given = JournalStorage(JournalFileBackend(str(tmp_path / "log"))) if request.param == "journal" else where
        storage = open_storage(_proxy(where) if request.param == "grpc" else given, **options)
        assert isinstance(storage, LeasedStorage)
        storage._by_clock_only = by_clock_only
        storage._set_up()
        return storage

    return again


def _proxy(port: int) -> BaseStorage:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        proxy = optuna.storages.GrpcStorageProxy(host="localhost", port=port)
    proxy.wait_server_ready(timeout=60)
    return proxy


def _emptied(storage: BaseStorage) -> None:
    for study in storage.get_all_studies():
        storage.delete_study(study._study_id)


def _study(storage: BaseStorage, **options: Any) -> optuna.Study:
    sampler = CalibratedSampler("gp_ei", seed=3, space=SPACE)
    return optuna.create_study(storage=storage, study_name="s", load_if_exists=True, sampler=sampler, **options)


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
def test_a_killed_workers_trial_is_run_again_as_it_was(opened: Callable[..., LeasedStorage]) -> None:
    def work() -> None:
        study = _study(opened())
        for _ in range(6):
            trial = study.ask()
            study.tell(trial, trial.suggest_float("x", 0, 1) ** 2)
        study.ask().suggest_float("x", 0, 1)

    _killed(work)
    (before,) = [one for one in _study(opened()).trials if one.state is TrialState.RUNNING]
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
def test_a_worker_that_was_killed_before_it_suggested_anything(opened: Callable[..., LeasedStorage]) -> None:
    _killed(lambda: (_study(opened()).ask(), None)[1])
    study = _study(opened())
    trial = study.ask()
    assert trial.number == 0 and len(study.trials) == 1
    study.tell(trial, trial.suggest_float("x", 0, 1))


def test_only_one_observer_takes_a_trial_over(opened: Callable[..., LeasedStorage]) -> None:
    study = _study(opened())
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


def test_workers_that_start_together_agree_on_a_seed(opened: Callable[..., LeasedStorage]) -> None:
    study_id = _study(opened())._study_id
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


def test_a_late_result_is_settled(opened: Callable[..., LeasedStorage]) -> None:
    slow, quick = _study(opened(lease=0.1)), _study(opened(lease=60, by_clock_only=True))
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
    assert [one.values for one in _study(opened()).trials] == [[1.0]]


def test_a_late_result_that_comes_first_is_kept(opened: Callable[..., LeasedStorage]) -> None:
    slow, quick = _study(opened(lease=0.1)), _study(opened(lease=60, by_clock_only=True))
    first = slow.ask()
    first.suggest_float("x", 0, 1)
    slow._storage.flush(first._trial_id)
    _suspended(slow, first)
    second = _again(quick)
    slow.tell(first, 2.0)
    with pytest.warns(LateResultWarning, match=r"trial 0"):
        quick.tell(second, 1.0)
    assert [one.values for one in _study(opened()).trials] == [[2.0]]
    quick.tell(quick.ask(), 3.0)  # and goes on


def test_a_worker_that_was_lost_before_it_had_a_point_keeps_its_result_and_mixes_nothing_up(
    opened: Callable[..., LeasedStorage],
) -> None:
    slow, quick = _study(opened(lease=0.1)), _study(opened(lease=60, by_clock_only=True))
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
    assert [(one.params["x"], one.value) for one in _study(opened()).trials] == [(theirs, theirs), (mine, mine)]


def test_a_worker_that_wakes_up_and_fails_leaves_the_other_attempt_alone(tmp_path: Path) -> None:
    slow, quick = _study(open_storage(tmp_path / "a.db", lease=0.1)), _study(open_storage(tmp_path / "a.db"))
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


def test_a_trial_that_loses_every_worker_is_given_up_and_is_no_failure(tmp_path: Path) -> None:
    def opened() -> LeasedStorage:
        storage = open_storage(tmp_path / "a.db", lease=0.1)
        assert isinstance(storage, LeasedStorage)
        storage._by_clock_only = True
        storage._set_up()
        return storage

    studies = [_study(opened()) for _ in range(MAX_ATTEMPTS)]
    asked: list[optuna.Trial] = []
    for i, study in enumerate(studies):
        trial = study.ask() if i == 0 else _again(study)
        asked.append(trial)
        trial.suggest_float("x", 0, 1)
        study._storage.flush(trial._trial_id)
        _suspended(study, trial)
    watching = _study(opened())
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


def test_a_worker_without_leases_is_left_alone(tmp_path: Path) -> None:
    file = f"sqlite:///{tmp_path / 'a.db'}"
    open_storage(file)
    theirs = optuna.create_study(storage=file, study_name="s", sampler=optuna.samplers.RandomSampler(seed=1))
    mine = _study(open_storage(file, lease=0.1))
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


def test_a_trial_takes_three_transactions(tmp_path: Path) -> None:
    storage = open_storage(tmp_path / "a.db")
    assert isinstance(storage, LeasedStorage) and isinstance(storage.backend.storage, RDBStorage)
    begun: list[str] = []
    sqlalchemy.event.listen(
        storage.backend.storage.engine,
        "before_cursor_execute",
        lambda *args: begun.append(args[2]) if "IMMEDIATE" in args[2] else None,
    )
    minimize(lambda p: p["x"], SPACE, 6, "gp_ei", storage, "s", seed=1, progress=False)
    begun.clear()
    minimize(lambda p: p["x"], SPACE, 4, "gp_ei", storage, "s", seed=1, progress=False)
    assert len(begun) <= 3 * 4 + 1  # and one for the study


class _Outage:
    """Makes a backend fail for a number of writes that finish a trial."""

    def __init__(self, storage: LeasedStorage, times: int) -> None:
        self._real, self.left = storage.backend.write, times
        storage.backend.write = self  # pyright: ignore[reportAttributeAccessIssue]

    def __call__(self, trial_id: int, writes: Writes, state: Any = None, values: Any = None, **more: Any) -> None:
        if state is not None and self.left:
            self.left -= 1
            raise StorageInternalError("the server closed the connection unexpectedly")
        self._real(trial_id, writes, state, values, **more)


def test_a_point_is_published_unless_others_have_one_that_was_not_known(opened: Callable[..., LeasedStorage]) -> None:
    ours, theirs = _study(opened()), _study(opened())
    mine, other = ours.ask(), theirs.ask()

    def published(study: optuna.Study, trial: optuna.Trial, known: set[int]) -> bool:
        study._storage.set_trial_system_attr(trial._trial_id, "point", trial.number)
        known = {*known, trial.number}
        return study._storage.flush(trial._trial_id, known=Known(study._study_id, "point", frozenset(known)))

    assert published(ours, mine, set())
    assert not published(theirs, other, set())
    assert published(theirs, other, {mine.number})
    assert {one.system_attrs["point"] for one in _study(opened()).trials} == {0, 1}
    # Trials that are finished are no reason to choose again.
    ours.tell(mine, 1.0)
    third = ours.ask()
    assert published(ours, third, {other.number})


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
    opened: Callable[..., LeasedStorage], away: float, again: bool
) -> None:
    ours, theirs = _study(opened()), _study(opened())
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
    stored = next(one for one in _study(opened()).trials if one.number == trial.number)
    suggestion = read_suggestion(stored)
    assert suggestion is not None and suggestion.params == {"x": x} and stored.params == {"x": x}


def test_an_outage_is_waited_for(opened: Callable[..., LeasedStorage], caplog: pytest.LogCaptureFixture) -> None:
    storage = opened(patience=30)
    outage = _Outage(storage, 3)
    result = minimize(lambda p: p["x"], SPACE, 2, "gp_ei", storage, "s", seed=1, progress=False)
    assert outage.left == 0 and [one.state for one in result.trials] == [State.COMPLETE] * 2
    assert "storing the outcome of trial 0: the storage cannot be used at the moment" in caplog.text


def test_an_outcome_that_cannot_be_stored_is_kept_in_a_file(
    opened: Callable[..., LeasedStorage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALIBO_SPOOL", str(tmp_path))
    storage = opened(patience=0)
    _Outage(storage, 99)
    measured: list[float] = []

    def objective(params: dict[str, float]) -> float:
        measured.append(params["x"])
        return params["x"]

    with pytest.raises(StudyError, match=r"the outcome of trial 0 is kept in .*result\.json, and the next worker"):
        minimize(objective, SPACE, 2, "gp_ei", storage, "s", seed=1, progress=False)
    (file,) = opened().spool.files()  # pyright: ignore[reportOptionalMemberAccess]
    with pytest.warns(CaliboWarning, match="the outcome of trial 0, which could not be stored .*, is stored now"):
        result = minimize(objective, SPACE, 1, "gp_ei", opened(), "s", seed=1, progress=False)
    assert [one.value for one in result.trials] == measured and len(measured) == 2
    assert not file.exists()


def test_a_spooled_outcome_of_a_trial_that_was_run_again_changes_nothing(tmp_path: Path) -> None:
    storage = open_storage(tmp_path / "a.db", patience=0)
    assert isinstance(storage, LeasedStorage)
    _Outage(storage, 1)
    study = _study(storage)
    trial = study.ask()
    with pytest.raises(StudyError, match="is kept in"):
        study.tell(trial, 1.0)
    assert storage.get_trial(trial._trial_id).state is TrialState.COMPLETE  # as its worker sees it
    backend_of(storage).write(trial._trial_id, Writes(), TrialState.COMPLETE, [5.0])
    with pytest.warns(LateResultWarning):
        storage.look_after(study._study_id)
    assert _study(open_storage(tmp_path / "a.db")).trials[0].value == 5.0
    assert storage.spool is not None and storage.spool.files() == []


def test_asked_here_and_told_elsewhere(tmp_path: Path) -> None:
    """A process that ends in good order parks what it has asked for, until somebody tells the outcome."""
    study = _study(open_storage(tmp_path / "a.db", lease=0.1))
    trial = study.ask()
    trial.suggest_float("x", 0, 1)
    keeper().park()
    other = _study(open_storage(tmp_path / "a.db", lease=0.1))
    for _ in range(5):
        time.sleep(0.05)
        other._storage.look_after(other._study_id)
    assert other.trials[0].state is TrialState.RUNNING and other.trials[0].params == trial.params
    other.tell(0, 1.0)
    assert other.trials[0].value == 1.0


def test_threads_pickling_and_what_optuna_may_ask(tmp_path: Path) -> None:
    storage = open_storage(tmp_path / "a.db")
    study = _study(pickle.loads(pickle.dumps(storage)))
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
