"""Damaged stores: a short version of stress/damaged_stores.py."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from calibo.errors import CaliboError
from calibo.study import load_result
from stress.damaged_stores import _STATEMENTS, Originals, _hostile_records, _stored_body, _with_record, _with_statement


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Originals:
    return Originals(tmp_path_factory.mktemp("stores"))


def test_a_record_of_a_wrong_shape_is_a_trial_without_forecast(originals: Originals, tmp_path: Path) -> None:
    kept = load_result(originals.sqlite).trials[9]
    assert kept.forecasts is not None
    for i, (name, record) in enumerate(_hostile_records(_stored_body(originals.sqlite)).items()):
        new = tmp_path / f"{i}.db"
        _with_record(originals.sqlite, new, record)
        trials = load_result(new).trials
        assert len(trials) == 12 and trials[9].values == kept.values, name
        if name not in ("hyperparameters are many", "method is unknown", "two forecasts for one objective"):
            assert trials[9].forecasts is None, name


def test_rows_that_nobody_wrote_end_in_named_errors(originals: Originals, tmp_path: Path) -> None:
    for i, statement in enumerate(_STATEMENTS.values()):
        new = tmp_path / f"{i}.db"
        _with_statement(originals.sqlite, new, statement)
        with contextlib.suppress(CaliboError):
            load_result(new).trials
