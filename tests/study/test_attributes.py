"""What is stored with trials and studies comes back exactly, and only where it belongs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from calibo.data import STORED_LEVELS, Forecast, Marginal, Suggestion
from calibo.errors import StudyError, ValueRejected
from calibo.study import attributes as attributes_module
from calibo.study import open_storage
from calibo.study.attributes import (
    PIECE_LENGTH,
    VERSION,
    read_description,
    read_seed,
    read_sem,
    read_suggestion,
    read_vector,
    study_seed,
    write_description,
    write_seed,
    write_sem,
    write_suggestion,
    write_vector,
)

finite = st.floats(allow_nan=False, allow_infinity=False)
distributions = st.builds(
    Marginal,
    finite,
    st.floats(0.0, 1e300),
    st.none() | st.lists(finite, min_size=33, max_size=33).map(lambda q: tuple(sorted(q))),
)
forecasts = st.lists(distributions, min_size=1, max_size=4).map(lambda stages: Forecast(tuple(stages)))
suggestions = st.builds(
    Suggestion,
    st.dictionaries(st.text(max_size=20), finite, max_size=30),
    forecasts=st.none() | forecasts.map(lambda forecast: (forecast,)),
    hyperparameters=st.lists(finite, max_size=60).map(lambda h: (tuple(h),)),
    number=st.just(0),
    constraints=st.lists(st.text(max_size=5), max_size=2).map(tuple),
    method=st.none() | st.just("ocbo"),
)


def _asked(storage: BaseStorage | None = None) -> tuple[optuna.Study, FrozenTrial]:
    study = optuna.create_study(storage=storage)
    trial = study.ask()
    return study, study.trials[trial.number]


@settings(max_examples=30)
@given(suggestion=suggestions)
def test_there_and_back_exactly(suggestion: Suggestion) -> None:
    study, trial = _asked()
    assert read_suggestion(trial) is None
    write_suggestion(study, trial, suggestion)
    again = study.trials[0]
    assert read_suggestion(again) == suggestion
    lengths = [len(json.dumps(value)) for value in again.system_attrs.values()]
    assert max(lengths) <= PIECE_LENGTH


def _suggestion(*, shift: float = 0.0) -> Suggestion:
    distribution = Marginal(1 / 3 + shift, 0.1, tuple(math.sqrt(level) + shift for level in STORED_LEVELS))
    return Suggestion(
        {f"parameter {i}": i / 7 for i in range(40)},
        forecasts=(Forecast((distribution,) * 4),),
        hyperparameters=((0.1, 1e-300),),
        number=0,
    )


STORAGES: dict[str, Callable[[Path], BaseStorage]] = {
    "memory": lambda folder: InMemoryStorage(),
    "sqlite": lambda folder: open_storage(folder / "a.db"),
    "journal": lambda folder: JournalStorage(JournalFileBackend(str(folder / "a.log"))),
}


@pytest.fixture
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attributes of at most 2000 characters."""
    monkeypatch.setattr(attributes_module, "PIECE_LENGTH", 2000)


@pytest.mark.parametrize("kind", STORAGES)
@pytest.mark.usefixtures("short_pieces")
def test_all_storages_keep_pieces(kind: str, tmp_path: Path) -> None:
    study, trial = _asked(STORAGES[kind](tmp_path))
    write_suggestion(study, trial, _suggestion())
    study.tell(0, 1.0)
    assert len(study.trials[0].system_attrs) > 2
    assert max(len(json.dumps(value)) for value in study.trials[0].system_attrs.values()) <= 2000
    assert read_suggestion(study.trials[0]) == _suggestion()


def test_a_suggestion_is_one_column_of_optunas_table() -> None:
    study, trial = _asked()
    write_suggestion(study, trial, _suggestion())
    study.tell(0, 1.0)
    columns = study.trials_dataframe().columns
    assert [name for name in columns if "attrs" in name] == ["system_attrs_calibo:suggestion"]


def test_a_copy_with_another_trial_is_not_its_own() -> None:
    study, trial = _asked()
    write_suggestion(study, trial, _suggestion())
    study.add_trial(optuna.create_trial(state=TrialState.WAITING, system_attrs=study.trials[0].system_attrs))
    assert read_suggestion(study.trials[1]) is None
    study.ask()
    write_suggestion(study, study.trials[1], Suggestion({"x": 0.5}, number=1))
    assert read_suggestion(study.trials[1]) == Suggestion({"x": 0.5}, number=1)


@pytest.mark.usefixtures("short_pieces")
def test_half_a_record_is_none_and_one_of_another_version_is_refused() -> None:
    study, trial = _asked()
    write_suggestion(study, trial, _suggestion())
    attributes = study.trials[0].system_attrs
    keys = sorted(attributes)
    for lost in keys:
        torn = {key: value for key, value in attributes.items() if key != lost}
        assert read_suggestion(_with(trial, torn)) is None
    with pytest.raises(StudyError, match=f"format version {VERSION + 1}, and this calibo reads version {VERSION}"):
        read_suggestion(_with(trial, attributes | {keys[0]: attributes[keys[0]] | {"version": VERSION + 1}}))
    write_suggestion(study, trial, _suggestion(shift=1.0))
    mixed = study.trials[0].system_attrs | {keys[1]: attributes[keys[1]]}
    assert read_suggestion(_with(trial, mixed)) is None


def _with(trial: FrozenTrial, attributes: dict[str, Any]) -> FrozenTrial:
    trial.system_attrs = attributes
    return trial


def test_a_record_with_a_number_changed_is_none() -> None:
    """It still reads as a suggestion, but is not the one that was made: the checksum tells."""
    study, trial = _asked()
    write_suggestion(study, trial, Suggestion({"x": 0.25}, number=0))
    attributes = study.trials[0].system_attrs
    key, head = next(item for item in attributes.items() if "text" in item[1])
    assert read_suggestion(study.trials[0]) is not None and "0.25" in head["text"]
    changed = head | {"text": head["text"].replace("0.25", "0.75")}
    assert read_suggestion(_with(trial, attributes | {key: changed})) is None


def test_vectors_and_standard_errors_are_stored() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"])
    trial = study.ask()
    assert (read_vector(study.trials[0]), read_sem(study.trials[0])) == ((), None)
    write_vector(trial, [1 / 3, 2])
    write_sem(trial, (0.1, 0))
    assert (read_vector(study.trials[0]), read_sem(study.trials[0])) == ((1 / 3, 2.0), (0.1, 0.0))
    for wrong in (-1.0, 0.1, (0.1, float("nan"))):
        with pytest.raises(ValueRejected, match="sem"):
            write_sem(trial, wrong)


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
    # The first one stays, whoever writes another one.
    assert write_seed(again, drawn + 1) == drawn
    assert study_seed(study) == drawn
