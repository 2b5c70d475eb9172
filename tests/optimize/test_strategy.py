"""Model-based strategies: what a plan holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calibo.acquisition import ExpectedImprovement, ThompsonSampling, UpperQuantile
from calibo.calibration import Calibrated, OnlineQuantile, Temperature
from calibo.candidates import MultiStart, Pool, RandomDraw
from calibo.data import Dataset
from calibo.errors import RecipeError
from calibo.optimize import ModelBased
from calibo.space import Float, PoolSpace, ProductSpace
from calibo.surrogates import GaussianProcess

RNG = np.random.default_rng
GP_EI = ModelBased(GaussianProcess(), ExpectedImprovement())
NESTED = Calibrated(Calibrated(GaussianProcess(), by=Temperature()), by=OnlineQuantile(0.2))


def data(**options: object) -> Dataset:
    X = RNG(0).random((9, 2))
    return Dataset(X=X, Y=(np.sin(5 * X[:, 0]) - X[:, 1])[:, None], **options)  # type: ignore[arg-type]


def test_anchors_are_the_best_points_best_first() -> None:
    told = data()
    anchors = GP_EI.plan(told, rng=RNG(0)).anchors
    np.testing.assert_array_equal(anchors, told.X[np.argsort(-told.Y[:, 0])[: len(anchors)]])


def test_everything_tried_or_awaited_is_taken() -> None:
    told = data(X_pending=np.array([[0.1, 0.1]]), X_failed=np.array([[0.2, 0.2]]))
    taken = GP_EI.plan(told, rng=RNG(0)).taken
    assert {tuple(x) for x in taken} == {*map(tuple, told.X), (0.1, 0.1), (0.2, 0.2)}


def test_replication_leaves_only_what_is_awaited_taken() -> None:
    told = data(X_pending=np.array([[0.1, 0.1]]))
    np.testing.assert_array_equal(replace(GP_EI, replicate=True).plan(told, rng=RNG(0)).taken, told.X_pending)


@pytest.mark.parametrize(("surrogate", "stages"), [(GaussianProcess(), 1), (NESTED, 3)], ids=["raw", "nested"])
def test_forecasts_have_one_stage_for_each_calibrator(surrogate: object, stages: int) -> None:
    plan = ModelBased(surrogate, ExpectedImprovement()).plan(data(), rng=RNG(0))  # type: ignore[arg-type]
    assert plan.forecaster is not None and plan.model is not None
    X = RNG(1).random((4, 2))
    forecasts = plan.forecaster(X)
    assert len(forecasts) == 4 and all(len(f) == 1 and len(f[0].stages) == stages for f in forecasts)
    law = plan.model.predict(X, latent=False)
    assert forecasts[2][0].calibrated.mean == pytest.approx(float(law.mean[2]))
    assert len(plan.hyperparameters) == 1 and len(plan.hyperparameters[0]) == 4


@pytest.mark.parametrize("rule", [ExpectedImprovement(), UpperQuantile(), ThompsonSampling()], ids=["ei", "ucb", "ts"])
def test_failures_steer_away(rule: object) -> None:
    rng = RNG(3)
    failed = np.column_stack([0.75 + 0.25 * rng.random(12), rng.random(12)])
    told = data(X_failed=failed)
    strategy = ModelBased(GaussianProcess(), rule)  # type: ignore[arg-type]
    X = rng.random((400, 2))
    where = X[:, 0] > 0.75
    ratio = []
    for d in (told, replace(told, X_failed=np.empty((0, 2)))):
        values = strategy.plan(d, rng=RNG(0)).acquisition(X)
        best = np.argsort(-values)[:100]
        ratio.append(where[best].mean())
    assert ratio[0] < ratio[1] or ratio == [0.0, 0.0]


def test_the_search_suits_the_space_and_the_rule() -> None:
    cube, pool = ProductSpace({"x": Float(0, 1)}), PoolSpace([{"x": 1}, {"x": 2}])
    thompson = ModelBased(GaussianProcess(), ThompsonSampling())
    assert isinstance(GP_EI.searcher(cube), MultiStart) and isinstance(GP_EI.searcher(pool), Pool)
    assert isinstance(thompson.searcher(cube), RandomDraw) and isinstance(thompson.searcher(pool), Pool)
    mine = MultiStart(scored=7)
    assert replace(GP_EI, search=mine).searcher(cube) is mine


def test_one_objective_only() -> None:
    with pytest.raises(RecipeError, match="one objective, got 2"):
        GP_EI.plan(Dataset(X=np.zeros((2, 1)), Y=np.zeros((2, 2))), rng=RNG(0))
