"""Integrals of the standard normal distribution that stay accurate far out in the tails.

Notation: phi density, Phi cdf; g(z) = z Phi(z) + phi(z) with g' = Phi; G(z) = [(z^2 + 1) Phi(z) + z phi(z)] / 2 with
G' = g; M(t) = Phi(-t) / phi(t) the Mills ratio. All functions broadcast over arrays of any shape.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr, owens_t

from calibo.data import Array

_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
_SQRT_HALF, _SQRT_HALF_PI = np.sqrt(0.5), np.sqrt(0.5 * np.pi)
_HALF_OVER_SQRT_PI = 0.5 / np.sqrt(np.pi)
#: Beyond these arguments the direct forms lose digits by cancellation and the asymptotic series are better.
_SERIES_FROM_G = 100.0
_SERIES_FROM_G2 = 30.0


def density(z: Array) -> Array:
    """Return phi(z); 0 at plus and minus infinity."""
    return np.exp(log_density(z))


def log_density(z: Array) -> Array:
    """Return log phi(z)."""
    return -0.5 * np.square(z) - _LOG_SQRT_2PI


def mills_ratio(t: Array) -> Array:
    """Return M(t) = Phi(-t) / phi(t), without under- or overflow for t >= 0."""
    return _SQRT_HALF_PI * erfcx(_SQRT_HALF * np.asarray(t))


def first_integral(z: Array) -> Array:
    """Return g(z) = z Phi(z) + phi(z), the expected improvement of a standard normal over -z."""
    return np.exp(log_first_integral(z))


def log_first_integral(z: Array) -> Array:
    """Return log g(z), accurate for every finite z (for z < -1 through the Mills ratio, for z < -100 by its series)."""
    z = np.asarray(z, dtype=np.float64)
    far = z < -1.0
    if np.count_nonzero(far) == z.size:
        return _log_first_tail(-z)
    near = np.maximum(z, -1.0)
    direct = np.log(_plain_first_integral(near))
    return np.where(far, _log_first_tail(np.maximum(-z, 1.0)), direct)


def _log_first_tail(t: Array) -> Array:
    """Return log g(-t) for t >= 1."""
    mid = np.minimum(t, _SERIES_FROM_G)
    tail = np.log1p(-mid * mills_ratio(mid))
    beyond = t > _SERIES_FROM_G
    if np.count_nonzero(beyond):
        far = np.maximum(t, _SERIES_FROM_G) ** -2.0
        tail = np.where(beyond, np.log(far) + np.log1p(far * (-3.0 + far * (15.0 - 105.0 * far))), tail)
    return log_density(t) + tail


def second_integral(z: Array) -> Array:
    """Return G(z), relative error below 1e-10: G(z) + G(-z) = (z^2 + 1) / 2, and for negative z through the Mills ratio."""
    z = np.asarray(z, dtype=np.float64)
    t = np.abs(_SQRT_HALF * z)
    square = t * t
    half = square + 0.5
    # phi(z) [(z^2 + 1) M(|z|) - |z|] / 2 with t = |z| / sqrt(2), constants taken together.
    below = np.exp(-square) * (half * (0.5 * erfcx(t)) - _HALF_OVER_SQRT_PI * t)
    return np.where(z < 0.0, below, half - below)


def log_second_integral(z: Array) -> Array:
    """Return log G(z), accurate for every finite z (by erfcx for z < -3, by its series beyond t = 30)."""
    z = np.asarray(z, dtype=np.float64)
    near, t = np.maximum(z, -3.0), np.maximum(-z, 3.0)
    direct = np.log(0.5 * ((near * near + 1.0) * ndtr(near) + near * density(near)))
    far = np.maximum(t, _SERIES_FROM_G2) ** -2.0
    series = 1.5 * np.log(far) + np.log1p(far * (-6.0 + far * (45.0 + far * (-420.0 + 4725.0 * far))))
    mid = np.minimum(t, _SERIES_FROM_G2)
    exact = np.log(0.5 * ((mid * mid + 1.0) * mills_ratio(mid) - mid))
    return np.where(z > -3.0, direct, log_density(t) + np.where(t > _SERIES_FROM_G2, series, exact))


def upper_orthant(h: Array, k: Array, rho: Array, root: Array, above_h: Array, above_k: Array) -> Array:
    """Return P(U > h, V > k) of standard normals with correlation ``rho``, by Owen's T function, for finite h and k.

    The caller gives root = sqrt(1 - rho^2) > 0, above_h = Phi(-h) and above_k = Phi(-k).
    """
    if not (h.all() and k.all()):
        # A zero is moved off by nothing that matters, so that ratios have a limit.
        h, k = np.where(h == 0.0, 1e-300, h), np.where(k == 0.0, 1e-300, k)
    with np.errstate(over="ignore"):
        turned = owens_t(h, (k / h - rho) / root) + owens_t(k, (h / k - rho) / root)
    return np.maximum(0.5 * (above_h + above_k) - turned - 0.5 * ((h > 0.0) != (k > 0.0)), 0.0)


def log_mean_cdf(low: Array, high: Array) -> Array:
    """Return the log of the mean of Phi over [low, high]: of [g(high) - g(low)] / (high - low), also as high -> low."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (_plain_first_integral(high) - _plain_first_integral(low)) / (high - low)
        values = np.log(np.minimum(mean, 1.0))
    return _with_care(values, _careful_mean_cdf, low, high)


def log_mean_first_integral(low: Array, high: Array) -> Array:
    """Return the log of the mean of g over [low, high]: of [G(high) - G(low)] / (high - low), also as high -> low."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log((second_integral(high) - second_integral(low)) / (high - low))
    return _with_care(values, _careful_mean_first_integral, low, high)


def _plain_first_integral(z: Array) -> Array:
    return z * ndtr(z) + density(z)


def _with_care(values: Array, careful: Callable[[Array, Array], Array], low: Array, high: Array) -> Array:
    """Return values by the plain formula where that is exact, by the careful one elsewhere."""
    plain = (high > -4.0) & (high - low > 0.1) & (low < 9.0)
    if np.ndim(values) == 0:
        return values if plain else careful(low, high)
    if plain.all():
        return values
    rest = ~plain
    values[rest] = careful(low[rest], high[rest])
    return values


def _careful_mean_cdf(low: Array, high: Array) -> Array:
    middle, width = 0.5 * (low + high), high - low
    # The second and fourth derivatives of Phi are -z phi and (3 z - z^3) phi.
    correction = np.square(width) / 24.0 * -middle + width**4 / 1920.0 * middle * (3.0 - np.square(middle))
    log_phi = log_ndtr(middle)
    # phi / Phi < |z| + 2; far out rounding errors of the logarithms, which are of the order z^2, would exceed that.
    ratio = np.exp(np.minimum(log_density(middle) - log_phi, np.log(np.abs(middle) + 2.0)))
    close = width * np.maximum(1.0, -middle) < 0.05
    near = log_phi + np.log1p(ratio * np.where(close, correction, 0.0))
    apart = np.minimum(_log_difference(log_first_integral, low, high, width), 0.0)
    # Beyond 9 the probability is 1 to all digits, and the difference of two large numbers is not.
    return np.where(close, near, np.where(low > 9.0, 0.0, apart))


def _careful_mean_first_integral(low: Array, high: Array) -> Array:
    middle, width = 0.5 * (low + high), high - low
    correction = np.square(width) / 24.0 + width**4 / 1920.0 * (np.square(middle) - 1.0)
    log_g = log_first_integral(middle)
    ratio = np.exp(np.minimum(log_density(middle) - log_g, np.log(np.square(middle) + 4.0)))
    close = width * np.maximum(1.0, -middle) < 0.05
    near = log_g + np.log1p(ratio * np.where(close, correction, 0.0))
    apart = _log_difference(log_second_integral, low, high, width)
    far = np.log(np.maximum(middle, 1.0))
    return np.where(close, near, np.where(low > 9.0, far, apart))


def _log_difference(log_function: Callable[[Array], Array], low: Array, high: Array, width: Array) -> Array:
    """Return log [F(high) - F(low)] / width for an increasing F given by its logarithm; not for a width of 0."""
    top, bottom = log_function(high), log_function(low)
    with np.errstate(divide="ignore"):
        return top + np.log(-np.expm1(np.minimum(bottom - top, 0.0))) - np.log(np.where(width > 0.0, width, 1.0))
