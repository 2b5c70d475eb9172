"""Where the optimum lies, and which parameters matter."""

from __future__ import annotations

import numpy as np
import pytest

from calibo import Categorical, Float, Optimizer
from calibo.errors import DataError, RecipeError
from calibo.optimize.optimum import Optimum, _main_effect

SPACE = {"x": Float(-1, 1), "y": Float(-1, 1), "kind": Categorical(["a", "b"])}


def made(n: int = 25) -> Optimizer:
    optimizer = Optimizer(SPACE, seed=0, n_initial=12)
    for _ in range(n):
        asked = optimizer.ask()
        x, y, kind = asked.params["x"], asked.params["y"], asked.params["kind"]
        optimizer.tell(asked, (x - 0.3) ** 2 + 0.1 * (y + 0.5) ** 2 + 0.5 * (kind == "b"))
    return optimizer


def test_intervals_of_the_optimum_hold_it() -> None:
    optimizer = made()
    found = optimizer.optimum(0.95)
    assert found.value[0] <= 0.0 <= found.value[1] + 1e-6
    # One end is what is known: the best result, which was measured without noise.
    assert found.value[1] == pytest.approx(optimizer.best[1], abs=0.01)
    assert found.intervals["x"][0] - 0.02 <= 0.3 <= found.intervals["x"][1] + 0.02
    # The flat direction is less certain.
    width = {name: high - low for name, (low, high) in found.intervals.items()}
    assert width["x"] <= width["y"] and next(iter(found.shares["kind"])) == "a"
    assert "its kind is a" in str(found)


def test_an_interval_of_one_value_is_that_value() -> None:
    words = str(Optimum((0.0, 0.5), {"k": (1, 1), "x": (0.25, 0.5)}, {}, {}, 0.8)).splitlines()
    assert words[2:] == ["  its k is 1", "  its x lies between 0.25 and 0.5"]
    assert "  the best value is -7\n" in str(Optimum((-7.0, -7.0), {"k": (1, 1)}, {}, {}, 0.8))
    assert "value lies between -13245.68 and -13245.61" in str(Optimum((-13245.68, -13245.61), {}, {}, {}, 0.8))


def test_importance_finds_what_matters() -> None:
    """Shares of the variances of the three terms, .131 : .0024 : .0625 (by hand: x .67, kind .32, y .01)."""
    found = {one.name: one for one in made().importance()}
    assert found["x"].share == pytest.approx(0.67, abs=0.15)
    assert found["kind"].share == pytest.approx(0.32, abs=0.15)
    assert found["y"].share < 0.1
    assert all(one.low <= one.share <= one.high for one in found.values())


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_importance_has_no_unit(unit: float) -> None:
    optimizer = Optimizer({"x": Float(-1, 1), "y": Float(-1, 1)}, seed=0)
    for x, y in np.random.default_rng(0).uniform(-1, 1, (12, 2)):
        optimizer.tell({"x": x, "y": y}, unit * (x**2 + 0.1 * y**2))
    with np.errstate(over="raise", invalid="raise"):
        found = {one.name: one.share for one in optimizer.importance()}
    assert found["x"] > 0.7 > 0.3 > found["y"]


def test_the_main_effect_of_nothing_is_zero_on_average() -> None:
    rng = np.random.default_rng(0)
    draws, groups = rng.normal(size=(2000, 64)), np.arange(64) % 8
    assert _main_effect(draws, groups).mean() == pytest.approx(0.0, abs=5 * 0.15 / np.sqrt(2000))
    signal = np.linspace(-1, 1, 8)[groups]
    effect = _main_effect(signal + 0.1 * draws, groups).mean()
    assert effect == pytest.approx(np.var(np.linspace(-1, 1, 8)), rel=0.01)


def test_what_cannot_be_said_is_refused() -> None:
    with pytest.raises(DataError, match="no result meets all constraints yet"):
        Optimizer(SPACE, seed=0).optimum()
    several = Optimizer(SPACE, directions=["minimize", "minimize"], seed=0)
    with pytest.raises(RecipeError, match="have no single best point: see the Pareto front"):
        several.importance()
    with pytest.raises(RecipeError, match="makes no forecasts"):
        Optimizer(SPACE, "lfbo", seed=0).optimum()
    with pytest.raises(RecipeError, match="coverage must be a number between 0 and 1"):
        made(5).optimum(80)
