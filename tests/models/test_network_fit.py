"""Networks fitted to parts of data: presets of the literature, sizes of outcomes, what each network leaves out."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from calibo.data import Dataset
from calibo.errors import DataError, RecipeError
from calibo.models import NeuralEnsemble, Perceptron
from calibo.models.network_fit import encoder, fit_networks
from calibo.networks import AbsoluteError

RNG = np.random.default_rng
QUICK = Perceptron(layers=1, width=4, epochs=1, fewest_steps=2)


def data(n: int = 12) -> Dataset:
    X = RNG(0).random((n, 2))
    return Dataset(X=X, Y=X[:, :1] - X[:, 1:])


def test_presets_are_those_of_the_literature() -> None:
    paper, published, bananas = Perceptron.paper(), Perceptron.published(), Perceptron.bananas()
    assert (paper.layers, paper.width, paper.learning_rate) == (20, 20, 0.01)
    assert (published.layers, published.width, published.learning_rate, published.epochs) == (20, 20, 0.001, 500)
    assert (published.batch, published.output_l1, published.standardized) == (32, 0.2, False)
    assert (bananas.layers, bananas.width, bananas.learning_rate, bananas.epochs) == (10, 20, 0.01, 150)


def test_raw_outcomes_of_any_size_are_not_for_raw_presets() -> None:
    X = RNG(0).random((12, 2))
    with pytest.raises(DataError, match="standardized=True"):
        NeuralEnsemble.published().fit(Dataset(X=X, Y=1e20 * X[:, :1]), rng=RNG(0))


def test_every_point_is_left_out_by_one_network() -> None:
    (fitted,) = fit_networks(
        data(), [np.arange(12)], QUICK, lambda parts: AbsoluteError(), copies=4, leave_out=True, rng=RNG(0)
    )
    assert fitted.seen.shape == (4, 12) and (fitted.seen.sum(axis=0) == 3).all()


def test_subsets_have_units_of_their_own() -> None:
    parts = fit_networks(
        data(),
        [np.arange(6), np.arange(6, 12)],
        QUICK,
        lambda parts: AbsoluteError(),
        copies=1,
        leave_out=False,
        rng=RNG(0),
    )
    for part, rows in zip(parts, (slice(0, 6), slice(6, 12)), strict=True):
        y = np.sort(data().Y[rows, 0])
        np.testing.assert_allclose(np.sort(part.units.backward(part.z)), y, atol=1e-8)
        assert abs(part.z.mean()) < 1e-8


@pytest.mark.parametrize(
    ("setting", "bad"),
    [
        *((name, 0) for name in ("layers", "width", "epochs", "fewest_steps", "batch", "learning_rate")),
        ("squares", 1.0),
        ("output_l1", -1.0),
        ("start", "zeros"),
        ("standardized", "no"),
        ("double", None),
    ],
)
def test_bad_settings_are_refused_where_they_are_given(setting: str, bad: Any) -> None:
    with pytest.raises(RecipeError, match=f"^{setting} must be"):
        Perceptron(**{setting: bad})


def test_numbers_of_numpy_are_numbers() -> None:
    two: Any = np.int64(2)
    rate: Any = np.float32(0.01)
    network = Perceptron(two, two, two, fewest_steps=two, batch=two, learning_rate=rate)
    (fitted,) = fit_networks(
        data(), [np.arange(12)], network, lambda parts: AbsoluteError(), copies=1, leave_out=False, rng=RNG(0)
    )
    assert fitted.networks is not None and len(fitted.networks.layers) == 3


def test_features_outlive_their_process() -> None:
    points = Dataset(X=np.array([[0.1, 0.9], [0.6, 0.1]]), Y=np.zeros((2, 1)), categories=(0, 3))
    encode = pickle.loads(pickle.dumps(encoder(points)))
    np.testing.assert_allclose(encode(points.X), [[-0.8, -1.0, -1.0, 1.0], [0.2, 1.0, -1.0, -1.0]])
