"""Bad input to an optimizer: named errors, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from calibo.errors import CaliboError, DataError, RecipeError, SpaceError, ValueRejected
from calibo.optimize import Optimizer
from calibo.spaces import Float

CUBE = {"x": Float(0, 1), "y": Float(0, 1)}


def bowl(params: Any) -> float:
    return (params["x"] - 0.3) ** 2 + (params["y"] - 0.7) ** 2


def run(optimizer: Optimizer, n: int) -> None:
    for _ in range(n):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, bowl(suggestion.params))


@pytest.mark.parametrize("value", [float("nan"), "0.5", None], ids=repr)
def test_a_bad_value_is_rejected_and_loses_nothing(value: Any) -> None:
    optimizer = Optimizer(CUBE, "gp_ei", seed=0)
    run(optimizer, 2)
    suggestion = optimizer.ask()
    with pytest.raises(ValueRejected, match="finite number"):
        optimizer.tell(suggestion, value)
    assert len(optimizer.data()) == 2 and len(optimizer.data().X_pending) == 1
    optimizer.tell(suggestion, 0.5)
    assert len(optimizer.data()) == 3


@pytest.mark.parametrize("sem", [-1.0, "0.1"], ids=repr)
def test_a_bad_standard_error_is_rejected_and_loses_nothing(sem: Any) -> None:
    optimizer = Optimizer(CUBE, "gp_ei", seed=0)
    suggestion = optimizer.ask()
    with pytest.raises(CaliboError, match="standard error"):
        optimizer.tell(suggestion, 1.0, sem=sem)
    assert len(optimizer.data()) == 0 and len(optimizer.data().X_pending) == 1
    optimizer.tell(suggestion, 1.0, sem=0.1)


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"x": 0.5}, "missing"),
        ({"x": 1.5, "y": 0.5}, "outside"),
    ],
)
@pytest.mark.parametrize("tell", [lambda o, p: o.tell(p, 1.0), lambda o, p: o.tell_failed(p)], ids=["tell", "failed"])
def test_bad_parameters_are_refused_and_lose_nothing(
    params: dict[str, Any], says: str, tell: Callable[..., None]
) -> None:
    optimizer = Optimizer(CUBE, "gp_ei", seed=0)
    run(optimizer, 2)
    with pytest.raises(SpaceError, match=says):
        tell(optimizer, params)
    assert len(optimizer.data()) == 2 and len(optimizer.data().X_failed) == 0


def test_what_is_neither_suggestion_nor_parameters() -> None:
    with pytest.raises(DataError, match="tell takes a suggestion or a mapping of parameters, got a list"):
        Optimizer(CUBE, seed=0).tell([0.1, 0.2], 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(("first", "second"), [("tell", "tell_failed"), ("tell_failed", "tell")])
def test_an_outcome_is_recorded_once(first: str, second: str) -> None:
    optimizer = Optimizer(CUBE, "gp_ei", seed=0)
    suggestion = optimizer.ask()
    calls: dict[str, Callable[[], None]] = {
        "tell": lambda: optimizer.tell(suggestion, 1.0),
        "tell_failed": lambda: optimizer.tell_failed(suggestion),
    }
    calls[first]()
    with pytest.raises(DataError, match="its outcome was recorded before"):
        calls[second]()
    data = optimizer.data()
    assert len(data) + len(data.X_failed) == 1 and len(data.X_pending) == 0


def test_another_optimizers_suggestion_is_refused() -> None:
    mine, theirs = Optimizer(CUBE, "gp_ei", seed=0), Optimizer(CUBE, "gp_ei", seed=1)
    mine.ask()
    foreign = theirs.ask()
    with pytest.raises(DataError, match="another optimizer"):
        mine.tell(foreign, 1.0)
    assert len(mine.data()) == 0 and len(mine.data().X_pending) == 1


def test_an_altered_suggestion_is_refused() -> None:
    optimizer = Optimizer(CUBE, "gp_ei", seed=0)
    suggestion = optimizer.ask()
    with pytest.raises(DataError):
        optimizer.tell(replace(suggestion, number=99), 1.0)


def test_how_many() -> None:
    for q in (0, 1.5):
        with pytest.raises(RecipeError, match="q, the number of points to ask for"):
            Optimizer(CUBE, seed=0).ask(q=q)  # type: ignore[arg-type]


def test_bad_spaces_methods_and_directions() -> None:
    with pytest.raises(SpaceError):
        Optimizer(3)
    with pytest.raises(SpaceError):
        Optimizer({})
    with pytest.raises(RecipeError, match="unknown method"):
        Optimizer(CUBE, "bayes")
    with pytest.raises(RecipeError, match="direction"):
        Optimizer(CUBE, direction="up")
    with pytest.raises(RecipeError, match="seed"):
        Optimizer(CUBE, seed=-1)


@pytest.mark.parametrize("name", ["best", "best_expected"])
def test_without_an_outcome_there_is_no_best(name: str) -> None:
    optimizer = Optimizer(CUBE, seed=0)
    optimizer.ask()
    with pytest.raises(DataError, match="no trial is complete yet"):
        getattr(optimizer, name)


def test_a_fit_starts_from_the_hyperparameters_of_the_latest_suggestion() -> None:
    optimizer = Optimizer({"x": Float(0, 1)}, "gp_ei", seed=0)
    for _ in range(7):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, suggestion.params["x"] ** 2)
    assert suggestion.hyperparameters and optimizer.data().hyperparameters == suggestion.hyperparameters
