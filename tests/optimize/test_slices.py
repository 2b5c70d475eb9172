"""Predictions along one parameter."""

from __future__ import annotations

import numpy as np
import pytest

from calibo.errors import SpaceError
from calibo.optimize import Optimizer, fitted_plan
from calibo.optimize.slices import Slice, slices_at
from calibo.spaces import Categorical, Float, Int, ProductSpace
from calibo.trials import Direction

SPACE = ProductSpace({"x": Float(1e-3, 1, log=True), "n": Int(1, 7), "c": Categorical(["a", "b", "z"])})
HERE = {"x": 0.1, "n": 3, "c": "b"}


def optimizer(direction: str = "minimize") -> Optimizer:
    optimizer = Optimizer(SPACE, "ocbo", direction=direction, seed=0)
    for _ in range(10):
        suggestion = optimizer.ask()
        p = suggestion.params
        optimizer.tell(suggestion, np.log10(p["x"]) ** 2 + p["n"] + (p["c"] == "z"))
    return optimizer


def slice_of(name: str, direction: str = "minimize", **options: int) -> Slice:
    opt = optimizer(direction)
    plan = fitted_plan(opt.data(), opt.strategy, rng=np.random.default_rng(0))
    (found,) = slices_at(plan, HERE, [name], space=SPACE, direction=Direction.of(direction), **options)
    return found


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize(("name", "count"), [("x", 121), ("n", 7), ("c", 3)])
def test_every_kind_of_parameter(name: str, count: int, direction: str) -> None:
    found = slice_of(name, direction)
    assert found.name == name and len(found.values) == count
    for values in (found.raw.mean, found.calibrated.mean, found.acquisition):
        assert values.shape == (count,) and np.isfinite(values).all()


def test_values_are_the_users_and_in_order_and_predictions_those_of_predict() -> None:
    found = slice_of("n")
    assert found.values == (1, 2, 3, 4, 5, 6, 7) and slice_of("c").values == ("a", "b", "z")
    x = slice_of("x", points=11).values
    assert x[0] == 1e-3 and x[-1] == 1 and np.all(np.diff(x) > 0) and len(x) == 11
    table = optimizer().predict([HERE | {"n": n} for n in found.values])
    np.testing.assert_allclose(found.calibrated.mean, table["mean"], rtol=1e-9)
    np.testing.assert_allclose(found.calibrated.interval(0.8)[1], table["measured_high_80"], rtol=1e-9)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(SpaceError, match="no parameter 'y'"):
        slice_of("y")
