"""ask and tell from the shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from calibo import Float, Outcome, minimize
from calibo.cli.app import FAILED, app
from calibo.study import load_result
from calibo.study.leases import PARKED, read_lease

SPACE = '[x]\ntype = "float"\nlow = -1.0\nhigh = 1.0\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.toml").write_text(SPACE)
    return tmp_path


def calibo(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def answer(*words: str) -> dict[str, Any]:
    done = calibo(*words, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def said(*words: str) -> str:
    done = calibo(*words)
    assert done.exit_code == FAILED, done.output
    return done.stderr


def begin(*words: str) -> dict[str, Any]:
    return answer("ask", "s.db", "tune", "--space", "space.toml", "--seed", "0", "--method", "gp_ei", *words)


def test_a_study_from_the_shell() -> None:
    for trial in begin("-n", "5")["trials"]:
        assert trial["state"] == "running" and trial["forecasts"] == {}
        told = answer("tell", "s.db", "tune", str(trial["number"]), str(-trial["params"]["x"]), "--sem", "0.1")
        assert told["trial"]["values"] == {"value": -trial["params"]["x"]}
    assert told["states"] == {"complete": 5} and [one.sem for one in load_result("s.db").trials] == [(0.1,)] * 5
    # The method of the study goes on, with forecasts.
    shown = calibo("ask", "s.db", "-n", "2").stdout
    assert shown.count("Forecast: ") == 2 and "calibo tell s.db tune NUMBER VALUE" in shown
    assert load_result("s.db").method == "gp_ei"


def test_a_suggestion_waits_for_its_result_and_others_keep_away() -> None:
    first, second = begin()["trials"][0], answer("ask", "s.db")["trials"][0]
    assert first["params"] != second["params"]
    leases = [read_lease(trial.system_attrs) for trial in load_result("s.db").optuna_trials]
    assert [lease and lease.mark for lease in leases] == [PARKED, PARKED]
    # In any order, and once.
    calibo("tell", "s.db", "tune", "1", "-0.5")
    assert "is finished already (with -0.5)" in said("tell", "s.db", "tune", "1", "0.3")
    assert "has no trial 7: awaited are the outcomes of 0" in said("tell", "s.db", "tune", "7", "0.3")


def test_failures_constraints_and_interruptions() -> None:
    begin("-n", "3")
    done = calibo("tell", "s.db", "tune", "0", "--failed", "the loss is NaN")
    assert "Trial 0: failed (the loss is NaN)." in done.stdout
    told = answer("tell", "s.db", "tune", "1", "2e-1", "--constraint", "memory=-1.5", "--constraint", "time=3")
    assert told["trial"]["constraints"] == {"memory": -1.5, "time": 3.0}
    assert answer("tell", "s.db", "tune", "2", "--interrupted")["trial"]["state"] == "interrupted"
    assert calibo("tell", "s.db", "tune", "2", "--interrupted", "-q").exit_code == FAILED


def test_objectives_with_names() -> None:
    begin("--directions", "error=min,speed=max")
    assert "calibo tell s.db tune 1 error=VALUE speed=VALUE" in calibo("ask", "s.db").stdout
    told = answer("tell", "s.db", "tune", "0", "speed=3", "error=0.5", "--sem", "speed=1", "--sem", "error=0.1")
    assert told["trial"]["values"] == {"error": 0.5, "speed": 3.0} and told["trial"]["sem"] == {
        "error": 0.1,
        "speed": 1,
    }
    assert "expected error, speed by name, got error" in said("tell", "s.db", "tune", "1", "error=0.5")
    assert "2 objectives (error, speed), got 1" in said("tell", "s.db", "tune", "1", "0.5")
    assert calibo("tell", "s.db", "tune", "1", "0.5", "-3").exit_code == 0


def test_held_parameters_and_contexts() -> None:
    (Path.cwd() / "space.toml").write_text(SPACE + '\n[t]\ntype = "float"\nlow = 0.0\nhigh = 9.0\ncontext = true\n')
    assert begin("--context", "t=3")["trials"][0]["params"]["t"] == 3.0
    asked = answer("ask", "s.db", "--fixed", "x=0.25", "--context", "t=4")["trials"][0]
    assert asked["params"] == {"x": 0.25, "t": 4.0}
    assert answer("tell", "s.db", "tune", "1", "1", "--context", "t=5")["trial"]["params"]["t"] == 5.0


def test_a_trial_that_a_worker_runs_is_left_to_it() -> None:
    def objective(params: dict[str, Any]) -> float:
        refused = said("tell", "s.db", "busy", "0", "7")
        assert "is being run by process" in refused
        assert calibo("tell", "s.db", "busy", "0", "7", "--force").exit_code == 0
        return 3.0

    with pytest.warns(UserWarning, match="another worker has finished it"):
        minimize(objective, {"x": Float(0, 1)}, 1, storage="s.db", study_name="busy", progress=False)
    assert load_result("s.db", "busy").best_value == 7.0


WRONG = [
    (("ask", "none.db"), "there is no such file"),
    (("ask", "s.db", "tuen"), "did you mean 'tune'?"),
    (("ask", "s.db", "--directions", "max"), "needs --space"),
    (("ask", "s.db", "tune", "--fixed", "y=1"), "y"),
    (("tell", "s.db", "tune", "0"), "give either the values, --failed REASON or --interrupted"),
    (("tell", "s.db", "tune", "0", "1", "--failed", "x"), "one of these only"),
    (("tell", "s.db", "tune", "0", "good"), "expected a number with a decimal point, got 'good'"),
    (("tell", "s.db", "tune", "0", "nan"), "tell a failure with --failed"),
    (("tell", "s.db", "tune", "0", "1", "--seem", "3"), "there is no option --seem; did you mean '--sem'?"),
    (("tell", "s.db", "tune", "0", "1", "--sem", "-3"), "standard error"),
    (("tell", "s.db", "tune", "0", "1", "--constraint", "memory"), "NAME=NUMBER"),
]


def test_what_is_wrong() -> None:
    begin()
    for words, message in WRONG:
        assert message in said(*words)
    assert load_result("s.db").trials[0].state == "running"


def test_a_trial_that_waits_is_handed_out_first() -> None:
    begin()
    load_result("s.db").study.enqueue_trial({"x": 0.125})
    assert "trial 1 waits to be run" in said("tell", "s.db", "tune", "1", "3")
    assert answer("ask", "s.db")["trials"][0]["params"] == {"x": 0.125}
    assert Outcome(1.0) == Outcome(1.0, output="text does not count")
