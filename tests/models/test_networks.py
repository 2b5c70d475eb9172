"""Surrogates of neural networks: recipes, fits to subsets, ensembles, quantile regression."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from calibo.data import Array, Dataset
from calibo.errors import DataError, FallbackWarning, RecipeError
from calibo.models import NeuralEnsemble, Perceptron, QuantileNetwork, Surrogate
from calibo.models.networks import fit_networks
from calibo.networks import AbsoluteError
from calibo.spaces import CellSpace, GraphCellSpace
from calibo.testing import SurrogateSuite

RNG = np.random.default_rng
TINY = Perceptron(layers=1, width=4, epochs=1, fewest_steps=2)
QUICK = NeuralEnsemble(3, Perceptron(layers=2, width=16, epochs=40, fewest_steps=100))
QUANTILES = QuantileNetwork((0.1, 0.5, 0.9), QUICK.network)


class TestNeuralEnsemble(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return QUICK


class TestQuantileNetwork(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return QUANTILES


# --- fits to subsets --------------------------------------------------------------------------------------------------


def data(n: int = 12) -> Dataset:
    X = RNG(0).random((n, 2))
    return Dataset(X=X, Y=X[:, :1] - X[:, 1:])


def test_presets_are_those_of_the_literature() -> None:
    paper, published, bananas = Perceptron.paper(), Perceptron.published(), Perceptron.bananas()
    assert (paper.layers, paper.width, paper.learning_rate) == (20, 20, 0.01)
    assert (published.layers, published.width, published.learning_rate, published.epochs) == (20, 20, 0.001, 500)
    assert (published.batch, published.output_l1, published.standardized) == (32, 0.2, False)
    assert (bananas.layers, bananas.width, bananas.learning_rate, bananas.epochs) == (10, 20, 0.01, 150)


def test_raw_outcomes_must_not_be_huge() -> None:
    X = RNG(0).random((12, 2))
    with pytest.raises(DataError, match="standardized=True"):
        NeuralEnsemble.published().fit(Dataset(X=X, Y=1e20 * X[:, :1]), rng=RNG(0))


def test_every_point_is_left_out_by_one_network() -> None:
    (fitted,) = fit_networks(
        data(), [np.arange(12)], TINY, lambda _: AbsoluteError(), copies=4, leave_out=True, rng=RNG(0)
    )
    assert fitted.seen.shape == (4, 12) and (fitted.seen.sum(axis=0) == 3).all()


def test_subsets_have_units_of_their_own() -> None:
    subsets = [np.arange(6), np.arange(6, 12)]
    parts = fit_networks(data(), subsets, TINY, lambda _: AbsoluteError(), copies=1, leave_out=False, rng=RNG(0))
    for part, rows in zip(parts, (slice(0, 6), slice(6, 12)), strict=True):
        y = np.sort(data().Y[rows, 0])
        np.testing.assert_allclose(np.sort(part.units.backward(part.z)), y, atol=1e-8)
        assert abs(part.z.mean()) < 1e-8


# --- ensembles --------------------------------------------------------------------------------------------------------


def smooth(n: int, seed: int = 0, noise: float = 0.0) -> Dataset:
    rng = RNG(seed)
    X = rng.random((n, 3))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2 + noise * rng.standard_normal(n)
    return Dataset(X=X, Y=y[:, None])


def error(data: Dataset, surrogate: NeuralEnsemble) -> float:
    """Root mean squared error at new points, in standard deviations of the outcomes."""
    fresh = smooth(300, seed=99)
    distribution = surrogate.fit(data, rng=RNG(0)).predict(fresh.X, latent=True)
    return float(np.sqrt(np.mean(np.square(distribution.mean - fresh.Y[:, 0]))) / fresh.Y.std())


def test_it_learns() -> None:
    assert error(smooth(100), NeuralEnsemble()) < 0.15


def test_the_spread_is_smaller_near_the_data() -> None:
    """On average over five ensembles: one alone may agree by chance on what lies outside."""
    ratios = []
    for seed in range(5):
        rng = RNG(seed)
        X = 0.4 * rng.random((80, 2))
        model = NeuralEnsemble().fit(Dataset(X=X, Y=np.sin(6.0 * X[:, :1]) + np.cos(5.0 * X[:, 1:])), rng=rng)
        near, far = (model.predict(low + 0.4 * rng.random((50, 2)), latent=True).std.mean() for low in (0.0, 0.6))
        ratios.append(far / near)
    assert np.mean(ratios) > 2.0


def test_the_noise_is_found() -> None:
    """Within a factor of two, as networks follow it in part; 80 % intervals of measurements have about their coverage."""
    data, fresh = smooth(150, noise=0.3), smooth(400, seed=1, noise=0.3)
    model = NeuralEnsemble().fit(data, rng=RNG(0))
    assert 0.2 < float(model.predict(fresh.X, latent=True).noise_std) < 0.6
    low, high = model.predict(fresh.X, latent=False).interval(0.8)
    assert 0.7 < float(np.mean((low <= fresh.Y[:, 0]) & (fresh.Y[:, 0] <= high))) < 0.95


def test_joint_draws_follow_the_members() -> None:
    """Two points close together move together; far apart, they do not."""
    data = smooth(30)
    X = np.array([[0.5, 0.5, 0.5], [0.51, 0.5, 0.5], [0.0, 1.0, 0.0]])
    model = replace(QUICK, members=20).fit(data, rng=RNG(0))
    draws = model.predict(X, latent=True).draws(RNG(1).standard_normal((4000, 3)))
    correlation = np.asarray(np.corrcoef(draws.T))
    assert correlation[0, 1] > 0.9 > correlation[0, 2]


def test_features_of_the_space_are_used() -> None:
    """An outcome that depends on a feature only: the sum of the columns modulo one."""

    def wrapped(X: Array) -> Array:
        return np.mod(X.sum(axis=1, keepdims=True) * 4.0, 1.0)

    rng = RNG(0)
    X = rng.random((100, 3))
    data = Dataset(X=X, Y=wrapped(X), features=wrapped)
    fresh = rng.random((200, 3))
    known, unknown = (
        NeuralEnsemble().fit(d, rng=RNG(0)).predict(fresh, latent=True).mean
        for d in (data, replace(data, features=None))
    )
    assert np.abs(known - wrapped(fresh)[:, 0]).mean() < 0.05 < np.abs(unknown - wrapped(fresh)[:, 0]).mean()


def test_one_point_is_predicted_everywhere() -> None:
    distribution = NeuralEnsemble().fit(smooth(1), rng=RNG(0)).predict(smooth(4, seed=1).X, latent=True)
    np.testing.assert_allclose(distribution.mean, smooth(1).Y[0, 0])
    np.testing.assert_allclose(distribution.std, abs(smooth(1).Y[0, 0]))


def test_one_member_has_no_noise() -> None:
    model = replace(QUICK, members=1).fit(smooth(30), rng=RNG(0))
    latent, measured = (model.predict(smooth(4, seed=1).X, latent=flag) for flag in (True, False))
    np.testing.assert_array_equal(latent.std, measured.std)
    np.testing.assert_allclose(latent.std, 1e-3 * smooth(30).Y.std(), rtol=1e-6)


class TestManySubsets:
    def test_repeated_rows_count_as_often(self) -> None:
        """Where one point has two outcomes, the one drawn three times wins the median."""
        X = np.full((2, 1), 0.5)
        data = Dataset(X=X, Y=np.array([[0.0], [1.0]]))
        models = replace(QUICK, leave_out=False, network=replace(QUICK.network, fewest_steps=300)).fit_many(
            data, [np.array([0, 0, 0, 1]), np.array([0, 1, 1, 1])], rng=RNG(0)
        )
        low, high = (float(model.predict(X[:1], latent=True).mean[0]) for model in models)
        assert low < 0.2 and high > 0.8

    def test_subsets_of_any_size_stand_side_by_side(self) -> None:
        data, X = smooth(30), smooth(5, seed=1).X
        subsets = [np.arange(30), np.array([4]), np.array([3, 3, 3]), np.arange(2), np.arange(11)]
        for model in QUICK.fit_many(data, subsets, rng=RNG(0)):
            distribution = model.predict(X, latent=False)
            assert np.isfinite(distribution.mean).all() and (distribution.std > 0.0).all()


def test_known_noise_variances_are_unused_with_a_warning() -> None:
    data = smooth(10)
    with pytest.warns(FallbackWarning, match="known noise variances are not used"):
        QUICK.fit(replace(data, Y_var=np.full_like(data.Y, 0.1)), rng=RNG(0))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_hardly_any_points(n: int) -> None:
    """Variances of latent and measured distributions differ by that of the noise."""
    model = QUICK.fit(smooth(n), rng=RNG(0))
    latent, measured = (model.predict(smooth(4, seed=1).X, latent=flag) for flag in (True, False))
    np.testing.assert_allclose(np.square(latent.std) + latent.noise_std**2, np.square(measured.std), rtol=1e-9)
    assert np.isfinite(latent.mean).all() and (latent.std > 0.0).all() and measured.noise_std == 0.0


def test_spread_and_noise_together_cover_left_out_outcomes() -> None:
    """80 % intervals of a measurement hold 80 % of the outcomes that a member left out, and no more noise is added."""
    data = smooth(25, seed=2)
    model = QUICK.fit(data, rng=RNG(0))
    fitted = model.fitted
    assert fitted.networks is not None
    members, points = np.nonzero(~fitted.seen)
    values = fitted.networks(fitted.features)[..., 0]
    away = np.abs(values[members, points] - fitted.z[points])
    std = np.sqrt(values.var(axis=0, ddof=1)[points] + model.noise)
    assert len(points) == len(data)
    assert np.mean(away <= ndtri(0.9) * std + 1e-12) == pytest.approx(0.8, abs=1.0 / len(points))
    # Counted twice, the spread would hold too many.
    assert np.mean(away <= ndtri(0.9) * np.sqrt(std**2 + values.var(axis=0, ddof=1)[points])) > 0.85


# --- quantile regression ----------------------------------------------------------------------------------------------


def spreading(n: int, seed: int = 0) -> Dataset:
    """Noise that grows with the first column, from 0 to 1, and is skewed to the left."""
    rng = RNG(seed)
    X = rng.random((n, 2))
    return Dataset(X=X, Y=np.asarray(2.0 * X[:, [1]] - X[:, [0]] * rng.exponential(size=(n, 1))))


def test_it_finds_the_quantiles_of_a_skewed_distribution() -> None:
    """Y = 2 x1 - x0 E with E exponential: at x0 = .8 the quantile at u is 2 x1 + .8 log u."""
    model = QUANTILES.fit(spreading(1000), rng=RNG(0))
    at = np.column_stack([np.full(50, 0.8), np.linspace(0.2, 0.8, 50)])
    distribution = model.predict(at, latent=False)
    for u in (0.1, 0.5, 0.9):
        assert abs(float(np.mean(distribution.icdf(u) - 2.0 * at[:, 1])) - 0.8 * np.log(u)) < 0.3
    narrow = model.predict(np.array([[0.05, 0.5]]), latent=False)
    assert distribution.std.mean() > 3.0 * narrow.std[0]


def test_each_level_of_each_subset_has_its_own_loss() -> None:
    """Subsets of the same points have the same quantiles, level by level: on average 2 x1 + x0 log u."""
    data, X = spreading(300), spreading(100, 1).X
    models = QUANTILES.fit_many(data, [np.arange(300)] * 2, rng=RNG(0))
    truth = 2.0 * X[:, 1].mean() + X[:, 0].mean() * np.log(QUANTILES.levels)
    for model in models:
        np.testing.assert_allclose(model.predict(X, latent=False).values.mean(axis=0), truth, atol=0.2)


# --- both -------------------------------------------------------------------------------------------------------------

both = pytest.mark.parametrize("surrogate", [QUICK, QUANTILES], ids=["ensemble", "quantiles"])


@both
@pytest.mark.parametrize("n", [1, 30])
def test_no_points_give_an_empty_distribution(n: int, surrogate: Any) -> None:
    model = surrogate.fit(smooth(n), rng=RNG(0))
    for shape in ((0, 3), (0, 2, 3), (4, 0, 3)):
        distribution = model.predict(np.empty(shape), latent=False)
        assert distribution.mean.shape == distribution.std.shape == distribution.interval(0.8)[0].shape == shape[:-1]
        assert distribution.draws(np.zeros((5, shape[-2]))).shape == (*shape[:-2], 5, shape[-2])


@both
def test_subsets_are_fitted_together(surrogate: Any) -> None:
    """One subset is a fit; of several, none sees the outcomes of the others, however wild."""
    data, X = smooth(40), smooth(5, seed=1).X
    rows = RNG(3).permutation(40)[:25]
    one = surrogate.fit_many(data, [rows], rng=RNG(0))[0].predict(X, latent=False)
    alone = surrogate.fit(data.rows(rows), rng=RNG(0)).predict(X, latent=False)
    np.testing.assert_allclose([one.mean, one.std], [alone.mean, alone.std], rtol=1e-9)
    Y = data.Y.copy()
    Y[20:] = 1e9 * RNG(0).standard_normal((20, 1))
    subsets = [np.arange(20), np.arange(20, 40)]
    plain, wild = (
        surrogate.fit_many(d, subsets, rng=RNG(0))[0].predict(X, latent=False) for d in (data, replace(data, Y=Y))
    )
    np.testing.assert_allclose([plain.mean, plain.std], [wild.mean, wild.std], rtol=1e-9)


@pytest.mark.parametrize(
    "recipe",
    [
        *(preset(2) for preset in (NeuralEnsemble.paper, NeuralEnsemble.published, NeuralEnsemble.bananas)),
        *(preset((0.1, 0.5, 0.9)) for preset in (QuantileNetwork.paper, QuantileNetwork.published)),
    ],
)
def test_presets_predict_accuracies(recipe: Any) -> None:
    """Raw accuracies in per cent, with fewer epochs than meant; the settings are the documented ones."""
    assert not recipe.network.standardized and recipe.network.width == 20
    assert isinstance(recipe, QuantileNetwork) or not recipe.leave_out
    data = smooth(40)
    quick = replace(recipe, network=replace(recipe.network, epochs=20))
    distribution = quick.fit(replace(data, Y=60.0 + 10.0 * data.Y), rng=RNG(0)).predict(data.X, latent=False)
    assert np.isfinite(distribution.mean).all() and (distribution.std > 0.0).all()


@both
@pytest.mark.parametrize("space", [CellSpace(), GraphCellSpace(), None], ids=lambda s: type(s).__name__)
def test_models_can_be_pickled(space: CellSpace | GraphCellSpace | None, surrogate: Any) -> None:
    data = smooth(30)
    if space is not None:
        X = space.sample(30, RNG(0))
        data = Dataset(X=X, Y=X[:, :1], categories=space.categories, features=space.features)
    model = surrogate.fit(data, rng=RNG(0))
    before, after = (m.predict(data.X[:5], latent=False) for m in (model, pickle.loads(pickle.dumps(model))))
    np.testing.assert_array_equal(after.mean, before.mean)
    np.testing.assert_array_equal(after.std, before.std)


@pytest.mark.parametrize(
    ("recipe", "setting", "bad"),
    [
        (Perceptron, "layers", 0),
        (Perceptron, "squares", 1.0),
        (Perceptron, "start", "zeros"),
        (NeuralEnsemble, "members", 0),
        (NeuralEnsemble, "network", Perceptron),
        (NeuralEnsemble, "loss", "huber"),
        (NeuralEnsemble, "leave_out", "no"),
        (QuantileNetwork, "levels", (0.1, 0.4)),
    ],
)
def test_bad_settings_are_refused_where_they_are_given(recipe: Any, setting: str, bad: Any) -> None:
    with pytest.raises(RecipeError, match=f"{setting} must"):
        recipe(**{setting: bad})
