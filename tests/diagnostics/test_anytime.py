"""Anytime-valid tests: closed forms against quadrature and enumeration, bands against their definition, error rates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import beta

from calibo.data import Array
from calibo.diagnostics import confidence_sequence, count_band, log_evidence, log_wealth, mean_chance_limit
from calibo.diagnostics.anytime import (
    CONCENTRATION,
    log_mean,
    log_threshold,
    log_wealth_tilted,
    results_to_refute,
    tilted_count_band,
)
from calibo.errors import DataError, RecipeError

stated = st.sampled_from([0.05, 0.2, 0.5, 0.8, 0.95])


@pytest.mark.parametrize(("k", "t", "p"), [(0, 0, 0.5), (0, 5, 0.8), (9, 12, 0.95), (12, 12, 0.8), (3, 40, 0.95)])
def test_wealth_is_the_average_likelihood_ratio_on_one_side(k: int, t: int, p: float) -> None:
    prior = beta(CONCENTRATION * p, CONCENTRATION * (1.0 - p))
    # Equally likely values of q on either side of p.
    share = (np.arange(100_000) + 0.5) / 100_000
    sides = [prior.ppf(prior.cdf(p) * share), prior.isf(prior.sf(p) * share)]
    averages = [np.mean((q / p) ** k * ((1.0 - q) / (1.0 - p)) ** (t - k)) for q in sides]
    np.testing.assert_allclose(np.exp(log_wealth(k, t, p)), averages, rtol=1e-3)


@given(st.integers(0, 60), st.integers(0, 60), stated)
def test_wealth_is_a_martingale_and_falls_if_bet_against(k: int, more: int, p: float) -> None:
    """The mean over the next result is the wealth now; with more (fewer) successes than stated, that of "too few" falls."""
    now, hit, miss = (np.exp(log_wealth(k + a, k + more + b, p)) for a, b in ((0, 0), (1, 1), (0, 1)))
    np.testing.assert_allclose(p * hit + (1.0 - p) * miss, now, rtol=1e-9)
    assert hit[0] <= miss[0] and hit[1] >= miss[1]


@pytest.mark.parametrize("p", [0.05, 0.5, 0.8, 0.95])
@pytest.mark.parametrize("tests", [1, 3])
def test_bands_hold_the_counts_that_are_no_evidence(p: float, tests: int) -> None:
    results = np.arange(0, 70)
    low, high = count_band(results, p, tests=tests)
    limit = log_threshold(0.95, tests)
    for t, first, last in zip(results.tolist(), low.tolist(), high.tolist(), strict=True):
        inside = np.flatnonzero(log_evidence(np.arange(t + 1), t, p) < limit)
        assert (first, last) == (inside[0], inside[-1]) and len(inside) == last - first + 1
    needed = results_to_refute(p, tests=tests)
    assert [(low[t], high[t]) == (0, t) for t in (needed - 1, needed)] == [True, False]


@given(st.integers(0, 80), st.integers(0, 80), stated)
def test_confidence_sequences_hold_the_probabilities_that_are_not_refuted(k: int, more: int, p: float) -> None:
    t = k + more
    low, high = confidence_sequence(k, t)
    assume(min(abs(float(low) - p), abs(float(high) - p)) > 1e-9)
    assert (float(low) < p < float(high)) == (float(log_evidence(k, t, p)) < log_threshold(0.95))
    assert t == 0 or float(low) <= k / t <= float(high)
    assert (t > 0) or (float(low), float(high)) == (0.0, 1.0)


def test_many_results_do_not_overflow() -> None:
    few, many = log_wealth([0, 100_000], 100_000, 0.5)
    assert few[0] == pytest.approx(100_000 * np.log(2.0), rel=1e-3) and many[0] < 0.0
    assert many[1] == pytest.approx(few[0]) and few[1] == pytest.approx(many[0])


# --- probabilities that differ ------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6))
def test_tilted_wealth_is_a_martingale(chances: list[float]) -> None:
    """The mean of the wealth after all results, over all their outcomes, is 1."""
    p = np.array(chances)
    outcomes = np.array(np.meshgrid(*[[0, 1]] * len(p), indexing="ij")).reshape(len(p), -1)
    weight = np.prod(np.where(outcomes == 1, p[:, None], 1.0 - p[:, None]), axis=0)
    for wealth in log_wealth_tilted(outcomes.sum(axis=0), p):
        assert weight @ np.exp(wealth) == pytest.approx(1.0)


def test_tilted_bets_have_a_direction() -> None:
    p = np.full(40, 0.9)
    few, many = log_wealth_tilted(np.arange(41), p)
    assert np.all(np.diff(few) < 0) and np.all(np.diff(many) > 0)
    low, high = tilted_count_band(p)
    assert low <= 36 <= high == 40 and few[low - 1] - np.log(2) >= log_threshold(0.95) - 0.1
    assert tilted_count_band([1.0] * 7, confidence=0.5)[1] == 7 and tilted_count_band([]) == (0, 0)


# --- error rates and power ----------------------------------------------------------------------------------------------

NOMINAL = np.array([0.5, 0.8, 0.95])


def ever_refuted(scores: Array) -> Array:
    """For each of N streams of normal scores, ``N x t``, whether the average of the bets on three coverages ever won."""
    t = np.arange(1, scores.shape[1] + 1)
    counts = np.arange(scores.shape[1] + 1)
    wealths: list[Array] = []
    for p in NOMINAL.tolist():
        by_count = log_evidence(np.minimum(counts, t[:, None]), t[:, None], p)
        contained = np.cumsum(np.abs(scores) <= ndtri((1.0 + p) / 2.0), axis=1)
        wealths.append(by_count[t - 1, contained])
    return (log_mean(np.stack(wealths), axis=0) >= log_threshold(0.95)).any(axis=1)


@pytest.mark.whole
def test_right_forecasts_are_rarely_ever_accused_and_wrong_ones_are_found() -> None:
    """10,000 studies of 200 results, looked at after each: at most 5 % accused (3.2 % measured, standard error 0.2 %)."""
    scores = np.random.default_rng(3).standard_normal((10_000, 200))
    assert ever_refuted(scores).mean() <= 0.05
    some = scores[:1000, :100]
    assert ever_refuted(some / 0.7).mean() > 0.85 and ever_refuted(some / 1.5).mean() > 0.9


@pytest.mark.slow
def test_confidence_sequences_contain_the_truth_for_ever() -> None:
    """500 streams of 100 results; if the rate of misses is 5 %, more than 9 % are missed with probability 1e-4."""
    rng = np.random.default_rng(4)
    for p in (0.3, 0.9):
        hits = np.cumsum(rng.random((500, 100)) < p, axis=1)
        low, high = confidence_sequence(hits, np.arange(1, 101))
        assert ((low > p) | (high < p)).any(axis=1).mean() <= 0.09


def test_right_probabilities_of_their_own_are_rarely_ever_refuted() -> None:
    """1,000 streams; a rate of 5 % would exceed 8 % with probability 3e-5."""
    rng = np.random.default_rng(6)
    chances = rng.random(60)
    met = np.cumsum(rng.random((1000, 60)) < chances, axis=1)
    wealth = [log_mean(np.stack(log_wealth_tilted(met[:, t], chances[: t + 1])), axis=0) for t in range(60)]
    assert (np.max(wealth, axis=0) >= log_threshold(0.95)).mean() <= 0.08


def test_mistakes_are_explained() -> None:
    with pytest.raises(DataError, match="0 or more, and less than .*, got .*-1"):
        count_band([-1], 0.5)
    with pytest.raises(DataError, match="between 0 and the number"):
        confidence_sequence([4], [3])
    for confidence in (95, 0.0):
        with pytest.raises(RecipeError, match="95 % as 0.95"):
            count_band([3], 0.5, confidence=confidence)


def test_the_mean_of_varying_probabilities_rarely_ever_exceeds_its_limit() -> None:
    """4,000 sequences of 200 whose probability rises after failures: at most 5 % may ever exceed it, 6 % allow for chance."""
    rng, steps = np.random.default_rng(0), 200
    excess = np.array(
        [t * mean_chance_limit(0, t) if mean_chance_limit(0, t) < 1.0 else np.inf for t in range(1, steps + 1)]
    )
    chance, successes, total = np.full(4000, 0.1), np.zeros(4000), np.zeros(4000)
    exceeded = np.zeros(4000, dtype=bool)
    for t in range(steps):
        total += chance
        hit = rng.random(4000) < chance
        successes += hit
        exceeded |= total > successes + excess[t]
        chance = np.where(hit, 0.1, np.minimum(chance + 0.1, 0.9))
    assert 0 < exceeded.sum() < 0.06 * 4000


def test_limits_of_mean_probabilities() -> None:
    assert mean_chance_limit(0, 0) == 1.0 and mean_chance_limit(3, 3) == 1.0
    limits = [mean_chance_limit(n // 10, n) for n in (100, 1000, 10_000)]
    assert limits == sorted(limits, reverse=True) and 0.1 < limits[-1] < 0.13
    with pytest.raises(DataError, match="got 4 of 3"):
        mean_chance_limit(4, 3)
