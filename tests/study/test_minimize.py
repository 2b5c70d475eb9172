"""minimize and maximize: from an objective and a space to a result, whatever the objective does."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest

from calibo.errors import CaliboWarning, ObjectiveError, RecipeError, SpaceError, StudyError, TrialFailedWarning
from calibo.methods import gp_ei, ocbo
from calibo.search import RandomDraw
from calibo.spaces import Categorical, Float, Int, Ordinal, PoolSpace
from calibo.study import Interrupted, Result, load_result, maximize, minimize, open_storage

SPACE = {"x": Float(-5.0, 10.0), "k": Int(0, 6), "c": Categorical([(1,), (1, 2)]), "s": Ordinal(["s", "m", "l"])}

# The search is not what is tested here, so it may be a quick one.
GP_EI, OCBO = gp_ei(search=RandomDraw(64, 32)), ocbo(search=RandomDraw(64, 32))


def _objective(params: dict[str, Any]) -> float:
    return (params["x"] - 1.0) ** 2 + params["k"] + len(params["c"]) + "sml".index(params["s"])


def _minimize(objective: Any = _objective, space: Any = None, n_trials: int = 6, **options: Any) -> Result:
    settings: dict[str, Any] = {"method": GP_EI, "seed": 1, "progress": False} | options
    return minimize(objective, SPACE if space is None else space, n_trials, **settings)


def _params(result: Result) -> list[dict[str, Any]]:
    return [entry.params for entry in result.trials]


def test_the_smallest_and_the_largest_value_are_found() -> None:
    small = minimize(_objective, SPACE, n_trials=16, seed=0, method=OCBO, progress=False)
    assert small.best_value < 5.0
    assert small.best_value == _objective(small.best_params)
    assert isinstance(small.best_params["c"], tuple)
    large = maximize(_objective, SPACE, n_trials=14, seed=0, method=GP_EI, progress=False)
    assert large.best_value > 60.0


def test_methods_by_name_and_the_bar(capsys: pytest.CaptureFixture[str]) -> None:
    result = minimize(lambda p: p["x"] ** 2, {"x": Float(-1, 1)}, n_trials=6)
    assert (result.method, len(result.trials)) == ("auto", 6)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "6 of 6 trials" in shown.err
    assert f"best={result.best_value:.6g}" in shown.err
    minimize(lambda p: p["x"] ** 2, {"x": Float(-1, 1)}, n_trials=1, progress=False)
    assert capsys.readouterr().err == ""


def test_the_same_seed_gives_the_same_trials_and_global_state_is_left_alone() -> None:
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002  # pyright: ignore
    assert _params(_minimize()) == _params(_minimize()) != _params(_minimize(seed=2))
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002  # pyright: ignore
    assert _params(_minimize(seed=None)) != _params(_minimize(seed=None))


def test_an_objective_that_fails_now_and_then() -> None:
    calls: list[int] = []

    def objective(params: dict[str, Any]) -> Any:
        calls.append(1)
        n = len(calls)
        if n == 2:
            raise ValueError("no luck")
        if n == 6:
            sys.exit("enough")
        return {3: float("nan"), 4: None, 5: "high", 7: np.float32(2.0)}.get(n, _objective(params))

    with pytest.warns(CaliboWarning, match="trial 1 failed") as caught:
        result = _minimize(objective, n_trials=9)
    assert len(caught) == 1
    assert [entry.number for entry in result.failures] == [1, 2, 3, 4, 5]
    reasons = [entry.error or "" for entry in result.failures]
    assert reasons[0] == "ValueError: no luck"
    assert "it returned nan; raise an exception to report a failure" in reasons[1]
    assert "it returned None" in reasons[2]
    assert "it returned 'high'" in reasons[3]
    assert "sys.exit" in reasons[4]
    assert len(result.data().X_failed) == 5
    assert result.trials[6].value == 2.0


@pytest.mark.filterwarnings("ignore::calibo.errors.CaliboWarning")
def test_an_objective_that_never_works(tmp_path: Path) -> None:
    kept = {"storage": tmp_path / "a.db", "study_name": "s"}

    def objective(params: dict[str, Any]) -> float:
        raise KeyError("missing")

    with pytest.raises(ObjectiveError, match=r"none of 5 trials succeeded.*KeyError: 'missing'") as caught:
        _minimize(objective, n_trials=50, **kept)
    assert isinstance(caught.value.__cause__, KeyError)
    assert len(load_result(**kept).failures) == 5
    with pytest.raises(ObjectiveError, match="none of 6 trials"):
        _minimize(objective, n_trials=1, **kept)


@pytest.mark.filterwarnings("ignore::calibo.errors.CaliboWarning")
def test_a_study_with_successes_is_not_given_up(tmp_path: Path) -> None:
    kept = {"storage": tmp_path / "a.db", "study_name": "s"}
    _minimize(n_trials=1, **kept)
    result = _minimize(lambda params: float("nan"), n_trials=7, **kept)
    assert len(result.failures) == 7


def test_what_is_wrong_with_the_sampler_is_no_failed_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise SpaceError("broken")

    monkeypatch.setattr("calibo.study.sampler.propose", broken)
    with pytest.raises(SpaceError, match="broken"):
        _minimize()


def test_interrupted_by_the_user(tmp_path: Path) -> None:
    kept = {"storage": tmp_path / "a.db", "study_name": "s"}

    def objective(params: dict[str, Any]) -> float:
        if len(seen) == 3:
            raise KeyboardInterrupt
        seen.append(1)
        return _objective(params)

    seen: list[int] = []
    with pytest.raises(Interrupted, match="3 trials completed; call again with study_name='s'") as caught:
        _minimize(objective, **kept)
    result = caught.value.result
    assert [entry.state for entry in result.trials] == ["complete"] * 3 + ["interrupted"]
    assert result.failures == ()
    assert len(result.data().X_failed) == 0
    seen = [1] * 10
    assert len(_minimize(objective, n_trials=2, **kept).data()) == 5
    with pytest.raises(KeyboardInterrupt, match="in no storage"):
        seen = []
        _minimize(objective)


CTRL_C = """
import sys, time
sys.path.insert(0, sys.argv[2])
from calibo.spaces import Float
from calibo.study import minimize
def objective(params):
    print("trial", flush=True)
    time.sleep(0.2)
    return params["x"]
minimize(objective, {"x": Float(0, 1)}, 1000, "gp_ei", storage=sys.argv[1], study_name="s", progress=False)
"""


@pytest.mark.whole
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_in_a_real_process(tmp_path: Path) -> None:
    root = str(Path(__file__).resolve().parents[2])
    command = [sys.executable, "-c", CTRL_C, str(tmp_path / "a.db"), root]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(3):
        line = process.stdout.readline()
        assert line == "trial\n", (line, *process.communicate(timeout=60), process.returncode)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "study_name='s' to go on" in error
    result = load_result(tmp_path / "a.db", "s")
    assert sum(entry.state == "complete" for entry in result.trials) >= 2
    assert result.trials[-1].state in ("complete", "interrupted")


def test_pools() -> None:
    rows = [{"id": f"row {i}", "n": i % 5, "x": i / 7, "kind": "uvw"[i % 3]} for i in range(60)]
    seen: list[dict[str, Any]] = []

    def objective(row: dict[str, Any]) -> float:
        seen.append(row)
        return row["x"] - row["n"]

    pool = PoolSpace(rows, ["n", "x", "kind"])
    result = maximize(objective, pool, 14, method="gp_ei", seed=1, progress=False)
    assert all(row in rows for row in seen)
    assert result.best_params in rows
    assert result.best_value > 6.0
    assert [trial.params for trial in result.trials] == seen
    frame = minimize(lambda row: row["n"], pd.DataFrame(rows)[["n", "kind"]], 3, method="gp_ei", progress=False)
    assert frame.best_params.keys() == {"n", "kind"}


def test_a_pool_is_resumed(tmp_path: Path) -> None:
    rows = [{"n": i % 5, "x": i / 7, "kind": "uvw"[i % 3]} for i in range(40)]
    options: dict[str, Any] = {"method": "gp_ei", "seed": 1}
    whole = _minimize(lambda row: row["x"] + row["n"], rows, 9, **options)
    kept = {"storage": tmp_path / "a.db", "study_name": "s"}
    for n in (5, 4):
        part = _minimize(lambda row: row["x"] + row["n"], rows, n, **options, **kept)
    assert _params(part) == _params(whole)


def test_callbacks_and_timeout() -> None:
    seen: list[int] = []
    result = _minimize(callbacks=[lambda study, trial: seen.append(trial.number)])
    assert seen == list(range(6))
    result = _minimize(callbacks=[lambda study, trial: study.stop()])
    assert len(result.trials) == 1
    assert len(_minimize(n_trials=100_000, timeout=0.3).trials) < 1000


def test_pruned_trials_are_left_out() -> None:
    def objective(params: dict[str, Any]) -> float:
        if params["k"] > 2:
            raise optuna.TrialPruned
        return _objective(params)

    result = _minimize(objective, n_trials=8)
    pruned = [entry for entry in result.trials if entry.state == "pruned"]
    assert pruned
    assert len(result.data()) == 8 - len(pruned)
    assert not result.failures


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_trials": 0}, RecipeError, "n_trials, the number of new trials"),
        ({"timeout": -1}, RecipeError, "timeout"),
        ({"seed": "one"}, RecipeError, "seed must be a whole number"),
        ({"objective": 3}, ObjectiveError, "a function of a dict"),
        ({"space": {}}, SpaceError, "at least one parameter"),
        ({"storage": "nowhere"}, StudyError, "a storage is a URL"),
    ],
)
def test_bad_input(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        _minimize(**options)


def test_a_storage_that_fails_in_the_middle(tmp_path: Path) -> None:
    storage = open_storage(tmp_path / "a.db")

    def objective(params: dict[str, Any]) -> float:
        calls.append(1)
        if len(calls) == 3:
            (tmp_path / "a.db").write_bytes(b"gone" * 5000)
        return _objective(params)

    calls: list[int] = []
    says = r"the storage could not be used \(.*\); the outcome of trial 2 is kept in .*a\.db\.spool.*"
    with pytest.raises(StudyError, match=says) as caught:
        _minimize(objective, storage=storage, study_name="s")
    assert "\n" not in str(caught.value)


class _Unshowable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no message")


def test_an_exception_that_cannot_be_shown_does_not_end_the_run() -> None:
    calls = []

    def objective(params: dict[str, Any]) -> float:
        calls.append(params)
        if len(calls) == 2:
            raise _Unshowable
        return params["x"]

    with pytest.warns(TrialFailedWarning, match="its message cannot be shown"):
        result = minimize(objective, {"x": Float(0, 1)}, 4, "gp_ei", seed=0, progress=False)
    assert len(result.trials) == 4 and [trial.error for trial in result.failures] == [
        "_Unshowable: its message cannot be shown"
    ]


@pytest.mark.parametrize("name", ["", "a" * 513, "a\x00b", "\ud800", "a\nb"])
@pytest.mark.parametrize("kind", ["memory", "sqlite", "journal"])
def test_names_follow_one_rule_on_every_storage(kind: str, name: str, tmp_path: Path) -> None:
    def storage() -> Any:
        if kind == "memory":
            return None
        from optuna.storages.journal import JournalFileBackend

        return (
            tmp_path / "s.db"
            if kind == "sqlite"
            else optuna.storages.JournalStorage(JournalFileBackend(str(tmp_path / "s")))
        )

    with pytest.raises(StudyError, match="the name of a study"):
        minimize(lambda p: p["x"], {"x": Float(0, 1)}, 1, "gp_ei", storage(), name, progress=False)
    with pytest.raises(SpaceError, match="the name of a parameter"):
        minimize(lambda p: 1.0, {name: Float(0, 1)}, 1, "gp_ei", storage(), "s", progress=False)
