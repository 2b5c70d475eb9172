"""The Gaussian distribution, as an uncalibrated Gaussian process predicts it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from calibo.data import Array, Marginal
from calibo.distributions.base import Distribution
from calibo.distributions.normal import log_density, log_first_integral


@dataclass(frozen=True, repr=False)
class Gaussian(Distribution):
    """Gaussian distribution at each of q points, dependent between the points if a correlation is given.

    Attributes:
        mean: Expected values, ``... x q``.
        std: Standard deviations, ``... x q``, positive.
        correlation: Returns the correlation matrices, ``... x q x q``; called only when joint samples are needed, since it
            costs more than the marginals. ``None`` for independent points.
        noise_std: Standard deviation of the noise of a measurement of this value, a number or ``... x q``, so that a
            calibrated distribution of measurements can be denoised. 0 for the distribution of a measurement.
    """

    mean: Array = field()  # pyright: ignore[reportIncompatibleVariableOverride]
    std: Array = field()  # pyright: ignore[reportIncompatibleVariableOverride]
    correlation: Callable[[], Array] | None = None
    noise_std: Array | float = 0.0

    @property
    def spread(self) -> Array:
        return self.std

    @property
    def median_and_spread(self) -> tuple[Array, Array]:
        return self.mean, self.std

    def cdf(self, y: Array | float) -> Array:
        return ndtr((y - self.mean) / self.std)

    def normal_scores(self, y: Array | float) -> Array:
        # By halves: the difference of two large outcomes need not be a float.
        return (0.5 * np.asarray(y) - 0.5 * self.mean) / (0.5 * self.std)

    def icdf(self, u: Array | float) -> Array:
        return self.mean + self.std * ndtri(u)

    def at_scores(self, z: Array | float) -> Array:
        return self.mean + self.std * z

    def logpdf(self, y: Array | float) -> Array:
        """Return the log density at ``y``, ``... x q``."""
        return log_density((y - self.mean) / self.std) - np.log(self.std)

    def pdf(self, y: Array | float) -> Array:
        """Return the density at ``y``, ``... x q``."""
        return np.exp(self.logpdf(y))

    def log_expected_improvement(self, c: Array | float) -> Array:
        """Return log E (Y - c)_+ = log std + log g((mean - c) / std), stable however far c lies above the mean."""
        return np.log(self.std) + log_first_integral((self.mean - c) / self.std)

    def probability_of_improvement(self, c: Array | float) -> Array:
        return ndtr((self.mean - c) / self.std)

    def log_probability_of_improvement(self, c: Array | float) -> Array:
        return log_ndtr((self.mean - c) / self.std)

    @cached_property
    def _cholesky(self) -> Array | None:
        return None if self.correlation is None else stable_cholesky(self.correlation())

    def copula_samples(self, base: Array) -> Array:
        # A point by itself depends on no other.
        if self.mean.shape[-1] == 1 or self._cholesky is None:
            return base
        return base @ np.swapaxes(self._cholesky, -1, -2)

    def draws(self, base: Array) -> Array:
        return self.mean[..., None, :] + self.std[..., None, :] * self.copula_samples(base)

    def over_samples(self) -> Gaussian:
        noise = self.noise_std if np.ndim(self.noise_std) == 0 else np.asarray(self.noise_std)[..., None, :]
        return Gaussian(self.mean[..., None, :], self.std[..., None, :], noise_std=noise)

    def negated(self) -> Gaussian:
        return Gaussian(-self.mean, self.std, self.correlation, self.noise_std)

    @cached_property
    def measurement(self) -> Gaussian:  # pyright: ignore[reportIncompatibleMethodOverride]
        if not np.any(self.noise_std):
            return self
        return Gaussian(self.mean, np.hypot(self.std, self.noise_std))

    def scaled(self, factor: Array | float) -> Gaussian:
        """Return the distribution with its standard deviation, and that of the noise, multiplied by ``factor``.

        Args:
            factor: One positive number, or one for each point, ``... x q``.
        """
        scaled = Gaussian(self.mean, factor * self.std, self.correlation, factor * self.noise_std)
        if "measurement" in vars(self) and self.measurement is not self:
            # Known already; it takes longer to find than all else here.
            vars(scaled).update(measurement=Gaussian(self.mean, factor * self.measurement.std))
        return scaled

    def marginals(self) -> tuple[Marginal, ...]:
        return tuple(Marginal(float(m), float(s)) for m, s in zip(self.mean, self.std, strict=True))


def stable_cholesky(matrix: Array) -> Array:
    """Return lower Cholesky factors of positive semi-definite matrices, ``... x q x q``, with the least jitter that works.

    Raises:
        LinAlgError: If a matrix is far from positive semi-definite.
    """
    try:
        return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        pass
    q = matrix.shape[-1]
    largest = float(np.max(np.abs(np.diagonal(matrix, axis1=-2, axis2=-1)), initial=0.0)) or 1.0
    for jitter in (10.0**e for e in range(-12, 0)):
        try:
            return np.asarray(np.linalg.cholesky(matrix + jitter * largest * np.eye(q)), dtype=np.float64)
        except np.linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError("a covariance matrix is far from positive semi-definite")
