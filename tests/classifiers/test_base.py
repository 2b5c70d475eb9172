"""Properties of all classifiers, and the meaning of their odds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.classifiers import (
    MLP,
    BoreLabels,
    GradientBoosting,
    History,
    Improvement,
    KernelLogistic,
    KullbackLeibler,
    Logistic,
    Power,
    Probability,
    RandomForest,
    WeightedLabels,
    Wrapped,
    XGBoost,
)
from calibo.classifiers.base import log_odds
from calibo.data import Array
from calibo.testing.randomness import global_state


def wrapped() -> Wrapped:
    from sklearn.ensemble import ExtraTreesClassifier

    return Wrapped(ExtraTreesClassifier(50))


CLASSIFIERS: dict[str, Any] = {
    "xgboost": XGBoost(),
    "boosting": GradientBoosting(),
    "forest": RandomForest(50),
    "logistic": Logistic(),
    "kernel": KernelLogistic(level=0.5),
    "mlp": MLP(cold_steps=400),
    "kullback-leibler": MLP(cold_steps=400, f=KullbackLeibler()),
    "wrapped": wrapped(),
}
every = pytest.mark.parametrize("classifier", CLASSIFIERS.values(), ids=CLASSIFIERS)
#: A number, a choice of three, a choice of two.
CATEGORIES = (0, 3, 2)


def mixed(n: int, seed: int = 0) -> Array:
    U = np.random.default_rng(seed).random((n, 3))
    U[:, 1], U[:, 2] = (np.floor(3 * U[:, 1]) + 0.5) / 3, (np.floor(2 * U[:, 2]) + 0.5) / 2
    return U


def hill(X: Array) -> Array:
    """Best near 0.3 with the middle choice of three."""
    return -np.square(X[:, 0] - 0.3) - 0.3 * np.abs(X[:, 1] - 0.5)


def fitted(classifier: Any, X: Array, y: Array, categories: tuple[int, ...], seed: int = 0) -> Any:
    labelled = WeightedLabels().label(X, y)
    assert labelled is not None
    return classifier.fit(labelled, categories=categories, rng=np.random.default_rng(seed))


@every
def test_better_points_have_larger_odds(classifier: Any) -> None:
    X = mixed(80)
    odds = fitted(classifier, X, hill(X), CATEGORIES)(mixed(500, 1))
    truth = hill(mixed(500, 1))
    assert odds.shape == (500,) and np.isfinite(odds).all()
    assert np.corrcoef(np.argsort(np.argsort(odds)), np.argsort(np.argsort(truth)))[0, 1] > 0.6
    assert truth[np.argmax(odds)] > np.quantile(truth, 0.75)


@every
def test_the_generator_is_all_the_randomness(classifier: Any) -> None:
    X, at, before = mixed(30), mixed(50, 1), global_state()
    one, other = (fitted(classifier, X, hill(X), CATEGORIES, 5)(at) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert global_state() == before


@every
def test_weights_count(classifier: Any) -> None:
    """Of two groups of positives the one with larger utilities has larger odds."""
    X = np.repeat([[0.1, 0.5], [0.5, 0.5], [0.9, 0.5]], 12, axis=0) + np.random.default_rng(0).normal(0, 0.03, (36, 2))
    y = np.repeat([1.0, 0.0, 10.0], 12)
    odds = fitted(classifier, X, y, (0, 0))(np.array([[0.1, 0.5], [0.9, 0.5]]))
    assert odds[1] > odds[0] + 1.0


@every
def test_few_points(classifier: Any) -> None:
    for X in (mixed(2), mixed(5), np.tile([0.5, 0.5, 0.75], (9, 1))):
        assert np.isfinite(fitted(classifier, X, np.arange(float(len(X))), CATEGORIES)(mixed(20, 1))).all()


@every
def test_many_columns(classifier: Any) -> None:
    X = np.random.default_rng(0).random((40, 50))
    assert np.isfinite(fitted(classifier, X, X[:, 0], (0,) * 50)(X)).all()


@every
def test_the_order_of_choices_does_not_matter(classifier: Any) -> None:
    """But for a forest, which splits them by their order: the best choice of seven is found wherever it stands."""
    rng = np.random.default_rng(0)
    place = rng.integers(7, size=120)
    for best in (0, 4):
        y = (place == best) + 0.1 * rng.standard_normal(120)
        odds = fitted(classifier, (place[:, None] + 0.5) / 7, y, (7,))((np.arange(7)[:, None] + 0.5) / 7)
        assert np.argmax(odds) == best


def test_log_odds_are_finite() -> None:
    found = log_odds(np.array([0.0, 0.5, 1.0]))
    assert np.isfinite(found).all() and found[1] == 0.0 and found[0] == pytest.approx(-found[2])


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.floats(-5, 5)), min_size=3, max_size=60),
    st.floats(0.1, 0.6),
    st.sampled_from([Improvement(), Probability(), Power(2.0)]),
)
def test_the_odds_of_a_saturated_classifier_are_the_expected_utility(
    listed: list[tuple[int, float]], gamma: float, utility: Any
) -> None:
    """Corollary 3.5 of Song et al. 2022 on five places: C / (1 - C) = E[u | x] / mean(u) of the data."""
    from sklearn.tree import DecisionTreeClassifier

    place, y = np.array([i for i, _ in listed]), np.array([v for _, v in listed])
    rule = WeightedLabels(utility, gamma)
    labelled = rule.label((place[:, None] + 0.5) / 5, y)
    if labelled is None:
        return
    odds = Wrapped(DecisionTreeClassifier()).fit(labelled, categories=(5,), rng=np.random.default_rng(0))
    u = utility(y, labelled.threshold)
    for i in np.unique(place):
        expected = u[place == i].mean() / u.mean()
        found = float(np.exp(odds(np.array([[(i + 0.5) / 5]])))[0])
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_bore_ignores_the_size_of_improvements() -> None:
    """Its odds depend on how often an outcome is above the threshold, not by how much."""
    from sklearn.tree import DecisionTreeClassifier

    place = np.repeat([0, 1], 10)
    y = np.concatenate([np.repeat([0.0, 1.0], [5, 5]), np.repeat([0.0, 100.0], [8, 2])])
    X = (place[:, None] + 0.5) / 2
    found = {}
    for rule in (WeightedLabels(gamma=0.4), BoreLabels(gamma=0.4)):
        labelled = rule.label(X, y)
        assert labelled is not None
        tree = Wrapped(DecisionTreeClassifier()).fit(labelled, categories=(2,), rng=np.random.default_rng(0))
        found[type(rule)] = tree(np.array([[0.25], [0.75]]))
    assert found[WeightedLabels][1] > found[WeightedLabels][0] and found[BoreLabels][1] < found[BoreLabels][0]


def test_a_history_is_labelled_as_far_as_it_goes() -> None:
    X, y, counts = np.random.default_rng(0).random((6, 2)), np.array([1.0, 1.0, 3.0, 2.0, 5.0, 4.0]), [2, 4, 6]
    history = History(X, y, WeightedLabels())
    three = history.first(3)
    assert len(history) == 6 and history.first(2) is None and three is not None and len(three) == 4
    longer = History(np.vstack([X, X[:1]]), np.append(y, 9.0), WeightedLabels()).digests(counts)
    changed = History(X, y + [0, 0, 0, 0, 0, 1e-9], WeightedLabels()).digests(counts)
    digests = history.digests(counts)
    assert digests == longer and digests[:2] == changed[:2] and digests[2] != changed[2]
