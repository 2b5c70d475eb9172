"""Quantile regression by trees: as a surrogate, and each engine against known quantiles and brute force."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calibo.calibration import Calibrated, Conformal, QuantileShift, Split
from calibo.data import Dataset
from calibo.errors import FallbackWarning, RecipeError
from calibo.models import QuantileBoosting, QuantileForest, QuantileTrees, Surrogate, XGBoostQuantiles
from calibo.spaces import CellSpace
from calibo.testing import SurrogateSuite

RNG = np.random.default_rng
LEVELS = np.array([0.1, 0.5, 0.9])
DEFAULTS, ENGINES = (
    pytest.mark.parametrize("engine", engines, ids=lambda e: type(e).__name__)
    for engines in (
        (QuantileForest(), QuantileBoosting(), XGBoostQuantiles()),
        (QuantileForest(5), QuantileBoosting(rounds=5), XGBoostQuantiles(rounds=5)),
    )
)


class TestForest(SurrogateSuite):
    """The distributions of surrogates for a quantile forest."""

    def surrogate(self) -> Surrogate:
        return QuantileTrees(QuantileForest(20))


class TestBoosting(SurrogateSuite):
    """The distributions for boosted trees, of three levels to be quick."""

    def surrogate(self) -> Surrogate:
        return QuantileTrees(QuantileBoosting(rounds=20), levels=(0.1, 0.5, 0.9))


def test_the_distribution_has_the_quantiles_learned() -> None:
    rng = RNG(0)
    X = rng.random((400, 2))
    data = Dataset(X=X, Y=5 * X[:, :1] + rng.uniform(-1, 1, (400, 1)))
    model = QuantileTrees(QuantileForest(50)).fit(data, rng=RNG(1))
    distribution = model.predict(np.array([[0.5, 0.5]]), latent=False)
    assert distribution.levels.tolist() == list(QuantileTrees().levels)
    np.testing.assert_allclose(
        [distribution.icdf(0.1)[0], distribution.median[0], distribution.icdf(0.9)[0]], [1.7, 2.5, 3.3], atol=0.6
    )


def test_conformalised_it_covers_new_points() -> None:
    """Intervals of 80 % that are far too narrow from the forest alone hold their share of 2,000 fresh outcomes."""
    rng = RNG(0)
    X = rng.random((2200, 4))
    y = np.sin(6 * X[:, :1]) + (0.1 + X[:, 1:2]) * rng.standard_normal((2200, 1))
    data, tight = Dataset(X=X[:200], Y=y[:200]), QuantileTrees(QuantileForest(50, min_samples_leaf=1, max_features=1.0))
    shares = []
    for surrogate in (tight, Calibrated(tight, by=Conformal(QuantileShift()), evidence=Split())):
        low, high = surrogate.fit(data, rng=RNG(1)).predict(X[200:], latent=False).interval(0.8)
        shares.append(np.mean((y[200:, 0] >= low) & (y[200:, 0] <= high)))
    assert shares[0] < 0.75 and 0.75 < shares[1] < 0.9


def test_the_features_of_the_space_are_seen() -> None:
    rng = RNG(0)
    X = rng.random((80, 1))
    data = Dataset(X=X, Y=np.abs(X - 0.5))
    seen: list[int] = []

    def features(points: np.ndarray) -> np.ndarray:
        seen.append(len(points))
        return np.abs(points - 0.5)

    distribution = (
        QuantileTrees().fit(replace(data, features=features), rng=RNG(1)).predict(np.array([[0.1], [0.9]]), latent=True)
    )
    assert seen == [80, 2] and distribution.mean[0] == pytest.approx(distribution.mean[1])


def mixed(n: int) -> Dataset:
    """A number and a choice among three."""
    X = RNG(0).random((n, 2))
    return Dataset(X=X, Y=X[:, :1] + np.floor(3.0 * X[:, 1:]), categories=(0, 3))


@ENGINES
@pytest.mark.parametrize("n", [1, 30])
@pytest.mark.parametrize("shape", [(0, 2), (0, 3, 2), (4, 0, 2)])
def test_no_points_give_an_empty_distribution(engine: Any, shape: tuple[int, ...], n: int) -> None:
    model = QuantileTrees(engine, levels=(0.1, 0.5, 0.9)).fit(mixed(n), rng=RNG(0))
    for latent in (True, False):
        distribution = model.predict(np.empty(shape), latent=latent)
        assert (
            distribution.values.shape == (*shape[:-1], 3)
            and distribution.mean.shape == distribution.std.shape == shape[:-1]
        )


@ENGINES
@pytest.mark.parametrize("space", [CellSpace(), None], ids=["cell", "mixed"])
@pytest.mark.parametrize("n", [2, 30])
def test_a_model_outlives_its_process(engine: Any, space: CellSpace | None, n: int) -> None:
    data = mixed(n)
    if space is not None:
        X = space.sample(n, RNG(0))
        data = Dataset(X=X, Y=X[:, :1], categories=space.categories, features=space.features)
    model = QuantileTrees(engine, levels=(0.1, 0.5, 0.9)).fit(data, rng=RNG(0))
    before, after = (m.predict(data.X[:5], latent=False).values for m in (model, pickle.loads(pickle.dumps(model))))
    np.testing.assert_array_equal(after, before)


# --- engines ------------------------------------------------------------------------------------------------------------


@DEFAULTS
def test_quantiles_of_known_noise_are_found(engine: Any) -> None:
    rng = RNG(0)
    X = rng.random((2000, 2))
    y = 3 * (X[:, 0] > 0.5) + (0.2 + X[:, 1]) * rng.uniform(-1, 1, 2000)
    quantiles = engine.fit(X, y, LEVELS, categories=(), rng=RNG(1))
    points = rng.random((500, 2))
    expected = 3 * (points[:, :1] > 0.5) + (0.2 + points[:, 1:]) * np.array([-0.8, 0.0, 0.8])
    away = np.abs(quantiles(points) - expected)
    assert (
        away.mean() < 0.2 and np.corrcoef((quantiles(points)[:, 2] - quantiles(points)[:, 0]), points[:, 1])[0, 1] > 0.8
    )


@DEFAULTS
def test_choices_need_no_order(engine: Any) -> None:
    rng = RNG(0)
    choice = rng.integers(0, 8, 400)
    height = np.array([0.0, 9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0])
    y = height[choice] + 0.1 * rng.standard_normal(400)
    quantiles = engine.fit(choice[:, None].astype(float), y, LEVELS, categories=(8,), rng=RNG(1))
    found = quantiles(np.arange(8.0)[:, None])
    # Boosting starts at the quantile of all outcomes and comes near step by step.
    np.testing.assert_allclose(found[:, 1], height, atol=0.7)


def test_a_forest_is_the_average_of_its_leaves() -> None:
    """Brute force: weights of Meinshausen, then the quantile on the straight lines between outcomes."""
    from sklearn.ensemble import RandomForestRegressor

    rng = RNG(2)
    X, y = rng.random((50, 2)), rng.standard_normal(50)
    engine = QuantileForest(trees=7)
    found = engine.fit(X, y, LEVELS, categories=(), rng=RNG(5))(X[:4])
    forest = RandomForestRegressor(7, min_samples_leaf=5, max_features=0.7, random_state=int(RNG(5).integers(2**31)))
    leaves = forest.fit(X, y).apply(X)
    for i in range(4):
        same = leaves == leaves[i]
        weights = (same / same.sum(axis=0)).mean(axis=1)
        order = np.argsort(y)
        cdf = np.cumsum(weights[order])
        for k, p in enumerate(LEVELS):
            j = int(np.argmax(cdf >= p - 1e-12))
            before = cdf[j - 1] if j else 0.0
            share = (p - before) / (cdf[j] - before) if j else 1.0
            low = y[order][j - 1] if j else y[order][0]
            assert found[i, k] == pytest.approx(low + share * (y[order][j] - low))


def test_many_outcomes_are_kept_coarsely_enough_and_finely_enough() -> None:
    rng = RNG(0)
    X = rng.random((5000, 1))
    y = rng.standard_normal(5000)
    found = QuantileForest(20, min_samples_leaf=500).fit(X, y, LEVELS, categories=(), rng=RNG(1))(np.array([[0.5]]))
    np.testing.assert_allclose(found[0], [-1.28, 0.0, 1.28], atol=0.15)


def test_all_features_are_all_whatever_the_type_of_the_number() -> None:
    """To scikit-learn alone the whole number 1 is a single feature."""
    rng = RNG(0)
    X = rng.random((100, 4))
    found = [
        QuantileForest(5, max_features=share).fit(X, X[:, 0], LEVELS, categories=(), rng=RNG(1))(X[:9])
        for share in (1, 1.0)
    ]
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: QuantileForest(trees=0), "^trees must be"),
        (lambda: QuantileForest(max_features="sqrt"), "max_features must be"),  # type: ignore[arg-type]
        (lambda: QuantileBoosting(max_leaf_nodes=1), "^max_leaf_nodes must be"),
        (lambda: XGBoostQuantiles(learning_rate=1.5), "^learning_rate must be"),
        (lambda: QuantileTrees(QuantileForest), r"engine must be .* such as QuantileForest\(\)"),  # type: ignore[arg-type]
        (lambda: QuantileTrees(levels=(0.6, 0.9)), "levels must increase"),
    ],
)
def test_bad_settings_are_named(make: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        make()


def test_known_noise_is_announced_as_unused() -> None:
    data = Dataset(X=RNG(0).random((10, 1)), Y=RNG(1).random((10, 1)), Y_var=np.full((10, 1), 0.1))
    with pytest.warns(FallbackWarning, match="not used"):
        QuantileTrees(QuantileForest(5)).fit(data, rng=RNG(0))


@DEFAULTS
def test_one_seed_one_answer(engine: Any) -> None:
    rng = RNG(0)
    X, y = rng.random((60, 3)), rng.standard_normal(60)
    state = np.random.get_state()[1].copy()  # type: ignore[index]
    first, second = (engine.fit(X, y, LEVELS, categories=(), rng=RNG(3))(X[:10]) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # type: ignore[index]
