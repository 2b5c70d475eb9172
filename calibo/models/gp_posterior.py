"""The exact Gaussian process posterior for given hyperparameters.

Notation: A = K + diag(noise), L its Cholesky factor, a = A^-1 (y - mean), d = diag(A^-1); outcomes standardized.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dtrtri  # pyright: ignore[reportAttributeAccessIssue]

from calibo.data import Array
from calibo.distributions import Gaussian
from calibo.distributions.gaussian import stable_cholesky
from calibo.models.augmentation import Augmentation
from calibo.models.base import Model
from calibo.models.kernels import Kernel, squared_distances
from calibo.models.predictions import correlation_matrix, distinct_points
from calibo.models.standardization import Standardization
from calibo.spaces.encoding import one_hot

_SMALLEST_VARIANCE = 1e-14
#: Covariances of points and data are computed for about this many pairs at a time, but for no fewer points than the second
#: number: memory of larger arrays is new in every call, which costs more than the arithmetic.
_BLOCK, _FEWEST_ROWS = 8192, 64
#: Distance between two choices of a categorical column.
_APART = 0.25


@dataclass(frozen=True, eq=False)
class Features:
    """Features of encoded points for the kernel: numeric columns, and indicators for categorical ones.

    Two different choices of a categorical column lie a quarter of a numeric column's range apart, whatever the choices:
    what is learned of one choice then informs the others, until a length scale separates them. Of the distances
    tried on tables of reactions and architectures (.25, .5, that of a uniform column, 1) it found the best rows soonest for
    conformal methods, and made no difference for the others.
    """

    categories: tuple[int, ...]

    @cached_property
    def column(self) -> np.ndarray:
        """The column that each feature comes from, D."""
        return np.repeat(np.arange(len(self.categories)), [max(c, 1) for c in self.categories])

    def __call__(self, X: Array) -> Array:
        """Return the features of `q x d` points, `q x D`."""
        if not any(self.categories):
            return X
        weight = np.where(np.asarray(self.categories)[self.column] > 0, _APART * np.sqrt(0.5), 1.0)
        return one_hot(X, self.categories) * weight


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Hyperparameters of a Gaussian process of standardized outcomes.

    Attributes:
        lengthscales: One per column, d.
        outputscale: Variance of f.
        noise: Variance of the noise of a measurement whose variance is not known.
        mean: The constant mean.
    """

    lengthscales: Array
    outputscale: float
    noise: float
    mean: float = 0.0


@dataclass(frozen=True, eq=False)
class _Projection:
    """Distinct points projected on the data, standardized."""

    scaled: Array  # Features over length scales, p x D.
    projected: Array  # L^-1 k, p x n.
    mean: Array
    variance: Array
    index: np.ndarray  # Which of the p points stands where, ... x q.


@dataclass(frozen=True, eq=False)
class Posterior(Model):
    """A Gaussian process given data.

    Attributes:
        kernel: The correlation function.
        features: Features of points.
        theta: Hyperparameters.
        X: `n x d` points.
        y: Outcomes in their own units, n.
        noise: Standardized noise variance of each outcome, n.
        units: The standardization of the outcomes.
        stored: The numbers to store for a warm start.
    """

    kernel: Kernel
    features: Features
    theta: Hyperparameters
    X: Array
    y: Array
    noise: Array
    units: Standardization
    stored: tuple[float, ...] = ()

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        return self.stored

    @property
    def lengthscales(self) -> Array:
        return self.theta.lengthscales

    @cached_property
    def _scaled(self) -> Array:
        return self._scale(self.X)

    def _scale(self, X: Array) -> Array:
        return self.features(X) / self.theta.lengthscales[self.features.column]

    @cached_property
    def covariance(self) -> Array:
        """A = K + diag(noise), `n x n`."""
        s = squared_distances(self._scaled, self._scaled)
        return self.theta.outputscale * self.kernel.correlation(s) + np.diag(self.noise)

    @cached_property
    def cholesky(self) -> Array:
        """L, `n x n`, lower triangular."""
        return stable_cholesky(self.covariance)

    @cached_property
    def _inverse_cholesky(self) -> Array:
        # One triangular inverse makes every later prediction a matrix product, which is faster than a solve per call.
        return dtrtri(self.cholesky, lower=1)[0] if len(self.y) else self.cholesky

    @cached_property
    def residuals(self) -> Array:
        """e = L^-1 (y - mean), n: standardized one-step-ahead residuals."""
        return self._inverse_cholesky @ (self.units.forward(self.y) - self.theta.mean)

    @cached_property
    def dual(self) -> Array:
        """a = A^-1 (y - mean), n."""
        return self._inverse_cholesky.T @ self.residuals

    @cached_property
    def precision_diagonal(self) -> Array:
        """d = diag(A^-1), n."""
        return np.square(self._inverse_cholesky).sum(axis=0)

    def log_marginal_likelihood(self) -> float:
        """Return the log density of the standardized outcomes."""
        n = len(self.y)
        log_determinant = 2.0 * np.log(np.diagonal(self.cholesky)).sum()
        return float(-0.5 * (self.residuals @ self.residuals + log_determinant + n * np.log(2.0 * np.pi)))

    def predict(self, X: Array, *, latent: bool) -> Gaussian:
        """Predict the outcome at `... x q x d` points; the joint covariance is computed only for joint draws."""
        return self._distribution(self._projection(X), latent)

    def augmented(self, X: Array, *, latent: bool) -> tuple[Gaussian, Augmentation]:
        seen = self._projection(X)
        return self._distribution(seen, latent), Augmentation(
            dual=self.dual,
            precision=self.precision_diagonal,
            noise=self.noise,
            influence=seen.projected @ self._inverse_cholesky,
            mean=seen.mean,
            variance=seen.variance,
            own_noise=self.theta.noise,
            units=self.units,
            index=seen.index,
        )

    def _projection(self, X: Array) -> _Projection:
        points, index = distinct_points(X)
        scaled = self._scale(points)
        scale = self.theta.outputscale
        projected = np.empty((len(points), len(self.y)))
        rows = max(_BLOCK // max(len(self.y), 1), _FEWEST_ROWS)
        for start in range(0, len(points), rows):
            distances = squared_distances(scaled[start : start + rows], self._scaled)
            cross = scale * self.kernel.correlation(distances)
            np.matmul(cross, self._inverse_cholesky.T, out=projected[start : start + rows])
        mean = self.theta.mean + projected @ self.residuals
        variance = np.maximum(scale - np.einsum("ij,ij->i", projected, projected), _SMALLEST_VARIANCE * scale)
        return _Projection(scaled, projected, mean, variance, index)

    def _distribution(self, seen: _Projection, latent: bool) -> Gaussian:
        total = seen.variance if latent else seen.variance + self.theta.noise
        index, std = seen.index, np.sqrt(total)

        def correlation() -> Array:
            scaled, projected = seen.scaled[index], seen.projected[index]
            if scaled.ndim == 2:
                distances = squared_distances(scaled, scaled)
            else:
                distances = np.square(scaled[..., :, None, :] - scaled[..., None, :, :]).sum(axis=-1)
            prior = self.theta.outputscale * self.kernel.correlation(distances)
            return correlation_matrix(prior - projected @ np.swapaxes(projected, -1, -2), std[index])

        noise_std = np.sqrt(self.theta.noise) if latent else None
        return self.units.gaussian(seen.mean[index], std[index], correlation, noise_std)

    def leave_one_out(self) -> Gaussian:
        """Predict each measurement from all the others, n: mean y_i - a_i / d_i, variance 1 / d_i."""
        y, d = self.units.forward(self.y), self.precision_diagonal
        return self.units.gaussian(y - self.dual / d, np.sqrt(1.0 / d))

    def one_step_ahead(self) -> Gaussian:
        """Predict each measurement from those before it, n: standard deviation L_tt, standardized residual e_t."""
        std = np.diagonal(self.cholesky)
        return self.units.gaussian(self.units.forward(self.y) - std * self.residuals, std)
