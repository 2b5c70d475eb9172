"""Coverage: PITs, counts in central intervals, and coverage over time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from calibo.data import STORED_LEVELS, Marginal
from calibo.diagnostics import (
    count_band,
    coverage,
    covered,
    pit,
    points_needed,
    running_coverage,
)
from calibo.errors import DataError, RecipeError

probabilities = st.floats(0.01, 0.99)
STANDARD = Marginal(0.0, 1.0)


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


@given(st.integers(1, 5000))
def test_points_needed_inverts_k_in_k_plus_one(k: int) -> None:
    assert points_needed(k / (k + 1)) == k
    assert points_needed(1 - 1 / (k + 1)) == k
    assert [points_needed(p) for p in (0.1, 0.8, 0.95)] == [1, 4, 19]


def test_running_coverage_counts_and_bands() -> None:
    rng = np.random.default_rng(0)
    distributions = [Marginal(0.0, 1.0)] * 60
    y = 2.5 * rng.standard_normal(60)
    run = running_coverage(distributions, y, 0.8)
    assert run.count.tolist() == list(range(1, 61))
    assert run.contained.tolist() == np.cumsum(covered(distributions, y, 0.8)).tolist()
    low, high = count_band(run.count, 0.8)
    assert (run.low.tolist(), run.high.tolist()) == (low.tolist(), high.tolist())
    assert run.fraction[-1] == coverage(distributions, y, 0.8)
    assert run.band.shape == (60, 2) and np.all((run.band >= 0) & (run.band <= 1))
    assert np.all(run.too_few == (run.contained < low)) and np.all(run.too_many == (run.contained > high))
    # The nominal coverage leaves the confidence sequence when the coverage leaves the band.
    outside = (run.interval[:, 0] > 0.8) | (run.interval[:, 1] < 0.8)
    assert run.too_few.any() and np.all(outside == (run.too_few | run.too_many))
    assert coverage(distributions[:4], [0.0, 1.0, -1.5, 3.0], 0.8) == 0.5


def test_infinite_intervals_are_left_out_of_the_running_coverage() -> None:
    unbounded = Marginal(0.0, 1.0, backed=(0.2, 0.8))
    run = running_coverage([unbounded, STANDARD, unbounded, STANDARD], [0.0, 9.0, 9.0, 0.0], 0.8)
    assert (run.count.tolist(), run.contained.tolist()) == ([1, 2], [0, 1])


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
