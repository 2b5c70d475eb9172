"""Errors and warnings share base classes, and are of the built-in kinds that people catch."""

from __future__ import annotations

import inspect

import optuna
import pytest

import calibo
from calibo import Float, ProductSpace, errors


def test_errors_and_warnings_share_base_classes() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    assert len(kinds) > 10
    for kind in kinds:
        assert issubclass(kind, errors.CaliboWarning if issubclass(kind, Warning) else errors.CaliboError)
    for kind in (errors.SpaceError, errors.ValueRejected, errors.DataError, errors.RecipeError):
        assert issubclass(kind, ValueError)
    assert issubclass(errors.MissingExtra, ImportError) and issubclass(errors.CaliboWarning, UserWarning)


def _here() -> int:
    """Return the line that this is called from."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def test_warnings_point_to_the_users_line() -> None:
    """Through calibo alone, however deep, and through Optuna: not to a line of either."""
    columns = {"a": Float(0, 1, default=0.9), "b": Float(0, 1, default=0.9)}
    space = ProductSpace(columns, constraints=["a + b <= 1"])
    optimizer = calibo.Optimizer(space, seed=1)
    with pytest.warns(errors.SpaceWarning, match="the defaults break") as caught:
        optimizer.ask()
    assert [(one.filename, one.lineno) for one in caught] == [(__file__, _here() - 1)]

    def objective(trial: optuna.Trial) -> float:
        return trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1)

    study = optuna.create_study(sampler=calibo.CalibratedSampler(seed=1, space={"x": Float(0, 1)}))
    with pytest.warns(errors.FallbackWarning, match="'y' is drawn at random") as caught:
        study.optimize(objective, n_trials=1)
    assert [(one.filename, one.lineno) for one in caught] == [(__file__, objective.__code__.co_firstlineno + 1)]
