"""The exact Gaussian process posterior for given hyperparameters.

Notation: A = K + diag(noise), L its Cholesky factor, a = A^-1 (y - mean), d = diag(A^-1); outcomes standardized.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dtrtri  # pyright: ignore[reportAttributeAccessIssue]

from calibo.data import Array, Dataset, Rows
from calibo.distributions import Gaussian
from calibo.distributions.gaussian import stable_cholesky
from calibo.models.augmentation import Augmentation
from calibo.models.base import Model
from calibo.models.jackknife import jackknifed, suits
from calibo.models.kernels import Kernel, squared_distances
from calibo.models.predictions import correlation_matrix, distinct_points
from calibo.models.standardization import Standardization, single_outcome
from calibo.models.trend import PolynomialTrend
from calibo.spaces.encoding import one_hot

SMALLEST_VARIANCE = 1e-14
#: Covariances of points and data are computed for about this many pairs at a time, but for no fewer points than the second
#: number: memory of larger arrays is new in every call, which costs more than the arithmetic.
_BLOCK, _FEWEST_ROWS = 8192, 64
#: Distance between two choices of a categorical column.
APART = 0.25


@dataclass(frozen=True, eq=False)
class Features:
    """Features of encoded points for the kernel: numeric columns, and indicators for categorical ones.

    Two different choices of a categorical column lie a quarter of a numeric column's range apart, whatever the choices:
    what is learned of one choice then informs the others, until a length scale separates them. Of the distances
    tried on tables of reactions and architectures (.25, .5, that of a uniform column, 1) it found the best rows soonest for
    conformal methods, and made no difference for the others.

    Attributes:
        categories: Number of choices of each categorical column, 0 for a numeric one, d.
    """

    categories: tuple[int, ...]

    @cached_property
    def column(self) -> np.ndarray:
        """The length scale that each feature is divided by, D: that of the column it comes from."""
        return np.repeat(np.arange(len(self.categories)), [max(c, 1) for c in self.categories])

    @property
    def lengths(self) -> int:
        """Number of length scales: one for each of the d columns, and any others after them."""
        return len(self.categories)

    @property
    def usual(self) -> float:
        """Number of columns that a point usually has; the prior of length scales depends on it."""
        return float(len(self.categories))

    def __call__(self, X: Array) -> Array:
        """Return the features of `q x d` points, `q x D`."""
        return self.embedded(X, X)

    def embedded(self, X: Array, coordinates: Array) -> Array:
        """Return the features of `q x d` points whose numeric columns have other coordinates, `q x d`, as after warping."""
        return self._indicators(coordinates)

    def pulled(self, X: Array, coordinates: Array, pull: Array) -> Array:
        """Return derivatives by the coordinates of the m numeric columns, `q x m`, given those by the features, `q x D`."""
        return pull[:, np.asarray(self.categories)[self.column] == 0]

    def _indicators(self, X: Array) -> Array:
        if not any(self.categories):
            return X
        weight = np.where(np.asarray(self.categories)[self.column] > 0, APART * np.sqrt(0.5), 1.0)
        return one_hot(X, self.categories) * weight


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Hyperparameters of a Gaussian process of standardized outcomes.

    Attributes:
        lengthscales: One per column, d, and any others that the features have.
        outputscale: Variance of f.
        noise: Variance of the noise of a measurement whose variance is not known.
        mean: The constant mean.
        trend: Variance of the trend, if there is one.
    """

    lengthscales: Array
    outputscale: float
    noise: float
    mean: float = 0.0
    trend: float = 0.0


@dataclass(frozen=True, eq=False)
class Projection:
    """Points projected on the data, standardized.

    Attributes:
        scaled: What covariances are functions of, `p x (D + b)`.
        projected: L^-1 k, `p x n`.
        mean: Expected values of f, p.
        variance: Its variances, p.
    """

    scaled: Array
    projected: Array
    mean: Array
    variance: Array


@dataclass(frozen=True, eq=False)
class GaussianProcessModel(Model):
    """Data and hyperparameters of a Gaussian process: what every posterior starts from.

    Attributes:
        kernel: The correlation function.
        features: Features of points.
        theta: Hyperparameters.
        X: `n x d` points.
        y: Outcomes in their own units, n.
        noise: Standardized noise variance of each outcome, n.
        units: The standardization of the outcomes.
        stored: The numbers to store for a warm start.
        trend: The trend besides the constant mean, if any.
    """

    kernel: Kernel
    features: Features
    theta: Hyperparameters
    X: Array
    y: Array
    noise: Array
    units: Standardization
    stored: tuple[float, ...] = ()
    trend: PolynomialTrend | None = None

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        return self.stored

    @property
    def lengthscales(self) -> Array:
        return self.theta.lengthscales[: self.X.shape[1]]

    @cached_property
    def scaled(self) -> Array:
        """The data as `scale` returns them."""
        return self.scale(self.X)

    def scale(self, X: Array) -> Array:
        """Return what covariances depend on, `q x (D + b)`: features over length scales, then the b terms of the trend."""
        scaled = self.features(X) / self.theta.lengthscales[self.features.column]
        if self.trend is None:
            return scaled
        return np.hstack([scaled, np.sqrt(self.theta.trend) * self.trend.basis(X)])

    def between(self, A: Array, B: Array) -> Array:
        """Return the prior covariances of f, `... x a x b`, of points as `scale` returns them."""
        size = len(self.features.column)
        covariance = self.theta.outputscale * self.kernel.correlation(_distances(A[..., :size], B[..., :size]))
        if self.trend is not None:
            covariance += A[..., size:] @ np.swapaxes(B[..., size:], -1, -2)
        return covariance

    def prior_variance(self, A: Array) -> Array:
        """Return the prior variances of f, `... x a`, at points as `scale` returns them."""
        if self.trend is None:
            return np.full(A.shape[:-1], self.theta.outputscale)
        return self.theta.outputscale + np.square(A[..., len(self.features.column) :]).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class Posterior(GaussianProcessModel):
    """A Gaussian process given all of its data; the further attributes are those of `GaussianProcessModel`.

    Attributes:
        precision: Precisions a priori of the logarithms of length scales, output scale and noise, d + 2, if these were
            fitted to the data; infinite for those that were not.
    """

    precision: Array | None = None

    @cached_property
    def covariance(self) -> Array:
        """A = K + diag(noise), `n x n`."""
        return self.between(self.scaled, self.scaled) + np.diag(self.noise)

    @cached_property
    def cholesky(self) -> Array:
        """L, `n x n`, lower triangular."""
        return stable_cholesky(self.covariance)

    @cached_property
    def inverse_cholesky(self) -> Array:
        """L^-1, `n x n`."""
        # One triangular inverse makes every later prediction a matrix product, which is faster than a solve per call.
        return dtrtri(self.cholesky, lower=1)[0] if len(self.y) else self.cholesky

    @cached_property
    def residuals(self) -> Array:
        """e = L^-1 (y - mean), n: standardized one-step-ahead residuals."""
        return self.inverse_cholesky @ (self.units.forward(self.y) - self.theta.mean)

    @cached_property
    def dual(self) -> Array:
        """a = A^-1 (y - mean), n."""
        return self.inverse_cholesky.T @ self.residuals

    @cached_property
    def precision_diagonal(self) -> Array:
        """d = diag(A^-1), n."""
        return np.square(self.inverse_cholesky).sum(axis=0)

    def log_marginal_likelihood(self) -> float:
        """Return the log density of the standardized outcomes."""
        n = len(self.y)
        log_determinant = 2.0 * np.log(np.diagonal(self.cholesky)).sum()
        return float(-0.5 * (self.residuals @ self.residuals + log_determinant + n * np.log(2.0 * np.pi)))

    def predict(self, X: Array, *, latent: bool) -> Gaussian:
        """Predict the outcome at `... x q x d` points; the joint covariance is computed only for joint draws."""
        points, index = distinct_points(X)
        return self._distribution(self.project(self.scale(points)), index, latent)

    def augmented(self, X: Array, *, latent: bool) -> tuple[Gaussian, Augmentation]:
        points, index = distinct_points(X)
        seen = self.project(self.scale(points))
        return self._distribution(seen, index, latent), Augmentation(
            dual=self.dual,
            precision=self.precision_diagonal,
            noise=self.noise,
            influence=seen.projected @ self.inverse_cholesky,
            mean=seen.mean,
            variance=seen.variance,
            own_noise=self.theta.noise,
            units=self.units,
            index=index,
        )

    def conditioned(self, data: Dataset) -> Posterior:
        units = self.units
        known = np.full(len(data), np.nan) if data.Y_var is None else units.forward_variance(data.Y_var[:, 0])
        noise = np.where(np.isnan(known), self.theta.noise, np.maximum(known, SMALLEST_VARIANCE))
        return replace(self, X=data.X, y=single_outcome(data.Y), noise=noise, precision=None)

    def project(self, scaled: Array) -> Projection:
        """Return the projection of p points as `scale` returns them."""
        projected = self.projected(scaled)
        mean = self.theta.mean + projected @ self.residuals
        prior = self.prior_variance(scaled)
        variance = np.maximum(prior - np.einsum("ij,ij->i", projected, projected), SMALLEST_VARIANCE * prior)
        return Projection(scaled, projected, mean, variance)

    def projected(self, scaled: Array) -> Array:
        """Return L^-1 k alone, `p x n`, of p points as `scale` returns them."""
        found = np.empty((len(scaled), len(self.y)))
        rows = max(_BLOCK // max(len(self.y), 1), _FEWEST_ROWS)
        for start in range(0, len(scaled), rows):
            cross = self.between(scaled[start : start + rows], self.scaled)
            self._whiten(cross, found[start : start + rows])
        return found

    def _whiten(self, cross: Array, out: Array) -> None:
        """Write L^-1 k, `p x n`, given the covariances k of p points and the data, which may be overwritten."""
        np.matmul(cross, self.inverse_cholesky.T, out=out)

    def _distribution(self, seen: Projection, index: np.ndarray, latent: bool) -> Gaussian:
        total = seen.variance if latent else seen.variance + self.theta.noise
        std = np.sqrt(total)

        def correlation() -> Array:
            scaled, projected = seen.scaled[index], seen.projected[index]
            return correlation_matrix(
                self.between(scaled, scaled) - projected @ np.swapaxes(projected, -1, -2), std[index]
            )

        noise_std = np.sqrt(self.theta.noise) if latent else None
        return self.units.gaussian(seen.mean[index], std[index], correlation, noise_std)

    def dependence(self, Z: Array) -> Callable[[Array], Array]:
        beside = self.project(self.scale(Z))

        def correlations(X: Array) -> Array:
            at = self.project(self.scale(X))
            covariance = self.between(at.scaled, beside.scaled) - at.projected @ beside.projected.T
            return covariance / np.sqrt(np.outer(at.variance, beside.variance))

        return correlations

    def leave_one_out(self, rows: Rows | None = None) -> Gaussian:
        """Predict each measurement from all the others: mean y_i - a_i / d_i, variance 1 / d_i."""
        y, d = self.units.forward(self.y), self.precision_diagonal
        mean, std = y - self.dual / d, np.sqrt(1.0 / d)
        return self.units.gaussian(mean, std) if rows is None else self.units.gaussian(mean[rows], std[rows])

    def jackknife(self, rows: Rows | None = None) -> Gaussian:
        """Predict each measurement from all the others, with hyperparameters a Newton step away from those of all data."""
        if self.precision is None or not suits(self):
            return self.leave_one_out(rows)
        mean, std = jackknifed(self, self.precision)
        return self.units.gaussian(mean, std) if rows is None else self.units.gaussian(mean[rows], std[rows])

    def one_step_ahead(self) -> Gaussian:
        """Predict each measurement from those before it, n: standard deviation L_tt, standardized residual e_t."""
        std = np.diagonal(self.cholesky)
        return self.units.gaussian(self.units.forward(self.y) - std * self.residuals, std)


def _distances(A: Array, B: Array) -> Array:
    """Return squared distances, `... x a x b`, of `... x a x D` and `... x b x D` points."""
    if A.ndim == 2:
        return squared_distances(A, B)
    return np.square(A[..., :, None, :] - B[..., None, :, :]).sum(axis=-1)
