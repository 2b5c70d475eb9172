"""The paired comparison of two forecasters: the score by its definition, bounds, error rates under peeking, and words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from calibo.data import STORED_LEVELS, Marginal
from calibo.diagnostics import Preference, compare, crps
from calibo.diagnostics.anytime import log_threshold
from calibo.diagnostics.comparison import THRESHOLD_LEVELS, Comparison, log_wealth_of_gains, score_gains
from calibo.errors import DataError

STANDARD = Marginal(0.0, 1.0)
means, stds, values = st.floats(-3.0, 3.0), st.floats(0.05, 5.0), st.floats(-10.0, 10.0)


def skewed(shift: float, scale: float) -> Marginal:
    """A skewed distribution kept as a table of quantiles, with an atom in its middle."""
    z = ndtri(np.asarray(STORED_LEVELS))
    return Marginal(
        shift, scale, tuple((shift + scale * np.sign(z) * np.maximum(np.abs(z) - 0.3, 0.0) * (1 + (z > 0))).tolist())
    )


@given(means, stds, means, stds, values)
def test_gains_are_the_differences_of_the_score(m1: float, s1: float, m2: float, s2: float, y: float) -> None:
    first, second = skewed(m1, s1), Marginal(m2, s2)
    gains, largest = score_gains([first], [second], [y])
    thresholds = [f.icdf(level) for f in (first, second) for level in THRESHOLD_LEVELS]
    scores = [np.mean([(f.cdf(c) - (y <= c)) ** 2 for c in thresholds]) for f in (first, second)]
    assert float(gains[0]) == pytest.approx(scores[1] - scores[0], abs=1e-9)
    assert abs(float(gains[0])) <= float(largest[0]) + 1e-12 <= 1.0 + 1e-9


@given(stds, means, stds)
def test_the_bound_is_the_largest_difference_that_an_outcome_can_make(s1: float, m2: float, s2: float) -> None:
    first, second = Marginal(0.0, s1), Marginal(m2, s2)
    thresholds = [f.icdf(level) for f in (first, second) for level in THRESHOLD_LEVELS]
    outcomes = [*thresholds, max(thresholds) + 1.0]
    gains, largest = score_gains([first] * len(outcomes), [second] * len(outcomes), outcomes)
    assert np.abs(gains).max() == pytest.approx(float(largest[0]), abs=1e-9)


@given(means, stds, means, stds)
def test_the_score_is_proper(m1: float, s1: float, m2: float, s2: float) -> None:
    """On average over outcomes of its own distribution no other forecast scores better."""
    n = 400
    right, other = Marginal(m1, s1), Marginal(m2, s2)
    outcomes = m1 + s1 * ndtri((np.arange(n) + 0.5) / n)
    gains, largest = score_gains([right] * n, [other] * n, outcomes)
    assert gains.mean() >= -2.0 * float(largest[0]) / n


def test_a_forecast_is_not_better_than_itself_and_point_masses_are_scored() -> None:
    gains, largest = score_gains([STANDARD] * 3, [STANDARD] * 3, [0.0, 1.0, -5.0])
    assert not gains.any() and not largest.any()
    assert all(not wealth.any() for wealth in log_wealth_of_gains(gains, largest))
    found, most = score_gains([STANDARD] * 2, [Marginal(0.0, 0.0)] * 2, [0.0, 3.0])
    assert found[0] < 0 < found[1] and np.all(np.abs(found) <= most)


def test_preferences_in_words() -> None:
    y = np.random.default_rng(0).standard_normal(200)
    wide = [Marginal(0.0, 3.0)] * 200
    better, worse = compare([STANDARD] * 200, wide, y), compare(wide, [STANDARD] * 200, y)
    assert (better.preference, worse.preference) == (Preference.BETTER, Preference.WORSE)
    assert better.gain == pytest.approx(-worse.gain) and better.gain > 0
    assert better.crps == pytest.approx(crps([STANDARD] * 200, y).mean()) and better.crps == worse.reference_crps
    assert better.sentence("ocbo", "the raw model").startswith("ocbo forecasts better than the raw model (mean CRPS 0.")
    unclear = compare([STANDARD] * 4, wide[:4], y[:4])
    assert unclear.preference is Preference.UNCLEAR
    assert unclear.sentence("A", "B").startswith("whether A or B forecasts better cannot be told yet")
    assert compare([], [], []).of == 0


@given(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=60))
def test_never_both(gains: list[float]) -> None:
    first, second = log_wealth_of_gains(np.array(gains), np.ones(len(gains)))
    assert np.all(np.minimum(first, second) <= 1e-12)


def test_equally_good_forecasters_are_rarely_ever_told_apart() -> None:
    """Two that err by the same amount to either side, 400 studies of 100 results, looked at after each.

    At most 5 % are told apart for ever; more than 8.5 % would be with probability 1e-3.
    """
    rng = np.random.default_rng(5)
    limit = log_threshold(0.95, tests=2)
    wrong = 0
    for _ in range(400):
        gains, largest = score_gains([Marginal(0.4, 1.0)] * 100, [Marginal(-0.4, 1.0)] * 100, rng.standard_normal(100))
        wrong += max(float(np.max(wealth)) for wealth in log_wealth_of_gains(gains, largest)) >= limit
    assert wrong <= 34


def test_mistakes_are_explained() -> None:
    with pytest.raises(DataError, match="2 forecasts of the first and 1 of the second"):
        compare([STANDARD] * 2, [STANDARD], [0.0, 1.0])


def test_a_preference_that_the_means_contradict_is_mixed() -> None:
    better = Comparison(of=50, preference=Preference.BETTER, gain=0.1, crps=0.63, reference_crps=0.54)
    assert better.mixed and not replace(better, crps=0.5).mixed
    assert replace(better, preference=Preference.WORSE, crps=0.5).mixed
    assert not replace(better, preference=Preference.UNCLEAR).mixed
    assert "better than B if large misses count no more than others, but not on average" in better.sentence("A", "B")
