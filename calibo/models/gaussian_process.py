"""The default surrogate: an exact Gaussian process fitted by maximum a posteriori with an analytic gradient."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotri  # pyright: ignore[reportAttributeAccessIssue]
from scipy.optimize import minimize

from calibo.checks import check_whole
from calibo.data import Array, Dataset
from calibo.distributions.gaussian import stable_cholesky
from calibo.errors import FallbackWarning
from calibo.models.base import Surrogate
from calibo.models.gp_posterior import Features, Hyperparameters, Posterior
from calibo.models.kernels import Kernel, Matern52, squared_distances
from calibo.models.standardization import Standardization, single_outcome
from calibo.models.subsets import representative

#: Log-normal prior of the noise variance, and the bounds within which it is sought (standardised outcomes).
_NOISE_PRIOR = (-4.0, 1.0)
_NOISE_BOUNDS = (np.log(1e-6), np.log(2.0))
_LENGTHSCALE_BOUNDS = (np.log(5e-3), np.log(1e3))
_OUTPUTSCALE_BOUNDS = (np.log(1e-2), np.log(1e2))


@dataclass(frozen=True)
class GaussianProcess(Surrogate):
    """An exact Gaussian process with an ARD kernel, a profiled constant mean and learned or known noise.

    Outcomes are standardized.

    Priors: the dimension-scaled log-normal of BoTorch on length scales, log l ~ N(sqrt 2 + log(d) / 2, 3) (Hvarfner et
    al. 2024), LogNormal(-4, 1) on the noise variance, log-normal around 1 on the output scale. The fit starts from the
    best of a few fixed starting points and of the hyperparameters stored with the last suggestion, so it is
    deterministic, and short in a running study.

    Attributes:
        kernel: ``Matern52()`` or ``RBF()``.
        max_iterations: Maximum number of L-BFGS-B iterations.
        subset: Hyperparameters are fitted to at most this many of the data (`representative`), since a fit costs the cube of
            their number; ``None`` for all of them.
    """

    kernel: Kernel = field(default_factory=Matern52)
    max_iterations: int = 60
    subset: int | None = None
    model_type: ClassVar = Posterior

    def __post_init__(self) -> None:
        check_whole("max_iterations", self.max_iterations, 0)
        if self.subset is not None:
            check_whole("subset, the number of data that hyperparameters are fitted to,", self.subset)

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Posterior:
        """Fit the hyperparameters by maximum a posteriori, and return the posterior; `rng` is not used.

        Hyperparameters stored with the data are taken as they are if `data.refit` is `False`.
        """
        y = single_outcome(data.Y)
        units = Standardization.of(y)
        known = np.full(len(y), np.nan) if data.Y_var is None else units.forward_variance(data.Y_var[:, 0])
        rows = slice(None) if self.subset is None else representative(data.X, y, self.subset)
        objective = NegativeLogPosterior(
            self.kernel, Features(data.categories), data.X[rows], units.forward(y[rows]), known[rows]
        )
        stored = data.hyperparameters[0] if data.hyperparameters else ()
        raw = self._optimum(objective, np.asarray(stored), refit=data.refit is not False)
        theta = objective.hyperparameters(raw)
        noise = np.where(np.isnan(known), theta.noise, np.maximum(known, np.exp(_NOISE_BOUNDS[0])))
        return Posterior(
            self.kernel, objective.features, theta, data.X, y, noise, units, stored=tuple(float(v) for v in raw)
        )

    def _optimum(self, objective: NegativeLogPosterior, stored: Array, *, refit: bool) -> Array:
        starts = objective.starts()
        if stored.size == starts.shape[1]:
            lower, upper = np.array(objective.bounds()).T
            starts = np.vstack([np.clip(stored, lower, upper), starts[-1:]])
            if not refit:
                return starts[0]
        values = [objective.value(start) for start in starts]
        best = int(np.nanargmin(values))
        result = minimize(
            objective,
            starts[best],
            jac=True,
            method="L-BFGS-B",
            bounds=objective.bounds(),
            options={"maxiter": self.max_iterations, "ftol": 1e-5, "gtol": 1e-3},
        )
        if not np.isfinite(result.fun):
            warnings.warn(
                "the likelihood could not be maximized (not finite); prior hyperparameters are used for this fit",
                FallbackWarning,
                stacklevel=2,
            )
            return starts[-1]
        return result.x


@dataclass(frozen=True, eq=False)
class NegativeLogPosterior:
    """The negative log posterior density of raw hyperparameters (log l_1..d, log outputscale, log noise), with its gradient.

    The constant mean is profiled out by generalised least squares; at its optimum the gradient in the other parameters
    is the partial one (envelope theorem). Additive constants of the priors are omitted.

    Attributes:
        kernel: The correlation function.
        features: Features of points.
        X: `n x d` points.
        z: Standardized outcomes, n.
        known_noise: Known standardized noise variances, n, NaN where unknown.
    """

    kernel: Kernel
    features: Features
    X: Array
    z: Array
    known_noise: Array

    @cached_property
    def _points(self) -> Array:
        return self.features(self.X)

    @cached_property
    def _unknown(self) -> np.ndarray:
        return np.isnan(self.known_noise)

    @property
    def dimensions(self) -> int:
        return self.X.shape[1]

    def _lengthscale_prior(self) -> tuple[float, float]:
        return np.sqrt(2.0) + 0.5 * np.log(max(self.dimensions, 1)), np.sqrt(3.0)

    def bounds(self) -> list[tuple[float, float]]:
        """Return the bounds of the raw hyperparameters."""
        return [_LENGTHSCALE_BOUNDS] * self.dimensions + [_OUTPUTSCALE_BOUNDS, _NOISE_BOUNDS]

    def starts(self) -> Array:
        """Return the initial conditions of a fit: the mode of the priors last, shorter length scales, less noise before."""
        location, width = self._lengthscale_prior()
        mode = location - width**2
        rows = [[mode + shift] * self.dimensions + [0.0, noise] for shift in (-1.2, 0.0) for noise in (-8.0, -5.0)]
        return np.asarray(rows)

    def hyperparameters(self, raw: Array) -> Hyperparameters:
        """Return the hyperparameters of raw ones, with the profiled mean; if all noise is known, the noise is its mean."""
        mean = self._solve(raw, self.kernel.correlation(self._distances(raw)[1]))[-1]
        known = self.known_noise[~self._unknown]
        all_known = known.size == self.z.size and known.size > 0
        noise = float(max(known.mean(), np.exp(_NOISE_BOUNDS[0]))) if all_known else float(np.exp(raw[-1]))
        return Hyperparameters(np.exp(raw[: self.dimensions]), float(np.exp(raw[-2])), noise, mean)

    def _solve(self, raw: Array, correlation: Array) -> tuple[Array, Array, float]:
        """Return the Cholesky factor, the dual vector and the profiled mean for `n x n` correlations."""
        covariance = np.exp(raw[-2]) * correlation
        floor = np.exp(_NOISE_BOUNDS[0])
        noise = np.where(self._unknown, np.exp(raw[-1]), np.maximum(self.known_noise, floor))
        covariance[np.diag_indices_from(covariance)] += noise
        factor = stable_cholesky(covariance)
        both = cho_solve((factor, True), np.stack([self.z, np.ones_like(self.z)], axis=1), check_finite=False)
        mean = float(both[:, 0].sum() / both[:, 1].sum()) if self.z.size else 0.0
        return factor, both[:, 0] - mean * both[:, 1], mean

    def _distances(self, raw: Array) -> tuple[Array, Array]:
        """Return scaled points, `n x D`, and their squared distances, `n x n`."""
        scaled = self._points / np.exp(raw[self.features.column])
        return scaled, squared_distances(scaled, scaled)

    def value(self, raw: Array) -> float:
        """Return the value at d + 2 raw hyperparameters."""
        factor, dual, mean = self._solve(raw, self.kernel.correlation(self._distances(raw)[1]))
        return float(0.5 * (self.z - mean) @ dual + np.log(np.diagonal(factor)).sum() + self._prior(raw)[0])

    def __call__(self, raw: Array) -> tuple[float, Array]:
        """Return value and gradient at d + 2 raw hyperparameters."""
        scaled, s = self._distances(raw)
        correlation, derivative = self.kernel.with_derivative(s)
        factor, dual, mean = self._solve(raw, correlation)
        value = 0.5 * (self.z - mean) @ dual + np.log(np.diagonal(factor)).sum()
        weights = _symmetric(dpotri(factor, lower=1)[0]) - np.outer(dual, dual)
        gradient = np.empty_like(raw)
        slopes = np.exp(raw[-2]) * weights * derivative
        # sum_ab M_ab (x_aj - x_bj)^2 = 2 [sum_a (M 1)_a x_aj^2 - (X' M X)_jj]: a matrix product instead of n x n x d.
        per_feature = slopes.sum(axis=1) @ np.square(scaled) - np.einsum("ij,ij->j", scaled, slopes @ scaled)
        gradient[: self.dimensions] = np.bincount(self.features.column, per_feature, minlength=self.dimensions)
        gradient[-2] = 0.5 * np.exp(raw[-2]) * np.einsum("ij,ij->", weights, correlation)
        gradient[-1] = 0.5 * np.exp(raw[-1]) * np.diagonal(weights)[self._unknown].sum()
        prior, prior_gradient = self._prior(raw)
        return float(value + prior), gradient + prior_gradient

    def _prior(self, raw: Array) -> tuple[float, Array]:
        """Return the negative log prior of length scales, output scale and noise variance, and its gradient."""
        location, width = self._lengthscale_prior()
        lengths, outputscale, noise = raw[: self.dimensions], raw[-2], raw[-1]
        deviation = (lengths - location) / width
        noise_deviation = (noise - _NOISE_PRIOR[0]) / _NOISE_PRIOR[1]
        value = (lengths + 0.5 * deviation**2).sum() + 0.5 * outputscale**2 + noise + 0.5 * noise_deviation**2
        gradient = np.concatenate([1.0 + deviation / width, [outputscale, 1.0 + noise_deviation / _NOISE_PRIOR[1]]])
        return float(value), gradient


def _symmetric(lower: Array) -> Array:
    """Return the symmetric matrix whose lower triangle is given (and whose upper triangle is zero)."""
    full = lower + lower.T
    full[np.diag_indices_from(full)] *= 0.5
    return full
