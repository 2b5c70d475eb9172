"""Localized level maps: OCBO without localization, monotone with it, bounded, and better where forecasts differ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from calibo.calibration import Evidence, LocalizedQuantile, OnlineQuantile
from calibo.calibration.monotone_play import isotonic_projection, spread_pools
from calibo.calibration.online_quantile import DEFAULT_LEVELS
from calibo.data import Array
from calibo.distributions import Composed, Gaussian, Levels, Relevelled
from calibo.errors import RecipeError
from calibo.testing import CalibratorSuite

FIVE = (0.1, 0.25, 0.5, 0.75, 0.9)
etas = st.sampled_from([0.02, 0.1, 0.5, 1.0, 3.0, 10.0])


class TestLocalizedQuantile(CalibratorSuite):
    tolerance = 0.15

    def recalibrator(self) -> LocalizedQuantile:
        return LocalizedQuantile(eta=0.05)


class TestLocalizedByReach(CalibratorSuite):
    tolerance = 0.15
    #: Where a forecast stands depends on its units.
    equivariant = False

    def recalibrator(self) -> LocalizedQuantile:
        return LocalizedQuantile(eta=0.05, localize="reach")


class TestOneLocalization(CalibratorSuite):
    tolerance = 0.2

    def recalibrator(self) -> LocalizedQuantile:
        return LocalizedQuantile(eta=0.05, kappa=1.0, length_scale=0.5)


def evidence(pit: Array, X: Array) -> Evidence:
    return Evidence(X, ndtri(np.clip(pit, 1e-12, 1 - 1e-12)), Gaussian(np.zeros(len(pit)), np.ones(len(pit))))


# --- without localization ---------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    eta=etas,
    levels=st.sampled_from([FIVE, (0.98, 0.99), DEFAULT_LEVELS]),
    pits=st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=40),
    off=st.sampled_from([(0.0, 0.3), (2.0, np.inf)]),
)
def test_without_localization_it_is_online_quantile_bit_by_bit(
    eta: float, levels: tuple[float, ...], pits: list[float], off: tuple[float, float]
) -> None:
    pit, X = np.array(pits), np.random.default_rng(0).random((len(pits), 2))
    plain = OnlineQuantile(eta, levels)
    local = LocalizedQuantile(eta, levels, kappa=off[0], length_scale=off[1])
    run, expected = local.run(X, pit), plain.run(pit)
    np.testing.assert_array_equal(run.states.constants[:, 0], expected.hidden)
    np.testing.assert_array_equal(run.played, expected.played[:-1])
    unit = Gaussian(np.zeros(2), np.ones(2))
    distributions = [r.fit(evidence(pit, X))(unit, X[[0, 0]]) for r in (local, plain)]
    for u in (0.01, 0.3, 0.5, 0.99):
        np.testing.assert_array_equal(distributions[0].icdf(u), distributions[1].icdf(u))


def test_among_many_localizations_the_first_is_online_quantile() -> None:
    rng = np.random.default_rng(0)
    pit = rng.beta(0.3, 0.3, 50)
    run = LocalizedQuantile(0.3).run(rng.random((50, 2)), pit)
    np.testing.assert_array_equal(run.states.constants[:, 0], OnlineQuantile(0.3).run(pit).hidden)


# --- with it ----------------------------------------------------------------------------------------------------------


def by_definition(X: Array, pit: Array, eta: float, kappa: float, length: float, reg: float) -> tuple[Array, Array]:
    """Played values, T x K, and the hidden values at the first point after the last outcome, K; by plain loops."""
    p, c, moves = np.array(FIVE), np.array(FIVE), list[Array]()
    played = list[Array]()

    def hidden(x: Array) -> Array:
        kernels = [kappa * np.exp(-np.sum((x - X[j]) ** 2) / length**2) for j in range(len(moves))]
        return c + sum((k * b for k, b in zip(kernels, moves, strict=True)), np.zeros(p.size))

    for x, u in zip(X, pit, strict=True):
        played.append(isotonic_projection(hidden(x)))
        move = eta * (p - (u <= played[-1]))
        moves = [(1 - reg * eta) * b for b in moves] + [move]
        c = c + move
    return np.array(played), hidden(X[0])


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), eta=st.sampled_from([0.05, 0.3, 1.0]), kappa=st.sampled_from([0.3, 1.0, 4.0]))
def test_the_run_is_what_it_says(seed: int, eta: float, kappa: float) -> None:
    rng = np.random.default_rng(seed)
    X, pit = rng.random((25, 2)), rng.beta(0.4, 0.4, 25)
    run = LocalizedQuantile(eta, FIVE, kappa=kappa, length_scale=0.4, regularization=0.2).run(X, pit)
    played, last = by_definition(X, pit, eta, kappa, 0.4, 0.2)
    np.testing.assert_allclose(run.played, played, atol=1e-10)
    np.testing.assert_allclose(run.hidden(X[:1])[0], last, atol=1e-10)
    assert np.all(np.diff(run.played, axis=1) >= -1e-12)


@settings(max_examples=80)
@given(
    eta=st.sampled_from([0.05, 0.3, 0.9]),
    levels=st.one_of(st.tuples(st.floats(0.05, 0.95)), st.just(DEFAULT_LEVELS)),
    kappa=st.sampled_from([0.1, 1.0, 4.0]),
    length=st.sampled_from([0.05, 0.3, 2.0]),
    pits=st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0])), min_size=1, max_size=120),
)
def test_bound_on_any_stream(
    eta: float, levels: tuple[float, ...], kappa: float, length: float, pits: list[float]
) -> None:
    """|mean of the hits - p| <= (1 + kappa / reg + eta) / (eta T).

    For one level this is proved in the class's docstring. For several the projection could break it; on these streams
    it does not (not proved).
    """
    X = np.random.default_rng(len(pits)).random((len(pits), 2))
    recipe = LocalizedQuantile(eta, levels, kappa=kappa, length_scale=length, regularization=1.0)
    T = np.arange(1, len(pits) + 1)[:, None]
    error = np.abs(np.cumsum(recipe.run(X, np.array(pits)).hits, axis=0) / T - levels)
    assert np.all(error <= (1.0 + kappa + eta) / (eta * T) + 1e-9)


@settings(max_examples=60)
@given(
    eta=st.sampled_from([0.05, 0.5, 3.0]),
    localize=st.sampled_from(["place", "reach"]),
    length=st.sampled_from([0.05, 0.5, "auto"]),
    pits=st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=60),
)
def test_shown_quantiles_increase_strictly(eta: float, localize: str, length: float, pits: list[float]) -> None:
    rng = np.random.default_rng(len(pits))
    X, std = rng.random((len(pits), 1)), np.exp(rng.uniform(-3, 1, len(pits)))
    z = ndtri(np.clip(pits, 1e-12, 1 - 1e-12))
    recipe = LocalizedQuantile(eta, length_scale=length, localize=localize)  # type: ignore[arg-type]
    level_map = recipe.fit(Evidence(X, std * z, Gaussian(np.zeros(len(z)), std)))
    at = Gaussian(np.zeros(4), np.array([0.01, 0.3, 1.0, 9.0]))
    shown = level_map(at, np.linspace(0.0, 1.0, 4)[:, None])
    quantiles = shown.over_samples().icdf(np.linspace(0.005, 0.995, 199)[:, None])
    assert (np.diff(quantiles, axis=0) > 0.0).all()


def test_a_pooled_map_is_the_one_that_is_played() -> None:
    rng = np.random.default_rng(0)
    X, pit = rng.random((40, 1)), rng.beta(0.3, 0.3, 40)
    pooled, spread = (
        LocalizedQuantile(0.5, pooled=kind).fit(evidence(pit, X))(Gaussian(np.zeros(1), np.ones(1)), X[:1])
        for kind in (True, False)
    )
    assert isinstance(pooled, Relevelled) and isinstance(spread, Relevelled)
    hidden = LocalizedQuantile(0.5).run(X, pit).hidden(X[:1])
    np.testing.assert_allclose(pooled.levels.r[0, 1:-1], np.clip(isotonic_projection(hidden[0]), 1e-3, 1 - 1e-3))
    assert (np.diff(pooled.levels.r[0]) == 0.0).any() and (np.diff(spread.levels.r[0]) > 0.0).all()


def test_what_is_shown_of_measurements_follows_the_play_as_evidence_grows() -> None:
    pit, X = np.full(60, 0.999), np.zeros((60, 1))
    measured, latent = Gaussian(np.zeros(1), np.ones(1)), Gaussian(np.zeros(1), np.ones(1), noise_std=0.1)
    played, shown = (LocalizedQuantile(0.5, FIVE, trust=trust).fit(evidence(pit, X)) for trust in (0.0, 60.0))
    np.testing.assert_allclose(shown(latent, X[:1]).icdf(0.3), played(latent, X[:1]).icdf(0.3))
    hidden = LocalizedQuantile(0.5, FIVE).run(X, pit).hidden(X[:1])[0]
    assert hidden.max() > 1.0, "states leave [0, 1], which levels do not"
    inside = np.clip(isotonic_projection(hidden), 0.001, 0.999)
    middle = 0.5 * spread_pools(np.array(FIVE), inside) + 0.5 * np.array(FIVE)
    np.testing.assert_allclose(shown(measured, X[:1]).icdf(0.5), ndtri(middle[2]), rtol=1e-6)


def test_direction_of_the_correction() -> None:
    """Outcomes above the median too often on the left half only: the median moves up there."""
    rng = np.random.default_rng(0)
    X = rng.random((400, 1))
    pit = np.where(X[:, 0] < 0.5, 1.0 - 0.4 * rng.random(400), rng.random(400))
    level_map = LocalizedQuantile(0.1, length_scale=0.2).fit(evidence(pit, X))
    distribution = level_map(Gaussian(np.zeros(2), np.ones(2)), np.array([[0.15], [0.85]]))
    assert distribution.median[0] > 0.5 and abs(distribution.median[1]) < 0.4


def test_corrections_by_reach_stay_at_that_reach() -> None:
    """Outcomes above the median too often where forecasts are narrow: the median moves up there only."""
    rng = np.random.default_rng(0)
    std = np.exp(rng.choice([-4.0, 0.0], 400))
    pit = np.where(std < 0.5, 1.0 - 0.4 * rng.random(400), rng.random(400))
    past = Evidence(np.zeros((400, 1)), std * ndtri(pit), Gaussian(np.zeros(400), std))
    level_map = LocalizedQuantile(0.1, localize="reach").fit(past)
    median = level_map(Gaussian(np.zeros(2), np.exp([-4.0, 0.0])), np.zeros((2, 1))).median / np.exp([-4.0, 0.0])
    assert median[0] > 0.4 and abs(median[1]) < 0.3


@pytest.mark.parametrize(("d", "share"), [(2, 0.95), (6, 1.0)])
def test_localized_levels_are_nearer_the_truth_where_forecasts_differ(d: int, share: float) -> None:
    """Three times too narrow on half of the space (seeded): mean error of the ends of the 80 % interval, in level.

    In six dimensions 120 outcomes are too few to gain much: .102 against .106.
    """

    def error(recipe: LocalizedQuantile) -> float:
        found = list[Array]()
        for seed in range(8):
            rng = np.random.default_rng(seed)
            X = rng.random((120, d))
            factor = np.where(X[:, 0] < 0.5, 3.0, 1.0)
            played = recipe.run(X, ndtr(factor * rng.standard_normal(120))).played[60:]
            truth = ndtr(ndtri(np.clip(played, 1e-9, 1 - 1e-9)) / factor[60:, None])
            found.append(np.abs(truth - FIVE)[:, [0, -1]])
        return float(np.mean(found))

    plain = error(LocalizedQuantile(0.05, FIVE, length_scale=np.inf))
    assert error(LocalizedQuantile(0.05, FIVE)) < share * plain


def test_batches_and_other_distributions_get_the_same_map() -> None:
    rng = np.random.default_rng(0)
    level_map = LocalizedQuantile(0.2).fit(evidence(rng.beta(0.3, 0.3, 40), rng.random((40, 2))))
    gaussian, X = Gaussian(np.zeros((4, 3)), np.ones((4, 3))), rng.random((4, 3, 2))
    distribution = level_map(gaussian, X)
    assert isinstance(distribution, Relevelled)
    assert distribution.levels.r.shape == (4, 3, len(DEFAULT_LEVELS) + 2)
    other = level_map(Relevelled(gaussian, Levels.identity()), X)
    assert isinstance(other, Composed)
    np.testing.assert_allclose(other.icdf(0.8), distribution.icdf(0.8))
    base = rng.standard_normal((5, 3))
    np.testing.assert_allclose(other.samples(base)[0], distribution.samples(base)[0])
    flat = level_map(Gaussian(np.zeros(12), np.ones(12)), X.reshape(12, 2))
    np.testing.assert_allclose(
        distribution.expected_improvement(0.7).ravel(), flat.expected_improvement(0.7), rtol=1e-9
    )


@pytest.mark.parametrize(
    "wrong",
    [{"eta": 0.0}, {"levels": (0.5, 0.4)}, {"regularization": 20.0}, {"localize": "time"}, {"trust": -1.0}],
)
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(RecipeError, match=next(iter(wrong))):
        LocalizedQuantile(**wrong)  # type: ignore[arg-type]
