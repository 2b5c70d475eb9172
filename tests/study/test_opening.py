"""Opening a study: a new one, the old one, or none, with all that does not fit said before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend

from calibo.errors import SpaceError, StudyError
from calibo.spaces import Float, Int, PoolSpace, ProductSpace
from calibo.study import open_storage
from calibo.study.attributes import read_description, read_seed
from calibo.study.description import described
from calibo.study.distributions import optuna_space
from calibo.study.opening import load_study, open_study, quiet_optuna, storage_errors
from calibo.trials import Direction

SPACE = ProductSpace({"x": Float(0.0, 1.0), "k": Int(0, 3)})


def _open(storage: BaseStorage, name: str | None = "s", **changes: Any) -> tuple[optuna.Study, int]:
    space = optuna_space(changes.pop("space", SPACE))
    settings: dict[str, Any] = {"directions": [Direction.MINIMIZE], "seed": None, "method": "ocbo"}
    return open_study(storage, name, space=space, **(settings | changes))[:2]


def test_a_new_study_is_described_and_seeded() -> None:
    study, seed = _open(InMemoryStorage(), seed=5, directions=[Direction.MAXIMIZE])
    assert seed == read_seed(study) == 5
    assert read_description(study) == {"space": described(SPACE), "method": "ocbo"}
    assert [one.name for one in study.directions] == ["MAXIMIZE"]


def test_a_resumed_study_goes_on_with_its_own_seed(tmp_path: Path) -> None:
    first, seed = _open(open_storage(tmp_path / "a.db"))
    again, resumed = _open(open_storage(tmp_path / "a.db"))
    assert (again.study_name, resumed) == (first.study_name, seed)
    # Another seed may be given for the trials to come; the study keeps its own.
    assert _open(open_storage(tmp_path / "a.db"), seed=seed + 1)[1] == seed + 1
    assert read_seed(again) == seed


def test_without_a_name_every_study_is_a_new_one() -> None:
    storage = InMemoryStorage()
    names = {_open(storage, None)[0].study_name for _ in range(2)}
    assert len(names) == len(storage.get_all_studies()) == 2


def test_another_direction_is_refused() -> None:
    storage = InMemoryStorage()
    _open(storage)
    with pytest.raises(StudyError, match=r"'s' minimizes, but you asked to maximize; .*minimize\(\).* study_name"):
        _open(storage, directions=[Direction.MAXIMIZE])
    optuna.create_study(storage=storage, study_name="two", directions=["minimize", "maximize"])
    with pytest.raises(StudyError, match="'two' minimizes and maximizes"):
        _open(storage, "two")
    storage._studies[storage.get_study_id_from_name("two")].directions = []
    with pytest.raises(StudyError, match="'two' has no directions in the storage: it was damaged"):
        _open(storage, "two")


def test_another_space_is_refused_and_nothing_is_changed() -> None:
    storage = InMemoryStorage()
    study, _ = _open(storage)
    for other in (ProductSpace({"x": Float(0.0, 2.0), "k": Int(0, 3)}), PoolSpace([{"x": 0.1}, {"x": 0.2}])):
        with pytest.raises(StudyError, match=r"made with another space: .* is now "):
            _open(storage, space=other)
    description = read_description(study)
    assert description is not None
    assert description["space"] == described(SPACE)


def test_a_study_made_by_optuna_alone_is_taken_over_if_its_trials_fit() -> None:
    storage = InMemoryStorage()
    plain = optuna.create_study(storage=storage, study_name="s", sampler=optuna.samplers.RandomSampler(0))
    with quiet_optuna():
        plain.optimize(lambda trial: trial.suggest_float("x", -1.0, 1.0) + trial.suggest_int("other", 0, 1), n_trials=1)
    with pytest.raises(StudyError, match=r"'x' was FloatDistribution\(.* and is now IntDistribution\("):
        _open(storage, space=ProductSpace({"x": Int(0, 1)}))
    assert read_description(plain) is None
    study, _ = _open(storage)  # another range is no obstacle to Optuna
    assert len(study.trials) == 1
    assert read_description(plain) is not None


def test_reading_names_the_studies_there_are() -> None:
    storage = InMemoryStorage()
    with pytest.raises(StudyError, match="say which study is meant: the storage has no studies"):
        load_study(storage, None)
    _open(storage, "b")
    assert load_study(storage, None).study_name == "b"
    _open(storage, "a")
    with pytest.raises(StudyError, match="say which study is meant: the storage has 'a', 'b'"):
        load_study(storage, None)
    with pytest.raises(StudyError, match="there is no study 'c': the storage has 'a', 'b'"):
        load_study(storage, "c")
    assert load_study(storage, "a").study_name == "a"
    assert len(storage.get_all_studies()) == 2


def test_a_failure_behind_another_error_is_found() -> None:
    with pytest.raises(StudyError, match=r"could not be used \(the disk is full\)"), storage_errors():
        try:
            raise optuna.exceptions.StorageInternalError("the disk is full")
        except optuna.exceptions.StorageInternalError:
            raise AssertionError  # noqa: B904  (as Optuna's loop does)


@pytest.mark.parametrize("error", [ValueError("mine"), SpaceError("ours"), KeyboardInterrupt()], ids=repr)
def test_other_errors_are_left_as_they_are(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught, storage_errors():
        raise error
    assert caught.value is error


@pytest.mark.parametrize("kind", ["memory", "database", "journal"])
def test_a_study_that_was_deleted_is_named(tmp_path: Path, kind: str) -> None:
    storage = {
        "memory": InMemoryStorage,
        "database": lambda: RDBStorage(f"sqlite:///{tmp_path}/study.db"),
        "journal": lambda: JournalStorage(JournalFileBackend(str(tmp_path / "journal.log"))),
    }[kind]()
    study = optuna.create_study(storage=storage, study_name="gone")
    optuna.delete_study(storage=storage, study_name="gone")
    with pytest.raises(StudyError, match="the study is no longer in its storage: it was deleted"), storage_errors():
        study.get_trials(deepcopy=False)


def test_optuna_is_quiet_only_for_a_while() -> None:
    before = optuna.logging.get_verbosity()
    try:
        optuna.logging.set_verbosity(optuna.logging.INFO)
        with pytest.raises(ZeroDivisionError), quiet_optuna():
            assert optuna.logging.get_verbosity() == optuna.logging.ERROR
            raise ZeroDivisionError
        assert optuna.logging.get_verbosity() == optuna.logging.INFO
    finally:
        optuna.logging.set_verbosity(before)


def test_a_journal_that_was_cut_off_is_named(tmp_path: Path) -> None:
    file = tmp_path / "log"
    _open(JournalStorage(JournalFileBackend(str(file))))[0].ask()
    file.write_bytes(file.read_bytes()[:-30])
    # Optuna goes on in the line that was cut off, and cannot read it then.
    with (
        pytest.raises(StudyError, match=r"a file of the storage cannot be read \(.*\): it was damaged"),
        storage_errors(),
    ):
        _open(JournalStorage(JournalFileBackend(str(file))))[0].ask()
