"""Density ratios by logistic regression: right where the truth is known, convex, and fast enough to be refitted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from calibo.calibration.density_ratio import (
    DensityRatio,
    LogisticRatio,
    Unshifted,
    effective_sample_size,
    importance_weights,
)
from calibo.errors import DataError, RecipeError
from calibo.testing.randomness import global_state

RNG = np.random.default_rng


def uniform_and_beta(n: int, p: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Data uniform on the square; proposals whose first coordinate has density 2x, so that r(x) = 2 x_1."""
    rng = RNG(seed)
    return rng.random((n, 2)), np.column_stack([np.sqrt(rng.random(p)), rng.random(p)])


def fitted(data: np.ndarray, proposals: np.ndarray, recipe: DensityRatio | None = None, seed: int = 0) -> LogisticRatio:
    ratio = (recipe or DensityRatio()).fit(data, proposals, previous=None, rng=RNG(seed))
    assert isinstance(ratio, LogisticRatio)
    return ratio


def test_a_known_ratio_is_found() -> None:
    ratio = fitted(*uniform_and_beta(3000, 3000))
    x = np.linspace(0.2, 0.95, 16)
    X = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1)
    error = np.log(ratio(X)) - np.log(2.0 * X[..., 0])
    assert np.abs(error).mean() < 0.12 and np.abs(error).max() < 0.5
    assert ratio(X[3, 4]).shape == () and ratio(X[3, 4]) == pytest.approx(ratio(X)[3, 4])


@pytest.mark.parametrize("p", [30, 2000])
def test_the_number_of_proposals_does_not_change_what_a_ratio_is(p: int) -> None:
    data, proposals = uniform_and_beta(200, p)
    ratio = fitted(data, proposals)
    assert ratio(data).mean() == pytest.approx(1.0, abs=1e-9)
    held_out, _ = uniform_and_beta(2000, 1, seed=1)
    assert ratio(held_out).mean() == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("n", [20, 500])
def test_proposals_like_the_data_cost_few_of_them(n: int) -> None:
    rng = RNG(3)
    data, like, unlike = rng.random((n, 3)), rng.random((300, 3)), 0.2 * rng.random((300, 3))
    assert effective_sample_size(fitted(data, like)(data)) > 0.75 * n
    assert effective_sample_size(fitted(data, unlike)(data)) < 0.5 * n


@pytest.mark.parametrize(("n", "p"), [(5, 0), (0, 5)])
def test_nothing_to_compare_gives_one_everywhere(n: int, p: int) -> None:
    ratio = DensityRatio().fit(np.full((n, 2), 0.5), np.full((p, 2), 0.5), previous=None, rng=RNG(0))
    assert isinstance(ratio, Unshifted)
    np.testing.assert_array_equal(ratio(RNG(1).random((4, 3, 2))), np.ones((4, 3)))


def test_it_is_the_minimum_of_the_penalised_loss() -> None:
    data, proposals = uniform_and_beta(40, 90)
    ratio = fitted(data, proposals, DensityRatio(features=6, penalty=0.7))
    Z = ratio.basis(np.vstack([data, proposals]))
    labels, weights = np.repeat([0.0, 1.0], [40, 90]), np.repeat([1.0, 40 / 90], [40, 90])

    def loss(beta: np.ndarray) -> float:
        logits = Z @ beta
        return float(weights @ (np.logaddexp(0, logits) - labels * logits) + 0.35 * np.square(beta[:-1]).sum())

    best = minimize(loss, np.zeros(Z.shape[1]), method="BFGS", options={"gtol": 1e-7, "maxiter": 1000}).x
    np.testing.assert_allclose(ratio.coefficients[:-1], best[:-1], atol=2e-4)


def test_features_stay_and_the_start_does_not_matter() -> None:
    data, proposals = uniform_and_beta(60, 150)
    recipe = DensityRatio()
    first = recipe.fit(data, proposals[:70], previous=None, rng=RNG(0))
    before = first(data)
    warm = recipe.fit(data, proposals, previous=first, rng=RNG(99))
    np.testing.assert_array_equal(first(data), before)
    cold = recipe.fit(data, proposals, previous=None, rng=RNG(0))
    assert isinstance(first, LogisticRatio) and isinstance(warm, LogisticRatio) and isinstance(cold, LogisticRatio)
    assert warm.basis is first.basis
    X = RNG(1).random((50, 2))
    np.testing.assert_allclose(warm(X), cold(X), rtol=1e-3)
    assert np.abs(warm(X) / first(X) - 1.0).max() > 1e-2
    other = DensityRatio(length_scale=0.7).fit(data, proposals, previous=first, rng=RNG(0))
    assert isinstance(other, LogisticRatio) and other.basis is not first.basis


def test_separated_points_give_finite_ratios_within_the_limits() -> None:
    ratio = fitted(np.zeros((20, 2)), np.ones((400, 2)), DensityRatio(penalty=1e-9))
    values = ratio(np.array([[0.0, 0.0], [0.5, 0.5], [1.0, 1.0]]))
    assert np.isfinite(values).all() and values.min() >= 1e-6 * (1 - 1e-9) and values.max() <= 1e6 * (1 + 1e-9)
    assert values[2] > 100.0 * values[0]


def test_order_does_not_matter_and_the_seed_does_everything() -> None:
    data, proposals = uniform_and_beta(30, 60)
    X = RNG(5).random((20, 2))
    before = global_state()
    ratio = fitted(data, proposals)
    np.testing.assert_allclose(fitted(data[::-1], RNG(2).permutation(proposals))(X), ratio(X), rtol=1e-7)
    np.testing.assert_array_equal(fitted(data, proposals)(X), ratio(X))
    assert np.abs(fitted(data, proposals, seed=1)(X) - ratio(X)).max() > 1e-6
    assert global_state() == before


def test_the_two_ways_to_evaluate_the_basis_agree() -> None:
    ratio = fitted(*uniform_and_beta(30, 60))
    X = RNG(0).random((4, 5, 2))
    slow = np.exp(ratio.basis(X) @ ratio.coefficients)
    np.testing.assert_allclose(ratio(X), slow, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"features": 0}, "at least one feature"), ({"penalty": 0.0}, "penalty"), ({"length_scale": np.inf}, "length_sc")],
)
def test_impossible_settings_are_rejected(options: dict[str, float], said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        DensityRatio(**options)  # type: ignore[arg-type]


def test_shapes_that_do_not_fit_are_rejected() -> None:
    with pytest.raises(DataError, match=r"\(3, 2\) and \(4, 3\)"):
        DensityRatio().fit(np.zeros((3, 2)), np.zeros((4, 3)), previous=None, rng=RNG(0))


POSITIVE = st.floats(1e-6, 1e6)


@given(st.lists(POSITIVE, max_size=8), st.lists(POSITIVE, min_size=1, max_size=4))
def test_weights_sum_to_one_for_each_point_alone(data: list[float], points: list[float]) -> None:
    ratio_data, ratio_point = np.array(data), np.array(points)
    w, last = importance_weights(ratio_data, ratio_point)
    assert w.shape == (len(points), len(data)) and last.shape == (len(points),)
    np.testing.assert_allclose(w.sum(axis=-1) + last, 1.0, rtol=1e-12)
    for i, r in enumerate(points):
        alone, last_alone = importance_weights(ratio_data, np.array(r))
        np.testing.assert_array_equal(w[i], alone)
        assert last[i] == last_alone


@given(st.lists(POSITIVE, min_size=1, max_size=20), st.floats(1e-200, 1e200))
def test_effective_sample_size_lies_between_one_and_all(data: list[float], unit: float) -> None:
    weights = np.array(data)
    size = effective_sample_size(weights)
    assert 1.0 - 1e-9 <= size <= len(data) + 1e-9
    assert effective_sample_size(weights * unit) == pytest.approx(size)


def test_effective_sample_size_of_simple_weights() -> None:
    assert effective_sample_size(np.full(7, 0.1)) == pytest.approx(7.0)
    assert effective_sample_size(np.array([1.0, 1e-12, 0.0])) == pytest.approx(1.0)
    assert effective_sample_size(np.empty(0)) == 0.0


@pytest.mark.slow
def test_learned_weights_repair_the_coverage_of_shifted_points() -> None:
    """Weighted residual quantiles cover 80 % at shifted points, unweighted ones do not.

    Residuals are N(0, (0.2 + x_1)^2), data uniform, proposals of density 2 x_1. Over 400 repetitions the coverage has a
    standard error of .02; 4 of them: false-alarm rate below 1e-4.
    """
    rng, hits, plain = RNG(7), [], []
    for _ in range(400):
        X, proposals = rng.random((200, 2)), np.column_stack([np.sqrt(rng.random(400)), rng.random(400)])
        score = np.abs(rng.standard_normal(200)) * (0.2 + X[:, 0])
        ratio = fitted(X, proposals, seed=int(rng.integers(2**31)))
        x = np.array([np.sqrt(rng.random()), rng.random()])
        new = abs(rng.standard_normal()) * (0.2 + x[0])
        w, last = importance_weights(ratio(X), ratio(x))
        hits.append(w[score >= new].sum() + last > 0.2)
        plain.append((1 + (score >= new).sum()) / 201 > 0.2)
    assert abs(np.mean(hits) - 0.8) < 0.08
    assert np.mean(plain) < np.mean(hits)
