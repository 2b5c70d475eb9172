"""Predictions at given parameters, in the user's sign and units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibo.errors import DataError, RecipeError, SpaceError
from calibo.methods import METHODS, cbo, conformal_trees, cqr, turbo
from calibo.models import QuantileForest, QuantileTrees
from calibo.optimize import Optimizer
from calibo.search import Langevin, RandomDraw
from calibo.spaces import Categorical, Float

#: With few data conformal sets may be empty, which is announced.
pytestmark = pytest.mark.filterwarnings("ignore:.*could not be calibrated")

#: Methods with a predictive distribution.
FORECASTING = sorted(name for name, method in METHODS.items() if method.make().makes_forecasts)

#: Searches and models smaller than the methods' own.
QUICK: dict[str, Any] = {
    "turbo": turbo(search=RandomDraw(96, 32)),
    "cbo": cbo(search=Langevin(steps=12, burn_in=6, updates=2, then=RandomDraw(96, 32))),
    "cqr": cqr(surrogate=conformal_trees(surrogate=QuantileTrees(QuantileForest(10)))),
}
SPACE = {"x": Float(0, 1), "c": Categorical(["a", "b"])}
POINTS = [{"x": 0.2, "c": "a"}, {"x": 0.9, "c": "b"}, {"x": 0.5, "c": "a"}]


def optimizer(method: Any = "ocbo", direction: str = "minimize", sign: float = 1.0) -> Optimizer:
    optimizer = Optimizer(SPACE, method, direction=direction, seed=1)
    rng = np.random.default_rng(0)
    for _ in range(10):
        suggestion = optimizer.ask()
        p = suggestion.params
        optimizer.tell(suggestion, sign * ((p["x"] - 0.3) ** 2 + (p["c"] == "b") + 0.1 * rng.standard_normal()))
    return optimizer


@pytest.mark.parametrize("method", FORECASTING)
def test_predictions_of_every_method(method: str) -> None:
    """Intervals are nested, and noise widens them."""
    table = optimizer(QUICK.get(method, method)).predict(POINTS)
    assert isinstance(table, pd.DataFrame) and len(table) == 3
    ends = [f"{kind}_{end}_{c}" for kind in ("measured", "mean") for c in (50, 80, 95) for end in ("low", "high")]
    assert list(table.columns) == ["mean", "median", *ends, "similar_forecasts", "calibration"]
    # Of so few points too little is held out for a conformal 95 % interval with an end.
    bounded = ends[:2] if method in {"bananas_cp", "conformal_ensemble", "cqr"} else ends
    assert np.isfinite(table[["mean", "median", *bounded]].to_numpy()).all() and not table.isna().to_numpy().any()
    for kind in ("measured", "mean"):
        lows, highs = (table[[f"{kind}_{end}_{c}" for c in (50, 80, 95)]].to_numpy() for end in ("low", "high"))
        assert np.all(lows[:, 1:] <= lows[:, :-1]) and np.all(highs[:, 1:] >= highs[:, :-1])
        if kind == "measured":
            assert np.all(lows[:, 0] <= table["median"]) and np.all(table["median"] <= highs[:, 0])
    measured, mean = (table[f"{kind}_high_95"] - table[f"{kind}_low_95"] for kind in ("measured", "mean"))
    assert np.all(measured >= mean)


# The sign is changed for all methods alike: a few, with different distributions, show that.
@pytest.mark.parametrize("method", ["ocbo", "locbo", "cqr"])
def test_predictions_of_both_directions_mirror_each_other(method: str) -> None:
    table, mirrored = (
        optimizer(QUICK.get(method, method), direction, sign).predict(POINTS)
        for direction, sign in (("minimize", 1.0), ("maximize", -1.0))
    )
    for kind in ("measured", "mean"):
        np.testing.assert_allclose(mirrored[f"{kind}_low_80"], -table[f"{kind}_high_80"], atol=1e-9)
    np.testing.assert_allclose(mirrored["mean"], -table["mean"], atol=1e-9)


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(FORECASTING) - {"composite_lfbo"}))
def test_a_method_without_a_model_says_so(method: str) -> None:
    with pytest.raises(RecipeError, match=r"without a predictive distribution.*forecaster="):
        optimizer(method).predict(POINTS)


def test_predictions_are_in_the_outcomes_units() -> None:
    opt = Optimizer({"x": Float(0, 1)}, "gp_ei", direction="maximize", seed=0)
    for x in np.linspace(0, 1, 9):
        opt.tell({"x": float(x)}, 1000 + 5 * float(x), sem=1e-3)
    table = opt.predict([{"x": 0.5}, {"x": 1.0}])
    np.testing.assert_allclose(table["mean"], [1002.5, 1005.0], atol=0.1)


def test_predicting_again_changes_nothing_and_no_points_give_no_rows() -> None:
    opt = optimizer()
    pd.testing.assert_frame_equal(opt.predict(POINTS), opt.predict(POINTS))
    assert len(opt.predict([])) == 0


def test_without_an_outcome_or_with_unknown_parameters_nothing_is_predicted() -> None:
    empty = Optimizer(SPACE, seed=0)
    with pytest.raises(DataError, match="there is no outcome yet"):
        empty.predict(POINTS)
    with pytest.raises(SpaceError, match="unknown"):
        empty.predict([{"x": 0.2, "c": "a", "z": 1}])
    with pytest.raises(SpaceError):
        empty.predict({"x": 0.2, "c": "a"})  # type: ignore[arg-type]
