"""Merits, utilities, labels and weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibo.classifiers import (
    BoreLabels,
    Improvement,
    Power,
    Probability,
    Tchebycheff,
    WeightedLabels,
    merits,
)
from calibo.classifiers.labels import checked_utilities, threshold
from calibo.data import Dataset
from calibo.errors import DataError, RecipeError
from calibo.pareto import pareto_mask

UTILITIES = [Improvement(), Probability(), Power(0.5), Power(3.0), lambda y, tau: np.exp(np.minimum(y - tau, 0.0))]
outcomes = st.lists(st.sampled_from([0.0, 1.0, 1.5, 2.0, 7.0, -3.0]), min_size=1, max_size=25)


def points(n: int) -> np.ndarray:
    return np.random.default_rng(n).random((n, 2))


def test_reference_cases(golden: Callable[[str], Any]) -> None:
    cases = golden("lfbo_weights")
    X, y = np.array(cases["X"]), -np.array(cases["y"])  # minimized there
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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WeightedLabels(gamma=np.nan), "gamma"),
        (lambda: BoreLabels(gamma=1.0), "gamma"),
        (lambda: Power(-0.1), "exponent"),
        (lambda: Tchebycheff(-1.0), "rho"),
        (lambda: WeightedLabels("ei"), "function"),  # type: ignore[arg-type]
    ],
)
def test_bad_settings(make: Callable[[], object], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        make()


def test_bad_utilities() -> None:
    for utility in (lambda y, tau: y - tau, lambda y, tau: np.where(y > 1, np.inf, 0.0)):
        with pytest.raises(DataError, match="finite and not negative"):
            checked_utilities(utility, Y, 1.0)
    with pytest.raises(DataError, match="must give 4 values"):
        checked_utilities(lambda y, tau: y[:2], Y, 1.0)
    assert WeightedLabels(lambda y, tau: 0.0 * y).label(points(3), np.arange(3.0)) is None


# --- utilities --------------------------------------------------------------------------------------------------------

Y = np.array([-1.0, 0.0, 0.5, 2.0])


def test_utility_values() -> None:
    np.testing.assert_array_equal(Improvement()(Y, 0.0), [0.0, 0.0, 0.5, 2.0])
    np.testing.assert_array_equal(Probability()(Y, 0.0), [0.0, 0.0, 1.0, 1.0])
    np.testing.assert_allclose(Power(2.0)(Y, 0.0) * 4.0, [0.0, 0.0, 0.25, 4.0])
    assert np.isfinite(Power(8.0)(np.array([1e300, -1e300, 3.0]), 0.0)).all()


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.floats(-1e6, 1e6))
def test_power_interpolates_probability_and_improvement(outcomes: list[float], tau: float) -> None:
    y = np.array(outcomes)
    np.testing.assert_array_equal(Power(0.0)(y, tau), Probability()(y, tau))
    gain = Improvement()(y, tau)
    np.testing.assert_allclose(Power(1.0)(y, tau) * gain.max(), gain, rtol=1e-12, atol=1e-300)


# --- merits -----------------------------------------------------------------------------------------------------------


def data(Y: object, constraints: int = 0) -> Dataset:
    outcomes = np.array(Y, dtype=np.float64)
    return Dataset(X=np.random.default_rng(0).random((len(outcomes), 2)), Y=outcomes, constraints=constraints)


def of(known: Dataset, seed: int = 0) -> np.ndarray:
    return merits(known, Tchebycheff(), rng=np.random.default_rng(seed))


def test_one_objective_is_taken_as_it_is() -> None:
    np.testing.assert_array_equal(of(data([[1.0], [3.0]])), [1.0, 3.0])


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=2, max_size=12), st.integers(0, 5))
def test_the_best_trade_off_is_on_the_front(outcomes: list[tuple[float, float]], seed: int) -> None:
    known = data(outcomes)
    y = of(known, seed)
    assert np.isfinite(y).all()
    assert pareto_mask(known.Y)[y >= y.max() - 1e-12].any()


def test_other_weights_prefer_other_points() -> None:
    front = data([[np.cos(t), np.sin(t)] for t in np.linspace(0, np.pi / 2, 15)])
    assert len({int(np.argmax(of(front, seed))) for seed in range(40)}) > 7


def test_merits_do_not_depend_on_units_and_huge_ones_are_finite() -> None:
    Y = np.random.default_rng(0).normal(size=(20, 3))
    np.testing.assert_allclose(of(data(Y)), of(data(Y * [1e-5, 1e7, 3.0] + [2.0, 5.0, 0.0])), rtol=1e-6)
    assert np.isfinite(of(data(Y * 1e300))).all() and np.isfinite(of(data(np.ones((4, 2))))).all()


def test_infeasible_points_are_never_positives() -> None:
    rng = np.random.default_rng(0)
    for objectives in (1, 2):
        for share in (0.1, 0.4, 0.9):
            Y = rng.normal(size=(40, objectives + 1))
            Y[:, -1] = rng.random(40) - 1.0 + share
            known = data(Y, constraints=1)
            labelled = WeightedLabels().label(known.X, of(known))
            assert labelled is not None
            met = {tuple(x) for x in known.X[known.feasible]}
            assert {tuple(x) for x in labelled.X[labelled.z == 1]} <= met


def test_a_single_feasible_point_is_the_positive() -> None:
    known = data([[5.0, -1.0], [1.0, 0.0], [9.0, -3.0]], constraints=1)
    labelled = WeightedLabels().label(known.X, of(known))
    assert labelled is not None
    np.testing.assert_array_equal(labelled.X[labelled.z == 1], known.X[[1]])


def test_without_feasible_points_the_smallest_violation_is_best() -> None:
    y = of(data([[9.0, -4.0, 1.0], [0.0, -1.0, -0.1], [5.0, -2.0, -3.0]], constraints=2))
    assert np.argmax(y) == 1 and np.argmin(y) == 2
