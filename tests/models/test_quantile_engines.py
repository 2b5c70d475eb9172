"""What learns quantiles: each engine against known quantiles, a forest against brute force, choices and determinism."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibo.errors import RecipeError
from calibo.models.quantile_engines import QuantileBoosting, QuantileForest, XGBoostQuantiles

RNG = np.random.default_rng
LEVELS = np.array([0.1, 0.5, 0.9])
ENGINES = [QuantileForest(), QuantileBoosting(), XGBoostQuantiles()]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: type(e).__name__)
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


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: type(e).__name__)
def test_choices_need_no_order(engine: Any) -> None:
    rng = RNG(0)
    choice = rng.integers(0, 8, 400)
    height = np.array([0.0, 9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0])
    y = height[choice] + 0.1 * rng.standard_normal(400)
    quantiles = engine.fit(choice[:, None].astype(float), y, LEVELS, categories=(8,), rng=RNG(1))
    found = quantiles(np.arange(8.0)[:, None])
    # Boosting starts at the quantile of all outcomes and comes near step by step.
    np.testing.assert_allclose(found[:, 1], height, atol=0.7)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: type(e).__name__)
def test_one_seed_one_answer(engine: Any) -> None:
    rng = RNG(0)
    X, y = rng.random((60, 3)), rng.standard_normal(60)
    state = np.random.get_state()[1].copy()  # type: ignore[index]
    first, second = (engine.fit(X, y, LEVELS, categories=(), rng=RNG(3))(X[:10]) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # type: ignore[index]


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


def test_forest_quantiles_do_not_cross() -> None:
    rng = RNG(0)
    X, y = rng.random((300, 3)), rng.standard_normal(300)
    levels = np.linspace(0.01, 0.99, 33)
    found = QuantileForest(20).fit(X, y, levels, categories=(), rng=RNG(1))(rng.random((200, 3)))
    assert (np.diff(found, axis=1) >= 0).all() and found.min() >= y.min() and found.max() <= y.max()


def test_many_outcomes_are_kept_coarsely_enough_and_finely_enough() -> None:
    rng = RNG(0)
    X = rng.random((5000, 1))
    y = rng.standard_normal(5000)
    found = QuantileForest(20, min_samples_leaf=500).fit(X, y, LEVELS, categories=(), rng=RNG(1))(np.array([[0.5]]))
    np.testing.assert_allclose(found[0], [-1.28, 0.0, 1.28], atol=0.15)


@pytest.mark.parametrize(
    ("kind", "setting", "bad"),
    [
        (QuantileForest, "trees", 0),
        (QuantileForest, "min_samples_leaf", 2.5),
        (QuantileForest, "max_features", "sqrt"),
        (QuantileBoosting, "rounds", None),
        (QuantileBoosting, "min_samples_leaf", 0),
        (QuantileBoosting, "max_leaf_nodes", 1),
        (QuantileBoosting, "learning_rate", np.nan),
        (XGBoostQuantiles, "rounds", 0),
        (XGBoostQuantiles, "max_depth", 2.5),
        (XGBoostQuantiles, "learning_rate", 1.5),
    ],
)
def test_bad_settings_are_named(kind: Any, setting: str, bad: Any) -> None:
    with pytest.raises(RecipeError, match=f"^{setting} must be"):
        kind(**{setting: bad})


def test_all_features_are_all_whatever_the_type_of_the_number() -> None:
    """To scikit-learn alone the whole number 1 is a single feature."""
    rng = RNG(0)
    X = rng.random((100, 4))
    found = [
        QuantileForest(5, max_features=share).fit(X, X[:, 0], LEVELS, categories=(), rng=RNG(1))(X[:9])
        for share in (1, 1.0)
    ]
    np.testing.assert_array_equal(found[0], found[1])
