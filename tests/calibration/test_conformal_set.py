"""Exact conformal sets: reference ends, refits from scratch, and what is done where there is no ordinary set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from calibo.calibration.conformal_set import (
    REACH,
    ConformalSets,
    Quadratics,
    Score,
    conformal_sets,
    in_sample_score,
    leave_one_out_score,
)
from calibo.data import Array
from calibo.models.augmentation import Augmentation
from calibo.models.gp_posterior import Features, Hyperparameters, Posterior
from calibo.models.kernels import Matern52
from calibo.models.standardization import Standardization

SCORES: dict[str, Score] = {"insample": in_sample_score, "loo": leave_one_out_score}
UNITS = Standardization(1.0, 0.0, 1.0)


def posterior(
    X: Array, y: Array, noise: Array, own: float, lengthscales: Array, outputscale: float, mean: float
) -> Posterior:
    theta = Hyperparameters(lengthscales, outputscale, own, mean)
    return Posterior(Matern52(), Features((0,) * X.shape[1]), theta, X, y, noise, UNITS)


def toy(reference: dict[str, Any]) -> Posterior:
    X, y, own = np.array(reference["X"]), np.array(reference["y"]), reference["noise_variance"]
    return posterior(
        X, y, np.full(len(y), own), own, np.full(X.shape[1], reference["lengthscale"]), reference["outputscale"], 0.0
    )


def intervals(sets: ConformalSets, i: int = 0) -> list[tuple[float, float]]:
    """The intervals at point i that are not empty, those that touch joined."""
    found: list[tuple[float, float]] = []
    for low, high in zip(sets.low[i], sets.high[i], strict=True):
        if high <= low:
            continue
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], high)
        else:
            found.append((float(low), float(high)))
    return found


def test_reference_ends(golden: Callable[[str], Any]) -> None:
    reference = golden("cbo_set_endpoints")
    model, kinds = toy(reference["toy"]), set()
    for case in reference["cases"]:
        w, alpha = np.array(case["w"]), case["alpha"]
        augmentation = model.augmented(np.array([[case["x"]]]), latent=False)[1]
        assert augmentation.mean[0] == pytest.approx(case["mu"], rel=1e-10)
        assert augmentation.total[0] == pytest.approx(case["var_y"], rel=1e-10)
        sets = conformal_sets(augmentation, SCORES[case["score"]], w[:-1], w[-1:], alpha)
        assert sets.unseen[0] == (w[-1] >= alpha)
        if sets.unseen[0]:
            assert case["set"] == [[-np.inf, np.inf]] and not intervals(sets)
            kinds.add("unseen")
            continue
        infinite = bool(case["set"]) and not np.isfinite(case["set"]).all()
        assert sets.unbounded[0] == infinite and sets.empty[0] == (not case["set"])
        reach = REACH * np.sqrt(case["var_y"]) if infinite else np.inf
        cut = [(max(a, case["mu"] - reach), min(b, case["mu"] + reach)) for a, b in case["set"]]
        expected = [(a, b) for a, b in cut if a < b]
        assert len(intervals(sets)) == len(expected)
        np.testing.assert_allclose(intervals(sets), expected, rtol=0, atol=1e-8)
        kinds.add("unbounded" if infinite else f"{len(expected)} intervals")
    assert len(reference["cases"]) == 42 and {"unseen", "unbounded", "1 intervals"} <= kinds


def covariance(A: Array, B: Array, lengthscales: Array, outputscale: float) -> Array:
    """Matern 5/2 by its formula."""
    r = np.sqrt(5.0 * np.square((A[:, None, :] - B[None, :, :]) / lengthscales).sum(-1))
    return outputscale * (1.0 + r + r**2 / 3.0) * np.exp(-r)


def log_normal(residual: Array, variance: Array) -> Array:
    return -0.5 * np.log(2.0 * np.pi * variance) - 0.5 * residual**2 / variance


def refitted_scores(model: Posterior, x: Array, outcomes: Array, score: str) -> Array:
    """Scores of all n + 1 measurements for each outcome at x, k x (n + 1): a fit from scratch, from the definition."""
    theta = model.theta
    X = np.vstack([model.X, x])
    noise = np.append(model.noise, theta.noise)
    Y = np.column_stack([np.tile(model.y, (len(outcomes), 1)), outcomes]) - theta.mean
    K = covariance(X, X, theta.lengthscales, theta.outputscale)
    if score == "insample":
        gain = K @ np.linalg.inv(K + np.diag(noise))
        return log_normal(Y - Y @ gain.T, np.diagonal(K - gain @ K) + noise)
    columns = []
    for i in range(len(X)):
        rest = np.delete(np.arange(len(X)), i)
        gain = np.linalg.solve(K[np.ix_(rest, rest)] + np.diag(noise[rest]), K[rest, i])
        columns.append(log_normal(Y[:, i] - Y[:, rest] @ gain, K[i, i] + noise[i] - gain @ K[rest, i]))
    return np.stack(columns, axis=1)


def random_case(
    seed: int, n: int, d: int, level: float, uneven: bool, weighted: bool
) -> tuple[Posterior, Array, Array, Array]:
    """A small GP with data that need not agree with it, three points (one of them a datum), weights and own weights."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    own = level * rng.uniform(0.5, 2.0)
    noise = level * rng.lognormal(0.0, 1.0, n) if uneven else np.full(n, own)
    lengthscales, outputscale = rng.uniform(0.1, 1.0, d), rng.uniform(0.3, 3.0)
    y = rng.choice([0.3, 1.0, 3.0]) * rng.standard_normal(n)
    model = posterior(X, y, noise, own, lengthscales, outputscale, rng.standard_normal())
    points = np.vstack([rng.random((1, d)), rng.uniform(-0.3, 1.3, (1, d)), X[:1]])
    raw = rng.lognormal(0.0, 0.7, (3, n + 1)) if weighted else np.ones((3, n + 1))
    raw /= raw.sum(axis=1, keepdims=True)
    return model, points, raw[:, :-1], raw[:, -1]


def compare(
    model: Posterior, points: Array, weights: Array, own: Array, alpha: float, score: str, smoothing: float
) -> ConformalSets:
    augmentation = model.augmented(points, latent=False)[1]
    sets = conformal_sets(augmentation, SCORES[score], weights, own, alpha, smoothing)
    assert (sets.high >= sets.low).all() and (sets.low[:, 1:] >= sets.high[:, :-1]).all()
    assert np.isfinite([sets.low, sets.high]).all() and not (score == "loo" and sets.unbounded.any())
    for i, x in enumerate(points):
        assert sets.unseen[i] == (own[i] > alpha + smoothing * own[i] + 1e-12)
        if sets.unseen[i]:
            assert not intervals(sets, i) and not sets.empty[i] and not sets.unbounded[i]
            continue
        found = intervals(sets, i)
        assert sets.empty[i] == (not found and not sets.unbounded[i]) or sets.unbounded[i]
        mean, std = augmentation.mean[i], np.sqrt(augmentation.total[i])
        width = REACH if sets.unbounded[i] else 40.0
        near = [end + side * 1e-4 * std for ends in found for end in ends for side in (-1.0, 1.0)]
        outcomes = np.concatenate(
            [mean + std * np.linspace(-width, width, 81) * 0.999, mean + std * np.linspace(-3, 3, 61), near]
        )
        outcomes = outcomes[np.abs(outcomes - mean) < width * std]
        s = refitted_scores(model, x, outcomes, score)
        value = (s[:, :-1] <= s[:, -1:]) @ weights[i] + own[i]
        expected = value > alpha + smoothing * own[i] + 1e-9
        got = np.zeros(len(outcomes), dtype=bool)
        for low, high in found:
            got |= (low <= outcomes) & (outcomes <= high)
        # Scores that are equal but for rounding, and outcomes at an end, may fall on either side.
        clear = np.abs(s[:, :-1] - s[:, -1:]).min(axis=1) > 1e-7
        for ends in found:
            clear &= np.abs(outcomes[:, None] - np.array(ends)).min(axis=1) > 1e-7 * std
        np.testing.assert_array_equal(got[clear], expected[clear])
        assert clear.sum() > 0.8 * len(outcomes)
    return sets


@settings(max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 9),
    d=st.integers(1, 3),
    level=st.sampled_from([1e-4, 0.01, 0.2, 1.0]),
    uneven=st.booleans(),
    weighted=st.booleans(),
    alpha=st.floats(0.05, 0.95),
    score=st.sampled_from(sorted(SCORES)),
    smoothing=st.sampled_from([0.0, 0.0, 0.4]),
)
def test_sets_equal_refits_from_scratch(
    seed: int, n: int, d: int, level: float, uneven: bool, weighted: bool, alpha: float, score: str, smoothing: float
) -> None:
    model, points, weights, own = random_case(seed, n, d, level, uneven, weighted)
    compare(model, points, weights, own, alpha, score, smoothing)


def test_in_sample_sets_of_several_intervals_equal_refits_too() -> None:
    several = 0
    for seed in range(150):
        model, points, weights, own = random_case(seed, 4 + seed % 4, 1, 1e-3, seed % 2 == 0, seed % 3 == 0)
        sets = compare(model, points, weights, own, 0.3, "insample", 0.0)
        several += any(len(intervals(sets, i)) > 1 for i in range(3))
    assert several >= 5


@pytest.mark.parametrize(
    ("seed", "level", "alpha"),
    [(91, 1e-4, 0.5), (374, 1e-4, 0.5), (324, 1e-4, 0.7), (69, 1e-4, 0.8), (356, 1e-3, 0.7), (17, 1e-2, 0.8)],
)
def test_leave_one_out_sets_of_several_intervals_equal_refits_too(seed: int, level: float, alpha: float) -> None:
    """They are rare (six among 4,800), so they are given."""
    model, points, weights, own = random_case(seed, 3 + seed % 7, 1, level, True, True)
    sets = compare(model, points, weights, own, alpha, "loo", 0.0)
    assert any(len(intervals(sets, i)) > 1 for i in range(3))


def test_a_bounded_set_is_not_cut_however_far_it_reaches() -> None:
    """A model that is much too sure needs sets of many of its standard deviations: that is what sets are for."""
    X = np.linspace(0.0, 1.0, 6)[:, None]
    y = 30.0 * np.random.default_rng(0).standard_normal(6)
    model = posterior(X, y, np.full(6, 0.04), 0.04, np.array([0.05]), 1.0, 0.0)
    uniform = np.full((1, 6), 1 / 7)
    sets = compare(model, np.array([[0.33]]), uniform, np.array([1 / 7]), 0.3, "loo", 0.0)
    augmentation = model.augmented(np.array([[0.33]]), latent=False)[1]
    assert (sets.high - sets.low)[0, 0] > 2 * REACH * np.sqrt(augmentation.total[0]) and not sets.unbounded[0]


class TestQuadratics:
    """Given directly, so that every kind occurs."""

    AUGMENTATION = Augmentation(
        *(np.zeros(2), np.ones(2), np.ones(2), np.zeros((1, 2))),
        *(np.zeros(1), np.full(1, 0.5), 0.5),
        UNITS,
        np.arange(1),
    )

    def sets(self, P: float, Q: float, R: float) -> ConformalSets:
        quadratics = Quadratics(*(np.full((1, 2), c) for c in (P, Q, R)))
        return conformal_sets(self.AUGMENTATION, lambda _: quadratics, np.full(2, 1 / 3), np.full(1, 1 / 3), 0.5)

    @pytest.mark.parametrize(
        ("coefficients", "expected", "unbounded"),
        [
            ((-1.0, 0.0, 4.0), [(-2.0, 2.0)], False),
            ((-1.0, 0.0, 400.0), [(-20.0, 20.0)], False),
            ((-1.0, 2.0, 0.0), [(0.0, 2.0)], False),
            ((-1.0, 0.0, -4.0), [], False),
            ((1.0, 0.0, -4.0), [(-8.0, -2.0), (2.0, 8.0)], True),
            ((1.0, 0.0, 4.0), [(-8.0, 8.0)], True),
            # Without a square: half-lines, either way round, and all or nothing.
            ((0.0, -10.0, 10.0), [(-8.0, 1.0)], True),
            ((0.0, 10.0, 10.0), [(-1.0, 8.0)], True),
            ((0.0, 0.0, 10.0), [(-8.0, 8.0)], True),
            ((0.0, 0.0, -10.0), [], False),
            # Nearly without one: the far root is infinite but for rounding.
            ((-1e-30, -10.0, 10.0), [(-8.0, 1.0)], True),
        ],
    )
    def test_kinds(
        self, coefficients: tuple[float, float, float], expected: list[tuple[float, float]], unbounded: bool
    ) -> None:
        sets = self.sets(*coefficients)
        np.testing.assert_allclose(np.reshape(intervals(sets), (-1, 2)), np.reshape(expected, (-1, 2)), atol=1e-12)
        assert bool(sets.unbounded[0]) == unbounded and bool(sets.empty[0]) == (not expected)

    @example(1.0, 1e12, 1.0)
    @given(st.floats(-10, 10), st.floats(-1e8, 1e8), st.floats(-10, 10))
    def test_roots_are_roots(self, P: float, Q: float, R: float) -> None:
        assume(abs(P) > 1e-6)
        low, high = (float(r[0, 0]) for r in Quadratics(*(np.full((1, 1), c) for c in (P, Q, R))).roots())
        if Q * Q - 4 * P * R <= 0.0:
            assert low == high == np.inf
            return
        assert low <= high
        for e in (low, high):
            assert abs(P * e * e + Q * e + R) <= 1e-9 * (abs(P * e * e) + abs(Q * e) + abs(R)) + 1e-300


def test_all_at_once_is_one_by_one() -> None:
    rng = np.random.default_rng(0)
    model, _, _, _ = random_case(5, 8, 2, 0.05, True, False)
    points = rng.uniform(-0.2, 1.2, (40, 2))
    raw = rng.lognormal(size=(40, 9))
    raw /= raw.sum(axis=1, keepdims=True)
    for score in SCORES.values():
        together = conformal_sets(model.augmented(points, latent=False)[1], score, raw[:, :-1], raw[:, -1], 0.3)
        for i in range(40):
            augmentation = model.augmented(points[[i]], latent=False)[1]
            alone = conformal_sets(augmentation, score, raw[i, :-1], raw[[i], -1], 0.3)
            ends = (np.reshape(found, (-1, 2)) for found in (intervals(together, i), intervals(alone)))
            np.testing.assert_allclose(*ends, rtol=1e-9, atol=1e-12)
            for name in ("empty", "unbounded", "unseen"):
                assert getattr(together, name)[i] == getattr(alone, name)[0]


@pytest.mark.parametrize("n", [1, 3, 10, 19])
@pytest.mark.parametrize("score", sorted(SCORES))
def test_a_p_value_that_equals_alpha_is_not_above_it(n: int, score: str) -> None:
    """alpha = k / (n + 1): rounding decides nothing, with the weights given once for all points or for each."""
    model, points, _, _ = random_case(n, n, 1, 0.05, False, False)
    augmentation = model.augmented(points, latent=False)[1]
    own = np.full(3, 1 / (n + 1))
    for k in range(2, n + 1):
        sets = [
            conformal_sets(augmentation, SCORES[score], weights, own, alpha)
            for alpha in (k / (n + 1), (k + 0.5) / (n + 1))
            for weights in (np.full(n, 1 / (n + 1)), np.full((3, n), 1 / (n + 1)))
        ]
        for i in range(3):
            first = np.reshape(intervals(sets[0], i), (-1, 2))
            for other in sets[1:]:
                np.testing.assert_allclose(np.reshape(intervals(other, i), (-1, 2)), first, rtol=1e-9, atol=1e-12)


def test_no_points_have_no_sets() -> None:
    model, _, _, _ = random_case(5, 4, 2, 0.05, False, False)
    sets = conformal_sets(
        model.augmented(np.empty((0, 2)), latent=False)[1], leave_one_out_score, np.full(4, 0.2), np.empty(0), 0.3
    )
    assert len(sets.low) == len(sets.empty) == 0
