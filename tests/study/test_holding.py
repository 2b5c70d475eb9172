"""Fixed values and contexts in studies: minimize, the sampler, enqueued trials, and what is stored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest

from calibo import CalibratedSampler, Categorical, Context, Float, Outcome, Patience, StopWhen, minimize
from calibo.errors import ContextWarning, RecipeError, SpaceError
from calibo.study import load_result, write_context

SPACE: dict[str, Any] = {"x": Float(0, 1), "k": Categorical(["a", "b"])}
WITH = SPACE | {"t": Context(Float(10, 40))}


def temperatures(*values: float) -> Callable[[], dict[str, float]]:
    turn = iter(values)
    return lambda: {"t": next(turn)}


def value(p: Any) -> float:
    return (p["x"] - p.get("t", 20) / 40) ** 2 + 0.1 * (p["k"] == "a") + p.get("t", 20)


def test_contexts_are_given_and_observed(tmp_path: Path) -> None:
    storage = tmp_path / "study.db"

    def objective(p: Any) -> Outcome:
        return Outcome(value(p), context={"t": 45.0} if p["t"] == 33.0 else {})

    context = temperatures(12.0, 15.0, 20.0, 25.0, 30.0, 35.0, 33.0, 33.5)
    settings: dict[str, Any] = {"storage": storage, "study_name": "s", "seed": 0, "progress": False}
    with pytest.warns(ContextWarning, match="context 't' is 45.0"):
        result = minimize(objective, WITH, 8, "gp_ei", context=context, **settings)
    assert [trial.params["t"] for trial in result.trials] == [12.0, 15.0, 20.0, 25.0, 30.0, 35.0, 45.0, 33.5]
    assert result.trials[6].forecasts is None and result.trials[7].forecasts is not None
    assert result.trials[6].x[2] == 1.0
    params, _ = result.recommend(context={"t": 14.0})
    assert params["t"] == 14.0
    loaded = load_result(storage, "s")
    assert loaded.space is not None and loaded.space.contexts == ("t",)
    assert loaded.recommend(context={"t": 14.0})[0] == params
    assert [trial.params for trial in loaded.trials] == [trial.params for trial in result.trials]


def test_fixed_values_hold_for_one_call(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"storage": tmp_path / "s.db", "study_name": "s", "seed": 0, "progress": False}
    minimize(value, SPACE, 4, "gp_ei", fixed={"k": "a"}, **settings)
    result = minimize(value, SPACE, 2, fixed={"x": 0.25}, **settings)
    assert {trial.params["k"] for trial in result.trials[:4]} == {"a"}
    assert {trial.params["x"] for trial in result.trials[4:]} == {0.25}


@pytest.mark.parametrize(
    ("space", "more", "says"),
    [
        (SPACE, {"fixed": {"k": "z"}}, "'z' is not a choice"),
        (SPACE, {"fixed": {"y": 1}}, "no parameter 'y' to hold"),
        (SPACE, {"fixed": "k=a"}, "fixed values are a dict"),
        (SPACE, {"context": {"t": 1}}, "'t' is no context"),
        (WITH, {}, "the context 't' must be given"),
        (WITH, {"fixed": {"t": 20}, "context": {"t": 20}}, "'t' is a context"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_written(
    tmp_path: Path, space: Any, more: dict[str, Any], says: str
) -> None:
    storage = tmp_path / "s.db"
    with pytest.raises(SpaceError, match=says):
        minimize(value, space, 3, "gp_ei", storage=storage, progress=False, **more)
    assert not storage.exists()


def test_stopping_rules_and_methods_across_contexts_are_refused() -> None:
    with pytest.raises(RecipeError, match="depends on the context"):
        minimize(value, WITH, 3, "gp_ei", context={"t": 20}, stop=Patience(2), progress=False)
    study = optuna.create_study(sampler=CalibratedSampler("gp_ei", seed=0, space=WITH, context={"t": 20.0}))
    with pytest.raises(RecipeError, match="leave StopWhen out"):
        study.optimize(suggested, n_trials=3, callbacks=[StopWhen(Patience(1))])
    wrong = optuna.create_study(sampler=CalibratedSampler("gp_ei", seed=0, space=WITH, context=lambda: 3))  # pyright: ignore[reportArgumentType]
    with pytest.raises(RecipeError, match="must return a dict by name"):
        wrong.optimize(suggested, n_trials=1)


def suggested(trial: optuna.Trial) -> float:
    p = {"x": trial.suggest_float("x", 0, 1), "k": trial.suggest_categorical("k", ["a", "b"])}
    return value(p | {"t": trial.suggest_float("t", 10, 40)})


def test_enqueued_values_are_held_with_a_forecast() -> None:
    study = optuna.create_study(sampler=CalibratedSampler("gp_ei", seed=0, space=WITH, context={"t": 20.0}))
    study.optimize(suggested, n_trials=7)
    study.enqueue_trial({"t": 33.0})
    study.enqueue_trial({"k": "a", "x": 0.75})
    study.optimize(suggested, n_trials=3)
    assert [trial.params["t"] for trial in study.trials[7:]] == [33.0, 20.0, 20.0]
    assert (study.trials[8].params["k"], study.trials[8].params["x"]) == ("a", 0.75)
    from calibo.spaces import as_space
    from calibo.study.distributions import optuna_space
    from calibo.study.trials import read_trials

    known = read_trials(study.trials, optuna_space(as_space(WITH)))
    assert all(trial.forecasts is not None for trial in known[7:])


def test_a_sampler_fixes_values_and_a_trial_stores_its_context() -> None:
    def objective(trial: optuna.Trial) -> float:
        found = suggested(trial)
        write_context(trial, {"t": 28.0})
        return found

    sampler = CalibratedSampler("gp_ei", seed=0, space=WITH, context=temperatures(20, 21, 22), fixed={"k": "b"})
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=3)
    assert {trial.params["k"] for trial in study.trials} == {"b"}
    progress = sampler.progress(study)
    assert progress is not None and [trial.params["t"] for trial in progress.trials] == [28.0] * 3
    assert set(progress.data.X[:, 2]) == {18 / 30}
