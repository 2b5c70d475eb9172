"""Convex functions and their losses: conjugates, slopes, and that the optimum is the expected utility."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit

from calibo.classifiers import (
    BoreLabels,
    ChiSquared,
    Improvement,
    JensenShannon,
    KullbackLeibler,
    Labelled,
    Power,
    Probability,
    SquaredHellinger,
    WeightedLabels,
)
from calibo.classifiers.convex import loss_slope, variational_loss
from calibo.data import Array

FUNCTIONS: list[Any] = [JensenShannon(), KullbackLeibler(), ChiSquared(), SquaredHellinger()]
every = pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: type(f).__name__)


@every
def test_the_slope_and_the_steepness_are_derivatives(f: Any) -> None:
    t, h = np.linspace(-3.0, 3.0, 25), 1e-6
    s = np.exp(t)
    np.testing.assert_allclose(f.slope(t), (f(s * (1 + h)) - f(s * (1 - h))) / (2 * h * s), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(f.steepness(t), (f.slope(t + h) - f.slope(t - h)) / (2 * h), rtol=1e-6)
    assert (f.steepness(np.linspace(-30.0, 30.0, 99)) > 0.0).all()


@every
def test_the_conjugate_is_the_supremum(f: Any) -> None:
    """f*(v) = sup_r v r - f(r) at v = f'(s), over a fine grid of r around s and far from it; up to a constant in s."""
    t = np.linspace(-2.0, 2.0, 9)
    r = np.exp(np.linspace(-6.0, 6.0, 200_001))
    supremum = np.array([np.max(f.slope(np.array(at)) * r - f(r)) for at in t])
    difference = f.conjugate(t) - supremum
    np.testing.assert_allclose(difference, difference[0], atol=1e-7)


@every
def test_far_away_nothing_overflows(f: Any) -> None:
    t = np.array([-1e4, -40.0, 40.0, 1e4])
    for z in (0.0, 1.0):
        assert np.isfinite(loss_slope(f, t, np.full(4, z))).all()


def test_classification_is_the_weighted_cross_entropy() -> None:
    """Corollary 3.5."""
    rng = np.random.default_rng(0)
    t, z, w = rng.normal(size=30), rng.integers(2, size=30).astype(np.float64), rng.random(30)
    loss, slope = variational_loss(JensenShannon(), t, Labelled(np.zeros((30, 1)), z, w, 0.0))
    C = expit(t)
    assert loss == pytest.approx(float(-(w * (z * np.log(C) + (1 - z) * np.log(1 - C))).mean()), rel=1e-12)
    np.testing.assert_allclose(slope, w * (C - z) / 30, atol=1e-14)


@every
def test_the_slope_of_the_loss(f: Any) -> None:
    rng = np.random.default_rng(1)
    t, z, w = rng.normal(size=12), np.repeat([0.0, 1.0], 6), rng.random(12)
    rows = Labelled(np.zeros((12, 1)), z, w, 0.0)
    found = variational_loss(f, t, rows)[1]
    steps = 1e-6 * np.eye(12)
    by_differences = [(variational_loss(f, t + e, rows)[0] - variational_loss(f, t - e, rows)[0]) / 2e-6 for e in steps]
    np.testing.assert_allclose(found, by_differences, atol=1e-9)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.floats(-5, 5)), min_size=3, max_size=60),
    st.floats(0.1, 0.6),
    st.sampled_from([Improvement(), Probability(), Power(2.0)]),
    st.sampled_from(FUNCTIONS),
)
def test_the_optimum_of_a_saturated_model_is_the_expected_utility(
    told: list[tuple[int, float]], gamma: float, utility: Any, f: Any
) -> None:
    """Theorem 3.4 on five places, for every f: S = E[u | x] / mean(u) of the data, to 1e-6."""
    place, y = np.array([i for i, _ in told]), np.array([v for _, v in told])
    labelled = WeightedLabels(utility, gamma).label((place[:, None] + 0.5) / 5, y)
    if labelled is None:
        return
    u = utility(y, labelled.threshold)
    for i in np.unique(place):
        own = np.flatnonzero(labelled.X[:, 0] == (i + 0.5) / 5)
        found = solved(f, Labelled(labelled.X[own], labelled.z[own], labelled.weights[own], 0.0))
        assert found == pytest.approx(u[place == i].mean() / u.mean(), rel=1e-6, abs=1e-6)


def solved(f: Any, rows: Labelled) -> float:
    """The one S that is best for all of the rows: where the loss has no slope, and that is its minimum."""

    def loss(t: float) -> tuple[float, Array]:
        return variational_loss(f, np.full(len(rows), t), rows)

    if loss(-30.0)[1].sum() >= 0.0:
        # Nothing is gained here, and the less the better.
        return float(np.exp(-30.0))
    t: Any = brentq(lambda t: loss(t)[1].sum(), -30.0, 30.0, xtol=1e-12)
    searched = minimize_scalar(lambda t: loss(t)[0], bounds=(t - 1.0, t + 1.0), method="bounded")
    assert searched.x == pytest.approx(t, abs=1e-3)
    return float(np.exp(t))


@every
def test_other_labels_give_the_ratio_of_weights(f: Any) -> None:
    """With BORE's labels every f finds the positives over the negatives."""
    labelled = BoreLabels(0.5).label(np.full((10, 1), 0.5), np.arange(10.0) * np.repeat([1.0, -1.0], [7, 3]))
    assert labelled is not None
    assert solved(f, labelled) == pytest.approx(labelled.z.sum() / (1 - labelled.z).sum(), rel=1e-6)
