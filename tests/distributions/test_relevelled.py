"""Relevelled distributions: reference cases, closed forms against quadrature on any map, the far tail, and joint draws."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad
from scipy.special import ndtr, ndtri

from calibo.distributions import (
    Composed,
    Distribution,
    FlatLevels,
    FlatSet,
    Gaussian,
    Levels,
    Relevelled,
    Tempered,
    relevel,
)
from calibo.testing import DistributionSuite

P = np.array([0, 0.1, 0.25, 0.5, 0.75, 0.9, 1])
WIDE = np.array([0, 0.02, 0.15, 0.55, 0.9, 0.97, 1])
LEVELS = Levels(P, WIDE)


def relevelled(levels: Levels = LEVELS, mean: float = 0.0, std: float = 1.0) -> Relevelled:
    return Relevelled(Gaussian(np.array([mean]), np.array([std])), levels)


def test_reference_cases(golden: Callable[[str], Any]) -> None:
    close = lambda value, expected: np.testing.assert_allclose(value, expected, rtol=1e-8, atol=1e-12)
    for case in golden("ocbo_acquisitions")["cases"]:
        levels, c = Levels(np.array(case["p"], float), np.array(case["r"], float)), case["c"]
        distribution = relevelled(levels, case["mean"], case["std"])
        turned = distribution.negated()
        for one, at, key in ((distribution, c, "max"), (turned, -c, "min")):
            close(one.expected_improvement(at), case[f"EI_{key}"])
            close(np.exp(one.log_expected_improvement(at)), case[f"EI_{key}"])
            close(one.probability_of_improvement(at), case[f"PI_{key}"])
        close([distribution.mean, -turned.mean], case["mean_recal"])
        for level, value in case["Q"].items():
            close(distribution.icdf(float(level)), value)
            close(turned.icdf(1 - float(level)), -value)


@st.composite
def maps(draw: st.DrawFn) -> Levels:
    """Any monotone map with finite knots, flat stretches included."""
    inner = draw(st.integers(1, 6))
    p = np.cumsum(draw(st.lists(st.floats(0.02, 1.0), min_size=inner + 1, max_size=inner + 1)))
    steps = np.array(
        draw(st.lists(st.sampled_from([0.0, 0.0, 1e-3, 0.1, 0.5, 1.0]), min_size=inner - 1, max_size=inner - 1))
    )
    ends = draw(st.tuples(st.floats(1e-3, 1.0), st.floats(1e-3, 1.0)))
    r = np.cumsum(np.concatenate([[ends[0]], steps, [ends[1]]]))
    return Levels(np.concatenate([[0.0], p[:-1] / p[-1], [1.0]]), np.concatenate([[0.0], r[:-1] / r[-1], [1.0]]))


def brute_force(levels: Levels, f: Callable[[float], float], kinks: list[float]) -> float:
    """E f(Phi^-1(R(U))) by quadrature over the normal score of U, cut where R or f has a kink."""
    cuts = np.unique(np.concatenate([[-9.0, 9.0], np.clip(ndtri(levels.p), -9, 9), np.clip(ndtri(kinks), -9, 9)]))

    def integrand(s: float) -> float:
        return (
            f(float(ndtri(np.clip(levels.forward(ndtr(s)), 1e-300, 1 - 1e-16))))
            * np.exp(-s * s / 2)
            / np.sqrt(2 * np.pi)
        )

    return sum(quad(integrand, a, b, epsabs=1e-13, epsrel=1e-11, limit=100)[0] for a, b in itertools.pairwise(cuts))


@settings(max_examples=60)
@given(levels=maps(), h=st.floats(-3, 3))
def test_closed_forms_equal_quadrature(levels: Levels, h: float) -> None:
    mean, std = 0.7, 2.5
    distribution = relevelled(levels, mean, std)
    c = mean + std * h
    kinks = [float(levels.inverse(ndtr(h)))]
    improvement = brute_force(levels, lambda z: std * max(z - h, 0.0), kinks)
    first = brute_force(levels, lambda z: z, [])
    second = brute_force(levels, lambda z: (z - first) ** 2, [])
    assert float(distribution.expected_improvement(c)[0]) == pytest.approx(improvement, abs=2e-8)
    assert float(np.exp(distribution.log_expected_improvement(c)[0])) == pytest.approx(improvement, abs=2e-8)
    assert float(distribution.mean[0]) == pytest.approx(mean + std * first, abs=2e-8)
    assert float(distribution.std[0]) == pytest.approx(std * np.sqrt(second), abs=1e-6)


@given(levels=maps(), u=st.floats(1e-4, 1 - 1e-4))
def test_cdf_and_icdf(levels: Levels, u: float) -> None:
    distribution = relevelled(levels, -1.0, 0.3)
    y = distribution.icdf(u)
    # cdf(icdf(u)) >= u, with equality where there is no atom; just below the quantile there is less.
    assert float(distribution.cdf(y + 1e-9)[0]) >= u - 1e-7
    assert float(distribution.cdf(y - 1e-6)[0]) <= u + 1e-7
    if np.all(np.diff(levels.r) > 0):
        assert float(distribution.cdf(y)[0]) == pytest.approx(u, abs=1e-7)


def test_density_integrates_to_the_cdf() -> None:
    distribution = relevelled(mean=1.0, std=2.0)
    knots = [float(1.0 + 2.0 * ndtri(r)) for r in WIDE[1:-1]]
    mass = quad(lambda y: float(distribution.pdf(y)[0]), -15, 2.0, points=[k for k in knots if k < 2.0], limit=200)[0]
    assert mass == pytest.approx(float(distribution.cdf(2.0)[0]), abs=1e-8)


def test_log_improvement_far_out_is_the_gaussians_plus_a_slope() -> None:
    distribution = relevelled()
    far = np.array([5.0, 40.0, 1e3, 1e4])
    values = np.array([float(distribution.log_expected_improvement(c)[0]) for c in far])
    gaussian = np.array([float(distribution.base.log_expected_improvement(c)[0]) for c in far])
    assert np.isfinite(values).all()
    np.testing.assert_allclose(values, gaussian + np.log(0.1 / 0.03), rtol=1e-12)


@pytest.mark.parametrize("smallest", [0.03, 1e-3, 1e-6, 1e-9])
def test_log_improvement_is_continuous_and_decreasing(smallest: float) -> None:
    levels = Levels.clipped(np.array([0.1, 0.5, 0.9]), np.array([-1.0, 0.6, 2.0]), smallest)
    distribution = relevelled(levels)
    for z in levels.z[1:-1]:
        below, above = (float(distribution.log_expected_improvement(z + e)[0]) for e in (-1e-9, 1e-9))
        assert above == pytest.approx(below, abs=1e-6)
    values = distribution.log_expected_improvement(np.linspace(-10, 45, 5001))
    assert np.isfinite(values).all() and np.all(np.diff(values) < 1e-9)


def test_the_identity_map_gives_the_gaussian() -> None:
    gaussian = Gaussian(np.array([0.3]), np.array([2.0]))
    same = Relevelled(gaussian, Levels.identity())
    np.testing.assert_allclose(same.mean, 0.3)
    np.testing.assert_allclose(same.std, 2.0)
    for c in (-3.0, 0.3, 5.0, 80.0):
        np.testing.assert_allclose(same.log_expected_improvement(c), gaussian.log_expected_improvement(c), rtol=1e-10)


@pytest.mark.parametrize("levels", [LEVELS, Tempered(3.0)], ids=["levels", "tempered"])
def test_draws_of_extreme_scores_are_finite(levels: Levels | Tempered) -> None:
    steep = relevelled(Levels(np.array([0.0, 0.5, 0.99, 1.0]), np.array([0.0, 0.5, 0.9995, 1.0])))
    draws, _ = relevel(steep, levels).samples(np.array([[-12.0], [-8.0], [8.0], [12.0]]))
    assert np.isfinite(draws).all() and np.all(np.diff(draws[:, 0]) >= 0)


def test_relevel_takes_the_form_with_the_best_closed_forms() -> None:
    gaussian = Gaussian(np.zeros(1), np.ones(1))
    assert isinstance(relevel(gaussian, LEVELS), Relevelled)
    wide = relevel(gaussian, Tempered(2.0))
    assert isinstance(wide, Gaussian) and wide.std == 2.0
    assert isinstance(relevel(relevelled(), LEVELS), Relevelled)
    assert type(relevel(relevelled(), Tempered(2.0))) is Composed


@given(inner=maps(), outer=maps(), u=st.floats(1e-6, 1 - 1e-6))
def test_two_level_maps_are_one(inner: Levels, outer: Levels, u: float) -> None:
    gaussian = Gaussian(np.array([1.0]), np.array([2.0]))
    both = relevel(relevel(gaussian, inner), outer)
    assert isinstance(both, Relevelled)
    np.testing.assert_allclose(both.levels.forward(u), inner.forward(outer.forward(u)), atol=1e-9)
    assert np.isfinite([both.mean, both.std, both.expected_improvement(1.3)]).all()


@pytest.mark.parametrize("factor", [0.5, 10.0])
def test_a_widened_distribution_has_finite_moments_and_quantiles(factor: float) -> None:
    distribution = relevel(relevelled(mean=1.0, std=2.0), Tempered(factor))
    assert np.isfinite(distribution.mean).all() and np.isfinite(distribution.std).all()
    marginal = distribution.marginals()[0]
    assert marginal.quantiles is not None and np.isfinite(marginal.quantiles).all()
    assert np.isfinite(distribution.log_expected_improvement(2.0)).all()


# --- a map of its own at each point -----------------------------------------------------------------------------------

NARROW = np.array([0.0, 0.2, 0.35, 0.45, 0.6, 0.8, 1.0])
ATOM = np.array([0.0, 0.05, 0.3, 0.3, 0.6, 0.6, 1.0])
BASE = Gaussian(np.array([0.0, -1.0, 4.0]), np.array([1.0, 0.3, 2.5]))


def stretched(*batch: int) -> Gaussian:
    return Gaussian(np.broadcast_to(BASE.mean, (*batch, 3)), np.broadcast_to(BASE.std, (*batch, 3)))


def locally(rows: list[np.ndarray], *batch: int) -> Relevelled:
    r = np.stack(rows)
    return Relevelled(stretched(*batch), Levels(P, np.broadcast_to(r, (*batch, *r.shape))))


class TestLocal(DistributionSuite):
    def distribution(self, *batch: int) -> Distribution:
        return locally([WIDE, NARROW, P], *batch)


class TestLocalWithAtoms(DistributionSuite):
    atoms = True
    tolerance = 1e-3

    def distribution(self, *batch: int) -> Distribution:
        return locally([WIDE, ATOM, NARROW], *batch)


class TestComposedOfFlatLevels(DistributionSuite):
    """Moments by quadrature over levels whose slope jumps: right to a few thousandths of a standard deviation."""

    tolerance = 5e-3

    def distribution(self, *batch: int) -> Distribution:
        threshold = np.broadcast_to([0.05, 0.2, 0.6], (*batch, 3))
        return Composed(Relevelled(stretched(*batch), LEVELS), FlatLevels(threshold, 0.2))


@st.composite
def knots(draw: st.DrawFn) -> np.ndarray:
    """Three monotone maps with flat stretches and steps of rounding size, 3 x K."""
    steps = draw(arrays(float, (3, P.size - 1), elements=st.sampled_from([0.0, 1e-14, 1e-3, 0.1, 0.5, 1.0])))
    steps[:, [0, -1]] = np.maximum(steps[:, [0, -1]], 1e-3)
    r = np.concatenate([np.zeros((3, 1)), np.cumsum(steps, axis=1)], axis=1)
    r /= r[:, [-1]]
    return r


@settings(max_examples=25)
@given(r=knots(), h=st.floats(-6, 6), u=st.floats(1e-6, 1 - 1e-6))
def test_each_point_is_relevelled_as_if_alone(r: np.ndarray, h: float, u: float) -> None:
    local = Relevelled(BASE, Levels(P, r))
    c = BASE.mean + h * BASE.std
    for i in range(3):
        alone = Relevelled(Gaussian(BASE.mean[[i]], BASE.std[[i]]), Levels(P, r[i]))
        close = lambda a, b: np.testing.assert_allclose(a, b[0], rtol=1e-7, atol=1e-10)
        close(local.mean[i], alone.mean)
        close(local.std[i], alone.std)
        close(local.icdf(u)[i], alone.icdf(u))
        close(local.expected_improvement(c)[i], alone.expected_improvement(c[[i]]))
        close(local.log_expected_improvement(c)[i], alone.log_expected_improvement(c[[i]]))
        close(local.negated().expected_improvement(-c)[i], alone.negated().expected_improvement(-c[[i]]))
        if not np.isclose(r[i], ndtr(h), atol=1e-9).any():
            close(local.cdf(c)[i], alone.cdf(c[[i]]))
            close(local.pdf(c)[i], alone.pdf(c[[i]]))
            close(local.log_probability_of_improvement(c)[i], alone.log_probability_of_improvement(c[[i]]))


def test_joint_draws_keep_the_copula() -> None:
    correlation = np.array([[1.0, 0.7, 0.0], [0.7, 1.0, 0.0], [0.0, 0.0, 1.0]])
    base = Gaussian(BASE.mean, BASE.std, lambda: correlation)
    distribution = Relevelled(base, Levels(P, np.stack([WIDE, NARROW, P])))
    draws, _ = distribution.samples(np.random.default_rng(0).standard_normal((40_000, 3)))
    scores = ndtri(distribution.over_samples().cdf(draws))
    np.testing.assert_allclose(np.corrcoef(scores.T), correlation, atol=0.025)  # five standard errors


def test_a_gaussian_gets_closed_forms_and_another_distribution_is_composed() -> None:
    levels = Levels(P, np.stack([WIDE, NARROW, P]))
    distribution = relevel(BASE, levels)
    assert isinstance(distribution, Relevelled)
    other = relevel(Relevelled(BASE, Levels.identity()), levels)
    assert type(other) is Composed
    for u in (0.03, 0.4, 0.97):
        np.testing.assert_allclose(other.icdf(u), distribution.icdf(u))
        np.testing.assert_allclose(other.negated().icdf(1 - u), -distribution.icdf(u), rtol=1e-9)
    base = np.random.default_rng(1).standard_normal((5, 3))
    np.testing.assert_allclose(other.samples(base)[0], distribution.samples(base)[0])
    np.testing.assert_allclose(other.negated().samples(base)[0], distribution.negated().samples(base)[0])


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_improvement_of_a_tempered_flat_set(factor: float) -> None:
    base = Gaussian(np.array([0.3]), np.array([0.8]), noise_std=0.3)
    flat = FlatSet(base, np.array([[-0.9]]), np.array([[1.4]]), 0.7)
    distribution = relevel(flat, Tempered(factor))
    top = float(distribution.icdf(1.0 - 1e-12)[0])
    for c in (-2.0, 0.0, 1.0, 1.8):
        y = np.linspace(c, top, 20_001)
        survival = distribution.over_samples().probability_of_improvement(y[:, None])[:, 0]
        assert distribution.expected_improvement(c)[0] == pytest.approx(float(np.trapezoid(survival, y)), rel=2e-3)
