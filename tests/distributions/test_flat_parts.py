"""The two parts of a flat-set distribution against quadrature over the measurement, in every regime."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr, logsumexp

from calibo.data import Array
from calibo.distributions import FlatSet, Gaussian
from calibo.distributions.flat_parts import FlatPart, TailPart
from calibo.distributions.normal import log_density, log_first_integral

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)


def integral(a: float, b: float, t: float, rho: float, r: float, gain: bool, normal: bool) -> float:
    """log of the integral over y from a to b of (E (V - t)_+ or P(V > t) given y) times 1 or phi(y)."""
    turn, width = t / rho**2, r / rho
    edges = [
        np.linspace(a, b, 40),
        turn + width * np.linspace(-40, 40, 161),
        t + r * np.linspace(-40, 40, 161),
        np.linspace(-45, 45, 181),
    ]
    panels = np.unique(np.clip(np.concatenate(edges), a, b))
    half = 0.5 * np.diff(panels)[:, None]
    y = (0.5 * (panels[1:] + panels[:-1])[:, None] + half * NODES).ravel()
    z = (rho * y - t / rho) / r
    values = np.log(rho * r) + log_first_integral(z) if gain else log_ndtr(z)
    with np.errstate(divide="ignore"):
        return float(logsumexp(values + (log_density(y) if normal else 0.0) + np.log((half * WEIGHTS).ravel())))


def case(seed: int, J: int, spread: float) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.choice([0.0, 1.0, 3.0]) * rng.standard_normal() + spread * rng.standard_normal(2 * J))
    low, high = ends[::2].copy(), ends[1::2].copy()
    if J > 1 and seed % 4 == 0:
        high[-1] = low[-1]
    return low, high


@settings(max_examples=70)
@given(
    st.integers(0, 10**6),
    st.integers(1, 3),
    st.sampled_from([1e-4, 0.05, 0.5, 2.0, 20.0]),
    st.sampled_from([1e-4, 0.1, 0.5, 0.9, 0.999]),
    st.floats(-6.0, 12.0),
)
def test_the_parts_equal_quadrature(seed: int, J: int, spread: float, rho2: float, h: float) -> None:
    low, high = case(seed, J, spread)
    rho, r = np.sqrt(rho2), np.sqrt(1.0 - rho2)
    t = np.array([h * rho])
    flat = FlatPart(low[None], high[None], np.array([rho]), np.array([r]))
    used = [(a, b) for a, b in zip(low, high, strict=True) if b > a]
    for value, gain in ((flat.log_gain(t)[0], True), (flat.log_chance(t)[0], False)):
        parts = [integral(a, b, float(t[0]), rho, r, gain, normal=False) for a, b in used]
        expected = float(logsumexp(parts)) - np.log(sum(b - a for a, b in used))
        # Much further out the panels here are too wide for what is left at the edge.
        if expected > -600.0:
            assert value == pytest.approx(expected, rel=1e-8, abs=1e-8)
        assert np.isfinite(value)
    start, end = np.append(-np.inf, high), np.append(low, np.inf)
    tail = TailPart(start[None], end[None], np.array([rho]), np.array([r]))
    pieces = [(max(a, -45.0), min(b, 45.0)) for a, b in zip(start, end, strict=True) if min(b, 45.0) > max(a, -45.0)]
    for value, gain in ((tail.log_gain(t)[0], True), (tail.log_chance(t)[0], False)):
        expected = float(logsumexp([integral(a, b, float(t[0]), rho, r, gain, normal=True) for a, b in pieces]))
        if expected > -20.0 or h > 4.0:
            # Near the mean differences of probabilities keep about 15 digits of 1, far out quadrature keeps eight.
            assert np.exp(value - expected) == pytest.approx(1.0, abs=1e-6 + 1e-15 * np.exp(-min(expected, 0.0)))


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(1, 3),
    st.sampled_from([0.05, 0.5, 2.0]),
    st.floats(0.05, 0.95),
    st.floats(-6.0, 12.0),
)
def test_the_law_is_the_mixture_of_its_parts(seed: int, J: int, spread: float, inside: float, h: float) -> None:
    low, high = case(seed, J, spread)
    rho, r = np.sqrt(0.7), np.sqrt(0.3)
    distribution = FlatSet(Gaussian(np.zeros(1), np.array([rho]), noise_std=r), low[None], high[None], inside)
    t = np.array([h * rho])
    outside = np.log1p(-inside) - np.log(distribution.tail.mass)
    for value, flat, tail in (
        (distribution.log_expected_improvement(t), distribution.flat.log_gain(t), distribution.tail.log_gain(t)),
        (
            distribution.log_probability_of_improvement(t),
            distribution.flat.log_chance(t),
            distribution.tail.log_chance(t),
        ),
    ):
        np.testing.assert_allclose(value, np.logaddexp(np.log(inside) + flat, outside + tail), atol=1e-7)


def test_mirror_images() -> None:
    low, high = case(7, 2, 1.0)
    rho, r, t = np.array([0.8]), np.array([0.6]), np.array([0.3])
    flat = FlatPart(low[None], high[None], rho, r)
    tail = TailPart(np.append(-np.inf, high)[None], np.append(low, np.inf)[None], rho, r)
    for part in (flat, tail):
        same, turned = part.mirrored(np.array([False])), part.mirrored(np.array([True]))
        np.testing.assert_allclose(same.log_chance(t), part.log_chance(t))
        mass = tail.mass if part is tail else 1.0
        np.testing.assert_allclose(np.exp(turned.log_chance(-t)) + np.exp(part.log_chance(t)), mass, rtol=1e-9)
        # E (t - V)_+ = E (V - t)_+ - E V + t, each on its part.
        first = np.exp(part.log_gain(t)) - np.exp(turned.log_gain(-t)) + t * mass
        np.testing.assert_allclose(first, rho**2 * part.moments[0], rtol=1e-7, atol=1e-9)


def test_the_tail_of_a_measurement() -> None:
    """Without noise the value believed in is the measurement: truncated normal integrals."""
    tail = TailPart(np.array([[-np.inf, 1.0]]), np.array([[-0.5, np.inf]]), np.ones(1), np.zeros(1))
    draws = np.random.default_rng(0).standard_normal(400_000)
    draws = np.where((draws > -0.5) & (draws < 1.0), np.nan, draws)
    for t in (-1.5, 0.2, 1.4):
        gain = np.nan_to_num(np.maximum(draws - t, 0.0))
        assert np.exp(tail.log_gain(np.array([t])))[0] == pytest.approx(
            gain.mean(), abs=5 * gain.std() / np.sqrt(len(draws))
        )
        chance = np.mean(draws > t)
        assert np.exp(tail.log_chance(np.array([t])))[0] == pytest.approx(chance, abs=5 * 0.5 / np.sqrt(len(draws)))
    assert tail.mass[0] == pytest.approx(np.mean(~np.isnan(draws)), abs=0.004)


def test_every_end_beyond_a_far_threshold_is_seen() -> None:
    """With next to no noise the probability of being outside jumps at each of them, not at the last interval's only."""
    low, high, rho2 = np.array([-4.6, 6.0]), np.array([5.1, 6.5]), 1.0 - 1e-8
    rho, r, t = np.sqrt(rho2), np.sqrt(1.0 - rho2), 4.2
    tail = TailPart(np.append(-np.inf, high)[None], np.append(low, np.inf)[None], np.array([rho]), np.array([r]))
    pieces = [(-45.0, -4.6), (5.1, 6.0), (6.5, 45.0)]
    for value, gain in ((tail.log_gain(np.array([t]))[0], True), (tail.log_chance(np.array([t]))[0], False)):
        expected = float(logsumexp([integral(a, b, t, rho, r, gain, normal=True) for a, b in pieces]))
        assert value == pytest.approx(expected, abs=1e-6)
