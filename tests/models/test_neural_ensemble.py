"""Ensembles of networks as a surrogate."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from calibo.data import Array, Dataset
from calibo.errors import FallbackWarning, RecipeError
from calibo.models import NeuralEnsemble, Perceptron, Surrogate
from calibo.spaces import CellSpace, GraphCellSpace
from calibo.testing import SurrogateSuite

QUICK = NeuralEnsemble(3, Perceptron(layers=2, width=16, epochs=40, fewest_steps=100))


class TestNeuralEnsemble(SurrogateSuite):
    def surrogate(self) -> Surrogate:
        return QUICK


def smooth(n: int, seed: int = 0, noise: float = 0.0) -> Dataset:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2 + noise * rng.standard_normal(n)
    return Dataset(X=X, Y=y[:, None])


def error(data: Dataset, surrogate: NeuralEnsemble) -> float:
    """Root mean squared error at new points, in standard deviations of the outcomes."""
    fresh = smooth(300, seed=99)
    distribution = surrogate.fit(data, rng=np.random.default_rng(0)).predict(fresh.X, latent=True)
    return float(np.sqrt(np.mean(np.square(distribution.mean - fresh.Y[:, 0]))) / fresh.Y.std())


def test_it_learns() -> None:
    assert error(smooth(100), NeuralEnsemble()) < 0.15


@pytest.mark.parametrize("scale", [1e5, 1e-6])
def test_it_learns_in_any_units(scale: float) -> None:
    data = smooth(60)
    plain, scaled = (
        QUICK.fit(Dataset(X=data.X, Y=factor * data.Y), rng=np.random.default_rng(0)).predict(data.X, latent=False)
        for factor in (1.0, scale)
    )
    np.testing.assert_allclose(scaled.mean / scale, plain.mean, atol=1e-4)
    np.testing.assert_allclose(scaled.std / scale, plain.std, atol=1e-4)


def test_it_is_surer_where_it_has_seen_more() -> None:
    """On average over five ensembles: one alone may agree by chance on what lies outside."""
    ratios = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = 0.4 * rng.random((80, 2))
        model = NeuralEnsemble().fit(Dataset(X=X, Y=np.sin(6.0 * X[:, :1]) + np.cos(5.0 * X[:, 1:])), rng=rng)
        near, far = (model.predict(low + 0.4 * rng.random((50, 2)), latent=True).std.mean() for low in (0.0, 0.6))
        ratios.append(far / near)
    assert np.mean(ratios) > 2.0


def test_the_noise_is_found() -> None:
    """Networks follow noise in part, so within a factor of two."""
    distribution = (
        NeuralEnsemble()
        .fit(smooth(150, noise=0.3), rng=np.random.default_rng(0))
        .predict(smooth(5, seed=1).X, latent=True)
    )
    assert 0.2 < float(distribution.noise_std) < 0.6


def test_measured_intervals_hold_about_what_they_say() -> None:
    data, fresh = smooth(150, noise=0.3), smooth(400, seed=1, noise=0.3)
    distribution = NeuralEnsemble().fit(data, rng=np.random.default_rng(0)).predict(fresh.X, latent=False)
    low, high = distribution.interval(0.8)
    inside = float(np.mean((low <= fresh.Y[:, 0]) & (fresh.Y[:, 0] <= high)))
    assert 0.7 < inside < 0.95


def test_joint_draws_follow_the_members() -> None:
    """Two points close together move together; far apart, they do not."""
    data = smooth(30)
    X = np.array([[0.5, 0.5, 0.5], [0.51, 0.5, 0.5], [0.0, 1.0, 0.0]])
    model = replace(QUICK, members=20).fit(data, rng=np.random.default_rng(0))
    draws = model.predict(X, latent=True).draws(np.random.default_rng(1).standard_normal((4000, 3)))
    correlation = np.asarray(np.corrcoef(draws.T))
    assert correlation[0, 1] > 0.9 > correlation[0, 2]


def test_features_of_the_space_are_used() -> None:
    """An outcome that only a feature tells: the sum of the columns modulo one."""

    def wrapped(X: Array) -> Array:
        return np.mod(X.sum(axis=1, keepdims=True) * 4.0, 1.0)

    rng = np.random.default_rng(0)
    X = rng.random((100, 3))
    data = Dataset(X=X, Y=wrapped(X), features=wrapped)
    fresh = rng.random((200, 3))
    known, unknown = (
        NeuralEnsemble().fit(d, rng=np.random.default_rng(0)).predict(fresh, latent=True).mean
        for d in (data, replace(data, features=None))
    )
    assert np.abs(known - wrapped(fresh)[:, 0]).mean() < 0.05 < np.abs(unknown - wrapped(fresh)[:, 0]).mean()


def test_one_point_is_believed_everywhere() -> None:
    distribution = (
        NeuralEnsemble().fit(smooth(1), rng=np.random.default_rng(0)).predict(smooth(4, seed=1).X, latent=True)
    )
    np.testing.assert_allclose(distribution.mean, smooth(1).Y[0, 0])
    np.testing.assert_allclose(distribution.std, abs(smooth(1).Y[0, 0]))


def test_one_member_knows_of_no_noise() -> None:
    model = replace(QUICK, members=1).fit(smooth(30), rng=np.random.default_rng(0))
    latent, measured = (model.predict(smooth(4, seed=1).X, latent=flag) for flag in (True, False))
    np.testing.assert_array_equal(latent.std, measured.std)
    np.testing.assert_allclose(latent.std, 1e-3 * smooth(30).Y.std(), rtol=1e-6)


class TestManySubsets:
    def test_a_single_subset_is_a_fit(self) -> None:
        data, X = smooth(40), smooth(5, seed=1).X
        rows = np.random.default_rng(3).permutation(40)[:25]
        one = QUICK.fit_many(data, [rows], rng=np.random.default_rng(0))[0].predict(X, latent=False)
        other = QUICK.fit(data.rows(rows), rng=np.random.default_rng(0)).predict(X, latent=False)
        np.testing.assert_allclose(one.mean, other.mean, rtol=1e-9)
        np.testing.assert_allclose(one.std, other.std, rtol=1e-9)

    def test_a_subset_never_sees_the_others(self) -> None:
        """Outcomes outside a subset, however wild, change nothing of its model."""
        data, X = smooth(40), smooth(5, seed=1).X
        subsets = [np.arange(20), np.arange(20, 40)]
        Y = data.Y.copy()
        Y[20:] = 1e9 * np.random.default_rng(0).standard_normal((20, 1))
        distributions = [
            QUICK.fit_many(d, subsets, rng=np.random.default_rng(0))[0].predict(X, latent=False)
            for d in (data, replace(data, Y=Y))
        ]
        np.testing.assert_allclose(distributions[0].mean, distributions[1].mean, rtol=1e-9)
        np.testing.assert_allclose(distributions[0].std, distributions[1].std, rtol=1e-9)

    def test_repeated_rows_count_as_often(self) -> None:
        """Where one point has two outcomes, the one drawn three times wins the median."""
        X = np.full((2, 1), 0.5)
        data = Dataset(X=X, Y=np.array([[0.0], [1.0]]))
        models = replace(QUICK, leave_out=False, network=replace(QUICK.network, fewest_steps=300)).fit_many(
            data, [np.array([0, 0, 0, 1]), np.array([0, 1, 1, 1])], rng=np.random.default_rng(0)
        )
        low, high = (float(model.predict(X[:1], latent=True).mean[0]) for model in models)
        assert low < 0.2 and high > 0.8

    def test_subsets_of_any_size_stand_side_by_side(self) -> None:
        data, X = smooth(30), smooth(5, seed=1).X
        subsets = [np.arange(30), np.array([4]), np.array([3, 3, 3]), np.arange(2), np.arange(11)]
        for model in QUICK.fit_many(data, subsets, rng=np.random.default_rng(0)):
            distribution = model.predict(X, latent=False)
            assert np.isfinite(distribution.mean).all() and (distribution.std > 0.0).all()

    def test_they_are_as_good_as_separate_fits(self) -> None:
        """Equal in distribution: the errors of 8 models trained together and one by one do not differ by more than chance."""
        data, fresh = smooth(60), smooth(200, seed=1)
        subsets = [np.random.default_rng(s).permutation(60)[:40] for s in range(8)]
        together = QUICK.fit_many(data, subsets, rng=np.random.default_rng(0))
        apart = [QUICK.fit(data.rows(rows), rng=np.random.default_rng(10 + s)) for s, rows in enumerate(subsets)]
        errors = np.array(
            [
                [np.abs(m.predict(fresh.X, latent=True).mean - fresh.Y[:, 0]).mean() for m in ms]
                for ms in (together, apart)
            ]
        )
        difference = errors[0] - errors[1]
        assert abs(difference.mean()) < 4.0 * difference.std(ddof=1) / np.sqrt(8)


@pytest.mark.parametrize("preset", [NeuralEnsemble.paper, NeuralEnsemble.published, NeuralEnsemble.bananas])
def test_presets_predict_accuracies(preset: type[NeuralEnsemble]) -> None:
    """Raw accuracies in per cent, with fewer epochs than meant; the settings are the documented ones."""
    ensemble = preset(2)  # pyright: ignore[reportArgumentType]
    assert not ensemble.network.standardized and ensemble.network.width == 20 and not ensemble.leave_out
    quick = replace(ensemble, network=replace(ensemble.network, epochs=30))
    data = smooth(40)
    accuracies = replace(data, Y=60.0 + 10.0 * data.Y)
    distribution = quick.fit(accuracies, rng=np.random.default_rng(0)).predict(data.X, latent=False)
    assert np.isfinite(distribution.mean).all() and (distribution.std > 0.0).all()


def test_known_noise_is_announced_as_unused() -> None:
    data = smooth(10)
    with pytest.warns(FallbackWarning, match="known noise variances are not used"):
        QUICK.fit(replace(data, Y_var=np.full_like(data.Y, 0.1)), rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    "settings",
    [
        {"members": 0},
        {"loss": "huber"},
        {"network": lambda: Perceptron(layers=0)},
        {"network": lambda: Perceptron(start="zeros")},  # pyright: ignore[reportArgumentType]
    ],
)
def test_bad_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(RecipeError):
        NeuralEnsemble(**{k: v() if callable(v) else v for k, v in settings.items()})  # pyright: ignore


@pytest.mark.parametrize("n", [0, 1, 2])
def test_hardly_any_points(n: int) -> None:
    """Latent and measured distributions differ by the noise that the latent distribution tells of."""
    model = QUICK.fit(smooth(n), rng=np.random.default_rng(0))
    latent, measured = (model.predict(smooth(4, seed=1).X, latent=flag) for flag in (True, False))
    np.testing.assert_allclose(np.square(latent.std) + latent.noise_std**2, np.square(measured.std), rtol=1e-9)
    assert np.isfinite(latent.mean).all() and (latent.std > 0.0).all()


def test_only_a_latent_law_knows_of_noise() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((60, 1))
    model = NeuralEnsemble().fit(Dataset(X=X, Y=X + 0.3 * rng.standard_normal((60, 1))), rng=rng)
    latent, measured = (model.predict(X[:4], latent=flag) for flag in (True, False))
    assert measured.noise_std == 0.0 and float(np.max(latent.noise_std)) > 0.1
    np.testing.assert_allclose(np.square(measured.std), np.square(latent.std) + np.square(latent.noise_std))


def test_the_noise_is_just_what_the_spread_leaves_over() -> None:
    """80 % intervals of a measurement hold 80 % of the outcomes that a member left out, and no more noise is added."""
    data = smooth(25, seed=2)
    model = QUICK.fit(data, rng=np.random.default_rng(0))
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


@pytest.mark.parametrize(
    ("setting", "bad"),
    [("members", 0), ("network", "paper"), ("network", Perceptron), ("loss", "huber"), ("leave_out", "no")],
)
def test_settings_are_refused_where_they_are_given(setting: str, bad: Any) -> None:
    with pytest.raises(RecipeError, match=f"^{setting} must be"):
        NeuralEnsemble(**{setting: bad})


@pytest.mark.parametrize("n", [1, 30])
@pytest.mark.parametrize("shape", [(0, 3), (0, 2, 3), (4, 0, 3)])
def test_no_points_give_an_empty_law(shape: tuple[int, ...], n: int) -> None:
    model = QUICK.fit(smooth(n), rng=np.random.default_rng(0))
    for latent in (True, False):
        distribution = model.predict(np.empty(shape), latent=latent)
        assert distribution.mean.shape == distribution.std.shape == distribution.interval(0.8)[0].shape == shape[:-1]
        assert distribution.draws(np.zeros((5, shape[-2]))).shape == (*shape[:-2], 5, shape[-2])


@pytest.mark.parametrize("space", [CellSpace(), GraphCellSpace(), None], ids=lambda s: type(s).__name__)
def test_a_model_outlives_its_process(space: CellSpace | GraphCellSpace | None) -> None:
    data = smooth(30)
    if space is not None:
        X = space.sample(30, np.random.default_rng(0))
        data = Dataset(X=X, Y=X[:, :1], categories=space.categories, features=space.features)
    model = QUICK.fit(data, rng=np.random.default_rng(0))
    same = pickle.loads(pickle.dumps(model))
    for latent in (True, False):
        before, after = (m.predict(data.X[:5], latent=latent) for m in (model, same))
        np.testing.assert_array_equal(after.mean, before.mean)
        np.testing.assert_array_equal(after.std, before.std)
