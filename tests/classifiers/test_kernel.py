"""Kernel logistic regression."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from calibo.classifiers import BoreLabels, KernelLogistic, Labelled, LabelRule, WeightedLabels
from calibo.classifiers.kernel import _distances, _matern, _merged, _mode
from calibo.errors import FallbackWarning, RecipeError

X = np.random.default_rng(0).random((30, 2))
Y = np.sin(5 * X[:, 0]) + X[:, 1]


def labelled(rule: LabelRule, X: np.ndarray, y: np.ndarray = Y) -> Labelled:
    found = rule.label(X, y)
    assert found is not None
    return found


def test_the_mode_is_the_most_probable_function() -> None:
    points, a, b = _merged(labelled(WeightedLabels(), X))
    assert len(points) == 30 and a.sum() == pytest.approx(b.sum())
    K = 4.0 * _matern(_distances(points, points) / 0.4)
    slope = _mode(K, a, b).slope
    factor = np.linalg.cholesky(K + 1e-10 * np.eye(30))

    def loss(v: np.ndarray) -> float:
        f = factor @ v
        return float(0.5 * v @ v + a @ np.logaddexp(0, -f) + b @ np.logaddexp(0, f))

    found = scipy_minimize(loss, np.zeros(30), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(K @ slope, factor @ found.x, atol=1e-3)


def test_the_evidence_of_two_distant_points() -> None:
    """They are independent, so it is the product of two one-dimensional Laplace approximations."""
    a, b = np.array([1.0, 3.0]), np.array([2.0, 6.0])
    both = _mode(3.0 * np.eye(2), a, b).evidence
    one = _mode(3.0 * np.eye(1), a[:1], b[:1]).evidence
    other = _mode(3.0 * np.eye(1), a[1:], b[1:]).evidence
    assert both == pytest.approx(one + other)


def test_the_evidence_is_the_laplace_approximation() -> None:
    """With one point the mode f maximizes the log posterior, whose curvature is 1 / k + w, w = (a + b) p (1 - p)."""
    a, b, k = 1.0, 3.0, 2.0
    f0 = np.log(a / b)
    log_posterior = lambda f: -0.5 * f * f / k - a * np.logaddexp(0, -f - f0) - b * np.logaddexp(0, f + f0)
    grid = np.linspace(-5, 5, 200001)
    f = grid[np.argmax(log_posterior(grid))]
    share = 1.0 / (1.0 + np.exp(-f - f0))
    w = (a + b) * share * (1.0 - share)
    expected = log_posterior(f) - 0.5 * np.log(1.0 + k * w)
    assert _mode(np.array([[k]]), np.array([a]), np.array([b])).evidence == pytest.approx(expected, abs=1e-8)


def test_far_from_all_points_the_prior_is_returned() -> None:
    rows = labelled(WeightedLabels(), 0.05 * X)
    plain, optimistic = (
        KernelLogistic(level=level).fit(rows, categories=(0, 0), rng=np.random.default_rng(0)) for level in (0.5, 0.975)
    )
    assert plain(np.ones((1, 2)))[0] == pytest.approx(0.0, abs=1e-3)
    # The candidate variances have roots 1, 2 and 4.
    assert np.abs(optimistic(np.ones((1, 2)))[0] / 1.96 - [1.0, 2.0, 4.0]).min() < 1e-3


def test_the_variance_is_that_of_laplace() -> None:
    """(K^-1 + W)^-1 at the points themselves, by inversion."""
    points, a, b = _merged(labelled(WeightedLabels(), X))
    K = 4.0 * _matern(_distances(points, points) / 0.4)
    mode = _mode(K, a, b)
    expected = np.diag(np.linalg.inv(np.linalg.inv(K) + np.diag(mode.root**2)))
    explained = np.linalg.solve(mode.factor, (K * mode.root).T)
    np.testing.assert_allclose(4.0 - np.square(explained).sum(axis=0), expected, rtol=1e-5)


def test_many_points_are_thinned_with_a_warning() -> None:
    many = np.random.default_rng(0).random((90, 2))
    rows = labelled(WeightedLabels(), many, -np.square(many - 0.5).sum(axis=1))
    with pytest.warns(FallbackWarning, match="40 of 90 points"):
        odds = KernelLogistic(limit=40, level=0.5).fit(rows, categories=(0, 0), rng=np.random.default_rng(0))
    assert odds(np.array([[0.5, 0.5]])) > odds(np.array([[0.0, 0.0]]))
    with pytest.raises(RecipeError, match="limit"):
        KernelLogistic(limit=1)
    with pytest.raises(RecipeError, match="level"):
        KernelLogistic(level=1.0)


def test_where_classes_do_not_balance_the_prior_is_their_ratio() -> None:
    rows = labelled(BoreLabels(0.25), 0.05 * X)
    odds = KernelLogistic(level=0.5).fit(rows, categories=(0, 0), rng=np.random.default_rng(0))
    positives = rows.z.sum()
    assert odds(np.ones((1, 2)))[0] == pytest.approx(np.log(positives / (30 - positives)), abs=1e-3)
