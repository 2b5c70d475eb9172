"""What is written beside trials and studies comes back exactly, and only where it belongs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from calibo.data import STORED_LEVELS, Forecast, Marginal
from calibo.study import open_storage
from calibo.study.attributes import (
    PIECE_LENGTH,
    Stamp,
    read_description,
    read_seed,
    read_stamp,
    study_seed,
    write_description,
    write_seed,
    write_stamp,
)

finite = st.floats(allow_nan=False, allow_infinity=False)
distributions = st.builds(
    Marginal,
    finite,
    st.floats(0.0, 1e300),
    st.none() | st.lists(finite, min_size=33, max_size=33).map(lambda q: tuple(sorted(q))),
)
forecasts = st.lists(distributions, min_size=1, max_size=4).map(lambda stages: Forecast(tuple(stages)))
stamps = st.builds(
    Stamp,
    st.just(0),
    st.dictionaries(st.text(max_size=20), finite, max_size=30),
    st.none() | forecasts.map(lambda forecast: (forecast,)),
    st.lists(finite, max_size=60).map(lambda h: (tuple(h),)),
)


def _asked(storage: BaseStorage | None = None) -> tuple[optuna.Study, FrozenTrial]:
    study = optuna.create_study(storage=storage)
    trial = study.ask()
    return study, study.trials[trial.number]


@given(stamp=stamps)
def test_there_and_back_exactly(stamp: Stamp) -> None:
    study, trial = _asked()
    write_stamp(study, trial, stamp)
    again = study.trials[0]
    assert read_stamp(again) == stamp
    lengths = [len(json.dumps(value)) for value in again.system_attrs.values()]
    assert max(lengths) <= PIECE_LENGTH


def _stamp(number: int = 0, *, shift: float = 0.0) -> Stamp:
    distribution = Marginal(1 / 3 + shift, 0.1, tuple(math.sqrt(level) + shift for level in STORED_LEVELS))
    return Stamp(
        number, {f"parameter {i}": i / 7 for i in range(40)}, (Forecast((distribution,) * 4),), ((0.1, 1e-300),)
    )


STORAGES: dict[str, Callable[[Path], BaseStorage]] = {
    "memory": lambda folder: InMemoryStorage(),
    "sqlite": lambda folder: open_storage(folder / "a.db"),
    "journal": lambda folder: JournalStorage(JournalFileBackend(str(folder / "a.log"))),
}


@pytest.mark.parametrize("kind", STORAGES)
def test_all_storages_keep_it(kind: str, tmp_path: Path) -> None:
    study, trial = _asked(STORAGES[kind](tmp_path))
    write_stamp(study, trial, _stamp())
    study.tell(0, 1.0)
    assert len(study.trials[0].system_attrs) > 1
    assert read_stamp(study.trials[0]) == _stamp()


def test_nothing_is_read_where_nothing_was_written() -> None:
    _, trial = _asked()
    assert read_stamp(trial) is None


def test_a_copy_with_another_trial_is_not_its_own() -> None:
    study, trial = _asked()
    write_stamp(study, trial, _stamp())
    study.add_trial(optuna.create_trial(state=TrialState.WAITING, system_attrs=study.trials[0].system_attrs))
    assert read_stamp(study.trials[1]) is None
    study.ask()
    write_stamp(study, study.trials[1], Stamp(1, {"x": 0.5}))
    assert read_stamp(study.trials[1]) == Stamp(1, {"x": 0.5})


def test_half_a_record_is_none() -> None:
    study, trial = _asked()
    write_stamp(study, trial, _stamp())
    attributes = study.trials[0].system_attrs
    keys = sorted(attributes)
    for lost in keys:
        torn = {key: value for key, value in attributes.items() if key != lost}
        assert read_stamp(_with(trial, torn)) is None
    write_stamp(study, trial, _stamp(shift=1.0))
    mixed = study.trials[0].system_attrs | {keys[1]: attributes[keys[1]]}
    assert read_stamp(_with(trial, mixed)) is None


def test_another_version_is_passed_over() -> None:
    study, trial = _asked()
    write_stamp(study, trial, Stamp(0, {"x": 0.5}))
    attributes = study.trials[0].system_attrs
    ((key, head),) = attributes.items()
    assert read_stamp(_with(trial, {key: head | {"version": 2}})) is None


def _with(trial: FrozenTrial, attributes: dict[str, Any]) -> FrozenTrial:
    trial.system_attrs = attributes
    return trial


def test_studies_have_a_description_and_a_seed(tmp_path: Path) -> None:
    study, _ = _asked(open_storage(tmp_path / "a.db"))
    assert read_description(study) is None
    assert read_seed(study) is None
    description = {"space": {f"parameter {i}": [i / 3, None, "é"] for i in range(200)}}
    write_description(study, description)
    assert read_description(study) == description
    drawn = study_seed(study)
    again = optuna.load_study(study_name=study.study_name, storage=open_storage(tmp_path / "a.db"))
    assert study_seed(again) == study_seed(study) == drawn
    write_seed(again, 7)
    assert study_seed(study) == 7
