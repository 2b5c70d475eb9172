"""The methods by name."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.acquisition import ExpectedImprovement, UpperQuantile
from calibo.calibration import Calibrated, OnlineQuantile
from calibo.errors import CaliboError, RecipeError
from calibo.methods import METHODS, gp_ei, ocbo, strategy
from calibo.optimize import ModelBased, Optimizer
from calibo.space import Float
from calibo.surrogates import RBF, GaussianProcess


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_suggests(name: str) -> None:
    optimizer = Optimizer({"x": Float(0, 1), "y": Float(-1, 1)}, name, seed=0)
    for _ in range(7):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, suggestion.params["x"] ** 2 + suggestion.params["y"])
    assert suggestion.forecasts is not None and np.isfinite(suggestion.forecasts[0].calibrated.mean)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_is_described(name: str) -> None:
    method = METHODS[name]
    assert method.summary and method.paper and "\n" not in method.summary
    assert method.make().name == name  # type: ignore[attr-defined]


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(RecipeError, match=r"unknown method 'obco'; known are .*gp_ei.*ocbo"):
        strategy("obco")
    with pytest.raises(CaliboError, match="unknown method"):
        Optimizer({"x": Float(0, 1)}, "")


@pytest.mark.parametrize("method", [None, 3, GaussianProcess()])
def test_what_is_no_strategy_is_refused(method: object) -> None:
    with pytest.raises(RecipeError, match="a name or a strategy"):
        strategy(method)  # type: ignore[arg-type]


def test_a_strategy_is_passed_through() -> None:
    mine = gp_ei()
    assert strategy(mine) is mine


def test_the_parts_can_be_exchanged() -> None:
    method = ocbo(eta=0.3, surrogate=GaussianProcess(RBF()), rule=UpperQuantile(0.8), replicate=True)
    assert method.rule == UpperQuantile(0.8) and method.replicate
    assert isinstance(method.surrogate, Calibrated)
    by = method.surrogate.by
    assert isinstance(by, OnlineQuantile) and by.eta == 0.3
    assert isinstance(gp_ei().surrogate, GaussianProcess) and isinstance(gp_ei().rule, ExpectedImprovement)
    assert isinstance(method, ModelBased)


def test_a_bad_setting_is_refused_when_composing() -> None:
    with pytest.raises(RecipeError, match="eta"):
        ocbo(eta=-1.0)
