"""Storages that cannot be used for a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from optuna.exceptions import StorageInternalError

from calibo import Float
from calibo.study import minimize
from calibo.study.leased import LeasedStorage
from calibo.study.persistence import may_pass
from calibo.trials import State

SPACE = {"x": Float(0.0, 1.0)}
pytestmark = pytest.mark.usefixtures("quiet")


def test_an_outage_is_waited_for(
    opened: Callable[..., LeasedStorage], caplog: pytest.LogCaptureFixture, outage: Any
) -> None:
    storage = opened(patience=30)
    outage = outage(storage, 3)
    result = minimize(lambda p: p["x"], SPACE, 2, "gp_ei", storage, "s", seed=1, progress=False)
    assert outage.left == 0 and [one.state for one in result.trials] == [State.COMPLETE] * 2
    assert "storing the outcome of trial 0: the storage cannot be used at the moment" in caplog.text


@pytest.mark.parametrize(
    ("reason", "passes"), [("database is locked", True), ("Could not decode to UTF-8 column 'value_json'", False)]
)
def test_what_waiting_does_not_help_against(reason: str, passes: bool) -> None:
    assert may_pass(StorageInternalError(reason)) is passes
