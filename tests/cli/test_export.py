"""Trials as files."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from calibo import Categorical, Float, minimize
from calibo.cli.app import FAILED, app
from calibo.study import load_result


def calibo(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study of choices that a spreadsheet would run, of several types, and a failure."""
    folder = tmp_path_factory.mktemp("exported")
    space = {"x": Float(-1, 1), "kind": Categorical(["=1+1", 2, None])}

    def objective(params: dict[str, Any]) -> float:
        if params["kind"] == 2:
            raise ValueError("@home")
        return params["x"]

    with pytest.warns(UserWarning, match="failed"):
        minimize(objective, space, 8, "gp_ei", storage=folder / "s.db", study_name="a", seed=0, progress=False)
    return folder


@pytest.fixture(autouse=True)
def here(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(finished)


def test_csv_without_formulas() -> None:
    done = calibo("export", "s.db")
    table = pd.read_csv(io.StringIO(done.stdout))
    history = load_result("s.db").history
    assert list(table.columns) == list(history.columns)
    assert table["forecast_q90"].notna().any() and "'=1+1" in set(table["params_kind"])
    assert "\n=" not in done.stdout and ",=1" not in done.stdout
    assert table["value"].tolist() == pytest.approx(history["value"].tolist(), nan_ok=True)


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_files(ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"out.{ending}"
    done = calibo("export", "s.db", "a", "-o", str(file))
    assert done.exit_code == 0 and "8 trials (" in done.stdout
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "xlsx": pd.read_excel}[ending]
    table = read(file)
    assert len(table) == 8 and table["state"].tolist().count("failed") == len(load_result("s.db").failures)
    assert calibo("export", "s.db", "-o", str(file)).exit_code == FAILED  # it exists
    assert calibo("export", "s.db", "-o", str(file), "--force", "--quiet").output == ""


def test_json_of_the_output_and_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    written = json.loads(calibo("export", "s.db", "-o", str(file), "--json").stdout)
    assert written["written"] == str(file) and written["states"]["complete"] >= 1
    printed = json.loads(calibo("export", "s.db", "--json").stdout)
    assert json.loads(file.read_text()) == printed and printed["format"] == 1
    last = next(one for one in reversed(printed["trials"]) if one["forecasts"])
    low, high = last["forecasts"]["value"]["calibrated"]["intervals"]["80"]
    forecast = load_result("s.db").trials[last["number"]].forecast
    assert forecast is not None and (low, high) == tuple(forecast.calibrated.interval(0.8))
    assert any("@home" in (one["error"] or "") for one in printed["trials"])


def test_what_cannot_be_written() -> None:
    wrong = calibo("export", "s.db", "-o", "out.txt")
    assert wrong.exit_code == FAILED and "a file that ends in .csv, .json, .parquet, .xlsx" in wrong.stderr
    assert "there is no folder" in calibo("export", "s.db", "-o", "no/out.csv").stderr
