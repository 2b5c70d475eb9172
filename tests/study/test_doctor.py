"""What the doctor finds in forecasts and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna

from calibo import Float
from calibo.study import minimize, open_storage
from calibo.study.doctor import examine
from calibo.study.opening import load_study

SPACE = {"x": Float(0, 1)}


def _begun(file: Path, n: int = 4) -> None:
    minimize(lambda p: p["x"], SPACE, n, "gp_ei", file, "s", seed=1, progress=False)


def test_forecasts_and_files(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    _begun(file)
    storage: Any = open_storage(file)
    study = load_study(storage, "s")
    with storage.backend.storage.engine.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE trial_system_attributes SET value_json = '3' WHERE key = 'calibo:suggestion' AND trial_id = 2"
        )
    study.add_trial(
        optuna.trial.create_trial(value=1.0, params={"x": 0.5}, distributions=study.trials[0].distributions)
    )
    storage.spool.folders[0].mkdir()
    (storage.spool.folders[0] / f"1-1-1-1{'.result.json'}").write_text("{")
    said = [finding.text for finding in examine(file)]
    assert any("the forecasts of trials 1 are damaged" in one for one in said)
    assert any("trials 4 have no forecast" in one for one in said)
    assert any("cannot be read as the outcome of a trial" in one for one in said)
