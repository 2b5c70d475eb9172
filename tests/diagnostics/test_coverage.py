"""Coverage: PITs, counts in central intervals, and the exact binomial distributions against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import beta, binom

from calibo.data import STORED_LEVELS, Marginal
from calibo.diagnostics import (
    binomial_band,
    clopper_pearson,
    coverage,
    covered,
    pit,
    points_needed,
    running_coverage,
)
from calibo.errors import DataError, RecipeError

probabilities = st.floats(0.01, 0.99)


def stored(mean: float = 0.0, std: float = 1.0) -> Marginal:
    """A Gaussian distribution kept as a table of quantiles."""
    return Marginal(mean, std, tuple(mean + std * float(z) for z in ndtri(np.asarray(STORED_LEVELS))))


def test_pit_of_gaussian_and_stored_distributions_agree() -> None:
    y = [-1.0, 0.3, 5.0]
    distributions = [Marginal(0.0, 1.0), Marginal(0.5, 2.0), Marginal(1.0, 3.0)]
    tables = [stored(distribution.mean, distribution.std) for distribution in distributions]
    expected = [distribution.cdf(v) for distribution, v in zip(distributions, y, strict=True)]
    np.testing.assert_allclose(pit(distributions, y), expected, rtol=1e-14)
    np.testing.assert_allclose(pit(tables, y), pit(distributions, y), atol=1e-12)


def test_pit_of_a_point_mass_is_its_distribution_function() -> None:
    certain = Marginal(2.0, 0.0)
    assert pit([certain] * 3, [1.0, 2.0, 3.0]).tolist() == [0.0, 1.0, 1.0]
    assert covered([certain] * 3, [1.0, 2.0, 3.0], 0.9).tolist() == [False, True, False]


def test_no_forecasts_give_empty_arrays() -> None:
    assert pit([], []).shape == (0,)
    assert covered([], [], 0.9).shape == (0,)
    assert running_coverage([], [], 0.9).fraction.shape == (0,)


@given(st.floats(-50, 50), st.floats(0.01, 50), st.floats(-200, 200), probabilities)
def test_an_outcome_is_covered_where_its_pit_is_central(mean: float, std: float, y: float, level: float) -> None:
    distribution = Marginal(mean, std)
    distance = abs(2 * float(pit([distribution], [y])[0]) - 1)
    if abs(distance - level) > 1e-9:
        assert bool(covered([distribution], [y], level)[0]) == (distance < level)


@given(st.integers(0, 300) | st.just(100_000), probabilities, probabilities)
def test_binomial_band_is_scipys(n: int, p: float, confidence: float) -> None:
    tail = (1 - confidence) / 2
    cdf = binom.cdf(np.arange(n + 1), n, p)
    low, high = binomial_band(n, p, confidence)
    assert low == int(np.argmax(cdf >= tail))
    assert high == (int(np.argmax(cdf >= 1 - tail)) if np.any(cdf >= 1 - tail) else n)


@given(st.integers(0, 200), st.integers(0, 200), probabilities)
def test_clopper_pearson_by_the_beta_distribution(k: int, more: int, confidence: float) -> None:
    n = k + more
    low, high = clopper_pearson(k, n, confidence)
    tail = (1 - confidence) / 2
    assert low == pytest.approx(beta.ppf(tail, k, n - k + 1) if k else 0.0, abs=1e-9)
    assert high == pytest.approx(beta.ppf(1 - tail, k + 1, n - k) if k < n else 1.0, abs=1e-9)
    assert n == 0 or low <= k / n <= high


@given(st.integers(1, 5000))
def test_points_needed_inverts_k_in_k_plus_one(k: int) -> None:
    assert points_needed(k / (k + 1)) == k
    assert points_needed(1 - 1 / (k + 1)) == k
    assert [points_needed(p) for p in (0.1, 0.8, 0.95)] == [1, 4, 19]


def test_running_coverage_counts_and_bands() -> None:
    rng = np.random.default_rng(0)
    distributions = [Marginal(0.0, 1.0)] * 60
    y = 1.5 * rng.standard_normal(60)
    run = running_coverage(distributions, y, 0.8)
    assert run.count.tolist() == list(range(1, 61))
    assert run.contained.tolist() == np.cumsum(covered(distributions, y, 0.8)).tolist()
    assert [(int(a), int(b)) for a, b in zip(run.low, run.high, strict=True)] == [
        binomial_band(n, 0.8) for n in range(1, 61)
    ]
    assert run.fraction[-1] == coverage(distributions, y, 0.8)
    assert run.band.shape == (60, 2) and np.all((run.band >= 0) & (run.band <= 1))
    assert coverage(distributions[:4], [0.0, 1.0, -1.5, 3.0], 0.8) == 0.5


def test_mistakes_are_explained() -> None:
    with pytest.raises(DataError, match="at least one"):
        coverage([], [], 0.8)
    with pytest.raises(DataError, match="expected 1 outcomes"):
        pit([Marginal(0.0, 1.0)], [1.0, 2.0])
    with pytest.raises(DataError, match="finite"):
        pit([Marginal(0.0, 1.0)], [np.nan])
    with pytest.raises(RecipeError, match="95 % as 0.95"):
        covered([Marginal(0.0, 1.0)], [1.0], 95)
    with pytest.raises(RecipeError, match="strictly between"):
        points_needed(1.0)
    with pytest.raises(DataError, match="between 0 and 3"):
        clopper_pearson(4, 3)
    with pytest.raises(DataError, match="0 or more"):
        binomial_band(-1, 0.5)
