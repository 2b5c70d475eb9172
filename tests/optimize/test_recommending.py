"""The best expected point in a context: found where it is, feasible, and without being recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibo import Categorical, Context, Float, Optimizer, PoolSpace
from calibo.errors import RecipeError, SpaceError


def value(p: Any) -> float:
    c = (p["t"] - 10) / 30
    return (p["x"] - c) ** 2 + 0.3 * (p["k"] == "a") + 3.0 * c


@pytest.fixture(scope="module")
def optimizer() -> Optimizer:
    space = {"x": Float(0, 1), "k": Categorical(["a", "b"]), "t": Context(Float(10, 40))}
    one, rng = Optimizer(space, "gp_ei", seed=0), np.random.default_rng(1)
    for _ in range(24):
        suggestion = one.ask(context={"t": float(rng.uniform(10, 40))})
        one.tell(suggestion, value(suggestion.params))
    return one


def test_every_context_has_its_own_best(optimizer: Optimizer) -> None:
    for t in (12.0, 25.0, 38.0):
        params, expected = optimizer.recommend(context={"t": t})
        assert params["t"] == t and params["k"] == "b"
        assert params["x"] == pytest.approx((t - 10) / 30, abs=0.1)
        assert expected == pytest.approx(3 * (t - 10) / 30, abs=0.1)
    before = len(optimizer.trials)
    params, _ = optimizer.recommend(context={"t": 25.0}, fixed={"k": "a"})
    assert params["k"] == "a" and len(optimizer.trials) == before


def test_it_depends_on_the_context(optimizer: Optimizer) -> None:
    with pytest.raises(SpaceError, match="the context 't' must be given"):
        optimizer.recommend()
    with pytest.raises(RecipeError, match=r"recommend\(context="):
        _ = optimizer.best_expected
    two = Optimizer({"x": Float(0, 1)}, "gp_ei", directions=["minimize", "maximize"], seed=0)
    with pytest.raises(RecipeError, match="no single recommendation"):
        two.recommend()


def test_constraints_are_rather_met() -> None:
    optimizer = Optimizer({"x": Float(0, 1)}, "gp_ei", seed=0)
    for x in np.linspace(0, 1, 9):
        optimizer.tell({"x": float(x)}, float(x), constraints={"low": 0.5 - float(x)})
    params, expected = optimizer.recommend()
    assert 0.45 < params["x"] < 0.6 and expected == pytest.approx(params["x"], abs=0.05)


def test_rows_of_a_pool() -> None:
    pool = PoolSpace([{"id": i, "x": i / 9, "kind": "ab"[i % 2]} for i in range(10)], features=["x"])
    optimizer = Optimizer(pool, "gp_ei", seed=0)
    for i in range(0, 10, 2):
        optimizer.tell({"id": i, "x": i / 9, "kind": "ab"[i % 2]}, (i / 9 - 0.55) ** 2)
    assert optimizer.recommend()[0]["id"] == 5
    assert optimizer.recommend(fixed={"kind": "a"})[0]["id"] in (4, 6)
