"""Asking and telling without a loop."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest
from optuna.storages import InMemoryStorage

from calibo import Context, Float, Outcome, PoolSpace
from calibo.errors import CaliboError, LateResultWarning, StudyError, ValueRejected
from calibo.study import ask_study, load_result, tell_study
from calibo.study.recording import Recorder

SPACE = {"x": Float(0, 1)}


def test_the_loop_by_hand_is_that_of_minimize() -> None:
    """The same seed gives the same suggestions, whoever runs them."""
    from calibo import minimize

    storage = InMemoryStorage()
    _, numbers = ask_study(storage, "s", space=SPACE, method="gp_ei", seed=3)
    for _ in range(6):
        x = load_result(storage).trials[-1].params["x"]
        result = tell_study(storage, None, numbers[0], Outcome((x - 0.3) ** 2))
        _, numbers = ask_study(storage)
    same = minimize(lambda p: (p["x"] - 0.3) ** 2, SPACE, 6, "gp_ei", seed=3, progress=False)
    assert [trial.params for trial in result.trials] == [trial.params for trial in same.trials]


def test_the_space_of_a_pool_has_to_be_given_again() -> None:
    storage, pool = InMemoryStorage(), PoolSpace([{"x": 1.0, "name": "a"}, {"x": 2.0, "name": "b"}], features=["x"])
    asked, _ = ask_study(storage, "s", space=pool)
    assert asked.trials[0].params["name"] in ("a", "b")
    with pytest.raises(StudyError, match="the space of study 's' is not known from its storage: give it"):
        ask_study(storage)
    with pytest.raises(StudyError, match="is not known"):
        tell_study(storage, "s", 0, Outcome(1.0))
    assert tell_study(storage, "s", 0, Outcome(1.0), space=pool).best_value == 1.0
    assert ask_study(storage, "s", space=pool)[1] == [1]


def test_what_is_told_is_checked() -> None:
    storage = InMemoryStorage()
    ask_study(storage, "s", 2, space=SPACE, directions={"a": "min", "b": "max"})
    with pytest.raises(ValueRejected, match="2 finite numbers, it returned 1.0; tell a failure with --failed"):
        tell_study(storage, "s", 0, Outcome(1.0))
    assert tell_study(storage, "s", 0, Outcome({"b": 1.0, "a": 2.0})).trials[0].values == (2.0, 1.0)
    failed = tell_study(storage, "s", 1, failed="too hot").trials[1]
    assert (failed.state, failed.error) == ("failed", "too hot")
    with pytest.raises(StudyError, match=r"trial 1 is finished already \(fail\)"):
        tell_study(storage, "s", 1, interrupted=True)


def test_a_study_of_optuna_goes_on() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(storage=InMemoryStorage(), study_name="o", direction="maximize")
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    result, numbers = ask_study(study._storage)
    assert numbers == [3] and result.directions[0].name == "MAXIMIZE" and 0 <= result.trials[3].params["x"] <= 1


def test_an_outcome_is_stored_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    ask_study(file, "s", space=SPACE)
    with pytest.raises(ValueRejected, match="standard error"):
        tell_study(file, "s", 0, Outcome(1.0, {"memory": 1.0}, sem=-1.0))
    before = load_result(file).optuna_trials[0]
    tell_study(file, "s", 0, Outcome(1.0, {"memory": -1.0}, sem=0.5, output="done"))
    after = load_result(file).optuna_trials[0]
    assert set(after.system_attrs) - set(before.system_attrs) == {"calibo:sem", "constraints:memory", "calibo:output"}
    assert after.constraints == {"memory": -1.0}


def test_two_tell_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one, which has looked before the first has told, is refused, and nothing of it is stored."""
    file = tmp_path / "s.db"
    ask_study(file, "s", space=SPACE)
    record = Recorder.__call__

    def between(self: Recorder, trial: optuna.Trial, returned: Outcome) -> tuple[float, ...]:
        monkeypatch.undo()
        tell_study(file, "s", 0, Outcome(1.0))
        return record(self, trial, returned)

    monkeypatch.setattr(Recorder, "__call__", between)
    with (
        pytest.warns(LateResultWarning, match="another worker has finished it"),
        pytest.raises(StudyError, match=r"trial 0 is finished already \(with 1\)"),
    ):
        tell_study(file, "s", 0, Outcome(2.0, sem=0.1))
    kept = load_result(file).trials[0]
    assert kept.value == 1.0 and kept.sem is None


def test_a_suggestion_that_cannot_be_made_leaves_no_trial_to_tell(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    space = {"x": Float(0, 1), "t": Context(Float(0, 10))}
    with pytest.raises(CaliboError, match="the context 't' must be given"):
        ask_study(file, "s", space=space)
    assert [trial.state.name for trial in load_result(file).optuna_trials] == ["FAIL"]
    _, numbers = ask_study(file, "s", context={"t": 3.0})
    tell_study(file, "s", numbers[0], Outcome(1.0, context={"t": 4.0}))
    assert load_result(file).trials[-1].params["t"] == 4.0


def test_an_outcome_without_a_known_constraint_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    ask_study(file, "s", 2, space=SPACE)
    tell_study(file, "s", 0, Outcome(1.0, {"memory": -1.0}))
    with pytest.raises(ValueRejected, match="--constraint memory=VALUE"):
        tell_study(file, "s", 1, Outcome(1.0))
    assert tell_study(file, "s", 1, Outcome(1.0, {"memory": 1.0})).trials[1].value == 1.0
