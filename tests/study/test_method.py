"""A study goes on with its own method unless another is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
import pytest

from calibo.errors import CaliboWarning, RecipeError, StudyError
from calibo.methods import gp_ei
from calibo.search import RandomDraw
from calibo.spaces import Float
from calibo.study import CalibratedSampler, load_result, maximize, minimize, open_storage
from calibo.study.method import method_for, own_method

SPACE = {"x": Float(0, 1)}


def objective(params: Any) -> float:
    return (params["x"] - 0.3) ** 2


def bare(trial: optuna.Trial) -> float:
    return objective({"x": trial.suggest_float("x", 0, 1)})


@pytest.mark.filterwarnings("error::calibo.errors.CaliboWarning")
@pytest.mark.parametrize("run", [minimize, maximize])
def test_resumed_with_its_own_method(run: Any, tmp_path: Path) -> None:
    kept: dict[str, Any] = {"storage": tmp_path / "a.db", "study_name": "s", "progress": False}
    run(objective, SPACE, 6, "gp_ei", seed=1, **kept)
    resumed = run(objective, SPACE, 2, **kept)
    whole = run(objective, SPACE, 8, "gp_ei", seed=1, progress=False)
    assert (resumed.method, resumed.seed) == ("gp_ei", 1)
    assert [trial.params for trial in resumed.trials] == [trial.params for trial in whole.trials]
    assert [trial.forecasts for trial in resumed.trials] == [trial.forecasts for trial in whole.trials]
    assert {trial.suggestion.method for trial in resumed.trials} == {"gp_ei"}


def test_a_new_study_has_the_default() -> None:
    assert method_for(None, None).name == "auto"
    assert minimize(objective, SPACE, 1, progress=False).method == "auto"


def test_another_method_is_announced(tmp_path: Path) -> None:
    kept: dict[str, Any] = {"storage": tmp_path / "a.db", "study_name": "s", "progress": False}
    minimize(objective, SPACE, 1, "gp_ei", **kept)
    with pytest.warns(CaliboWarning, match="study 's' was made with gp_ei and goes on with ocbo"):
        minimize(objective, SPACE, 1, "ocbo", **kept)
    assert load_result(tmp_path / "a.db").method == minimize(objective, SPACE, 1, **kept).method == "ocbo"


def test_a_strategy_has_to_be_given_again(tmp_path: Path) -> None:
    kept: dict[str, Any] = {"storage": tmp_path / "a.db", "study_name": "s", "progress": False}
    quick = gp_ei(search=RandomDraw(16, 4))
    minimize(objective, SPACE, 2, quick, **kept)
    with pytest.raises(
        StudyError, match="'s' was made with a strategy that cannot be restored.*pass the same strategy"
    ):
        minimize(objective, SPACE, 2, **kept)
    assert len(load_result(tmp_path / "a.db").trials) == 2
    assert len(minimize(objective, SPACE, 1, quick, **kept).trials) == 3


def test_the_sampler_goes_on_with_the_studys_method(tmp_path: Path) -> None:
    storage = open_storage(tmp_path / "a.db")
    study = optuna.create_study(
        storage=storage, study_name="s", sampler=CalibratedSampler("gp_ei", seed=1, space=SPACE)
    )
    study.optimize(bare, n_trials=6)
    again = optuna.load_study(storage=storage, study_name="s", sampler=CalibratedSampler(seed=1, space=SPACE))
    again.optimize(bare, n_trials=2)
    assert own_method(again, {}) == (True, "gp_ei")
    whole = optuna.create_study(sampler=CalibratedSampler("gp_ei", seed=1, space=SPACE))
    whole.optimize(bare, n_trials=8)
    assert [trial.params for trial in again.trials] == [trial.params for trial in whole.trials]
    fresh = optuna.create_study(sampler=CalibratedSampler(seed=1, space=SPACE))
    fresh.optimize(bare, n_trials=1)
    assert own_method(fresh, {}) == (True, "auto")


def test_unknown_methods_are_named_at_once() -> None:
    with pytest.raises(RecipeError, match="unknown method 'magic'"):
        CalibratedSampler("magic")


def test_samplers_are_shown_in_words() -> None:
    assert repr(CalibratedSampler("gp_ei", seed=3)) == "CalibratedSampler(gp_ei, seed=3)"
    assert repr(CalibratedSampler()) == "CalibratedSampler(the study's own method)"
