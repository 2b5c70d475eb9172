"""Normal integrals against 50-digit references, quadrature and each other."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import multivariate_normal, norm

from calibo.distributions.normal import (
    density,
    first_integral,
    log_density,
    log_first_integral,
    log_mean_cdf,
    log_mean_first_integral,
    log_second_integral,
    mills_ratio,
    second_integral,
    upper_orthant,
)


def phi(x: float) -> float:
    """The standard normal density, quick for one number."""
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def bivariate_cdf(h: np.ndarray, k: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """P(U <= h, V <= k) of standard normals with correlation rho."""
    return np.minimum(upper_orthant(-h, -k, rho, np.sqrt(1.0 - rho**2), ndtr(h), ndtr(k)), 1.0)


def test_reference_values(golden: Callable[[str], Any]) -> None:
    for row in golden("numerics")["values"]:
        z = np.array(row["z"])
        for function, key in ((first_integral, "g1"), (second_integral, "G2")):
            assert float(function(z)) == pytest.approx(row[key], rel=1e-8, abs=1e-300)
        for function, key in ((log_first_integral, "log_g1"), (log_second_integral, "log_G2")):
            assert float(function(z)) == pytest.approx(row[key], rel=1e-10, abs=1e-10)


def test_reference_bivariate_cdf(golden: Callable[[str], Any]) -> None:
    for row in golden("numerics")["bivariate_normal_cdf"]:
        value = float(bivariate_cdf(np.array(row["h"]), np.array(row["k"]), np.array(row["rho"])))
        assert value == pytest.approx(row["value"], rel=1e-8)


@pytest.mark.parametrize("function", [log_first_integral, log_second_integral])
def test_logarithms_are_finite_and_increase(function: Callable[[np.ndarray], np.ndarray]) -> None:
    z = np.unique(np.concatenate([-np.logspace(4, -3, 20_001), np.linspace(-120, 40, 40_001)]))
    values = function(z)
    assert np.isfinite(values).all()
    # Rounding may exceed the rise between neighbours only in the last digits.
    assert np.all(np.diff(values) > -1e-13 * np.maximum(1.0, np.abs(values[1:])))


@pytest.mark.parametrize("function", [log_first_integral, log_second_integral])
@pytest.mark.parametrize("seam", [-1.0, -3.0, -30.0, -100.0])
def test_no_jump_where_the_form_changes(function: Callable[[np.ndarray], np.ndarray], seam: float) -> None:
    below, above = function(np.array([np.nextafter(seam, -np.inf), np.nextafter(seam, np.inf)]))
    # Both forms keep nine digits of the integral itself at their seam.
    assert abs(above - below) < 1e-9


@given(st.floats(-8, 8))
def test_integrals_against_quadrature(z: float) -> None:
    # g(z) = E (Z + z)_+ and G(z) = E (Z + z)_+^2 / 2
    g = quad(lambda x: (x + z) * phi(x), -z, max(-z, 0) + 12, epsabs=0, epsrel=1e-11)[0]
    G = quad(lambda x: 0.5 * (x + z) ** 2 * phi(x), -z, max(-z, 0) + 12, epsabs=0, epsrel=1e-11)[0]
    assert float(first_integral(np.array(z))) == pytest.approx(g, rel=1e-8)
    assert float(second_integral(np.array(z))) == pytest.approx(G, rel=1e-8)


def test_density_and_mills_ratio() -> None:
    z = np.array([-np.inf, -2.0, 0.0, np.inf])
    np.testing.assert_allclose(density(z), norm.pdf(z), atol=1e-16)
    np.testing.assert_allclose(log_density(z[1:3]), norm.logpdf(z[1:3]))
    t = np.array([0.0, 3.0, 1e3, 1e8])
    np.testing.assert_allclose(mills_ratio(t)[:2], norm.sf(t[:2]) / norm.pdf(t[:2]))
    np.testing.assert_allclose(mills_ratio(t)[2:], 1 / t[2:], rtol=1e-5)


@given(st.floats(-4, 4), st.floats(-4, 4), st.floats(-0.99, 0.99))
def test_bivariate_cdf_against_scipy(h: float, k: float, rho: float) -> None:
    expected = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([h, k])
    assert float(bivariate_cdf(np.array(h), np.array(k), np.array(rho))) == pytest.approx(expected, abs=2e-7)


@pytest.mark.parametrize("k", [-2.0, 0.0, 1.5])
def test_bivariate_cdf_on_the_axes(k: float) -> None:
    rho = 0.6
    expected = quad(lambda x: phi(x) * ndtr((k - rho * x) / 0.8), -12, 0, epsabs=1e-12)[0]
    assert float(bivariate_cdf(np.array(0.0), np.array(k), np.array(rho))) == pytest.approx(expected, abs=1e-9)
    assert float(bivariate_cdf(np.array(k), np.array(0.0), np.array(rho))) == pytest.approx(expected, abs=1e-9)


class TestMeans:
    """Mean values of Phi and of g over an interval: divided differences of g and G."""

    def test_against_many_digits(self) -> None:
        import mpmath

        starts = np.concatenate([-np.logspace(-2, 3.5, 10), [0.0], np.logspace(-2, 3.5, 10)])
        low, width = (a.ravel() for a in np.meshgrid(starts, np.logspace(-9, 3, 13)))
        high = low + width
        values = log_mean_cdf(low, high), log_mean_first_integral(low, high)
        with mpmath.workdps(60):
            for i in range(len(low)):
                ends = [mpmath.mpf(float(end[i])) for end in (high, low)]
                cdf, pdf = [mpmath.ncdf(z) for z in ends], [mpmath.npdf(z) for z in ends]
                g = [z * c + p for z, c, p in zip(ends, cdf, pdf, strict=True)]
                G = [((z * z + 1) * c + z * p) / 2 for z, c, p in zip(ends, cdf, pdf, strict=True)]
                for value, F in zip(values, (g, G), strict=True):
                    expected = float(mpmath.log((F[0] - F[1]) / (ends[0] - ends[1])))
                    assert float(value[i]) == pytest.approx(expected, rel=1e-11, abs=1e-11), (low[i], width[i])

    def test_of_no_width_it_is_the_function(self) -> None:
        z = np.array([-1e4, -50.0, -3.0, 0.0, 2.0, 50.0])
        np.testing.assert_allclose(log_mean_cdf(z, z), norm.logcdf(z), rtol=1e-12)
        np.testing.assert_allclose(log_mean_first_integral(z, z), log_first_integral(z), rtol=1e-12)

    def test_between_the_ends_and_finite(self) -> None:
        low = np.repeat(np.concatenate([-np.logspace(6, -3, 200), np.logspace(-3, 6, 200)]), 30)
        high = low + np.tile(np.logspace(-12, 6, 30), 400)
        for mean, function in ((log_mean_cdf, norm.logcdf), (log_mean_first_integral, log_first_integral)):
            values, bottom, top = mean(low, high), function(low), function(high)
            assert np.isfinite(values).all()
            slack = 1e-12 * np.maximum(1.0, np.maximum(np.abs(bottom), np.abs(top)))
            assert (values <= top + slack).all() and (values >= bottom - slack).all()
