"""The JSON objects: every command prints the fields that docs/command_line.md names, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from calibo import Float, minimize
from calibo.cli.app import app

PAGE = Path(__file__).resolve().parents[2] / "docs" / "command_line.md"
STUDY = {"study", "directions", "objectives", "constraints", "method", "states"}
ROWS = {
    name: fields
    for names, fields in re.findall(r"^\| (`[a-z`, ]+`) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    for name in re.findall(r"`([a-z]+)`", names)
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a study, an objective, a space and a table."""
    folder = tmp_path
    (folder / "space.toml").write_text('[x]\ntype = "float"\nlow = 0.0\nhigh = 1.0\n')
    (folder / "recorded.py").write_text("def objective(params):\n    return params['x']\n")
    cells = [{"dose": 0.1 * i, "yield": 0.01 * i if i < 5 else None} for i in range(9)]
    pd.DataFrame(cells).to_csv(folder / "table.csv", index=False)
    settings: dict[str, Any] = {"storage": folder / "s.db", "study_name": "s", "seed": 0, "progress": False}
    minimize(lambda p: p["x"] ** 2, {"x": Float(0, 1)}, 10, "gp_ei", **settings)
    return folder


#: In an order in which they can be run, each with its further fields.
COMMANDS = {
    "run recorded.py --space space.toml --storage o.db --study o --trials 1": "report interrupted stopped calibration",
    "worker o.db o recorded.py --trials 2": "total interrupted stopped calibration",
    "ask o.db": "trials",
    "tell o.db o 2 0.5": "trial",
    "best s.db": "best pareto_front hypervolume",
    "show s.db": "trial",
    "studies s.db": "studies",
    "export s.db": "trials",
    "export s.db -o t.csv --force": "written",
    'predict s.db --params {"x":0.5}': "predictions",
    "explain s.db": "optimum importance",
    "explain s.db --trial 9": "trial reason improvement best_before words",
    "report s.db": "report",
    "audit s.db --methods gp_ei": "forecasters report",
    "methods": "methods",
    "doctor s.db": "findings",
    "copy s.db c.db": "copies",
    "rank table.csv --target yield --method gp_ei -n 2": "round rows targets",
    "suggest space.toml --target y -n 2": "round experiments targets",
    "delete c.db s --yes": "deleted states",
}


def test_the_fields_are_those_documented(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for line, further in COMMANDS.items():
        done = CliRunner().invoke(app, [*line.split(), "--json"])
        assert done.exit_code == 0, done.output
        data = json.loads(done.stdout)
        documented = ROWS[data["command"]]
        assert data.pop("format") == 1 and data.pop("command") == line.split()[0]
        if "the study" in documented:
            assert set(data) > STUDY, line
            data = {key: value for key, value in data.items() if key not in STUDY}
        assert set(further.split()) <= set(data), line
        assert all(f"`{key}`" in documented for key in data), f"{set(data)} is not what the page says: {documented}"


def test_every_command_that_answers_is_documented() -> None:
    assert {line.split()[0] for line in COMMANDS} == set(ROWS)
