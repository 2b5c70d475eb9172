"""Optuna's databases, by statements of our own."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import optuna
import pytest
import sqlalchemy.event
from optuna.storages import RDBStorage

from calibo import Float
from calibo.study import minimize, open_storage
from calibo.study.leased import LeasedStorage

SPACE = {"x": Float(0.0, 1.0)}
pytestmark = pytest.mark.usefixtures("quiet")


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


def test_a_reading_takes_two_statements_and_finds_what_optuna_finds(tmp_path: Path) -> None:
    storage: Any = open_storage(tmp_path / "a.db")
    study = optuna.create_study(storage=storage, study_name="s", directions=["minimize", "maximize"])
    others = optuna.load_study(study_name="s", storage=f"sqlite:///{tmp_path / 'a.db'}")
    assert study.trials == []
    values = [(1.0, math.inf), (-math.inf, 0.5), (2.0, 1e-320)]
    for x, y in values:
        trial = others.ask()
        trial.suggest_float("x", 0, 1)
        trial.suggest_categorical("c", ["a", None, 3])
        trial.set_user_attr("a", {"b": [1, None]})
        others.tell(trial, [x, y])
    single = optuna.create_study(storage=storage, study_name="t")
    one = optuna.load_study(study_name="t", storage=f"sqlite:///{tmp_path / 'a.db'}").ask()
    for step, value in enumerate((math.nan, math.inf, 0.5)):
        one.report(value, step)
    asked: list[str] = []
    engine = storage.backend.storage.engine
    sqlalchemy.event.listen(
        engine,
        "before_cursor_execute",
        lambda *args: asked.append(args[2]) if args[2].startswith("SELECT") else None,
    )
    found = study.trials
    assert len(asked) == 2
    assert found == others.trials and [tuple(one.values) for one in found] == values
    reported = single.trials[0].intermediate_values
    assert math.isnan(reported[0]) and (reported[1], reported[2]) == (math.inf, 0.5)
