"""Spaces that are inferred from the trials of an objective that decides what to suggest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

from calibo import CalibratedSampler
from calibo.errors import FallbackWarning
from calibo.study.inference import InferredSpace, inferred_space, unexplored
from calibo.study.trials import read_trials


def _inferred(objective: Callable[[optuna.Trial], float], n: int = 30) -> InferredSpace:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=n)
    space = inferred_space(study.trials)
    assert space is not None
    # All trials fit, and are read back as they were.
    for trial, params in zip(
        study.trials, space.space.decode(space.encode([t.params for t in study.trials])), strict=True
    ):
        assert params == pytest.approx(trial.params)
    return space


def test_choices_within_choices() -> None:
    def objective(trial: optuna.Trial) -> float:
        model = trial.suggest_categorical("model", ["svm", "rf", "knn"])
        if model == "svm":
            kernel = trial.suggest_categorical("kernel", ["linear", "poly"])
            trial.suggest_float("C", 0.1, 10.0)
            return float(trial.suggest_int("degree", 2, 4) if kernel == "poly" else 0.0)
        return float(trial.suggest_int("size", 1, 50))

    space = _inferred(objective)
    columns = dict(zip(space.names, space.space.columns, strict=True))
    assert columns["model"].when is None
    assert columns["kernel"].when == columns["C"].when == [{"model": ["svm"]}]
    assert columns["degree"].when == [{"model": ["svm"], "kernel": ["poly"]}]
    assert {frozenset(one["model"]) for one in columns["size"].when} == {frozenset({"rf", "knn"})}
    assert not space.irregular


def test_numbers_of_layers() -> None:
    def objective(trial: optuna.Trial) -> float:
        return float(sum(trial.suggest_int(f"width_{i}", 4, 8) for i in range(trial.suggest_int("layers", 1, 12))))

    space = _inferred(objective)
    columns = dict(zip(space.names, space.space.columns, strict=True))
    assert columns["width_0"].when is None
    [when] = columns["width_5"].when
    # What lies between the values seen goes with the nearer one.
    assert when["layers"] == list(range(when["layers"][0], 13)) and 4 <= when["layers"][0] <= 8


def test_the_same_parameter_in_two_branches_for_two_reasons() -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("a", ["p", "q"]) == "p":
            return trial.suggest_float("x", 0, 1)
        return trial.suggest_float("x", 0, 1) if trial.suggest_categorical("b", [False, True]) else 0.0

    space = _inferred(objective)
    when = space.space.columns[space.names.index("x")].when
    assert sorted(when, key=len) == [{"a": ["p"]}, {"a": ["q"], "b": [True]}]


def test_what_nothing_explains_is_said_and_the_latest_trial_decides() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", -1.0, 1.0)
        return x**2 + (trial.suggest_float("new", 0.0, 1.0) if trial.number >= 6 else 0.5)

    study = optuna.create_study(sampler=CalibratedSampler("gp_ei", seed=0))
    with pytest.warns(FallbackWarning, match="some trials have 'new' and others do not"):
        study.optimize(objective, n_trials=18)
    space = inferred_space(study.trials)
    assert space is not None and space.irregular == ("new",)
    X = space.encode([trial.params for trial in study.trials])
    assert (X[:6, 0] == 0.5).all()
    assert study.best_value < 0.02


def test_choices_that_were_never_tried_come_first() -> None:
    kinds = [f"kind {i}" for i in range(8)]

    def objective(trial: optuna.Trial) -> float:
        kind = trial.suggest_categorical("kind", kinds)
        return trial.suggest_float(f"x of {kind}", 0.0, 1.0) + 0.1 * kinds.index(kind)

    study = optuna.create_study(sampler=CalibratedSampler("gp_ei", seed=0))
    study.optimize(objective, n_trials=12)
    assert {trial.params["kind"] for trial in study.trials} == set(kinds)
    space = inferred_space(study.trials)
    assert space is not None and unexplored(space, study.trials) is None
    # Also a failed trial has tried its choice.
    ran = [trial for trial in study.trials if trial.params["kind"] != kinds[3]]
    space = inferred_space(ran)
    assert space is not None
    part = unexplored(space, ran)
    assert part is not None
    assert {p["kind"] for p in part.decode(part.sample(8, np.random.default_rng(0)))} == {kinds[3]}
    failed = optuna.create_trial(
        state=TrialState.FAIL,
        params={"kind": kinds[3]},
        distributions={"kind": optuna.distributions.CategoricalDistribution(kinds)},
    )
    assert unexplored(space, [*ran, failed]) is None


def test_an_enqueued_branch_is_filled_by_the_model() -> None:
    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return (trial.suggest_float("x", 0.0, 1.0) - 0.5) ** 2
        return 1.0 + (trial.suggest_float("y", 0.0, 1.0) - 0.5) ** 2

    study = optuna.create_study(sampler=CalibratedSampler("gp_ei", seed=0))
    study.optimize(objective, n_trials=14)
    for _ in range(4):
        study.enqueue_trial({"kind": "b"})
    study.optimize(objective, n_trials=4)
    assert [trial.params["kind"] for trial in study.trials[-4:]] == ["b"] * 4
    assert all(trial.forecasts is not None for trial in read_trials(study.trials[-4:], columns=("kind", "x", "y")))
    values = [trial.params["y"] for trial in study.trials if "y" in trial.params]
    assert len(set(values)) == len(values)
