"""Outcomes that could not be stored, kept in files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from calibo import Float
from calibo.errors import CaliboWarning, LateResultWarning, StudyError
from calibo.study import minimize, open_storage
from calibo.study.backends import Writes
from calibo.study.leased import LeasedStorage, backend_of

SPACE = {"x": Float(0.0, 1.0)}
pytestmark = pytest.mark.usefixtures("quiet")


def test_an_outcome_that_cannot_be_stored_is_kept_in_a_file(
    opened: Callable[..., LeasedStorage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outage: Any
) -> None:
    monkeypatch.setenv("CALIBO_SPOOL", str(tmp_path))
    storage = opened(patience=0)
    outage(storage, 99)
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


def test_a_spooled_outcome_of_a_trial_that_was_run_again_changes_nothing(
    tmp_path: Path, study_of: Callable[..., optuna.Study], outage: Any
) -> None:
    storage = open_storage(tmp_path / "a.db", patience=0)
    assert isinstance(storage, LeasedStorage)
    outage(storage, 1)
    study = study_of(storage)
    trial = study.ask()
    with pytest.raises(StudyError, match="is kept in"):
        study.tell(trial, 1.0)
    assert storage.get_trial(trial._trial_id).state is TrialState.COMPLETE  # as its worker sees it
    backend_of(storage).write(trial._trial_id, Writes(), TrialState.COMPLETE, [5.0])
    with pytest.warns(LateResultWarning):
        storage.look_after(study._study_id)
    assert study_of(open_storage(tmp_path / "a.db")).trials[0].value == 5.0
    assert storage.spool is not None and storage.spool.files() == []
