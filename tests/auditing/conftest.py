"""Studies made by Optuna's samplers."""

from __future__ import annotations

from collections.abc import Callable

import optuna
import pytest


def made_by_tpe(
    objective: Callable[[optuna.Trial], float | tuple[float, ...]], trials: int = 20, **options: object
) -> optuna.Study:
    """A study made by Optuna's default sampler."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0), **options)  # pyright: ignore[reportArgumentType]
    study.optimize(objective, n_trials=trials, catch=(ArithmeticError,))
    return study


def mixed(trial: optuna.Trial) -> float:
    """An objective of a float on a log scale, an int and a choice."""
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    depth = trial.suggest_int("depth", 1, 8)
    kind = trial.suggest_categorical("kind", ["a", "b", None])
    return abs(rate - 0.03) ** 0.5 + 0.1 * abs(depth - 3) + 0.2 * (kind != "b")


@pytest.fixture(scope="module")
def study() -> optuna.Study:
    """A study of 24 trials."""
    return made_by_tpe(mixed, 24)
