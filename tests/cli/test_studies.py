"""What a storage holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from calibo import Float, Outcome, minimize
from calibo.cli.app import FAILED, app
from calibo.study import open_storage


def calibo(*words: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(app, list(words), input=answer)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A storage with a study of one objective, one of two, and one whose trials all break a constraint."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    settings: dict[str, Any] = {"storage": "s.db", "seed": 0, "progress": False}
    space = {"x": Float(-1, 1)}
    minimize(lambda p: Outcome(p["x"] ** 2, sem=0.5), space, 3, study_name="one", **settings)
    ways = {"error": "minimize", "speed": "maximize"}
    minimize(lambda p: (p["x"] ** 2, p["x"]), space, 3, study_name="two", directions=ways, **settings)
    minimize(lambda p: Outcome(1.0, {"memory": 2.0}), space, 1, study_name="three", **settings)
    return "s.db"


def test_studies_best_and_show(store: str) -> None:
    listed = calibo("studies", store)
    assert [line.split()[0] for line in listed.stdout.splitlines()[3:6]] == ["one", "three", "two"]
    assert max(map(len, listed.stdout.splitlines())) <= 80 and "on the front" in listed.stdout
    data = json.loads(calibo("studies", store, "--json").stdout)["studies"]
    assert [one["study"] for one in data] == ["one", "three", "two"]
    assert data[0]["best"]["values"]["value"] == min(x**2 for x in _xs(store)) and data[1]["best"] is None
    assert {"error", "speed"} == set(data[2]["pareto_front"][0]["values"]) and data[2]["hypervolume"] >= 0

    assert calibo("best", store, "one").stdout.startswith("The smallest value is ")
    assert "Pareto-optimal trials" in calibo("best", store, "two").stdout
    none = calibo("best", store, "three")
    assert none.exit_code == FAILED and "no complete trial that meets all constraints" in none.stderr

    shown = calibo("show", store, "one", "-t", "1").stdout
    assert shown.startswith("Trial 1 of study 'one': ") and "± 0.5" in shown and "  x = " in shown
    assert "constraint memory 2" in calibo("show", store, "three").stdout  # the last one
    missing = calibo("show", store, "one", "-t", "9")
    assert missing.exit_code == FAILED and "has no trial 9: there are 3, counted from 0" in missing.stderr


def test_a_damaged_study_does_not_hide_the_others(store: str) -> None:
    storage: Any = open_storage(store)
    with storage.backend.storage.engine.begin() as connection:
        newer = """replace(value_json, '"version": 2', '"version": 99')"""
        connection.exec_driver_sql(f"UPDATE study_system_attributes SET value_json = {newer} WHERE study_id = 2")
    listed = calibo("studies", store)
    assert listed.exit_code == 0 and "cannot be read" in listed.stdout
    assert "format version 99" in " ".join(listed.stdout.split())
    data = json.loads(calibo("studies", store, "--json").stdout)["studies"]
    assert [one["study"] for one in data if "error" in one] == ["two"] and data[0]["best"]["number"] >= 0


def _xs(store: str) -> list[float]:
    return [one["params"]["x"] for one in json.loads(calibo("export", store, "one", "--json").stdout)["trials"]]


def test_delete_asks(store: str) -> None:
    refused = calibo("delete", store, "one", answer="n\n")
    assert refused.exit_code == FAILED and "Delete study 'one' in s.db: 3 trials (3 complete)?" in refused.stderr
    assert "nothing was deleted" in refused.stderr
    assert calibo("delete", store, "one", answer="").exit_code == FAILED
    done = calibo("delete", store, "one", answer="y\n")
    assert done.exit_code == 0 and "Deleted study 'one'" in done.stdout
    done = calibo("delete", store, "three", "--yes", "--json")
    assert json.loads(done.stdout)["deleted"] == "three"
    assert "there is no study 'three'" in calibo("delete", store, "three", "--yes").stderr
    calibo("delete", store, "two", "--yes")
    assert calibo("studies", store).stdout == "s.db has no studies.\n"
