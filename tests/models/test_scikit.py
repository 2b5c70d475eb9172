"""scikit-learn regressors as surrogates."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import ARDRegression, BayesianRidge, LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from calibo.data import Array, Dataset
from calibo.errors import RecipeError
from calibo.models.scikit import Constant, Members, ScikitModel, ScikitSurrogate, StatedDeviation

NOISE = 0.5


def function(X: Array) -> Array:
    return 10.0 + 3.0 * np.sin(5.0 * X).sum(axis=-1)


def data(n: int = 60, seed: int = 0, noise: float = NOISE) -> Dataset:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return Dataset(X=X, Y=(function(X) + noise * rng.standard_normal(n))[:, None])


def fitted(regressor: Any, rows: Dataset | None = None, seed: int = 1) -> ScikitModel:
    return ScikitSurrogate(regressor).fit(data() if rows is None else rows, rng=np.random.default_rng(seed))


SERVING = [
    RandomForestRegressor(20),
    ExtraTreesRegressor(20),
    BaggingRegressor(n_estimators=20, max_features=0.5),
    BaggingRegressor(SVR(), n_estimators=15),
    BaggingRegressor(Ridge(), n_estimators=15, bootstrap=False, max_samples=0.5),
    VotingRegressor([("a", SVR()), ("b", DecisionTreeRegressor(max_depth=4))]),
    GaussianProcessRegressor(ConstantKernel() * RBF(0.5) + WhiteKernel(0.1)),
    GaussianProcessRegressor(ConstantKernel() * RBF(0.5), alpha=0.05, normalize_y=True),
    BayesianRidge(),
    ARDRegression(),
    make_pipeline(StandardScaler(), RandomForestRegressor(20)),
    make_pipeline(StandardScaler(), BayesianRidge()),
]


@pytest.mark.parametrize("regressor", SERVING, ids=lambda r: type(r).__name__)
def test_regressors_that_serve(regressor: Any) -> None:
    model = fitted(regressor)
    rng = np.random.default_rng(7)
    X = rng.random((300, 2))
    latent, measured = (model.predict(X, latent=flag) for flag in (True, False))
    y = function(X) + NOISE * rng.standard_normal(300)
    low, high = measured.interval(0.8)
    coverage = np.mean((low <= y) & (y <= high))
    assert 0.6 <= coverage <= 1.0, f"80 % intervals hold {coverage:.0%} of new measurements"
    assert (latent.std > 0).all() and (latent.std <= measured.std).all()
    np.testing.assert_array_equal(latent.mean, measured.mean)


@pytest.mark.parametrize(
    "regressor",
    [
        LinearRegression(),
        SVR(),
        GradientBoostingRegressor(n_estimators=5),
        HistGradientBoostingRegressor(max_iter=5),
        AdaBoostRegressor(n_estimators=5),
        StackingRegressor([("a", Ridge())]),
        VotingRegressor([("a", Ridge()), ("b", DecisionTreeRegressor())], weights=[0.9, 0.1]),
        make_pipeline(StandardScaler(), GradientBoostingRegressor(n_estimators=5)),
    ],
    ids=lambda r: type(r).__name__,
)
def test_regressors_that_do_not_serve(regressor: Any) -> None:
    with pytest.raises(RecipeError, match=r"return_std.*RandomForestRegressor"):
        fitted(regressor)


@pytest.mark.parametrize("regressor", [GradientBoostingRegressor(n_estimators=5), AdaBoostRegressor(n_estimators=5)])
def test_boosting_is_refused_even_where_its_members_happen_to_agree(regressor: Any) -> None:
    constant = Dataset(X=data().X, Y=np.ones_like(data().Y))
    with pytest.raises(RecipeError, match="boosted"):
        fitted(regressor, constant)


def test_the_regressor_itself_is_left_alone() -> None:
    forest = RandomForestRegressor(5)
    fitted(forest)
    assert not hasattr(forest, "estimators_") and forest.random_state is None


def test_seeds_come_from_the_generator_and_reach_nested_regressors() -> None:
    X = np.random.default_rng(3).random((5, 2))
    for regressor in (RandomForestRegressor(5), make_pipeline(StandardScaler(), RandomForestRegressor(5))):
        same = [fitted(regressor, seed=4).predict(X, latent=False).mean for _ in range(2)]
        np.testing.assert_array_equal(*same)
        assert not np.array_equal(same[0], fitted(regressor, seed=5).predict(X, latent=False).mean)
    fixed = [fitted(RandomForestRegressor(5, random_state=0), seed=s).predict(X, latent=True).mean for s in (1, 2)]
    np.testing.assert_array_equal(*fixed)


def test_ensemble_moments_are_those_of_the_members() -> None:
    model = fitted(RandomForestRegressor(12))
    X = np.random.default_rng(3).random((4, 2))
    assert isinstance(model.fitted, Members)
    values = model.units.backward(model.fitted.predictions(X))
    distribution = model.predict(X, latent=True)
    np.testing.assert_allclose(distribution.mean, values.mean(axis=0))
    np.testing.assert_allclose(distribution.std, values.std(axis=0, ddof=1), rtol=1e-6)
    assert distribution.correlation is not None
    np.testing.assert_allclose(distribution.correlation(), np.corrcoef(values.T), atol=1e-6)


def test_joint_draws_follow_the_members() -> None:
    model = fitted(RandomForestRegressor(40))
    X = np.array([[[0.5, 0.5], [0.5, 0.501], [0.9, 0.1]]])
    draws, _ = model.predict(X, latent=True).samples(np.random.default_rng(0).standard_normal((4000, 3)))
    correlation = np.corrcoef(draws[0].T)
    assert draws.shape == (1, 4000, 3)
    assert correlation[0, 1] > 0.9, "neighbours in one leaf go together"
    assert abs(correlation[0, 2]) < 0.6


def test_noise_makes_measurements_as_uncertain_as_held_out_errors() -> None:
    # Members of a bagged straight line agree, whatever is left unexplained: that must show up as noise.
    model = fitted(BaggingRegressor(Ridge(), n_estimators=20))
    X = np.random.default_rng(8).random((400, 2))
    distribution = model.predict(X, latent=False)
    errors = function(X) - distribution.mean
    assert 0.7 < np.sqrt(np.mean(np.square(distribution.std)) / (np.mean(np.square(errors)) + NOISE**2)) < 1.4


def test_noise_of_a_bayesian_ridge_is_left_out_of_latent_distributions() -> None:
    regressor = BayesianRidge()
    model = fitted(regressor)
    assert isinstance(model.fitted, StatedDeviation)
    X = np.random.default_rng(3).random((4, 2))
    _, stated = model.fitted.regressor.predict(X, return_std=True)
    np.testing.assert_allclose(model.predict(X, latent=False).std, model.units.backward_std(stated))
    assert (model.predict(X, latent=True).std < 0.6 * model.predict(X, latent=False).std).all()


@pytest.mark.parametrize("normalize_y", [True, False])
def test_noise_of_a_gaussian_process(normalize_y: bool) -> None:
    rows, X = data(), np.random.default_rng(3).random((4, 2))
    kernel = ConstantKernel(1.0, "fixed") * RBF(0.3, "fixed")
    white = GaussianProcessRegressor(kernel + WhiteKernel(0.04, "fixed"), alpha=0.01, normalize_y=normalize_y)
    alpha = GaussianProcessRegressor(kernel, alpha=0.05, normalize_y=normalize_y)
    for latent in (True, False):
        one, other = (fitted(r, rows).predict(X, latent=latent) for r in (white, alpha))
        np.testing.assert_allclose(one.mean, other.mean, rtol=1e-6)
        np.testing.assert_allclose(one.std, other.std, rtol=1e-6)
        assert one.correlation is not None and other.correlation is not None
        np.testing.assert_allclose(one.correlation(), other.correlation(), rtol=1e-6)


def test_categorical_columns_become_indicators() -> None:
    rng = np.random.default_rng(0)
    choice = rng.integers(0, 4, 50)
    X = np.column_stack([rng.random(50), (choice + 0.5) / 4.0])
    Y = np.array([0.0, 10.0, 0.0, 10.0])[choice][:, None]
    model = fitted(BayesianRidge(), Dataset(X=X, Y=Y, categories=(0, 4)))
    means = model.predict(np.column_stack([np.full(4, 0.5), (np.arange(4) + 0.5) / 4.0]), latent=True).mean
    np.testing.assert_allclose(means, [0.0, 10.0, 0.0, 10.0], atol=0.5)


def test_a_single_point_is_predicted_everywhere() -> None:
    model = fitted(ARDRegression(), data(1))
    distribution = model.predict(np.random.default_rng(0).random((3, 2)), latent=True)
    assert isinstance(model.fitted, Constant)
    np.testing.assert_allclose(distribution.mean, data(1).Y[0, 0])
    np.testing.assert_allclose(distribution.std, abs(data(1).Y[0, 0]))


def test_importing_it_does_not_import_scikit_learn() -> None:
    code = "import sys, calibo.models.scikit; sys.exit(any(name.split('.')[0] == 'sklearn' for name in sys.modules))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", code], check=False, env=environment).returncode == 0


@pytest.mark.parametrize("regressor", SERVING, ids=lambda r: type(r).__name__)
@pytest.mark.parametrize("shape", [(0, 2), (0, 3, 2), (4, 0, 2)])
def test_no_points_give_an_empty_distribution(regressor: Any, shape: tuple[int, ...]) -> None:
    model = fitted(regressor)
    for latent in (True, False):
        distribution = model.predict(np.empty(shape), latent=latent)
        assert distribution.mean.shape == distribution.std.shape == distribution.interval(0.8)[0].shape == shape[:-1]
        assert distribution.draws(np.zeros((5, shape[-2]))).shape == (*shape[:-2], 5, shape[-2])


@pytest.mark.parametrize("regressor", SERVING, ids=lambda r: type(r).__name__)
def test_a_model_outlives_its_process(regressor: Any) -> None:
    model, X = fitted(regressor), data(5).X
    before, after = (m.predict(X, latent=False) for m in (model, pickle.loads(pickle.dumps(model))))
    np.testing.assert_array_equal(after.mean, before.mean)
    np.testing.assert_array_equal(after.std, before.std)


@pytest.mark.parametrize("make", [lambda: "forest", lambda: RandomForestRegressor])
def test_a_regressor_is_an_object(make: Any) -> None:
    with pytest.raises(RecipeError, match=r"regressor must be .* such as RandomForestRegressor\(\)"):
        ScikitSurrogate(make())
