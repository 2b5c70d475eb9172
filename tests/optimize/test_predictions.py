"""Predictions at given parameters, in the user's sign and units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibo.errors import DataError, RecipeError, SpaceError
from calibo.methods import METHODS
from calibo.optimize import Optimizer
from calibo.spaces import Categorical, Float

#: With few data conformal sets may be empty, which is announced.
pytestmark = pytest.mark.filterwarnings("ignore:.*could not be calibrated")

#: Methods with a predictive distribution.
FORECASTING = sorted(name for name, method in METHODS.items() if method.make().makes_forecasts)

SPACE = {"x": Float(0, 1), "c": Categorical(["a", "b"])}
POINTS = [{"x": 0.2, "c": "a"}, {"x": 0.9, "c": "b"}, {"x": 0.5, "c": "a"}]


def optimizer(method: str = "ocbo", direction: str = "minimize", sign: float = 1.0, n: int = 14) -> Optimizer:
    optimizer = Optimizer(SPACE, method, direction=direction, seed=1)
    rng = np.random.default_rng(0)
    for _ in range(n):
        suggestion = optimizer.ask()
        p = suggestion.params
        optimizer.tell(suggestion, sign * ((p["x"] - 0.3) ** 2 + (p["c"] == "b") + 0.1 * rng.standard_normal()))
    return optimizer


@pytest.mark.parametrize("method", FORECASTING)
def test_columns(method: str) -> None:
    table = optimizer(method).predict(POINTS)
    assert isinstance(table, pd.DataFrame) and len(table) == 3
    ends = [f"{kind}_{end}_{c}" for kind in ("measured", "mean") for c in (50, 80, 95) for end in ("low", "high")]
    assert list(table.columns) == ["mean", "median", *ends]
    # Of so few points too little is held out for a conformal 95 % interval with an end.
    narrow = (
        table if method not in {"bananas_cp", "conformal_ensemble", "cqr"} else table[["mean", "median", *ends[:2]]]
    )
    assert np.isfinite(narrow.to_numpy()).all() and not np.isnan(table.to_numpy()).any()


@pytest.mark.parametrize("method", FORECASTING)
def test_intervals_are_nested_and_noise_widens_them(method: str) -> None:
    t = optimizer(method).predict(POINTS)
    for kind in ("measured", "mean"):
        lows, highs = (t[[f"{kind}_{end}_{c}" for c in (50, 80, 95)]].to_numpy() for end in ("low", "high"))
        assert np.all(np.diff(lows, axis=1) <= 0) and np.all(np.diff(highs, axis=1) >= 0)
        if kind == "measured":
            assert np.all(lows[:, 0] <= t["median"]) and np.all(t["median"] <= highs[:, 0])
    measured, mean = (t[f"{kind}_high_95"] - t[f"{kind}_low_95"] for kind in ("measured", "mean"))
    assert np.all(measured >= mean)


@pytest.mark.parametrize("method", FORECASTING)
def test_both_directions_mirror_each_other(method: str) -> None:
    down, up = optimizer(method), optimizer(method, "maximize", -1.0)
    one, other = down.predict(POINTS), up.predict(POINTS)
    np.testing.assert_allclose(other["mean"], -one["mean"], atol=1e-9)
    for kind in ("measured", "mean"):
        np.testing.assert_allclose(other[f"{kind}_low_80"], -one[f"{kind}_high_80"], atol=1e-9)


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


def test_asking_again_changes_nothing() -> None:
    opt = optimizer()
    pd.testing.assert_frame_equal(opt.predict(POINTS), opt.predict(POINTS))


def test_no_points_no_rows() -> None:
    assert len(optimizer().predict([])) == 0


def test_without_an_outcome_nothing_is_predicted() -> None:
    with pytest.raises(DataError, match="there is no outcome yet"):
        Optimizer(SPACE, seed=0).predict(POINTS)


def test_unknown_parameters_are_refused() -> None:
    with pytest.raises(SpaceError, match="unknown"):
        optimizer().predict([{"x": 0.2, "c": "a", "z": 1}])
    with pytest.raises(SpaceError):
        optimizer().predict({"x": 0.2, "c": "a"})  # type: ignore[arg-type]
