"""Copies that are the same, in another kind of storage."""

from __future__ import annotations

from pathlib import Path

from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from calibo import Float
from calibo.study import load_result, minimize, open_storage
from calibo.study.copying import copied, study_hash
from calibo.study.opening import load_study

SPACE = {"x": Float(0, 1)}


def test_a_copy_is_the_same_and_goes_on_as_the_study_would(tmp_path: Path) -> None:
    file, other = tmp_path / "a.db", JournalStorage(JournalFileBackend(str(tmp_path / "log")))
    minimize(lambda p: p["x"], SPACE, 4, "gp_ei", file, "s", seed=1, progress=False)
    study = load_study(open_storage(file), "s")
    assert study_hash(copied(study, open_storage(other))) == study_hash(study)
    assert [one.forecast for one in load_result(other, "s").trials] == [
        one.forecast for one in load_result(file, "s").trials
    ]
    for where in (file, other):
        minimize(lambda p: p["x"], SPACE, 1, "gp_ei", where, "s", seed=1, progress=False)
    assert load_result(file).trials[4].params == load_result(other).trials[4].params
