"""The kernel between branches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.data import Dataset
from calibo.models import GaussianProcess
from calibo.models.conditional_features import ConditionalFeatures
from calibo.models.gp_posterior import Features
from calibo.models.input_warping import InputWarping
from calibo.models.kernel_features import kernel_features
from calibo.models.kernels import RBF, Matern32, Matern52, squared_distances
from calibo.spaces import Categorical, Float, Int, ProductSpace
from tests.spaces.test_conditional import trees

SPACE = ProductSpace(
    {
        "model": Categorical(["svm", "knn"]),
        "C": Float(0.0, 1.0, when={"model": "svm"}),
        "kernel": Categorical(["rbf", "poly"], when={"model": "svm"}),
        "k": Int(1, 9, when={"model": "knn"}),
        "x": Float(0.0, 1.0),
    }
)


def _features(space: ProductSpace = SPACE) -> Features:
    return kernel_features(space.categories, space.activity)


def _distance(one: dict[str, object], other: dict[str, object]) -> np.ndarray:
    """Return the squared distance in each feature's column."""
    features = _features()
    A, B = features(SPACE.encode([one])), features(SPACE.encode([other]))
    return np.bincount(features.column, np.square(A - B)[0], minlength=features.lengths)


def test_distances_within_a_branch_are_nearly_the_usual_ones() -> None:
    near = _distance(
        {"model": "svm", "C": 0.3, "kernel": "rbf", "x": 0.2}, {"model": "svm", "C": 0.5, "kernel": "poly", "x": 0.2}
    )
    assert np.sqrt(near[1]) == pytest.approx(np.sin(0.2)) and np.sqrt(near[1]) == pytest.approx(0.2, rel=0.01)
    assert np.sqrt(near[2]) == pytest.approx(0.25)
    assert near[[0, 3, 4, 5]] == pytest.approx(0.0)


def test_distances_between_branches_do_not_depend_on_the_values() -> None:
    rng = np.random.default_rng(0)
    found = [
        _distance(
            {"model": "svm", "C": rng.random(), "kernel": "rbf", "x": 0.2}, {"model": "knn", "k": int(k), "x": 0.2}
        )
        for k in rng.integers(1, 10, size=8)
    ]
    np.testing.assert_allclose(found, np.broadcast_to(found[0], (8, 6)))
    assert (found[0][[0, 1, 2, 3, 5]] > 0.0).all()


@settings(max_examples=60, deadline=None)
@given(space=trees(), seed=st.integers(0, 1000))
def test_correlations_are_positive_semidefinite(space: ProductSpace, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = space.sample(24, rng)
    features = _features(space)
    scaled = features(X) / np.exp(rng.normal(-1.0, 1.5, size=features.lengths))[features.column]
    for kernel in (Matern52(), Matern32(), RBF()):
        K = kernel.correlation(squared_distances(scaled, scaled))
        np.testing.assert_allclose(K, K.T)
        assert np.linalg.eigvalsh(K).min() > -1e-9
    if isinstance(features, ConditionalFeatures):
        # Coordinates of inactive columns mean nothing.
        moved = np.where(space.active(X), X, rng.random(X.shape))
        np.testing.assert_allclose(features(moved), features(X))


@pytest.mark.parametrize("warping", [None, InputWarping()])
def test_the_gradient_of_the_likelihood(warping: InputWarping | None) -> None:
    rng = np.random.default_rng(3)
    X = SPACE.sample(14, rng)
    data = Dataset(X=X, Y=rng.standard_normal((14, 1)), categories=SPACE.categories, activity=SPACE.activity)
    objective = GaussianProcess(warping=warping).objective(data)
    raw = objective.starts()[0] + 0.2 * rng.standard_normal(len(objective.bounds()))
    gradient = objective(raw)[1]
    steps = 1e-6 * np.eye(len(raw))
    numeric = [(objective.value(raw + step) - objective.value(raw - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-5)


def test_length_scales_are_those_of_the_columns() -> None:
    rng = np.random.default_rng(0)
    X = SPACE.sample(20, rng)
    data = Dataset(X=X, Y=X[:, 4:], categories=SPACE.categories, activity=SPACE.activity)
    model = GaussianProcess().fit(data, rng=rng)
    assert model.lengthscales.shape == (5,) and len(model.hyperparameters) == 8
    assert GaussianProcess().stored_size(data) == 8
    again = GaussianProcess().fit(
        Dataset(
            X=X, Y=X[:, 4:], categories=SPACE.categories, activity=SPACE.activity,
            hyperparameters=(model.hyperparameters,), refit=False,
        ),
        rng=rng,
    )  # fmt: skip
    np.testing.assert_allclose(again.predict(X, latent=True).mean, model.predict(X, latent=True).mean)
