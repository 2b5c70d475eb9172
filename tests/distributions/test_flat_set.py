"""The flat-set distribution: golden values, limits, brute force, its two parts against quadrature, and its quantiles."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import log_ndtr, logsumexp, ndtr
from scipy.stats import norm

from calibo.data import Array
from calibo.distributions import Distribution, FlatSet, Gaussian
from calibo.distributions.flat_set import FlatPart, TailPart, _increasing_root, _log_improvement
from calibo.distributions.normal import first_integral, log_density, log_first_integral
from calibo.testing import DistributionSuite

MEAN, STD = np.array([0.0, 2.0, -1.0]), np.array([1.0, 0.3, 2.0])
#: Two intervals at the first point, one at the second (and an empty one), one that misses the mean at the third.
LOW = np.array([[-1.2, 0.4], [1.5, 2.7], [0.5, 1.0]])
HIGH = np.array([[-0.1, 1.5], [2.7, 2.7], [1.0, 3.0]])
CORRELATION = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, 0.3], [0.2, 0.3, 1.0]])


def distributions(noise: float, *batch: int) -> FlatSet:
    def stacked(a: Array) -> Array:
        return np.broadcast_to(a, (*batch, *a.shape))

    gaussian = Gaussian(stacked(MEAN), stacked(STD), lambda: stacked(CORRELATION), noise)
    return FlatSet(gaussian, stacked(LOW), stacked(HIGH), 0.7)


class TestOfMeasurements(DistributionSuite):
    tolerance = 2e-4
    draws = 16384

    def distribution(self, *batch: int) -> Distribution:
        return distributions(0.0, *batch)


class TestOfLatentValues(TestOfMeasurements):
    panels = 300

    def distribution(self, *batch: int) -> Distribution:
        return distributions(0.5, *batch)


class TestCentral(TestOfLatentValues):
    def distribution(self, *batch: int) -> Distribution:
        base = Gaussian(*(np.broadcast_to(a, (*batch, 3)) for a in (MEAN, STD)), noise_std=np.full(3, 0.2))
        return FlatSet.central(base, np.array([0.05, 0.2, 0.9]), 0.2)


def one(mean: float, variance: float, noise: float, low: Array, high: Array, alpha: float) -> FlatSet:
    base = Gaussian(np.array([mean]), np.array([np.sqrt(variance)]), noise_std=float(np.sqrt(noise)))
    return FlatSet(base, np.asarray(low)[None, :], np.asarray(high)[None, :], 1.0 - alpha)


def test_locbo_density_golden(golden) -> None:
    for case in golden("locbo_density")["cases"]:
        v = case["var_f"] + case["noise"]
        base = Gaussian(np.array([case["mu"]]), np.array([np.sqrt(case["var_f"])]), noise_std=np.sqrt(case["noise"]))
        distribution, c = FlatSet.central(base, np.array([case["lam"]]), case["alpha"]), case["c"]
        assert distribution.low[0, 0] == pytest.approx(case["L"], rel=1e-12)
        assert distribution.high[0, 0] == pytest.approx(case["U"], rel=1e-12)
        for f, expected in case["pdf"].items():
            assert distribution.pdf(float(f))[0] == pytest.approx(expected, rel=1e-8, abs=1e-15)
        t = (c - case["mu"]) / np.sqrt(v) * np.ones(1)
        assert np.exp(distribution.flat.log_gain(t))[0] * np.sqrt(v) == pytest.approx(case["EI_uniform"], rel=1e-8)
        tail = np.exp(distribution.tail.log_gain(t)) / distribution.tail.mass
        assert tail[0] * np.sqrt(v) == pytest.approx(case["EI_tail"], rel=1e-8)
        assert distribution.expected_improvement(c)[0] == pytest.approx(case["EI"], rel=1e-8)
        assert distribution.probability_of_improvement(c)[0] == pytest.approx(case["PI"], rel=1e-8)
        assert distribution.mean[0] == pytest.approx(case["mean"], abs=1e-12)
        assert distribution.icdf(0.9)[0] == pytest.approx(case["q90"], abs=1e-10)
        assert distribution.icdf(0.975)[0] == pytest.approx(case["q975"], abs=1e-10)


def test_cbo_expectations_golden(golden) -> None:
    reference = golden("cbo_posterior_expectations")
    noise = reference["toy"]["noise_variance"]
    for case in reference["cases"]:
        ends, best = np.array(case["set"]), case["best_f"]
        distribution = one(case["mu"], case["var_f"], noise, ends[:, 0], ends[:, 1], case["alpha"])
        v, t = case["var_f"] + noise, (best - case["mu"]) / np.sqrt(case["var_f"] + noise) * np.ones(1)
        assert distribution.tail.mass[0] == pytest.approx(case["Z2"], rel=1e-10)
        assert distribution.flat.length[0] * np.sqrt(v) == pytest.approx(case["Z1"], rel=1e-10)
        assert np.exp(distribution.flat.log_gain(t))[0] * np.sqrt(v) == pytest.approx(case["EI_uniform_part"], rel=1e-8)
        tail = np.exp(distribution.tail.log_gain(t))[0] * np.sqrt(v) / case["Z2"]
        assert tail == pytest.approx(case["EI_tail_part"], rel=1e-8)
        assert distribution.expected_improvement(best)[0] == pytest.approx(case["EI"], rel=1e-8)
        assert distribution.probability_of_improvement(best)[0] == pytest.approx(case["PI"], rel=1e-8)
        assert distribution.pdf(best)[0] == pytest.approx(case["pdf_at_best"], rel=1e-8)
        assert distribution.mean[0] == pytest.approx(case["mean"], rel=1e-10)
        for level, key in ((0.1, "q10"), (0.5, "q50"), (0.9, "q90")):
            assert distribution.icdf(level)[0] == pytest.approx(case[key], abs=1e-10)


def outcome_density(distribution: FlatSet, i: int, y: float) -> float:
    """Density of the measurement, from the definition."""
    v = distribution.base.std[i] ** 2 + distribution.base.noise_std**2
    inside = any(a <= y <= b for a, b in zip(distribution.low[i], distribution.high[i], strict=True))
    if inside:
        return float(distribution.inside) / (distribution.high[i] - distribution.low[i]).sum()
    std = np.sqrt(v)
    missed = sum(
        ndtr((b - distribution.base.mean[i]) / std) - ndtr((a - distribution.base.mean[i]) / std)
        for a, b in zip(distribution.low[i], distribution.high[i], strict=True)
    )
    return (1.0 - float(distribution.inside)) * norm.pdf(y, distribution.base.mean[i], std) / (1.0 - missed)


def brute(distribution: FlatSet, i: int, of_mean_and_std) -> float:
    """E over measurements of a function of f's conditional mean and std, by adaptive quadrature over the definition."""
    m, tau, sigma = distribution.base.mean[i], distribution.base.std[i], float(distribution.base.noise_std)
    v = tau**2 + sigma**2
    s = tau * sigma / np.sqrt(v)
    edges = sorted({m - 12 * np.sqrt(v), m + 12 * np.sqrt(v), m, *distribution.low[i], *distribution.high[i]})
    total = 0.0
    for a, b in pairwise(edges):

        def integrand(y: float, lift: float = 0.5 * (a + b), a: float = a, b: float = b) -> float:
            inside = any(
                p <= lift <= q and p < q for p, q in zip(distribution.low[i], distribution.high[i], strict=True)
            )
            weight = outcome_density(distribution, i, lift) if inside else outcome_density(distribution, i, y)
            return weight * of_mean_and_std(m + tau**2 / v * (y - m), s)

        total += quad(integrand, a, b, epsabs=0, epsrel=1e-11, limit=200)[0]
    return total


@pytest.mark.parametrize(
    ("noise", "i", "z"),
    # Any two of them in all combinations.
    [(noise, i, (-3.0, 1.0, 6.0)[(i + k) % 3]) for k, noise in enumerate((0.05, 0.5, 2.0)) for i in range(3)],
)
def test_improvement_and_chance_equal_brute_force(noise: float, i: int, z: float) -> None:
    distribution = distributions(noise)
    c = distribution.base.mean[i] + z * distribution.base.std[i]

    def gain(mean: float, std: float) -> float:
        return std * float(first_integral(np.array((mean - c) / std)))

    value, chance = distribution.log_expected_improvement(c)[i], distribution.log_probability_of_improvement(c)[i]
    assert np.exp(value) == pytest.approx(brute(distribution, i, gain), rel=1e-8)
    expected = brute(distribution, i, lambda mean, std: norm.sf((c - mean) / std))
    assert np.exp(chance) == pytest.approx(expected, rel=1e-7)


@given(
    st.floats(0.02, 0.98),
    st.floats(0.05, 0.95),
    st.floats(-3.0, 3.0),
    st.just(0.0) | st.floats(1e-9, 3.0),
    st.floats(-4.0, 8.0),
)
def test_affine_changes_carry_over(rho2: float, alpha: float, middle: float, width: float, z: float) -> None:
    v = 1.7
    ends = np.array([middle - width, middle + width]) * np.sqrt(v)
    distribution = one(0.0, rho2 * v, (1.0 - rho2) * v, ends[:1], ends[1:], alpha)
    a, b = 13.0, -40.0
    changed = one(b, a * a * rho2 * v, a * a * (1 - rho2) * v, a * ends[:1] + b, a * ends[1:] + b, alpha)
    assert changed.log_expected_improvement(a * z + b)[0] == pytest.approx(
        distribution.log_expected_improvement(z)[0] + np.log(a), abs=1e-6
    )
    assert changed.cdf(a * z + b)[0] == pytest.approx(distribution.cdf(z)[0], abs=1e-10)


class TestLimits:
    """Stable as the set shrinks, as the noise vanishes, as the threshold goes to one and as the level does."""

    def test_a_set_that_shrinks(self) -> None:
        wide = [
            one(0.3, 0.8, 0.2, [0.5 - w], [0.5 + w], 0.2).log_expected_improvement(1.0)[0]
            for w in 10.0 ** -np.arange(1, 13)
        ]
        point = 0.8 * np.exp(Gaussian(np.array([0.3 + 0.8 * 0.2]), np.array([0.4])).log_expected_improvement(1.0))
        whole = 0.2 * np.exp(Gaussian(np.array([0.3]), np.array([np.sqrt(0.8)])).log_expected_improvement(1.0))
        assert np.exp(wide[-1]) == pytest.approx(float((point + whole)[0]), rel=1e-9)
        assert np.abs(np.diff(wide[3:])).max() < 1e-3 and np.isfinite(wide).all()

    @pytest.mark.parametrize("c", [-0.5, 0.9, 1.7, 4.0])
    def test_noise_that_vanishes(self, c: float) -> None:
        limit = one(0.3, 1.0, 0.0, [-0.4, 1.0], [0.6, 1.5], 0.2).log_expected_improvement(c)[0]
        for noise in (1e-6, 1e-9, 1e-12, 1e-16, 1e-24):
            value = one(0.3, 1.0 - noise, noise, [-0.4, 1.0], [0.6, 1.5], 0.2).log_expected_improvement(c)[0]
            assert value == pytest.approx(limit, abs=3.0 * np.sqrt(noise) + 1e-8)

    def test_latent_variance_that_vanishes(self) -> None:
        for variance in (1e-4, 1e-8, 1e-16, 1e-30):
            distribution = one(0.0, variance, 1.0, [-0.5], [1.0], 0.2)
            std = np.sqrt(variance)
            values = [distribution.log_expected_improvement(k * std)[0] - np.log(std) for k in (-1.0, 0.0, 2.0, 10.0)]
            assert np.isfinite(values).all() and (np.diff(values) < 0.0).all()
            assert distribution.std[0] == pytest.approx(std, rel=0.2)

    @pytest.mark.parametrize("mean", [0.0, 1.0, -1e3])
    @pytest.mark.parametrize("noise", [0.01, 1.0, 7.0, 300.0])
    def test_threshold_one_is_a_mixture_of_two_gaussians(self, mean: float, noise: float) -> None:
        """Both ends may have the same z: the flat part's mass must not be lost, in closed form or in draws."""
        distribution = FlatSet.central(
            Gaussian(np.array([mean]), np.ones(1), noise_std=np.array([noise])), np.ones(1), 0.2
        )
        inner, outer = (Gaussian(np.array([mean]), np.array([std])) for std in (noise / np.hypot(1.0, noise), 1.0))
        for c in mean + np.array([-4.0, -0.3, 0.0, 0.7, 2.5]):
            expected = 0.8 * inner.expected_improvement(c) + 0.2 * outer.expected_improvement(c)
            np.testing.assert_allclose(distribution.expected_improvement(c), expected, rtol=1e-9)
            expected = 0.8 * inner.cdf(c) + 0.2 * outer.cdf(c)
            np.testing.assert_allclose(distribution.cdf(c), expected, rtol=1e-9)
        base = np.linspace(-2.0, 2.0, 9)[:, None]
        f, log_weights = distribution.samples(base)
        density = 0.8 * np.exp(inner.logpdf(f)) + 0.2 * np.exp(outer.logpdf(f))
        np.testing.assert_allclose(np.exp(log_weights), density / np.exp(outer.logpdf(f)), rtol=1e-8)

    def test_no_mass_is_lost_where_nothing_is_outside(self) -> None:
        distribution = one(0.0, 0.5, 0.5, [-9.0], [9.0], 0.2)
        assert distribution.cdf(12.0)[0] == pytest.approx(1.0) and distribution.cdf(-12.0)[0] == pytest.approx(
            0.0, abs=1e-12
        )
        assert distribution.std[0] == pytest.approx(np.sqrt(0.25 + 0.25 * 27.0), rel=1e-9)

    def test_far_out_and_far_below(self) -> None:
        distribution = distributions(0.5)
        base = distribution.base
        for z in (1e2, 1e4, 1e6):
            assert np.isfinite(distribution.log_expected_improvement(base.mean + z * base.std)).all()
            below = distribution.expected_improvement(base.mean - z * base.std)
            np.testing.assert_allclose(below, z * base.std + distribution.mean - base.mean, rtol=1e-9)


class TestOptimistic:
    """Only measurements above the model's mean, both parts renormalised."""

    @pytest.mark.parametrize("i", [0, 1, 2])
    def test_mean_equals_brute_force(self, i: int) -> None:
        distribution = distributions(0.5)
        m = distribution.base.mean[i]
        v = distribution.base.std[i] ** 2 + 0.25
        ends = zip(distribution.low[i], distribution.high[i], strict=True)
        pieces = [(max(a, m), b) for a, b in ends if b > m and b > a]
        length = sum(b - a for a, b in pieces)
        flat = sum((b - a) * 0.5 * (a + b) for a, b in pieces) / length
        std = np.sqrt(v)
        grid = norm(m, std)
        outside = grid.sf(m) - sum(grid.cdf(b) - grid.cdf(a) for a, b in pieces)
        moment = grid.expect(lambda y: y, lb=m) - sum(grid.expect(lambda y: y, lb=a, ub=b) for a, b in pieces)
        expected = m + distribution.base.std[i] ** 2 / v * (0.7 * flat + 0.3 * moment / outside - m)
        assert distribution.optimistic().mean[i] == pytest.approx(expected, rel=1e-9)

    def test_it_is_a_distribution_and_lies_higher(self) -> None:
        distribution = distributions(0.5)
        hopeful = distribution.optimistic()
        assert (hopeful.mean > distribution.base.mean).all()
        for u in (0.01, 0.3, 0.9):
            np.testing.assert_allclose(hopeful.cdf(hopeful.icdf(u)), u, atol=1e-9)
        for i in range(3):
            low, high = hopeful.icdf(1e-9)[i], hopeful.icdf(1 - 1e-9)[i]
            total = quad(lambda f, i=i: hopeful.pdf(f)[i], low, high, limit=400)[0]
            assert total == pytest.approx(1.0, abs=1e-6)


def test_densities_integrate_to_the_cdf() -> None:
    for noise in (0.0, 0.3):
        distribution = distributions(noise)
        for i in range(3):
            a, b = distribution.icdf(0.02)[i], distribution.icdf(0.97)[i]
            edges = [e for e in (*distribution.low[i], *distribution.high[i]) if a < e < b]
            mass = quad(
                lambda y, i=i, distribution=distribution: distribution.pdf(y)[i], a, b, points=sorted(edges), limit=400
            )[0]
            assert mass == pytest.approx(0.95, abs=1e-7)


@pytest.mark.parametrize(
    ("low", "high", "latent", "c"),
    [
        ([-6.764], [6.985], 1.0 / 530.0, 0.135),
        ([-5.5, 5.6], [5.2, 6.5], 0.92, 1.0),
        ([-6.9], [6.7], 0.9975, 6.0),
        ([-6.0, 1e-8], [0.0, 6.2], 0.5, 0.4),
    ],
)
def test_little_mass_outside_keeps_its_share(low: list[float], high: list[float], latent: float, c: float) -> None:
    """Differences of probabilities would lose what lies outside; by integrals over outcomes it stays exact."""
    distribution = one(0.0, latent, 1.0 - latent, np.array(low), np.array(high), 0.9)
    s = np.sqrt(latent * (1.0 - latent))

    def gain(y: float) -> float:
        return s * float(first_integral(np.array((latent * y - c) / s)))

    edges = [low[0] - 12.0, *(e for pair in zip(low, high, strict=True) for e in pair), high[-1] + 12.0]
    kink = c / latent
    tail = mass = 0.0
    for a, b in zip(edges[::2], edges[1::2], strict=True):
        points = [kink] if a < kink < b else None
        tail += quad(lambda y: norm.pdf(y) * gain(y), a, b, points=points, epsabs=0, epsrel=1e-11, limit=400)[0]
        mass += norm.cdf(b) - norm.cdf(a) if a < 0.0 else norm.sf(a) - norm.sf(b)
    flat = 0.0
    for a, b in zip(low, high, strict=True):
        flat += quad(gain, a, b, points=[kink] if a < kink < b else None, epsabs=0, epsrel=1e-11)[0]
    flat /= sum(high) - sum(low)
    assert distribution.log_expected_improvement(c)[0] == pytest.approx(
        np.log(0.1 * flat + 0.9 * tail / mass), abs=1e-9
    )


def test_a_measurement_near_the_end_of_a_narrow_set() -> None:
    distribution = one(0.0, 1.0, 0.0, np.array([0.2]), np.array([0.2003]), 1e-6)
    for u in (1e-7, 1e-5, 0.5, 1.0 - 1e-5, 1.0 - 2e-6, 1.0 - 1e-7):
        assert distribution.cdf(distribution.icdf(u))[0] == pytest.approx(u, abs=1e-12)


# --- the two parts ----------------------------------------------------------------------------------------------------

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


def test_every_end_beyond_a_far_threshold_is_seen() -> None:
    """With next to no noise the probability of being outside jumps at each of them, not at the last interval's only."""
    low, high, rho2 = np.array([-4.6, 6.0]), np.array([5.1, 6.5]), 1.0 - 1e-8
    rho, r, t = np.sqrt(rho2), np.sqrt(1.0 - rho2), 4.2
    tail = TailPart(np.append(-np.inf, high)[None], np.append(low, np.inf)[None], np.array([rho]), np.array([r]))
    pieces = [(-45.0, -4.6), (5.1, 6.0), (6.5, 45.0)]
    for value, gain in ((tail.log_gain(np.array([t]))[0], True), (tail.log_chance(np.array([t]))[0], False)):
        expected = float(logsumexp([integral(a, b, t, rho, r, gain, normal=True) for a, b in pieces]))
        assert value == pytest.approx(expected, abs=1e-6)


# --- improvement in one pass ------------------------------------------------------------------------------------------


def by_parts(t: Array, low: Array, high: Array, rho: Array, r: Array, inside: Array) -> Array:
    """log E (V - t)_+ by the two parts, m."""
    edge = np.full((len(t), 1), np.inf)
    tail = TailPart(np.concatenate([-edge, high], axis=1), np.concatenate([low, edge], axis=1), rho, r)
    flat = FlatPart(low, high, rho, r)
    held = np.where(flat.length > 0.0, inside, 0.0)
    with np.errstate(divide="ignore"):
        log_inside, log_outside = np.log(held), np.log1p(-held) - np.log(tail.mass)
    return np.logaddexp(log_inside + flat.log_gain(t), log_outside + tail.log_gain(t))


@given(
    st.floats(-6.0, 30.0) | st.floats(30.0, 1e4),
    st.floats(0.05, 0.999),
    st.lists(st.floats(-8.0, 8.0), min_size=2, max_size=6).filter(lambda e: len(e) % 2 == 0),
    st.floats(0.05, 0.999),
)
def test_it_equals_the_parts(h: float, rho: float, ends: list[float], inside: float) -> None:
    # Sets shorter than the smallest normal number count as empty.
    e = np.round(np.sort(np.asarray(ends)), 12)
    low, high = e[None, ::2], e[None, 1::2]
    r = np.sqrt(1.0 - rho**2)
    arguments = (np.array([h * rho]), low, high, np.array([rho]), np.array([r]), np.array([inside]))
    value, safe = _log_improvement(*arguments)
    if safe[0]:
        assert value[0] == pytest.approx(by_parts(*arguments)[0], rel=1e-12, abs=2e-8)


def test_ordinary_rows_are_all_in_one_pass() -> None:
    rng = np.random.default_rng(0)
    m = 500
    rho = rng.uniform(0.1, 0.995, m)
    half = rng.uniform(0.5, 3.2, m)
    t = rho * rng.uniform(-4.0, 12.0, m)
    arguments = (t, -half[:, None], half[:, None], rho, np.sqrt(1.0 - rho**2), np.full(m, 0.8))
    value, safe = _log_improvement(*arguments)
    assert safe.mean() > 0.97
    np.testing.assert_allclose(value[safe], by_parts(*arguments)[safe], atol=2e-8)


def test_empty_sets_are_the_model() -> None:
    base, nothing = Gaussian(np.full(4, 0.3), np.full(4, 0.9), noise_std=0.4), np.zeros((4, 2))
    distribution, c = FlatSet(base, nothing, nothing, 0.8), np.array([-1.0, 0.3, 2.0, 30.0])
    np.testing.assert_allclose(distribution.log_expected_improvement(c), base.log_expected_improvement(c), rtol=1e-8)
    np.testing.assert_allclose(distribution.cdf(c), base.cdf(c), rtol=1e-10)
    np.testing.assert_allclose([distribution.mean, distribution.std], [base.mean, base.std])


def test_the_measurement_of_a_latent_value() -> None:
    base, threshold = Gaussian(np.zeros(2), np.array([3.0, 1.0]), noise_std=4.0), np.array([0.2, 0.5])
    latent, measured = FlatSet.central(base, threshold, 0.2), FlatSet.central(base.measurement, threshold, 0.2)
    for u in (0.03, 0.3, 0.5, 0.95):
        np.testing.assert_allclose(latent.measurement.icdf(u), measured.icdf(u), rtol=1e-9, atol=1e-9)
    assert measured.measurement is measured


def test_rows_it_cannot_do_are_marked() -> None:
    far, narrow, full, sure = 4.0, 1.0, 1.0, 500.0
    t = np.array([far, narrow, full, sure])
    rho = np.array([0.1, 0.8, 0.8, 0.8])
    low, high = np.array([[-1.0], [0.5], [-9.0], [-1.0]]), np.array([[1.0], [0.5 + 1e-6], [9.0], [1.0]])
    inside = np.array([0.7, 0.7, 0.7, 1.0 - 1e-9])
    _, safe = _log_improvement(t, low, high, rho, np.sqrt(1.0 - rho**2), inside)
    assert not safe.any()


# --- quantiles --------------------------------------------------------------------------------------------------------


def random_distribution(seed: int, J: int, spread: float, noise: float, inside: float) -> FlatSet:
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.standard_normal() + spread * rng.standard_normal((3, 2 * J)), axis=1)
    std = rng.uniform(0.2, 2.0, 3)
    return FlatSet(Gaussian(rng.standard_normal(3), std, noise_std=noise), ends[:, ::2], ends[:, 1::2], inside)


@pytest.mark.whole
@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(1, 3),
    st.sampled_from([1e-3, 0.3, 2.0, 15.0]),
    st.sampled_from([0.0, 1e-4, 0.3, 3.0]),
    st.floats(0.05, 0.95),
    st.floats(1e-6, 1 - 1e-6),
)
def test_the_probability_of_a_quantile(seed: int, J: int, spread: float, noise: float, inside: float, u: float) -> None:
    distribution = random_distribution(seed, J, spread, noise, inside)
    y = distribution.icdf(u)
    assert np.isfinite(y).all()
    # Mass that is next to nothing outside the set goes to the set, which may move levels by that much.
    np.testing.assert_allclose(distribution.cdf(y), u, atol=2e-8)
    levels = np.array([0.001, 0.2, 0.5, 0.7, 0.999])
    quantiles = np.stack([distribution.icdf(v) for v in levels])
    assert (np.diff(quantiles, axis=0) >= 0.0).all()


@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_both_tails_keep_their_digits(noise: float) -> None:
    distribution = random_distribution(1, 2, 0.5, noise, 0.7)
    mirror = distribution.negated()
    for u in (1e-3, 1e-6, 1e-9, 1e-12):
        np.testing.assert_allclose(mirror.icdf(u), -distribution.icdf(1.0 - u), rtol=1e-4)
        np.testing.assert_allclose(
            np.log(distribution.probability_of_improvement(distribution.icdf(1.0 - u))), np.log(u), rtol=1e-4
        )


def test_levels_broadcast_over_draws() -> None:
    for noise in (0.0, 0.4):
        distribution = random_distribution(2, 2, 0.5, noise, 0.7)
        u = np.random.default_rng(0).random((5, 3))
        together = distribution.over_samples().icdf(u)
        for i in range(5):
            np.testing.assert_allclose(together[i], distribution.icdf(u[i]), atol=1e-9)


@pytest.mark.parametrize("slope", [0.0, np.nan, np.inf, -1.0])
def test_a_useless_slope_leaves_bisection(slope: float) -> None:
    target = np.array([0.1, 0.7])

    def step(y: Array) -> Array:
        return np.where(y < target, -1.0, 1.0)

    root = _increasing_root(step, lambda y, _: np.full(2, slope), np.zeros(2), np.ones(2), np.full(2, 0.5), np.ones(2))
    np.testing.assert_allclose(root, target, atol=1e-6)
