"""scikit-learn classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibo.classifiers import Logistic, WeightedLabels, Wrapped
from calibo.errors import RecipeError


def labelled() -> Any:
    X = np.random.default_rng(0).random((40, 2))
    return WeightedLabels().label(X, -np.square(X - 0.5).sum(axis=1))


def test_unsuitable_estimators_are_refused() -> None:
    from sklearn.linear_model import RidgeClassifier
    from sklearn.neighbors import KNeighborsClassifier

    with pytest.raises(RecipeError, match="KNeighborsClassifier takes no sample_weight"):
        Wrapped(KNeighborsClassifier())
    with pytest.raises(RecipeError, match="RidgeClassifier gives no probabilities"):
        Wrapped(RidgeClassifier())
    with pytest.raises(RecipeError, match="int gives no probabilities"):
        Wrapped(3)


def test_pipelines_pass_the_weights_on() -> None:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    wrapped = Wrapped(make_pipeline(StandardScaler(), RandomForestClassifier(30)))
    odds = wrapped.fit(labelled(), categories=(0, 0), rng=np.random.default_rng(0))
    assert odds(np.array([[0.5, 0.5]])) > odds(np.array([[0.0, 0.0]]))


def test_a_given_seed_is_kept() -> None:
    from sklearn.tree import ExtraTreeClassifier

    given = Wrapped(ExtraTreeClassifier(random_state=3))
    at = np.random.default_rng(1).random((50, 2))
    one, other = (given.fit(labelled(), categories=(0, 0), rng=np.random.default_rng(s))(at) for s in (0, 1))
    np.testing.assert_array_equal(one, other)


def test_degree_two_has_an_optimum_inside() -> None:
    middle, corners = np.array([[0.5, 0.5]]), np.array([[0, 0], [0, 1], [1, 0], [1.0, 1.0]])
    square = Logistic().fit(labelled(), categories=(0, 0), rng=np.random.default_rng(0))
    plane = Logistic(degree=1).fit(labelled(), categories=(0, 0), rng=np.random.default_rng(0))
    assert square(middle) > square(corners).max() and plane(middle) <= plane(corners).max()
    with pytest.raises(RecipeError, match="degree"):
        Logistic(degree=0)
