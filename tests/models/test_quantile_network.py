"""Quantile regression by networks."""

from __future__ import annotations

import pickle
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from calibo.data import Dataset
from calibo.errors import RecipeError
from calibo.models import Perceptron, QuantileNetwork, Surrogate
from calibo.models.quantile_network import QuantileNetworkModel
from calibo.models.standardization import Standardization
from calibo.spaces import CellSpace
from calibo.testing import SurrogateSuite

QUICK = QuantileNetwork((0.1, 0.5, 0.9), Perceptron(layers=2, width=16, epochs=40, fewest_steps=100))


class TestQuantileNetwork(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return QUICK


def spreading(n: int, seed: int = 0) -> Dataset:
    """Noise that grows with the first column, from 0 to 1, and is skewed to the left."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return Dataset(X=X, Y=np.asarray(2.0 * X[:, [1]] - X[:, [0]] * rng.exponential(size=(n, 1))))


def test_it_finds_the_quantiles_of_a_skewed_law() -> None:
    """Y = 2 x1 - x0 E with E exponential: at x0 = .8 the quantile at u is 2 x1 + .8 log u."""
    model = QUICK.fit(spreading(1000), rng=np.random.default_rng(0))
    at = np.column_stack([np.full(50, 0.8), np.linspace(0.2, 0.8, 50)])
    distribution = model.predict(at, latent=False)
    for u in (0.1, 0.5, 0.9):
        assert abs(float(np.mean(distribution.icdf(u) - 2.0 * at[:, 1])) - 0.8 * np.log(u)) < 0.3
    narrow = model.predict(np.array([[0.05, 0.5]]), latent=False)
    assert distribution.std.mean() > 3.0 * narrow.std[0]


def test_quantiles_never_cross() -> None:
    distribution = (
        QuantileNetwork().fit(spreading(40), rng=np.random.default_rng(0)).predict(spreading(500, 1).X, latent=False)
    )
    assert distribution.values.shape == (500, 11) and (np.diff(distribution.values, axis=-1) >= 0.0).all()


@pytest.mark.parametrize("scale", [1e5, 1e-6])
def test_it_learns_in_any_units(scale: float) -> None:
    data = spreading(60)
    plain, scaled = (
        QUICK.fit(replace(data, Y=factor * data.Y), rng=np.random.default_rng(0)).predict(data.X, latent=False).values
        for factor in (1.0, scale)
    )
    np.testing.assert_allclose(scaled / scale, plain, atol=1e-4)


def test_subsets_are_fitted_together() -> None:
    """One subset is a fit; several keep their own data: a subset never sees the outcomes of the others."""
    data, X = spreading(40), spreading(5, 1).X
    rows = np.arange(5, 30)
    one = QUICK.fit_many(data, [rows], rng=np.random.default_rng(0))[0].predict(X, latent=False)
    alone = QUICK.fit(data.rows(rows), rng=np.random.default_rng(0)).predict(X, latent=False)
    np.testing.assert_allclose(one.values, alone.values, rtol=1e-9)
    Y = np.where(np.arange(40)[:, None] < 20, data.Y, 1e9)
    subsets = [np.arange(20), np.arange(20, 40), np.array([3])]
    plain, wild = (QUICK.fit_many(d, subsets, rng=np.random.default_rng(0)) for d in (data, replace(data, Y=Y)))
    np.testing.assert_allclose(
        plain[0].predict(X, latent=False).values, wild[0].predict(X, latent=False).values, rtol=1e-9
    )
    for model in wild:
        assert np.isfinite(model.predict(X, latent=False).values).all()


def test_each_level_of_each_subset_has_its_own_loss() -> None:
    """Subsets of the same points have the same quantiles, level by level: on average 2 x1 + x0 log u."""
    data, X = spreading(300), spreading(100, 1).X
    models = QUICK.fit_many(data, [np.arange(300)] * 2, rng=np.random.default_rng(0))
    truth = 2.0 * X[:, 1].mean() + X[:, 0].mean() * np.log(QUICK.levels)
    for model in models:
        np.testing.assert_allclose(model.predict(X, latent=False).values.mean(axis=0), truth, atol=0.2)


@pytest.mark.parametrize("preset", [QuantileNetwork.paper, QuantileNetwork.published])
def test_presets_predict_accuracies(preset: type[QuantileNetwork]) -> None:
    recipe = preset((0.1, 0.5, 0.9))
    assert not recipe.network.standardized and recipe.network.layers == 20
    data = spreading(40)
    quick = replace(recipe, network=replace(recipe.network, epochs=20))
    distribution = quick.fit(replace(data, Y=60.0 + 10.0 * data.Y), rng=np.random.default_rng(0)).predict(
        data.X, latent=False
    )
    assert np.isfinite(distribution.values).all() and (distribution.std > 0.0).all()


@pytest.mark.parametrize("levels", [(0.5,), (0.1, 0.4), (0.1, 0.1, 0.9), (0.0, 0.9), (0.9, 0.1)])
def test_bad_levels_are_refused(levels: tuple[float, ...]) -> None:
    with pytest.raises(RecipeError, match="levels must increase"):
        QuantileNetwork(levels)


def test_quantiles_that_cross_are_rearranged() -> None:
    """Sorted, not merely kept from falling: each distribution has the same quantiles in another order."""
    said = np.array([0.5, -1.0, 0.0])
    fitted: Any = SimpleNamespace(outputs=lambda X: said[:, None], units=Standardization(1.0, 0.0, 1.0))
    distribution = QuantileNetworkModel(fitted, np.array([0.1, 0.5, 0.9])).predict(np.zeros((1, 1)), latent=False)
    np.testing.assert_allclose(distribution.values[0], [-1.0, 0.0, 0.5], atol=1e-5)


@pytest.mark.parametrize("network", ["paper", Perceptron, None])
def test_a_network_is_a_recipe(network: Any) -> None:
    with pytest.raises(RecipeError, match=r"network must be .* such as Perceptron\(\)"):
        QuantileNetwork(network=network)


@pytest.mark.parametrize("n", [1, 30])
@pytest.mark.parametrize("shape", [(0, 2), (0, 3, 2), (4, 0, 2)])
def test_no_points_give_an_empty_law(shape: tuple[int, ...], n: int) -> None:
    distribution = QUICK.fit(spreading(n), rng=np.random.default_rng(0)).predict(np.empty(shape), latent=False)
    assert (
        distribution.values.shape == (*shape[:-1], 3)
        and distribution.mean.shape == distribution.std.shape == shape[:-1]
    )


@pytest.mark.parametrize("space", [CellSpace(), None], ids=["cell", "cube"])
def test_a_model_outlives_its_process(space: CellSpace | None) -> None:
    data = spreading(30)
    if space is not None:
        X = space.sample(30, np.random.default_rng(0))
        data = Dataset(X=X, Y=X[:, :1], categories=space.categories, features=space.features)
    model = QUICK.fit(data, rng=np.random.default_rng(0))
    before, after = (m.predict(data.X[:5], latent=False).values for m in (model, pickle.loads(pickle.dumps(model))))
    np.testing.assert_array_equal(after, before)
