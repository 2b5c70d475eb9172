"""Objectives of a dict, of keywords and of a trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optuna
import pytest

from calibo import Outcome
from calibo.cli.styles import adapted
from calibo.errors import ObjectiveError

POINT = {"lr": 0.5, "depth": 3}


def by_dict(params):
    return params["lr"] * params["depth"]


def by_dict_and_more(config: dict[str, Any], verbose: bool = False):
    return by_dict(config)


def by_name(lr, depth):
    return lr * depth


def by_name_with_default(lr, depth=1, seed=0):
    return lr * depth + seed


def by_keyword_only(*, lr, depth):
    return lr * depth


def by_any_name(**params):
    return by_dict(params)


def by_trial(trial):
    return trial.suggest_float("lr", 0, 1) * trial.suggest_int("depth", 1, 9)


def by_annotated_trial(t: optuna.Trial):
    return by_trial(t)


def by_place(*args):
    return by_dict(args[0])


@pytest.mark.parametrize(
    "function",
    [
        by_dict,
        by_dict_and_more,
        by_name,
        by_name_with_default,
        by_keyword_only,
        by_any_name,
        by_trial,
        by_annotated_trial,
        by_place,
    ],
)
def test_all_are_called_as_they_are_written(function: Callable[..., Any]) -> None:
    assert adapted(function, list(POINT), "train.py:f")(POINT) == 1.5


def test_a_single_parameter() -> None:
    def of_value(x: float) -> float:
        return x**2

    def unclear(x):
        return x**2

    def of_dict(x):
        return x["x"] ** 2

    assert adapted(of_value, ["x"], "f")({"x": 3.0}) == 9.0
    assert adapted(of_dict, ["x"], "f")({"x": 3.0}) == 9.0
    with pytest.raises(ObjectiveError, match=r"called with the dict \{'x': 3.0\}.*def unclear\(x: float\)"):
        adapted(unclear, ["x"], "f")({"x": 3.0})
    # A parameter that is called trial is a parameter.
    assert adapted(lambda trial: trial["trial"], ["trial"], "f")({"trial": 2}) == 2
    assert adapted(max, ["x"], "f")({"x": 3.0}) == "x"  # it does not say what it takes


def test_constraints_of_a_trial() -> None:
    def limited(trial):
        trial.set_constraint("memory", trial.suggest_float("lr", 0, 1) - 1)
        return by_trial(trial)

    assert adapted(limited, list(POINT), "f")(POINT) == Outcome(1.5, {"memory": -0.5})


def test_arguments_that_are_not_the_parameters() -> None:
    def wrong(lr, width):
        return lr

    with pytest.raises(ObjectiveError, match=r"train.py:wrong takes lr, width, but the space has lr, depth"):
        adapted(wrong, list(POINT), "train.py:wrong")
    with pytest.raises(ObjectiveError, match="takes nothing"):
        adapted(lambda: 1.0, list(POINT), "f")
