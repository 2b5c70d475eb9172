"""Every branch of a conditional space gets its share of the points."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from calibo import Categorical, Float, Int, Optimizer, methods
from calibo.errors import FallbackWarning, RepeatWarning
from calibo.models import QuantileForest, QuantileTrees
from calibo.optimize.branches import branches_due
from calibo.search import Langevin, MultiStart

SPACE: dict[str, Any] = {
    "model": Categorical(["tuned", "safe"]),
    "x": Float(0.0, 1.0, when={"model": "tuned"}),
    "y": Float(0.0, 1.0, when={"model": "tuned"}),
    "z": Int(1, 20, when={"model": "safe"}),
}


def _value(params: Any) -> float:
    """Return a value whose better branch looks worse until it is tuned."""
    if params["model"] == "safe":
        return 0.5 + 0.01 * abs(params["z"] - 7)
    return 6.0 * (abs(params["x"] - 0.83) + abs(params["y"] - 0.15))


def _run(method: Any, n: int, seed: int = 0, space: Any = SPACE) -> Optimizer:
    optimizer = Optimizer(space, method, seed=seed)
    for _ in range(n):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, _value(suggestion.params))
    return optimizer


def test_the_better_branch_is_found_though_it_looks_worse() -> None:
    optimizer = _run("auto", 34)
    assert optimizer.best[0]["model"] == "tuned" and optimizer.best[1] < 0.3
    assert branches_due(optimizer.data()) == []
    again = _run("auto", 13)
    assert [t.params for t in again.trials] == [t.params for t in optimizer.trials[:13]]


def test_shares_count_pending_points_and_take_turns() -> None:
    optimizer = Optimizer(SPACE, "gp_ei", seed=0, n_initial=2)
    for i in range(2):
        optimizer.tell({"model": "safe", "z": 3 + i}, 1.0)
    assert branches_due(optimizer.data())[0] == 1
    suggestion = optimizer.ask()
    assert suggestion.params["model"] == "tuned"
    assert branches_due(optimizer.data()) == []  # every second point is that of all data
    assert "model" in optimizer.ask().params


def test_a_branch_whose_points_have_all_been_tried_is_left_alone() -> None:
    space = {
        "model": Categorical(["tuned", "small"]),
        "kernel": Categorical(["rbf", "linear"], when={"model": "tuned"}),
        "gamma": Float(1e-3, 1.0, log=True, when={"kernel": "rbf"}),
        "depth": Int(1, 3, when={"model": "small"}),
    }
    optimizer = Optimizer(space, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepeatWarning)
        for _ in range(16):
            suggestion = optimizer.ask()
            optimizer.tell(suggestion, suggestion.params.get("gamma", 0.5))
    tried = [tuple(sorted(trial.params.items())) for trial in optimizer.trials]
    assert len(set(tried)) == 16 and sum("depth" in trial.params for trial in optimizer.trials) == 3


METHODS = {
    "gp_ei": "gp_ei",
    "ocbo_local": "ocbo_local",
    "locbo": "locbo",
    "cbo": methods.cbo(search=Langevin(steps=12, burn_in=6, updates=2, then=MultiStart(96, 32, starts=2))),
    "lfbo": "lfbo",
    "bore": "bore",
    "cqr": methods.cqr(surrogate=methods.conformal_trees(surrogate=QuantileTrees(QuantileForest(10)))),
    "turbo": "turbo",
    "bananas_cp": "bananas_cp",
}


@pytest.mark.parametrize("name", METHODS)
def test_every_method_suggests_active_parameters_only(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        optimizer = _run(METHODS[name], 8)
        batch = optimizer.ask(2)
    for trial in optimizer.trials:
        expected = {"model", "x", "y"} if trial.params["model"] == "tuned" else {"model", "z"}
        assert set(trial.params) == expected
    assert len(batch) == 2
    X = optimizer.space.sample(30, np.random.default_rng(0))
    plan = optimizer.strategy.plan(optimizer.data(), rng=np.random.default_rng(0))
    moved = np.where(optimizer.space.active(X), X, np.random.default_rng(1).random(X.shape))
    if name not in ("bananas_cp", "turbo"):  # whose draws are random
        np.testing.assert_allclose(plan.acquisition(moved), plan.acquisition(X))


def test_classifiers_and_surrogates_take_missing_values() -> None:
    from sklearn.ensemble import RandomForestRegressor

    from calibo.acquisition import ExpectedImprovement
    from calibo.classifiers import MLP, GradientBoosting, KernelLogistic, RandomForest
    from calibo.models import HeteroscedasticGP, QuantileTrees, ScikitSurrogate
    from calibo.optimize import ModelBased

    classifiers = [RandomForest(trees=10), GradientBoosting(rounds=10), KernelLogistic(), MLP(steps=5, cold_steps=10)]
    surrogates = [HeteroscedasticGP(), QuantileTrees(), ScikitSurrogate(RandomForestRegressor(10))]
    strategies = [methods.lfbo(classifier=one) for one in classifiers]
    strategies += [ModelBased(one, ExpectedImprovement()) for one in surrogates]
    told = _run("gp_ei", 12).trials
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        for strategy in strategies:
            optimizer = Optimizer(SPACE, strategy, seed=0)
            for trial in told:
                optimizer.tell(dict(trial.params), trial.value or 0.0)
            assert optimizer.ask().params["model"] in ("tuned", "safe")


def test_failures_and_predictions() -> None:
    optimizer = _run("auto", 12)
    for _ in range(3):
        optimizer.tell_failed(optimizer.ask())
    optimizer.ask()
    table = optimizer.predict([{"model": "safe", "z": 7}, {"model": "tuned", "x": 0.1, "y": 0.9}])
    assert len(table) == 2 and np.isfinite(table["mean"]).all()
