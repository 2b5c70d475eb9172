"""The reliability curve and its simultaneous band, against SciPy's Kolmogorov test."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, kstwo

from calibo.diagnostics import reliability_curve, simultaneous_half_width
from calibo.errors import DataError, RecipeError


@pytest.mark.parametrize("n", [1, 2, 5, 38, 300, 1000])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_half_width_is_kolmogorovs(n: int, confidence: float) -> None:
    exact = float(kstwo.ppf(confidence, n))
    width = simultaneous_half_width(n, confidence=confidence)
    assert width == pytest.approx(exact, rel=1e-3)
    assert width >= exact * (1 - 1e-5)  # kstwo itself is approximate from a few hundred on


@pytest.mark.parametrize("n", [1001, 5000, 100_000])
def test_half_width_of_many_is_safe_and_close(n: int) -> None:
    exact = float(kstwo.ppf(0.95, n))
    assert exact <= simultaneous_half_width(n) <= 1.01 * exact


@given(st.integers(1, 1500), st.floats(0.05, 0.99))
def test_half_width_shrinks_with_results_and_grows_with_confidence(n: int, confidence: float) -> None:
    width = simultaneous_half_width(n, confidence=confidence)
    assert 0 < width <= 1
    assert simultaneous_half_width(2 * n, confidence=confidence) < width
    assert simultaneous_half_width(n, confidence=(1 + confidence) / 2) > width


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_distance_is_kolmogorovs_statistic(pits: list[float]) -> None:
    curve = reliability_curve(pits)
    assert curve.distance == pytest.approx(kstest(pits, "uniform").statistic, abs=1e-12)
    assert curve.levels.tolist() == sorted(pits)
    assert curve.observed[-1] == 1.0
    assert curve.inside == (curve.distance <= curve.half_width)


def test_band_lies_around_the_diagonal() -> None:
    curve = reliability_curve(np.linspace(0, 1, 30))
    band = curve.band([0.0, 0.5, 1.0])
    h = curve.half_width
    np.testing.assert_allclose(band, [[0, h], [0.5 - h, 0.5 + h], [1 - h, 1]])
    assert curve.inside


def test_band_is_left_as_rarely_as_it_says() -> None:
    rng = np.random.default_rng(5)
    left = sum(not reliability_curve(rng.uniform(size=25), confidence=0.8).inside for _ in range(1000))
    assert 150 < left < 250


def test_overconfident_pits_leave_the_band() -> None:
    u = np.random.default_rng(2).uniform(size=200)
    assert not reliability_curve(np.where(u < 0.5, u / 4, 1 - (1 - u) / 4)).inside


def test_no_pits_give_an_empty_curve_and_the_widest_band() -> None:
    curve = reliability_curve([])
    assert curve.levels.shape == curve.observed.shape == (0,)
    assert (curve.half_width, curve.distance, curve.inside) == (1.0, 0.0, True)


def test_mistakes_are_explained() -> None:
    with pytest.raises(DataError, match=r"PITs in \[0, 1\]"):
        reliability_curve([2.0])
    with pytest.raises(RecipeError, match="confidence"):
        reliability_curve([0.5], confidence=95)
    with pytest.raises(DataError, match="0 or more"):
        simultaneous_half_width(-1)
