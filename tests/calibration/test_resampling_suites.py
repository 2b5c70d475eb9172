"""Surrogates calibrated by splits, folds and bootstrap samples pass the suite of surrogates, at any scale."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from calibo.calibration import Bootstrap, Calibrated, Conformal, KFold, QuantileShift, Split
from calibo.data import Dataset
from calibo.models import GaussianProcess, NeuralEnsemble, Perceptron, QuantileForest, QuantileTrees, Surrogate
from calibo.testing import SurrogateSuite

RNG = np.random.default_rng


def dataset(n: int = 30) -> Dataset:
    rng = RNG(0)
    X = rng.random((n, 1))
    return Dataset(X=X, Y=2 * X + 0.2 * rng.standard_normal((n, 1)))


class TestConformalSplit(SurrogateSuite):
    """The suite for a split, with the quickest of models."""

    def surrogate(self) -> Surrogate:
        return Calibrated(GaussianProcess(), by=Conformal(), evidence=Split())


class TestConformalFolds(SurrogateSuite):
    """The same for folds."""

    def surrogate(self) -> Surrogate:
        return Calibrated(GaussianProcess(), by=Conformal(), evidence=KFold(3))


class TestConformalBootstrap(SurrogateSuite):
    """The same for bootstrap samples, of trees."""

    def surrogate(self) -> Surrogate:
        forest = QuantileTrees(QuantileForest(trees=10))
        return Calibrated(forest, by=Conformal(QuantileShift()), evidence=Bootstrap(5))


def test_a_point_that_only_one_model_left_out_gets_the_spread_of_others() -> None:
    """Else its score, an error in units of no spread, would make intervals absurdly wide."""
    data, network = dataset(60), NeuralEnsemble(1, Perceptron(1, 8, 20))
    wide = []
    for samples in (3, 5, 40):
        surrogate = Calibrated(network, by=Conformal(), evidence=Bootstrap(samples))
        low, high = surrogate.fit(data, rng=RNG(0)).predict(data.X, latent=False).interval(0.8)
        wide.append(float(np.median(high - low)))
    assert max(wide[:2]) < 3.0 * wide[2]


@pytest.mark.parametrize("scale", [1e-200, 1e-170, 1e170, 1e250])
def test_samples_survive_any_scale(scale: float) -> None:
    data = dataset(30)
    scaled = Dataset(X=data.X, Y=data.Y * scale)
    surrogate = Calibrated(NeuralEnsemble(2, Perceptron(1, 8, 10)), by=Conformal(), evidence=Bootstrap(5))
    low, high = surrogate.fit(scaled, rng=RNG(0)).predict(data.X, latent=False).interval(0.5)
    assert np.isfinite([low, high]).all() and (low < high).all()


@pytest.mark.parametrize("resampler", [KFold(3), Bootstrap(4)], ids=repr)
def test_what_was_learned_can_be_pickled(resampler: Any) -> None:
    surrogate = Calibrated(GaussianProcess(), by=Conformal(plus=True), evidence=resampler)
    model = surrogate.fit(dataset(), rng=RNG(0))
    X = np.linspace(0, 1, 5)[:, None]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.predict(X, latent=False).interval(0.8), model.predict(X, latent=False).interval(0.8)
    )
