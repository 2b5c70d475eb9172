"""Labels and weights: the reference cases, ties, and what the weights are for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.classifiers import BoreLabels, Improvement, Power, Probability, WeightedLabels
from calibo.classifiers.labels import threshold
from calibo.errors import DataError, RecipeError

UTILITIES = [Improvement(), Probability(), Power(0.5), Power(3.0), lambda y, tau: np.exp(np.minimum(y - tau, 0.0))]
outcomes = st.lists(st.sampled_from([0.0, 1.0, 1.5, 2.0, 7.0, -3.0]), min_size=1, max_size=25)


def points(n: int) -> np.ndarray:
    return np.random.default_rng(n).random((n, 2))


def test_reference_cases(golden: Callable[[str], Any]) -> None:
    cases = golden("lfbo_weights")
    X, y = np.array(cases["X"]), -np.array(cases["y"])  # they are minimised there
    assert cases["cases"]
    for gamma, case in cases["cases"].items():
        labelled = WeightedLabels(gamma=float(gamma)).label(X, y)
        assert labelled is not None
        assert labelled.threshold == pytest.approx(-case["tau"], abs=1e-12)
        np.testing.assert_array_equal(labelled.X, case["X"])
        np.testing.assert_array_equal(labelled.z, case["z"])
        np.testing.assert_allclose(labelled.weights, case["w"], rtol=0, atol=1e-12)
        bore = BoreLabels(gamma=float(gamma)).label(X, y)
        assert bore is not None
        np.testing.assert_array_equal(bore.z, case["bore_labels"])
        np.testing.assert_array_equal(bore.X, X)
        np.testing.assert_array_equal(bore.weights, np.ones(len(y)))


@given(outcomes, st.floats(0.01, 0.99), st.sampled_from(UTILITIES))
def test_both_classes_weigh_the_same_and_the_mean_is_one(y: list[float], gamma: float, utility: Any) -> None:
    Y = np.array(y)
    labelled = WeightedLabels(utility, gamma).label(points(len(Y)), Y)
    assert (labelled is None) == (Y.min() == Y.max())
    if labelled is None:
        return
    assert labelled.weights.mean() == pytest.approx(1.0) and (labelled.weights > 0.0).all()
    assert labelled.weights[labelled.z == 1].sum() == pytest.approx(labelled.weights[labelled.z == 0].sum())
    np.testing.assert_array_equal(labelled.X[labelled.z == 0], points(len(Y)))


@given(outcomes, st.floats(0.01, 0.99))
def test_there_is_always_a_positive_unless_all_are_equal(y: list[float], gamma: float) -> None:
    Y = np.array(y)
    tau = threshold(Y, gamma)
    if Y.min() == Y.max():
        assert tau is None and BoreLabels(gamma).label(points(len(Y)), Y) is None
        return
    assert tau is not None and tau < Y.max()
    labelled = BoreLabels(gamma).label(points(len(Y)), Y)
    assert labelled is not None and 0 < labelled.z.sum() < len(Y)
    if np.quantile(Y, 1 - gamma) < Y.max():
        assert tau == np.quantile(Y, 1 - gamma)


def test_ties_at_the_best() -> None:
    labelled = WeightedLabels(gamma=0.25).label(points(4), np.array([1.0, 5.0, 5.0, 2.0]))
    assert labelled is not None and labelled.threshold == 2.0
    np.testing.assert_array_equal(labelled.X[labelled.z == 1], points(4)[[1, 2]])


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=20, unique=True), st.sampled_from([-8, 3, 900]))
def test_units_do_not_matter(y: list[float], power: int) -> None:
    one, other = (WeightedLabels().label(points(len(y)), scale * np.array(y)) for scale in (1.0, 2.0**power))
    assert one is not None and other is not None
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-6)


def test_further_negatives() -> None:
    labelled = WeightedLabels().label(points(9), np.arange(9.0))
    assert labelled is not None
    more = labelled.with_negatives(np.full((2, 2), 0.5))
    assert len(more) == len(labelled) + 2 and more.weights.mean() == pytest.approx(1.0)
    np.testing.assert_array_equal(more.z[-2:], 0.0)
    negatives = more.weights[more.z == 0]
    np.testing.assert_allclose(negatives, negatives[0])
    assert labelled.with_negatives(np.empty((0, 2))) is labelled


def test_a_bootstrap_keeps_all_rows() -> None:
    labelled = WeightedLabels().label(points(9), np.arange(9.0))
    assert labelled is not None
    one, other = (labelled.resampled(np.random.default_rng(seed)) for seed in (0, 1))
    assert (one.weights > 0).all() and one.weights.mean() == pytest.approx(1.0)
    assert not np.allclose(one.weights, other.weights)
    np.testing.assert_array_equal(one.z, labelled.z)


@pytest.mark.parametrize("gamma", [0.0, 1.0, -1.0, np.nan])
def test_bad_gamma(gamma: float) -> None:
    for rule in (WeightedLabels, BoreLabels):
        with pytest.raises(RecipeError, match="gamma"):
            rule(gamma=gamma)


def test_bad_utilities() -> None:
    with pytest.raises(RecipeError, match="callable"):
        WeightedLabels("ei")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="not negative"):
        WeightedLabels(lambda y, tau: y - tau).label(points(3), np.arange(3.0))
    assert WeightedLabels(lambda y, tau: 0.0 * y).label(points(3), np.arange(3.0)) is None
