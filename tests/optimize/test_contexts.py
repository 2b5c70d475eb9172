"""Fixed and context values, and defaults, through ask and tell."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from calibo import Categorical, Context, Float, Int, Optimizer, Patience, PoolSpace, ProductSpace
from calibo.acquisition.base import incumbent
from calibo.errors import ContextWarning, RecipeError, SpaceError, SpaceWarning
from calibo.methods import METHODS
from calibo.optimize.strategy import check_contexts
from calibo.spaces import as_space

SPACE: dict[str, Any] = {"x": Float(0, 1), "n": Int(1, 30), "k": Categorical(["a", "b", "c"])}
WITH = SPACE | {"t": Context(Float(10, 40))}


def value(p: Any) -> float:
    return (p["x"] - p.get("t", 25) / 40) ** 2 + p["n"] / 30 + 0.2 * (p["k"] == "b") + p.get("t", 25) / 5


def run(optimizer: Optimizer, count: int, **held: Any) -> None:
    for _ in range(count):
        suggestion = optimizer.ask(**held)
        optimizer.tell(suggestion, value(suggestion.params))


@pytest.mark.parametrize("method", ["auto", "gp_ei", "cbo", "lfbo", "turbo", "risk_averse"])
def test_fixed_values_are_kept_by_every_kind_of_method(method: str) -> None:
    optimizer = Optimizer(SPACE, method, seed=1)
    run(optimizer, 6)
    fixed = {"k": "c", "n": 7}
    found = [*optimizer.ask(3, fixed=fixed), optimizer.ask(fixed={"x": 0.25})]
    assert all((s.params["k"], s.params["n"]) == ("c", 7) for s in found[:3])
    assert found[3].params["x"] == 0.25
    assert len({s.params["x"] for s in found[:3]}) == 3 or method == "risk_averse"


def test_fixed_values_hold_from_the_first_point_on() -> None:
    optimizer = Optimizer(SPACE, "gp_ei", seed=0)
    run(optimizer, 8, fixed={"k": "b"})
    assert {trial.params["k"] for trial in optimizer.trials} == {"b"}
    whole = optimizer.ask(fixed={"x": 0.5, "n": 3, "k": "a"})
    assert whole.params == {"x": 0.5, "n": 3, "k": "a"} and whole.forecasts is not None
    pool = PoolSpace([{"id": i, "x": i / 9, "kind": "ab"[i % 2]} for i in range(10)], features=["x"])
    rows = Optimizer(pool, "gp_ei", seed=0)
    for _ in range(5):
        row = rows.ask(fixed={"kind": "b"})
        assert row.params["kind"] == "b"
        rows.tell(row, row.params["x"])


@pytest.mark.filterwarnings("ignore::calibo.errors.RepeatWarning")
@given(names=st.sets(st.sampled_from(["x", "n", "k"])), u=st.floats(0, 1), q=st.integers(1, 2), seed=st.integers(0, 3))
@settings(max_examples=6, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_any_subset_may_be_fixed_and_suggestions_are_reproducible(names: set[str], u: float, q: int, seed: int) -> None:
    space = as_space(WITH)
    params = space.decode(np.full((1, 4), u))[0]
    fixed, found = {name: params[name] for name in names}, list[Any]()
    for _ in range(2):
        optimizer = Optimizer(WITH, "gp_ei", seed=seed, n_initial=4)
        run(optimizer, 5, context={"t": 20.0})
        asked = optimizer.ask(q, fixed=fixed, context={"t": 33.0})
        found.append([s.params for s in (asked if isinstance(asked, list) else [asked])])
    assert found[0] == found[1] and len(found[0]) == q
    for p in found[0]:
        assert p["t"] == 33.0 and all(p[name] == value for name, value in fixed.items())
        space.encode([p])


def test_the_incumbent_is_the_best_expected_in_the_context() -> None:
    optimizer = Optimizer({"x": Float(0, 1), "t": Context(Float(10, 40))}, "gp_ei", seed=0)
    for t in np.linspace(10, 40, 12):
        suggestion = optimizer.ask(context={"t": float(t)})
        optimizer.tell(suggestion, value(suggestion.params | {"n": 0, "k": "a"}))
    data, model = optimizer.data(), optimizer._plan().models[0]
    hot = as_space(optimizer.space).holding({"t": 40.0})
    from dataclasses import replace

    here = incumbent(model, replace(data, held=hot.repair).here())
    # The best in any context is that of the coldest, which nothing can reach at 40 degrees.
    assert here == pytest.approx(-8.0, abs=0.4) and incumbent(model, data) > -3.0


def test_a_context_observed_otherwise_moves_the_trial_and_its_forecast() -> None:
    optimizer = Optimizer(WITH, "gp_ei", seed=0)
    run(optimizer, 8, context={"t": 20.0})
    asked = optimizer.ask(context={"t": 20.0})
    assert asked.forecasts is not None
    optimizer.tell(asked, 7.0, context={"t": 39.0})
    told = optimizer.trials[-1]
    assert told.params == {**asked.params, "t": 39.0} and told.x[3] == pytest.approx(29 / 30)
    assert told.forecasts is not None and told.forecasts != asked.forecasts
    assert told.forecasts[0].calibrated.std > asked.forecasts[0].calibrated.std
    same = optimizer.ask(context={"t": 20.0})
    optimizer.tell(same, 5.0, context={"t": 20.0})
    assert optimizer.trials[-1].forecasts == same.forecasts
    failed = optimizer.ask(context={"t": 20.0})
    optimizer.tell_failed(failed, context={"t": 30.0})
    assert optimizer.trials[-1].params["t"] == 30.0


def test_a_context_outside_of_its_range_is_not_lost() -> None:
    optimizer = Optimizer(WITH, "gp_ei", seed=0)
    with pytest.warns(ContextWarning, match="outside of Float"):
        asked = optimizer.ask(context={"t": 44.0})
    assert asked.params["t"] == 44.0 and asked.x[3] == 1.0
    with pytest.warns(ContextWarning, match="outside of Float"):
        optimizer.tell(asked, 3.0, context={"t": 5.0})
    assert optimizer.trials[0].params["t"] == 5.0 and optimizer.trials[0].x[3] == 0.0
    with pytest.warns(ContextWarning, match="outside of Float"):
        optimizer.tell({"x": 0.5, "n": 3, "k": "a"}, 2.0, context={"t": 41.0})
    optimizer.tell({"x": 0.5, "n": 3, "k": "a", "t": 30.0}, 2.0)
    assert [trial.params["t"] for trial in optimizer.trials[1:]] == [41.0, 30.0]


def test_what_makes_no_sense_is_refused() -> None:
    optimizer = Optimizer(WITH, "gp_ei", seed=0)
    with pytest.raises(SpaceError, match="the context 't' must be given"):
        optimizer.ask()
    with pytest.raises(SpaceError, match="'t' is a context"):
        optimizer.ask(fixed={"t": 20.0}, context={"t": 20.0})
    with pytest.raises(SpaceError, match="no parameter 'y' to hold"):
        optimizer.ask(fixed={"y": 1}, context={"t": 20.0})
    with pytest.raises(SpaceError, match="the context 't' must be given"):
        optimizer.tell({"x": 0.5, "n": 3, "k": "a"}, 1.0)
    asked = optimizer.ask(context={"t": 20.0})
    with pytest.raises(SpaceError, match="'warm' is not a number"):
        optimizer.tell(asked, 1.0, context={"t": "warm"})
    optimizer.tell(asked, 1.0)  # and is not lost
    with pytest.raises(RecipeError, match="depends on the context"):
        optimizer.stopping(Patience(3))
    for method in ("lfbo", "turbo", "risk_averse"):
        with pytest.raises(RecipeError, match="compares outcomes across contexts"):
            Optimizer(WITH, method, seed=0).ask(context={"t": 20.0})


def test_methods_with_a_model_compare_within_contexts() -> None:
    from calibo.methods import strategy

    for name in METHODS:
        if name in ("auto", "gp_ei", "ocbo", "ocbo_local", "locbo", "cbo", "cqr"):
            check_contexts(strategy(name), ("t",))


def test_defaults_that_break_constraints_are_announced() -> None:
    columns = {"a": Float(0, 1, default=0.9), "b": Float(0, 1, default=0.8)}
    optimizer = Optimizer(ProductSpace(columns, constraints=["a + b <= 1"]), seed=0)
    with pytest.warns(SpaceWarning, match=r"the defaults break 'a \+ b <= 1', so that they are not tried first"):
        suggestion = optimizer.ask()
    assert suggestion.params["a"] + suggestion.params["b"] <= 1 + 1e-9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.ask()


def test_defaults_come_first_then_the_design() -> None:
    space = {"x": Float(0, 1, default=0.3), "k": Categorical(["a", None], default=None)}
    optimizer = Optimizer(space, seed=0)
    first, second = optimizer.ask(2)
    assert first.params == {"x": 0.3, "k": None} and second.params != first.params
    assert Optimizer(space, seed=0).ask(fixed={"k": "a"}).params == {"x": 0.3, "k": "a"}
    plain = Optimizer(SPACE | {"x": Float(0, 1, default=0.3)}, seed=0)
    assert plain.ask().params == Optimizer(SPACE, seed=0).ask().params
    observed = Optimizer({**space, "t": Context(Float(10, 40))}, seed=0).ask(context={"t": 12.0})
    assert observed.params == {"x": 0.3, "k": None, "t": 12.0}
    known = Optimizer(space, seed=0)
    known.tell({"x": 0.1, "k": "a"}, 1.0)
    assert known.ask().params != first.params
