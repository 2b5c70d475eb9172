"""The localized state: the fold against its definition, kernels, weights, and what a point's features are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibo.calibration import Evidence, Prequential
from calibo.calibration.localization import (
    Coordinates,
    Expansion,
    Localizations,
    check_localization,
    exponential_weights,
    features_of,
    pinball,
    run_localized,
    unit_kernels,
)
from calibo.data import Dataset, Forecast, Marginal
from calibo.distributions import Gaussian
from calibo.distributions.relative_spread import log_spread_before
from calibo.errors import RecipeError
from calibo.models import GaussianProcess
from calibo.models.gp_posterior import Features

RNG = np.random.default_rng(0)
X = RNG.random((30, 2))
SCORES = RNG.random(30)
STEPS = 0.3 * np.power(np.arange(1.0, 31.0), -0.3)


def by_definition(kappa: float, length: float, target: float, reg: float) -> tuple[list[float], float, list[float]]:
    """Values at x_t, the constant and the coefficients, by two loops over lists."""
    c, coefficients, values = target, list[float](), list[float]()
    for t, (x, s, eta) in enumerate(zip(X, SCORES, STEPS, strict=True)):
        kernel = [
            0.0 if length == np.inf else kappa * float(np.exp(-np.sum((x - X[j]) ** 2) / length**2)) for j in range(t)
        ]
        value = c + sum(b * k for b, k in zip(coefficients, kernel, strict=True))
        values.append(value)
        move = eta * (target - (s < value))
        coefficients = [(1 - reg * eta) * b for b in coefficients] + [move]
        c += move
    return values, c, coefficients


def test_all_localizations_at_once_are_each_alone() -> None:
    many = Localizations.chosen(1.5, "auto", 2)
    targets = np.array([0.2, 0.7])
    run = run_localized(X, SCORES, targets=targets, steps=STEPS, regularization=0.4, localizations=many, below=np.less)
    for e, (kappa, length) in enumerate(zip(many.kappa, many.length_scale, strict=True)):
        for k, target in enumerate(targets):
            values, c, coefficients = by_definition(float(kappa), float(length), float(target), 0.4)
            np.testing.assert_allclose(run.played[:, e, k], values, rtol=0, atol=1e-12)
            np.testing.assert_allclose(run.constants[-1, e, k], c, atol=1e-12)
            np.testing.assert_allclose(run.coefficients[e, :, k], coefficients, atol=1e-12)


def test_the_expansion_is_the_weighted_mean_of_the_states() -> None:
    many = Localizations.chosen(1.5, "auto", 2)
    run = run_localized(
        X, SCORES, targets=np.array([0.2]), steps=STEPS, regularization=0.4, localizations=many, below=np.less
    )
    weights = RNG.dirichlet(np.ones(many.kappa.size))
    expansion = Expansion.of(run, many, weights, Features((0, 0)), X)
    points = RNG.random((4, 3, 2))
    squared = np.square(points[..., None, :] - X).sum(axis=-1)
    expected = np.zeros((4, 3))
    for w, kappa, length, c, b in zip(
        weights, many.kappa, many.length_scale, run.constants[-1, :, 0], run.coefficients[:, :, 0], strict=True
    ):
        kernel = np.zeros_like(squared) if np.isinf(length) else kappa * np.exp(-squared / length**2)
        expected += w * (c + kernel @ b)
    np.testing.assert_allclose(expansion(points)[..., 0], expected, atol=1e-12)
    np.testing.assert_allclose(expansion(points[0])[..., 0], expected[0], atol=1e-12)
    assert expansion(points[:0]).shape == (0, 3, 1) and expansion(points[0, :0]).shape == (0, 1)


@given(first=st.floats(0.01, 10), ratios=st.lists(st.sampled_from([0.5, 0.9, 0.1]), max_size=4))
def test_kernels_by_squaring_are_kernels(first: float, ratios: list[float]) -> None:
    lengths = np.cumprod(np.array([first, *ratios]), dtype=np.float64)
    squared = np.array([0.0, 1e-6, 0.1, 1.0, 20.0])
    for length, kernel in zip(lengths, unit_kernels(squared, lengths), strict=True):
        np.testing.assert_allclose(kernel, np.exp(-squared / length**2), rtol=1e-8, atol=1e-300)


def test_the_ladder_holds_no_localization_and_grows_with_the_dimension() -> None:
    for kappa, length in ((0.0, 0.3), (2.0, np.inf)):
        assert Localizations.chosen(kappa, length, 2).lengths.size == 0
    two, eight = (Localizations.chosen(1.0, "auto", d) for d in (2, 8))
    assert np.isinf(two.length_scale[0]) and two.prior[0] == 0.5 and two.prior.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(eight.length_scale[1:], 2.0 * two.length_scale[1:])


# --- weights ----------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), unit=st.sampled_from([1e-6, 1.0, 1e6]), T=st.integers(0, 60))
def test_weights_are_a_distribution_free_of_the_losses_unit(seed: int, unit: float, T: int) -> None:
    losses, prior = np.random.default_rng(seed).random((T, 4)), np.array([0.4, 0.3, 0.2, 0.1])
    weights = exponential_weights(losses, prior)
    np.testing.assert_array_equal(weights[0], prior)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    np.testing.assert_allclose(exponential_weights(unit * losses + 3.0 * unit, prior), weights, rtol=1e-6, atol=1e-9)


def test_the_best_is_found_and_a_new_best_is_found_again() -> None:
    losses = np.full((200, 3), 0.3)
    losses[:100, 1], losses[100:, 2] = 0.2, 0.1
    losses += 0.2 * np.random.default_rng(0).random((200, 3))
    weights = exponential_weights(losses, np.full(3, 1 / 3))
    assert weights[100].argmax() == 1 and weights[100, 1] > 0.9
    assert weights[-1].argmax() == 2 and weights[-1, 2] > 0.9


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["noise", "alternating", "drift"]))
def test_regret_is_small_without_forgetting(seed: int, kind: str) -> None:
    """Weighted loss at most that of the best plus 2 sqrt(V log E) + the largest loss: second-order, on any stream."""
    rng, T, E = np.random.default_rng(seed), 200, 5
    losses = rng.random((T, E))
    if kind == "alternating":
        losses = (np.arange(T)[:, None] + np.arange(E)) % 2 * losses
    if kind == "drift":
        losses = losses * np.linspace(0, 1, T)[:, None] ** np.arange(E)
    weights = exponential_weights(losses, np.full(E, 1 / E), forgetting=0.0)[:-1]
    mixed = (weights * losses).sum(axis=1)
    variance = float((weights * np.square(losses - mixed[:, None])).sum())
    regret = mixed.sum() - losses.sum(axis=0).min()
    assert regret <= 2.0 * np.sqrt(variance * np.log(E)) + 1.0


def test_equal_losses_leave_the_prior() -> None:
    prior = np.array([0.7, 0.3])
    np.testing.assert_array_equal(exponential_weights(np.ones((5, 2)), prior), np.tile(prior, (6, 1)))


def test_the_pinball_loss_is_least_at_the_quantile() -> None:
    scores = np.linspace(0.0, 1.0, 2001)
    grid = np.linspace(-0.5, 1.5, 201)
    played = np.broadcast_to(grid[None, :, None], (2001, 201, 1))
    losses = pinball(scores, played, np.array([0.2])).mean(axis=0)
    assert grid[losses.argmin()] == pytest.approx(0.2, abs=0.011)
    # Beyond 0 and 1 nothing changes: no score lies there.
    assert losses[0] == losses[grid <= 0.0][-1] and losses[-1] == losses[grid >= 1.0][0]


# --- features ---------------------------------------------------------------------------------------------------------


def test_unordered_choices_are_equally_far_apart() -> None:
    categories = (3, 0)
    points = np.array([[1 / 6, 0.5], [0.5, 0.5], [5 / 6, 0.5]])
    features = features_of(Evidence(points, np.zeros(3), Gaussian(np.zeros(3), np.ones(3)), categories))
    seen = features(points)
    gaps = np.linalg.norm(seen[:, None] - seen, axis=-1)
    np.testing.assert_allclose(gaps, 0.25 * (1.0 - np.eye(3)), atol=1e-12)


def test_evidence_tells_which_columns_are_choices() -> None:
    points = np.array([[1 / 6, 0.1], [0.5, 0.4], [5 / 6, 0.8]])
    forecasts = ((Forecast((Marginal(0.0, 1.0),)),),) * 3
    data = Dataset(X=points, Y=np.array([[0.1], [0.5], [0.2]]), forecasts=forecasts, categories=(3, 0))
    _, evidence = Prequential().fit(GaussianProcess(), data, rng=np.random.default_rng(0))
    assert evidence.categories == (3, 0) and len(evidence) == 3


@pytest.mark.parametrize(
    ("kappa", "length", "reg", "localize", "words"),
    [
        (np.nan, 0.3, 0.01, "place", "kappa"),
        (1.0, 0.0, 0.01, "place", "length_scale"),
        (1.0, "long", 0.01, "place", "length_scale"),
        (1.0, 0.3, 11.0, "reach", "regularization"),
        (1.0, 0.3, 0.01, "time", "localize"),
    ],
)
def test_wrong_settings_are_refused(kappa: float, length: float, reg: float, localize: str, words: str) -> None:
    with pytest.raises(RecipeError, match=words):
        check_localization(kappa, length, reg, 0.1, localize)


def test_coordinates_are_points_or_log_spreads() -> None:
    past = Evidence(X, SCORES, Gaussian(np.zeros(30), np.exp(SCORES)), (0, 0))
    place, reach = Coordinates.of(past, "place"), Coordinates.of(past, "reach")
    at, points = Gaussian(np.zeros((2, 3)), np.full((2, 3), 0.5)), np.zeros((2, 3, 2))
    assert place.past is past.X and place(at, points) is points
    np.testing.assert_array_equal(reach.past[:, 0], log_spread_before(past.distribution, past.y) / 4.0)
    np.testing.assert_allclose(reach(at, points), np.full((2, 3, 1), np.log(0.5 / SCORES.std()) / 4.0))
