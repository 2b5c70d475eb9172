"""Trials that a process holds, renews and parks."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from calibo.study import open_storage
from calibo.study.keeper import keeper

pytestmark = pytest.mark.usefixtures("quiet")


def test_asked_here_and_told_elsewhere(tmp_path: Path, study_of: Callable[..., optuna.Study]) -> None:
    """A process that ends in good order parks what it has asked for, until somebody tells the outcome."""
    study = study_of(open_storage(tmp_path / "a.db", lease=0.1))
    trial = study.ask()
    trial.suggest_float("x", 0, 1)
    keeper().park()
    other = study_of(open_storage(tmp_path / "a.db", lease=0.1))
    for _ in range(5):
        time.sleep(0.05)
        other._storage.look_after(other._study_id)
    assert other.trials[0].state is TrialState.RUNNING and other.trials[0].params == trial.params
    other.tell(0, 1.0)
    assert other.trials[0].value == 1.0
