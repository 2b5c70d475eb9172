"""Localized online thresholds: reference runs, the two lemmas on any stream, and what localization gains."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from calibo.calibration import Evidence, LocalizedOnline
from calibo.calibration.localization import Coordinates, Expansion
from calibo.calibration.localized_online import FlatMap
from calibo.data import Array
from calibo.distributions import Composed, FlatSet, Gaussian, Levels, LowerTailPower, Relevelled, Transformed
from calibo.errors import RecipeError
from calibo.models.gp_posterior import Features
from calibo.testing import CalibratorSuite


class TestLocalizedOnline(CalibratorSuite):
    #: A flat density is not the Gaussian one: at lambda = alpha the cdfs differ by up to .06 already.
    tolerance = 0.17

    def recalibrator(self) -> LocalizedOnline:
        return LocalizedOnline()


class TestLocalizedByReach(CalibratorSuite):
    tolerance = 0.17
    #: Where a forecast stands depends on its units.
    equivariant = False

    def recalibrator(self) -> LocalizedOnline:
        return LocalizedOnline(localize="reach")


# --- reference runs ---------------------------------------------------------------------------------------------------


def score(z: Any) -> Array:
    return 2.0 * ndtr(-np.abs(np.asarray(z, dtype=float)))


def test_reference_runs(golden: Callable[[str], Any]) -> None:
    reference = golden("locbo_thresholds")
    points, scores = np.array(reference["x"]), score(reference["y"])
    paper = [(case, 0.0) for case in reference["paper_runs"]]
    published = [(case, 1.0) for case in reference["repo_runs"].values()]
    for case, offset in paper + published:
        recipe = LocalizedOnline(
            alpha=case["alpha"], kappa=case["kappa"], length_scale=case["length_scale"], eta0=case["eta0"],
            decay=case["decay"], regularization=case["lam"], offset=offset,
        )  # fmt: skip
        assert case["c1"] == case["alpha"]
        run = recipe.run(points, scores)
        close = lambda a, b: np.testing.assert_allclose(a, b, rtol=0, atol=1e-8)
        close(scores, [step["score"] for step in case["history"]])
        close(run.played[:, 0], [step["lambda_at_xt"] for step in case["history"]])
        close(recipe.steps(len(points)), [step["eta"] for step in case["history"]])
        np.testing.assert_array_equal(run.hits[:, 0], case["errs"])
        close(run.states.constants[-1, 0, 0], case["c_final"])
        close(run.states.coefficients[0, :, 0], case["coef_final"])
        close(run.hidden(np.array(reference["query"]))[:, 0], case["lambda_at_query"])


# --- Lemma 1: long-run coverage of y ----------------------------------------------------------------------------------


def proved_bound(recipe: LocalizedOnline, T: int) -> float:
    """|mean of the errors - alpha| <= (1 + kappa / reg + eta0) / (eta0 sqrt(T)) for eta_t = eta0 t^-1/2."""
    kappa = 0.0 if recipe.length_scale == np.inf else recipe.kappa
    local = kappa / recipe.regularization if kappa else 0.0
    return (1.0 + local + recipe.eta0) / (recipe.eta0 * np.sqrt(T))


def papers_bound(recipe: LocalizedOnline, T: int, d: int) -> float:
    """mean of the errors - alpha <= beta / sqrt(T) + kappa (eq. 32).

    beta = 2 / eta1 + 4 sqrt(rho kappa D) / (eta1 reg) + 2 (2 kappa + 1), rho the Lipschitz constant of
    kappa exp(-z^2 / l^2), that is kappa sqrt(2 / e) / l, and D = sqrt(d) the largest norm on the unit cube.
    """
    assert recipe.length_scale != "auto"
    kappa, eta, reg = recipe.kappa, recipe.eta0, recipe.regularization
    rho = kappa * np.sqrt(2.0 / np.e) / recipe.length_scale
    beta = 2.0 / eta + 4.0 * np.sqrt(rho * kappa * np.sqrt(d)) / (eta * reg) + 2.0 * (2.0 * kappa + 1.0)
    return beta / np.sqrt(T) + kappa


def check_lemma_1(recipe: LocalizedOnline, X: Array, scores: Array) -> None:
    mean = np.cumsum(recipe.run(X, scores).hits[:, 0]) / np.arange(1, len(scores) + 1)
    for T, share in enumerate(mean, start=1):
        assert abs(share - recipe.alpha) <= proved_bound(recipe, T) + 1e-12
        if np.isfinite(recipe.length_scale):
            assert share - recipe.alpha <= papers_bound(recipe, T, X.shape[1]) + 1e-12


@st.composite
def recipes(draw: st.DrawFn) -> LocalizedOnline:
    """eta_t = eta1 t^-1/2 < 1 / reg, as the lemmas ask; among them many whose bound says something."""
    eta = draw(st.floats(0.05, 3.0))
    return LocalizedOnline(
        alpha=draw(st.floats(0.02, 0.9)),
        kappa=draw(st.sampled_from([0.0, 0.01, 0.1, 1.0, 4.0])),
        length_scale=draw(st.sampled_from([0.05, 0.3, 1.0, 4.0, np.inf])),
        eta0=eta,
        decay=0.5,
        regularization=draw(st.floats(0.05, 0.95)) / eta,
    )


def hardest(recipe: LocalizedOnline, X: Array, sign: float, T: int) -> Array:
    """Scores chosen in sight of each threshold: always just outside (sign 1), or always just inside (sign -1)."""
    scores = np.zeros(T)
    for t in range(T):
        threshold = recipe.run(X[: t + 1], scores[: t + 1]).played[t, 0]
        outside = np.nextafter(np.clip(threshold, 0.0, 1.0), -1.0)
        scores[t] = max(outside, 0.0) if sign > 0 else np.clip(threshold, 0.0, 1.0)
    return scores


@settings(max_examples=80)
@given(
    recipe=recipes(),
    seed=st.integers(0, 10**6),
    scores=st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0])), min_size=1, max_size=120),
)
def test_lemma_1_on_any_stream(recipe: LocalizedOnline, seed: int, scores: list[float]) -> None:
    check_lemma_1(recipe, np.random.default_rng(seed).random((len(scores), 2)), np.array(scores))


@settings(max_examples=25)
@given(recipe=recipes(), seed=st.integers(0, 10**6), sign=st.sampled_from([1.0, -1.0]), near=st.booleans())
def test_lemma_1_against_an_adversary(recipe: LocalizedOnline, seed: int, sign: float, near: bool) -> None:
    X = np.random.default_rng(seed).random((40, 2)) * (0.01 if near else 1.0)
    check_lemma_1(recipe, X, hardest(recipe, X, sign, 40))


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["outside", "inside"])
def test_lemma_1_where_it_says_much(sign: float) -> None:
    """kappa / reg = .01, eta1 = 1: within .15 of alpha after 180 outcomes that all try to break it."""
    recipe = LocalizedOnline(kappa=0.005, length_scale=0.3, eta0=1.0, decay=0.5, regularization=0.5)
    X = np.random.default_rng(0).random((180, 2))
    assert proved_bound(recipe, 180) < 0.151
    check_lemma_1(recipe, X, hardest(recipe, X, sign, 180))


# --- by reach -----------------------------------------------------------------------------------------------------------


def by_reach(std: Array, z: Array) -> Evidence:
    """Forecasts at one point whose outcomes lie ``z`` standard deviations from their means."""
    return Evidence(np.zeros((len(z), 1)), std * z, Gaussian(np.zeros(len(z)), std))


@settings(max_examples=25)
@given(
    recipe=recipes(),
    stream=st.lists(st.tuples(st.floats(-4, 2), st.sampled_from([-1, 0, 1])), min_size=1, max_size=40),
    away=st.sampled_from([1.0, -1.0]),
)
def test_lemma_1_by_reach_against_an_adversary(
    recipe: LocalizedOnline, stream: list[tuple[float, int]], away: float
) -> None:
    """Coordinates follow from the outcomes before: each is chosen in sight of the threshold at its own coordinate."""
    recipe = replace(recipe, localize="reach")
    std, z = np.exp([s for s, _ in stream]), np.zeros(len(stream))
    for t, (_, kind) in enumerate(stream):
        past = by_reach(std[: t + 1], z[: t + 1])
        X = Coordinates.of(past, "reach").past
        threshold = float(np.clip(recipe.run(X, score(z[: t + 1])).played[t, 0], 1e-12, 1.0))
        # Just outside, just inside, or at the mean.
        z[t] = away * {1: -ndtri(0.5 * threshold) + 1e-9, -1: max(-ndtri(0.5 * threshold) - 1e-9, 0.0), 0: 0.0}[kind]
    check_lemma_1(recipe, Coordinates.of(by_reach(std, z), "reach").past, score(z))


@given(seed=st.integers(0, 10**6), cut=st.integers(1, 19), size=st.sampled_from([1e-300, 1.0, 1e13, 1e300]))
def test_coordinates_by_reach_are_known_before_the_outcome(seed: int, cut: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    std, z = np.exp(rng.uniform(-4, 1, 20)), rng.standard_normal(20)
    past = by_reach(std, z)
    other = replace(past, y=np.concatenate([past.y[:cut], size * rng.standard_normal(20 - cut)]))
    one, changed = (Coordinates.of(e, "reach").past[: cut + 1] for e in (past, other))
    np.testing.assert_array_equal(one, changed)
    # And a forecast stands now where it will stand among the evidence.
    part = Coordinates.of(by_reach(std[:cut], z[:cut]), "reach")
    np.testing.assert_array_equal(part(Gaussian(np.zeros(1), std[[cut]]), np.zeros((1, 1))), one[[cut]])


def test_intervals_widen_at_the_reach_where_outcomes_fell_outside_only() -> None:
    rng = np.random.default_rng(0)
    std = np.exp(rng.uniform(-4.0, 0.5, 300))
    level_map = LocalizedOnline(localize="reach").fit(
        by_reach(std, np.where(std > 0.3, 3.0, 0.5) * rng.standard_normal(300))
    )
    at = np.array([0.03, 1.2])
    low, high = level_map(Gaussian(np.zeros(2), at), np.zeros((2, 1))).interval(0.8)
    near, far = (high - low) / at
    assert far > 1.8 * near
    batch = level_map(Gaussian(np.zeros((3, 2)), np.tile(at, (3, 1))), np.zeros((3, 2, 1)))
    np.testing.assert_allclose(batch.icdf(0.9), np.tile(high, (3, 1)), rtol=1e-9)


def test_what_is_shown_of_measurements_follows_the_play_as_evidence_grows() -> None:
    """Half way from alpha to the threshold in use, clipped, after ``trust`` outcomes; latent values follow at once."""
    z = np.full(40, 4.0)
    X = np.zeros((40, 1))
    measured, latent = Gaussian(np.zeros(1), np.ones(1)), Gaussian(np.zeros(1), np.ones(1), noise_std=0.1)
    played, shown = (LocalizedOnline(eta0=0.5, trust=trust).fit(evidence(z, X)) for trust in (0.0, 40.0))
    assert float(LocalizedOnline(eta0=0.5).run(X, score(z)).hidden(X[:1])[0, 0]) < 0.0, (
        "far below what a threshold may be"
    )
    np.testing.assert_allclose(shown(latent, X[:1]).icdf(0.9), played(latent, X[:1]).icdf(0.9))
    np.testing.assert_allclose(played(measured, X[:1]).icdf(0.9), -ndtri(0.5e-3), rtol=1e-6)
    np.testing.assert_allclose(shown(measured, X[:1]).icdf(0.9), -ndtri(0.5 * (0.5 * 1e-3 + 0.5 * 0.2)), rtol=1e-6)


def test_transformed_outcomes_are_flat_inside_the_transform() -> None:
    rng = np.random.default_rng(0)
    level_map = LocalizedOnline().fit(evidence(2.0 * rng.standard_normal(40), rng.random((40, 1))))
    gaussian, bent = Gaussian(np.zeros(1), np.ones(1)), LowerTailPower(0.2, 0.0, 1.0, -5.0)
    shown = level_map(Transformed(gaussian, bent), np.full((1, 1), 0.5))
    assert isinstance(shown, Transformed) and isinstance(shown.base, FlatSet)
    np.testing.assert_allclose(shown.icdf(0.7), bent.inverse(level_map(gaussian, np.full((1, 1), 0.5)).icdf(0.7)))


# --- Lemma 2: long-run coverage of f ----------------------------------------------------------------------------------


def measured(recipe: LocalizedOnline, X: Array, gap: Array, noise: Array) -> tuple[Array, Array]:
    """Whether y and whether f lay outside the intervals, each T; f lies ``gap`` from the forecast N(0, 1) of y."""
    run = recipe.run(X, score(gap + noise))
    return run.hits[:, 0], (score(gap) < run.played[:, 0]).astype(float)


@settings(max_examples=12)
@given(
    recipe=recipes(),
    up=st.floats(0.1, 2.0),
    down=st.floats(0.1, 2.0),
    chance=st.floats(0.1, 0.9),
    gaps=st.lists(st.floats(-3, 3), min_size=6, max_size=6),
)
def test_lemma_2_over_all_sequences_of_noise(
    recipe: LocalizedOnline, up: float, down: float, chance: float, gaps: list[float]
) -> None:
    """Noise of two values, all 2^6 sequences: sum Pr[f outside] <= sum Pr[y outside] / b, exactly (eq. 47, 49, 50)."""
    X, total_y, total_f = np.random.default_rng(0).random((6, 2)), 0.0, 0.0
    for signs in itertools.product((True, False), repeat=6):
        positive = np.array(signs)
        weight = float(np.prod(np.where(positive, chance, 1.0 - chance)))
        y, f = measured(recipe, X, np.array(gaps), np.where(positive, up, -down))
        total_y, total_f = total_y + weight * y.sum(), total_f + weight * f.sum()
    b = min(chance, 1.0 - chance)
    assert total_f <= total_y / b + 1e-9
    # And with Lemma 1 for the right-hand side, as eq. 35 states it.
    assert total_f / 6 <= (recipe.alpha + proved_bound(recipe, 6)) / b + 1e-9


# --- what localization gains ------------------------------------------------------------------------------------------


def wrong_by(X: Array, where: str) -> Array:
    """How many times too narrow the forecasts are at each point, T."""
    if where == "half":
        return np.where(X[:, 0] < 0.5, 3.0, 1.0)
    return np.full(len(X), {"nowhere": 1.0, "everywhere": 2.0}[where])


def local_error(recipe: LocalizedOnline, where: str, T: int = 120, repeats: int = 12, d: int = 2) -> float:
    """Mean |true miscoverage at x_t - alpha| over the second half of a stream, over repeats (seeded)."""
    found = list[Array]()
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        X = rng.random((T, d))
        factor = wrong_by(X, where)
        run = recipe.run(X, score(factor * rng.standard_normal(T)))
        outside = 2.0 * ndtr(ndtri(np.clip(run.played[:, 0], 0.0, 1.0) / 2.0) / factor)
        found.append(np.abs(outside - recipe.alpha)[T // 2 :])
    return float(np.mean(found))


@pytest.mark.parametrize("d", [2, 6])
def test_chosen_localizations_beat_none_where_forecasts_are_wrong_locally(d: int) -> None:
    """Seeded. Measured (T = 200, 30 repeats): .16 against .21 in two dimensions, .18 against .21 in six."""
    assert local_error(LocalizedOnline(), "half", d=d) < 0.92 * local_error(
        LocalizedOnline(length_scale=np.inf), "half", d=d
    )


@pytest.mark.parametrize("where", ["nowhere", "everywhere"])
def test_chosen_localizations_cost_little_where_none_is_needed(where: str) -> None:
    """Seeded; the margin is .02 in coverage. Measured (30 repeats): .009 to .016 at T = 50, at most .004 at T = 200."""
    plain = local_error(LocalizedOnline(length_scale=np.inf), where)
    assert local_error(LocalizedOnline(), where) < plain + 0.02


# --- the state and the map handed on ----------------------------------------------------------------------------------


def evidence(z: Array, X: Array) -> Evidence:
    return Evidence(X, z, Gaussian(np.zeros(len(z)), np.ones(len(z))))


def test_no_localization_is_online_conformal_prediction_whatever_kappa_is() -> None:
    rng = np.random.default_rng(0)
    X, scores = rng.random((40, 3)), rng.random(40)
    runs = [
        LocalizedOnline(length_scale=np.inf, kappa=3.0).run(X, scores),
        LocalizedOnline(length_scale=0.2, kappa=0.0).run(X, scores),
    ]
    c = 0.2
    for t, s in enumerate(scores):
        for run in runs:
            assert run.played[t, 0] == pytest.approx(c, abs=1e-12)
        c += 0.05 * (0.2 - (s < c))


def test_the_state_is_not_clipped() -> None:
    recipe, X = LocalizedOnline(length_scale=0.3, eta0=0.3), np.full((60, 1), 0.5)
    low, high = recipe.run(X, np.zeros(60)), recipe.run(X, np.ones(60))
    assert low.played[:, 0].min() < 0.0 and high.played[:, 0].max() > 1.0
    # At or below 0 everything is covered, above 1 nothing is.
    assert not low.hits[:, 0][low.played[:, 0] <= 0.0].any() and high.hits[:, 0][high.played[:, 0] > 1.0].all()


def test_intervals_widen_where_outcomes_fell_outside_only() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((80, 1))
    level_map = LocalizedOnline(length_scale=0.25).fit(evidence(wrong_by(X, "half") * rng.standard_normal(80), X))
    distribution = level_map(Gaussian(np.zeros(2), np.ones(2)), np.array([[0.2], [0.8]]))
    low, high = distribution.interval(0.8)
    assert (high - low)[0] > 1.5 * (high - low)[1]


def test_choices_are_not_ordered() -> None:
    """Wrong at the first of three choices: the other two, near and far in the encoding, are corrected alike."""
    rng = np.random.default_rng(0)
    X = (np.floor(3.0 * rng.random((90, 1))) + 0.5) / 3.0
    z = np.where(X[:, 0] < 0.3, 4.0, 1.0) * rng.standard_normal(90)
    codes = np.array([[1 / 6], [0.5], [5 / 6]])
    recipe = LocalizedOnline(length_scale=0.5)
    seen = [recipe.fit(Evidence(X, z, Gaussian(np.zeros(90), np.ones(90)), c)) for c in ((3,), (0,))]
    known, unknown = (m(Gaussian(np.zeros(3), np.ones(3)), codes).interval(0.8)[1] for m in seen)
    assert known[0] > 1.5 * max(known[1:]) and unknown[1] > unknown[2]


@pytest.mark.parametrize(("threshold", "used"), [(-0.7, 1e-3), (0.3, 0.3), (1.7, 1.0)])
def test_the_density_is_flat_on_the_interval_of_the_clipped_threshold(threshold: float, used: float) -> None:
    constant = Expansion(Features((0,)), np.empty((0, 1)), np.array([threshold]), np.empty(0), np.empty((0, 0, 1)))
    coordinates = Coordinates(np.empty((0, 1)), Features((0,)))
    level_map = FlatMap(constant, coordinates, alpha=0.2, smallest=1e-3)
    distribution = level_map(Gaussian(np.zeros(1), np.ones(1)), np.array([[0.5]]))
    assert isinstance(distribution, FlatSet)
    for u in (0.1, 0.3, 0.5, 0.9):
        expected = (u - 0.5) / 0.8 * -2.0 * ndtri(used / 2.0)
        np.testing.assert_allclose(distribution.icdf(u), expected, rtol=1e-6, atol=1e-6)


def test_batches_and_other_distributions_get_the_same_shape() -> None:
    rng = np.random.default_rng(0)
    level_map = LocalizedOnline().fit(evidence(2.0 * rng.standard_normal(40), rng.random((40, 2))))
    X = rng.random((4, 3, 2))
    batches = level_map(Gaussian(np.zeros((4, 3)), np.ones((4, 3))), X)
    flat = level_map(Gaussian(np.zeros(12), np.ones(12)), X.reshape(12, 2))
    np.testing.assert_allclose(batches.icdf(0.9).ravel(), flat.icdf(0.9), rtol=1e-9)
    gaussian, X = Gaussian(np.array([0.0, 1.0]), np.array([1.0, 3.0])), rng.random((2, 2))
    other = level_map(Relevelled(gaussian, Levels.identity()), X)
    assert isinstance(other, Composed)
    for u in (0.05, 0.3, 0.5, 0.93):
        np.testing.assert_allclose(other.icdf(u), level_map(gaussian, X).icdf(u), atol=1e-6)
    assert other.samples(rng.standard_normal((7, 2)))[0].shape == (7, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 1.0}, {"eta0": 0.0}, {"decay": 1.5}, {"smallest": 0.0}, {"offset": -1.0}, {"regularization": 30.0},
        {"localize": "time"}, {"trust": -1.0},
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(RecipeError, match=next(iter(wrong))):
        LocalizedOnline(**wrong)  # type: ignore[arg-type]
