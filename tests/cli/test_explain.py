"""``calibo explain``."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from calibo import Float, minimize
from calibo.cli.app import FAILED, app


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "study.db"
    space = {"x": Float(-1, 1), "y": Float(-1, 1)}
    minimize(lambda p: p["x"] ** 2 + p["y"], space, 10, storage=path, study_name="bowl", seed=0, progress=False)
    return path


def run(*words: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["explain", *map(str, words)])
    return done.exit_code, done.stdout, done.stderr


def test_where_the_best_point_lies_and_what_matters(storage: Path) -> None:
    code, out, _ = run(storage)
    assert code == 0 and "the best value lies between" in out and "its x lies between" in out
    assert "explains by itself" in out and max(map(len, out.splitlines())) <= 80


def test_why_a_trial(storage: Path) -> None:
    code, out, _ = run(storage, "bowl", "--trial", "9")
    assert code == 0 and out.startswith("Trial 9: x=")
    assert "reason" in out and "near it" in out and max(map(len, out.splitlines())) <= 80


def test_a_trial_that_is_not_there(storage: Path) -> None:
    code, _, err = run(storage, "--trial", "99")
    assert code == FAILED and "study 'bowl' has no trial 99: there are 10, counted from 0" in err
