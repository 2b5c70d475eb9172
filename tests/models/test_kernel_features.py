"""Features of points for a kernel: which kind there is, and what descriptors of choices are worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibo.data import Array, Dataset
from calibo.models import GaussianProcess
from calibo.models.gp_posterior import Features
from calibo.models.kernel_features import DescribedFeatures, kernel_features
from calibo.spaces import Categorical, ProductSpace

RNG = np.random.default_rng


def test_without_conditions_features_are_the_plain_ones() -> None:
    assert type(kernel_features((0, 3), None)) is Features


def test_an_inactive_choice_has_the_descriptors_of_the_middle() -> None:
    solvent = Categorical(["water", "ethanol"], descriptors={"water": [1.0], "ethanol": [3.0]}, when={"wet": "yes"})
    space = ProductSpace({"wet": Categorical(["yes", "no"]), "solvent": solvent})
    features = kernel_features(space.categories, space.activity, space.descriptors)
    assert isinstance(features, DescribedFeatures) and features.lengths == features.base.lengths + 1
    points = [{"wet": "yes", "solvent": "water"}, {"wet": "yes", "solvent": "ethanol"}, {"wet": "no"}]
    water, ethanol, inactive = features(space.encode(points))[:, -1]
    np.testing.assert_allclose([water, ethanol, inactive], [-0.5, 0.5, 0.0], atol=1e-12)


def described_data(order: np.ndarray, n: int = 24) -> tuple[Dataset, Array]:
    """Outcomes that are smooth in a descriptor of six choices, which are listed in some order; and all choices."""
    k, rng = len(order), RNG(7)
    rows, place = np.linspace(-1, 1, k)[:, None], np.argsort(order)
    choice, x = rng.choice(np.delete(np.arange(k), 3), size=n), rng.random(n)
    y = np.sin(2 * rows[choice, 0]) + x
    X = np.column_stack([x, (place[choice] + 0.5) / k])
    every = np.column_stack([np.full(k, 0.5), (place + 0.5) / k])
    return Dataset(X=X, Y=y[:, None], categories=(0, k), descriptors=(None, rows[order])), every


def test_permuted_choices_with_their_descriptors_change_nothing() -> None:
    one, every = described_data(np.arange(6))
    other, permuted = described_data(np.array([3, 0, 5, 1, 4, 2]))
    first, second = (GaussianProcess().fit(data, rng=RNG(0)) for data in (one, other))
    expected, found = first.predict(every, latent=True), second.predict(permuted, latent=True)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.spread, expected.spread, rtol=1e-4)
    assert first.lengthscales.shape == (2,) and len(first.hyperparameters) == 5


def test_a_choice_never_tried_is_predicted_from_those_like_it() -> None:
    data, every = described_data(np.arange(6))
    fitted = (GaussianProcess().fit(one, rng=RNG(0)) for one in (data, replace(data, descriptors=())))
    with_, without = (model.predict(every[[3]], latent=True) for model in fitted)
    truth = np.sin(2 * 0.2) + 0.5
    assert abs(with_.mean[0] - truth) < 0.3
    assert abs(with_.mean[0] - truth) < 0.6 * abs(without.mean[0] - truth) and with_.spread[0] < 0.5 * without.spread[0]
