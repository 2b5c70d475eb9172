"""Outcomes with noise and constraints are stored with their trials."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import optuna

from calibo import Float, Optimizer, Outcome
from calibo.study import CalibratedSampler, load_result, minimize, write_sem

SPACE = {"x": Float(0, 1), "y": Float(0, 1)}


def noisy(params: Any) -> Outcome:
    x, y = params["x"], params["y"]
    return Outcome((x - 0.3) ** 2 + y, constraints={"limit": x - 0.9}, sem=0.05 + x / 3)


def asked(n: int) -> list[dict[str, Any]]:
    optimizer, found = Optimizer(SPACE, "ocbo", seed=4), []
    for _ in range(n):
        suggestion = optimizer.ask()
        outcome = noisy(suggestion.params)
        optimizer.tell(suggestion, outcome.values, sem=outcome.sem, constraints=outcome.constraints)
        found.append(dict(suggestion.params))
    return found


def params_of(result: Any) -> list[dict[str, Any]]:
    return [dict(trial.params) for trial in result.trials]


def test_noise_is_used_as_in_ask_and_tell_and_survives_a_resume(tmp_path: Path) -> None:
    kept: dict[str, Any] = {"storage": tmp_path / "a.db", "study_name": "s", "progress": False}
    minimize(noisy, SPACE, 6, "ocbo", seed=4, **kept)
    resumed = minimize(noisy, SPACE, 3, **kept)
    assert params_of(resumed) == asked(9)
    read = load_result(tmp_path / "a.db")
    assert [trial.sem for trial in read.trials] == [(noisy(trial.params).sem,) for trial in read.trials]
    variances = [noisy(trial.params).sem ** 2 for trial in read.trials]  # type: ignore[operator]
    data = read.data()
    assert data.Y_var is not None and data.Y_var[:, 0].tolist() == variances and np.isnan(data.Y_var[:, 1]).all()


def test_an_objective_of_optuna_stores_its_noise() -> None:
    def objective(trial: optuna.Trial) -> float:
        outcome = noisy({name: trial.suggest_float(name, 0, 1) for name in SPACE})
        write_sem(trial, outcome.sem or 0.0)
        for name, value in outcome.constraints.items():
            trial.set_constraint(name, value)
        return outcome.values  # type: ignore[return-value]

    study = optuna.create_study(sampler=CalibratedSampler("ocbo", seed=4, space=SPACE))
    study.optimize(objective, n_trials=9)
    assert [trial.params for trial in study.trials] == asked(9)


def test_one_standard_error_for_each_objective() -> None:
    def objective(params: Any) -> Outcome:
        return Outcome((params["x"], params["y"]), sem=(0.1, 0.2))

    result = minimize(objective, SPACE, 3, "gp_ei", seed=1, progress=False, directions=["minimize", "maximize"])
    data = result.data()
    np.testing.assert_allclose(data.Y_var, [[0.1**2, 0.2**2]] * 3)
