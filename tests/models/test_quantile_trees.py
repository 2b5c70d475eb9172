"""Quantile regression by trees as a surrogate: the distributions, calibration around it, features of the space's own."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calibo.calibration import Calibrated, Conformal, QuantileShift, Split
from calibo.data import Dataset
from calibo.errors import FallbackWarning, RecipeError
from calibo.models import QuantileBoosting, QuantileEngine, QuantileForest, QuantileTrees, Surrogate
from calibo.models.quantile_engines import XGBoostQuantiles
from calibo.spaces import CellSpace
from calibo.testing import SurrogateSuite

RNG = np.random.default_rng
#: Of each kind, quick.
ENGINES = pytest.mark.parametrize(
    "engine",
    [QuantileForest(5), QuantileBoosting(rounds=5), XGBoostQuantiles(rounds=5)],
    ids=lambda e: type(e).__name__,
)


class TestForest(SurrogateSuite):
    """The distributions of surrogates for a quantile forest."""

    def surrogate(self) -> Surrogate:
        return QuantileTrees(QuantileForest(20))


class TestBoosting(SurrogateSuite):
    """The distributions for boosted trees, of three levels to be quick."""

    def surrogate(self) -> Surrogate:
        return QuantileTrees(QuantileBoosting(rounds=20), levels=(0.1, 0.5, 0.9))


def test_the_law_has_the_quantiles_learned() -> None:
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


def test_known_noise_is_announced_as_unused() -> None:
    data = Dataset(X=RNG(0).random((10, 1)), Y=RNG(1).random((10, 1)), Y_var=np.full((10, 1), 0.1))
    with pytest.warns(FallbackWarning, match="not used"):
        QuantileTrees(QuantileForest(5)).fit(data, rng=RNG(0))


@pytest.mark.parametrize("levels", [(0.5,), (0.6, 0.9), (0.9, 0.1), (0.0, 0.5, 1.0)])
def test_bad_levels_are_refused(levels: tuple[float, ...]) -> None:
    with pytest.raises(RecipeError, match="levels must increase"):
        QuantileTrees(levels=levels)


def test_quantiles_that_cross_are_rearranged() -> None:
    """Sorted, not merely kept from falling: each distribution has the same quantiles in another order."""

    class Crossing(QuantileEngine):
        def fit(self, features, y, levels, *, categories, rng):  # type: ignore[no-untyped-def]
            return lambda points: np.tile([0.5, -1.0, 0.0], (len(points), 1))

    data = Dataset(X=RNG(0).random((10, 1)), Y=RNG(1).random((10, 1)))
    distribution = (
        QuantileTrees(Crossing(), levels=(0.1, 0.5, 0.9)).fit(data, rng=RNG(0)).predict(data.X[:1], latent=False)
    )
    z = (distribution.values[0] - data.Y.mean()) / data.Y.std()
    np.testing.assert_allclose(z, [-1.0, 0.0, 0.5], atol=1e-5)


def mixed(n: int) -> Dataset:
    """A number and a choice among three."""
    X = RNG(0).random((n, 2))
    return Dataset(X=X, Y=X[:, :1] + np.floor(3.0 * X[:, 1:]), categories=(0, 3))


@pytest.mark.parametrize("make", [lambda: "forest", lambda: QuantileForest, lambda: 5])
def test_an_engine_is_an_object(make: Any) -> None:
    with pytest.raises(RecipeError, match=r"engine must be .* such as QuantileForest\(\)"):
        QuantileTrees(make())


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
