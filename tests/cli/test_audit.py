"""``calibo audit``."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import optuna
import pandas as pd
import pytest
from typer.testing import CliRunner

from calibo.cli.app import FAILED, app


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A storage with a study that Optuna made."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    path = tmp_path_factory.mktemp("audit") / "study.db"
    study = optuna.create_study(
        storage=f"sqlite:///{path}", study_name="bowl", sampler=optuna.samplers.TPESampler(seed=0)
    )
    study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=12)
    study.tell(study.ask(), state=optuna.trial.TrialState.FAIL)
    return path


def run(*words: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["audit", *map(str, words), "--no-progress"])
    return done.exit_code, done.stdout, done.stderr


def test_it_prints_the_table_and_writes_the_page(storage: Path, tmp_path: Path) -> None:
    code, out, _ = run(storage, "bowl", "--methods", "ocbo, gp_ei", "-o", tmp_path / "audit.html")
    assert code == 0 and out.startswith("Audit of study 'bowl': value, minimized, 12 results, 1 parameter")
    assert max(map(len, out.splitlines()[:-1])) <= 80
    assert (tmp_path / "audit.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_table_as_csv(storage: Path, tmp_path: Path) -> None:
    code, out, _ = run(storage, "--methods", "ocbo", "--csv", "-")
    assert code == 0
    table = pd.read_csv(StringIO(out))
    assert set(table["forecaster"]) == {"ocbo", "gp_ei"}
    code, out, _ = run(storage, "--methods", "ocbo", "--csv", tmp_path / "audit.csv")
    assert code == 0 and "Wrote" in out and len(pd.read_csv(tmp_path / "audit.csv")) == 2


def test_json_says_what_was_left_out(storage: Path) -> None:
    code, out, _ = run(storage, "--methods", "gp_ei", "--json")
    said = json.loads(out)
    assert code == 0 and (said["study"], said["objective"], said["results"]) == ("bowl", "value", 12)
    assert said["headline"].startswith("It is too early to tell") and len(said["forecasters"]) == 1
    assert said["notes"][0] == "The first 5 of 12 results are only learned from."
    assert any(note.startswith("Trials left out, which have no finite result: 1 failed") for note in said["notes"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nobody"], "there is no study 'nobody': the storage has 'bowl'"),
        (["--objective", "speed"], "there is no objective 'speed'"),
        (["--methods", "magic"], "unknown method 'magic'"),
        (["-o", "missing/audit.html"], "a report cannot be written to missing/audit.html (there is no folder missing)"),
        (["--csv", "missing/audit.csv"], "a table cannot be written to missing/audit.csv (there is no folder missing)"),
    ],
)
def test_mistakes_are_explained(storage: Path, words: list[str], message: str) -> None:
    code, _, error = run(storage, *words)
    assert code == FAILED and message in error
