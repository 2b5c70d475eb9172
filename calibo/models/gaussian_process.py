"""The default surrogate: an exact Gaussian process fitted by maximum a posteriori with an analytic gradient."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.linalg.lapack import dpotri, dpotrs  # pyright: ignore[reportAttributeAccessIssue]
from scipy.optimize import minimize

from calibo.data import Array, Dataset
from calibo.distributions.gaussian import stable_cholesky
from calibo.errors import FallbackWarning
from calibo.models.base import Surrogate
from calibo.models.gp_posterior import Features, Hyperparameters, Posterior
from calibo.models.kernels import Kernel, Matern52, squared_distances
from calibo.models.standardization import Standardization, single_outcome

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
    """

    kernel: Kernel = field(default_factory=Matern52)
    max_iterations: int = 60
    model_type: ClassVar = Posterior

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Posterior:
        """Fit the hyperparameters by maximum a posteriori, and return the posterior; `rng` is not used.

        Hyperparameters stored with the data are taken as they are if `data.refit` is `False`.
        """
        y = single_outcome(data.Y)
        units = Standardization.of(y)
        known = np.full(len(y), np.nan) if data.Y_var is None else units.forward_variance(data.Y_var[:, 0])
        objective = NegativeLogPosterior(self.kernel, Features(data.categories), data.X, units.forward(y), known)
        stored = data.hyperparameters[0] if data.hyperparameters else ()
        best = self._optimum(objective, np.asarray(stored), refit=data.refit)
        theta = objective.hyperparameters(best.raw, best.mean)
        noise = np.where(np.isnan(known), theta.noise, np.maximum(known, np.exp(_NOISE_BOUNDS[0])))
        stored = tuple(best.raw.tolist())
        posterior = Posterior(self.kernel, objective.features, theta, data.X, y, noise, units, stored)
        # Known already. It is no field, so that a copy with other data finds its own.
        vars(posterior).update(cholesky=best.factor)
        return posterior

    def _optimum(self, objective: NegativeLogPosterior, stored: Array, *, refit: bool) -> Solution:
        starts, latest = objective.starts(), _Latest(objective)
        known = stored.size == starts.shape[1]
        if known:
            lower, upper = np.array(objective.bounds()).T
            starts = np.vstack([np.clip(stored, lower, upper), starts[-1:]])
            if not refit:
                return objective.solved(starts[0])
        values = [objective.value(start) for start in starts[known:]]
        if known:
            # Nearly always the best start, whose gradient will be needed.
            values.insert(0, latest(starts[0])[0])
        best = int(np.nanargmin(values))
        result = minimize(
            latest,
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
            return objective.solved(starts[-1])
        return latest.solved(result.x)


@dataclass(frozen=True, eq=False)
class Solution:
    """What the likelihood is made of, and the posterior again.

    Attributes:
        raw: The d + 2 raw hyperparameters.
        factor: Cholesky factor of the covariances, `n x n`.
        dual: A^-1 (z - mean), n.
        mean: The profiled mean.
    """

    raw: Array
    factor: Array
    dual: Array
    mean: float


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

    @cached_property
    def _known(self) -> Array:
        """Known noise variances, not below the bound, n; NaN where unknown."""
        return np.maximum(self.known_noise, np.exp(_NOISE_BOUNDS[0]))

    @cached_property
    def _right(self) -> Array:
        """The right-hand sides that the mean is profiled out with: outcomes and ones, `n x 2`."""
        return np.stack([self.z, np.ones_like(self.z)], axis=1)

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

    def hyperparameters(self, raw: Array, mean: float | None = None) -> Hyperparameters:
        """Return the hyperparameters of raw ones; if all noise is known, the noise is its mean.

        Args:
            raw: The d + 2 raw hyperparameters.
            mean: The profiled mean, if it is known already.
        """
        mean = self.solved(raw).mean if mean is None else mean
        known = self.known_noise[~self._unknown]
        all_known = known.size == self.z.size and known.size > 0
        noise = float(max(known.mean(), np.exp(_NOISE_BOUNDS[0]))) if all_known else float(np.exp(raw[-1]))
        return Hyperparameters(np.exp(raw[: self.dimensions]), float(np.exp(raw[-2])), noise, mean)

    def solved(self, raw: Array) -> Solution:
        """Return factor, dual vector and profiled mean at d + 2 raw hyperparameters."""
        return self._solve(raw, self.kernel.correlation(self._distances(raw)[1]))

    def _solve(self, raw: Array, correlation: Array) -> Solution:
        """Return factor, dual vector and profiled mean for `n x n` correlations."""
        covariance = np.exp(raw[-2]) * correlation
        np.einsum("ii->i", covariance)[:] += np.where(self._unknown, np.exp(raw[-1]), self._known)
        factor = stable_cholesky(covariance)
        if not self.z.size:
            return Solution(raw.copy(), factor, self.z, 0.0)
        both = dpotrs(factor.T, self._right, lower=0)[0]
        mean = float(both[:, 0].sum() / both[:, 1].sum())
        return Solution(raw.copy(), factor, both[:, 0] - mean * both[:, 1], mean)

    def _distances(self, raw: Array) -> tuple[Array, Array]:
        """Return scaled points, `n x D`, and their squared distances, `n x n`."""
        scaled = self._points / np.exp(raw[self.features.column])
        return scaled, squared_distances(scaled, scaled)

    def value(self, raw: Array) -> float:
        """Return the value at d + 2 raw hyperparameters."""
        return self._likelihood(self.solved(raw)) + self._prior(raw)[0]

    def _likelihood(self, solution: Solution) -> float:
        """Return the negative log likelihood without its constant."""
        logarithms = np.log(np.diagonal(solution.factor))
        return float(0.5 * (self.z - solution.mean) @ solution.dual + logarithms.sum())

    def __call__(self, raw: Array) -> tuple[float, Array]:
        """Return value and gradient at d + 2 raw hyperparameters."""
        return self.evaluated(raw)[:2]

    def evaluated(self, raw: Array) -> tuple[float, Array, Solution]:
        """Return value and gradient at d + 2 raw hyperparameters, and what they were computed from."""
        scaled, s = self._distances(raw)
        correlation, derivative = self.kernel.with_derivative(s)
        solution = self._solve(raw, correlation)
        weights = _symmetric(dpotri(solution.factor.T, lower=0)[0])
        weights -= np.outer(solution.dual, solution.dual)
        gradient = np.empty_like(raw)
        gradient[-2] = 0.5 * np.exp(raw[-2]) * np.einsum("ij,ij->", weights, correlation)
        gradient[-1] = 0.5 * np.exp(raw[-1]) * np.diagonal(weights)[self._unknown].sum()
        # In place, since memory of further n x n arrays costs more than the arithmetic.
        slopes = np.multiply(weights, derivative, out=weights)
        # sum_ab M_ab (x_aj - x_bj)^2 = 2 [sum_a (M 1)_a x_aj^2 - (X' M X)_jj]: a matrix product instead of n x n x d.
        per_feature = slopes.sum(axis=1) @ np.square(scaled) - np.einsum("ij,ij->j", scaled, slopes @ scaled)
        by_column = np.bincount(self.features.column, per_feature, minlength=self.dimensions)
        gradient[: self.dimensions] = np.exp(raw[-2]) * by_column
        prior, prior_gradient = self._prior(raw)
        return self._likelihood(solution) + prior, gradient + prior_gradient, solution

    def _prior(self, raw: Array) -> tuple[float, Array]:
        """Return the negative log prior of length scales, output scale and noise variance, and its gradient."""
        location, width = self._lengthscale_prior()
        lengths, outputscale, noise = raw[: self.dimensions], raw[-2], raw[-1]
        deviation = (lengths - location) / width
        noise_deviation = (noise - _NOISE_PRIOR[0]) / _NOISE_PRIOR[1]
        value = (lengths + 0.5 * deviation**2).sum() + 0.5 * outputscale**2 + noise + 0.5 * noise_deviation**2
        gradient = np.concatenate([1.0 + deviation / width, [outputscale, 1.0 + noise_deviation / _NOISE_PRIOR[1]]])
        return float(value), gradient


@dataclass
class _Latest:
    """An objective that remembers its latest evaluation: the first and the last of a fit are needed twice."""

    objective: NegativeLogPosterior
    evaluation: tuple[float, Array, Solution] | None = None

    def __call__(self, raw: Array) -> tuple[float, Array]:
        """Return value and gradient at d + 2 raw hyperparameters."""
        if self.evaluation is None or not np.array_equal(raw, self.evaluation[2].raw):
            self.evaluation = self.objective.evaluated(raw)
        value, gradient, _ = self.evaluation
        return value, gradient.copy()

    def solved(self, raw: Array) -> Solution:
        """Return factor, dual vector and profiled mean at d + 2 raw hyperparameters."""
        if self.evaluation is not None and np.array_equal(raw, self.evaluation[2].raw):
            return self.evaluation[2]
        return self.objective.solved(raw)


def _symmetric(triangle: Array) -> Array:
    """Return the symmetric matrix of which one triangle is given (and the other is zero)."""
    full = triangle + triangle.T
    np.einsum("ii->i", full)[:] *= 0.5
    return full
