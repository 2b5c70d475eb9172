"""The default surrogate: an exact Gaussian process fitted by maximum a posteriori with an analytic gradient."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.linalg.lapack import dpotri, dpotrs  # pyright: ignore[reportAttributeAccessIssue]
from scipy.optimize import OptimizeResult, minimize

from calibo.arguments import check_fields
from calibo.checks import check_one_of, check_whole
from calibo.data import Array, Dataset
from calibo.distributions.gaussian import stable_cholesky
from calibo.errors import FallbackWarning, warn
from calibo.models.base import Surrogate
from calibo.models.gp_posterior import Features, Hyperparameters, Posterior
from calibo.models.input_warping import InputWarping
from calibo.models.kernel_features import kernel_features
from calibo.models.kernels import Kernel, Matern52, squared_distances
from calibo.models.noise_prior import NoisePrior
from calibo.models.standardization import Standardization, single_outcome
from calibo.models.subsets import representative
from calibo.models.trend import TRENDS, PolynomialTrend

#: Bounds within which hyperparameters are sought (standardised outcomes).
_LENGTHSCALE_BOUNDS = (np.log(5e-3), np.log(1e3))
_OUTPUTSCALE_BOUNDS = (np.log(1e-2), np.log(1e2))
#: Log variance from which noise is doubted, and where fits of rougher functions start.
_DOUBTED, _LITTLE = -7.0, -8.0
#: By how much the log of length scales is smaller there.
_SHORTER = 2.0


@dataclass(frozen=True)
class GaussianProcess(Surrogate):
    """An exact Gaussian process with an ARD kernel, a profiled constant mean and learned or known noise.

    Outcomes are standardized.

    Priors: the dimension-scaled log-normal of BoTorch on length scales, log l ~ N(sqrt 2 + log(d) / 2, 3) (Hvarfner et
    al. 2024), LogNormal(-4, 1) on the noise variance, log-normal around 1 on the output scale. The fit starts from the
    best of a few fixed starting points and of the hyperparameters stored with the last suggestion, so it is
    deterministic, and short in a running study.

    Attributes:
        kernel: ``Matern52()``, ``Matern32()`` or ``RBF()``.
        max_iterations: Maximum number of L-BFGS-B iterations.
        warping: How numeric columns are warped; ``None`` for not at all.
        trend: Besides the constant mean: ``"constant"`` for nothing, ``"linear"`` in numeric columns, or ``"quadratic"``,
            which adds their squares. Its coefficients have a prior whose variance is learned (``PolynomialTrend``).
        noise: The prior of the noise variance: ``NoisePrior()``, or ``NoisePrior.wide()`` for noise of any size, also none.
        subset: Hyperparameters are fitted to at most this many of the data (`representative`), since a fit costs the cube of
            their number; ``None`` for all of them.
        doubts_noise: Whether a fit that finds noise is compared with explanations by shorter length scales, of one column or
            of all, with little noise. From a start with much noise a fit may end where a wave in one column is noise, and
            the next one starts there.
    """

    kernel: Kernel = field(default_factory=Matern52)
    max_iterations: int = 60
    warping: InputWarping | None = None
    trend: str = "constant"
    noise: NoisePrior = field(default_factory=NoisePrior)
    subset: int | None = None
    doubts_noise: bool = False
    model_type: ClassVar = Posterior

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("max_iterations", self.max_iterations, 0)
        check_one_of("trend", self.trend, TRENDS)
        if self.subset is not None:
            check_whole("subset, the number of data that hyperparameters are fitted to,", self.subset)

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> Posterior:
        """Fit the hyperparameters by maximum a posteriori, and return the posterior; `rng` is not used.

        Hyperparameters stored with the data are taken as they are if `data.refit` is `False`.
        """
        objective = self.objective(data)
        stored = data.hyperparameters[0] if data.hyperparameters else ()
        best = self._optimum(objective, np.asarray(stored), refit=data.refit is not False)
        return self._posterior(data, objective, best)

    def objective(self, data: Dataset) -> NegativeLogPosterior:
        """Return what a fit to `data`, or to a subset of them, minimizes."""
        y = single_outcome(data.Y)
        units = Standardization.of(y)
        rows = slice(None) if self.subset is None else representative(data.X, y, self.subset)
        return NegativeLogPosterior(
            self.kernel,
            kernel_features(data.categories, data.activity, data.descriptors),
            data.X[rows],
            units.forward(y[rows]),
            _known_noise(data, units)[rows],
            self.warping,
            PolynomialTrend.named(self.trend, data.categories),
            self.noise,
        )

    def posterior(self, data: Dataset, objective: NegativeLogPosterior, raw: Array) -> Posterior:
        """Return the posterior given `data` with raw hyperparameters of the objective."""
        return self._posterior(data, objective, objective.solved(raw))

    def _posterior(self, data: Dataset, objective: NegativeLogPosterior, solution: Solution) -> Posterior:
        y, raw = single_outcome(data.Y), solution.raw
        units = Standardization.of(y)
        known, theta = _known_noise(data, units), objective.hyperparameters(raw, solution.mean)
        noise = np.where(np.isnan(known), theta.noise, np.maximum(known, self.noise.floor))
        features, stored = objective.features_at(raw), tuple(raw.tolist())
        posterior = Posterior(
            self.kernel, features, theta, data.X, y, noise, units, stored, objective.trend, objective.fitted(raw)
        )
        if np.array_equal(objective.X, data.X) and np.array_equal(objective.noise_variances(raw), noise):
            # Known already, unless hyperparameters were fitted to a subset. It is no field, so that a copy with other data
            # finds its own.
            vars(posterior).update(cholesky=solution.factor)
        return posterior

    def stored_size(self, data: Dataset) -> int:
        """Return how many numbers are stored for a warm start."""
        warps = 0 if self.warping is None else self.warping.size(data.categories)
        lengths = kernel_features(data.categories, data.activity, data.descriptors).lengths
        return lengths + warps + (PolynomialTrend.named(self.trend, data.categories) is not None) + 2

    def _optimum(self, objective: NegativeLogPosterior, stored: Array, *, refit: bool) -> Solution:
        starts, latest, values = objective.starts(), _Latest(objective), list[float]()
        if objective.may_be_raw(stored):
            if not refit:
                return objective.solved(stored)
            # Nearly always the best start, whose gradient will be needed.
            starts, values = np.vstack([stored, starts[-1:]]), [latest.value(stored)]
        if len(starts) > 1:
            values += [objective.value(start) for start in starts[len(values) :]]
        best = int(np.nanargmin(values)) if values else 0
        result = self._minimized(latest, starts[best])
        if not np.isfinite(result.fun):
            warn(
                "the likelihood could not be maximized (not finite); prior hyperparameters are used for this fit",
                FallbackWarning,
            )
            return objective.solved(starts[-1])
        found = latest.solved(result.x)
        if self.doubts_noise and objective.may_be_rough(found.raw):
            return self._doubted(objective, found, float(result.fun))
        return found

    def _doubted(self, objective: NegativeLogPosterior, noisy: Solution, reached: float) -> Solution:
        """Return a solution with shorter length scales and little noise if it is more probable than the noisy one."""
        starts = objective.rougher(noisy.raw)
        values = [objective.value(start) for start in starts]
        best = int(np.nanargmin(values))
        if not values[best] < reached:
            return noisy
        latest = _Latest(objective)
        result = self._minimized(latest, starts[best])
        return latest.solved(result.x) if result.fun < reached else noisy

    def _minimized(self, latest: _Latest, start: Array) -> OptimizeResult:
        """Minimize an objective from raw hyperparameters."""
        # Value and gradient by two functions, as SciPy would remember the latest evaluation once more.
        return minimize(
            latest.value,
            start,
            jac=latest.gradient,
            method="L-BFGS-B",
            bounds=latest.objective.bounds(),
            options={"maxiter": self.max_iterations, "ftol": 1e-4, "gtol": 1e-3},
        )


@dataclass(frozen=True, eq=False)
class Solution:
    """What the likelihood is made of, and the posterior again.

    Attributes:
        raw: The raw hyperparameters.
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
    """The negative log posterior density of raw hyperparameters, with its gradient.

    Raw hyperparameters are log l, one per column and any others of the features, those of the warping, that of the trend,
    log outputscale and log noise.

    The constant mean is profiled out by generalised least squares; at its optimum the gradient in the other parameters
    is the partial one (envelope theorem). Additive constants of the priors are omitted.

    Attributes:
        kernel: The correlation function.
        features: Features of points.
        X: `n x d` points.
        z: Standardized outcomes, n.
        known_noise: Known standardized noise variances, n, NaN where unknown.
        warping: How numeric columns are warped, if they are.
        trend: The trend besides the constant mean, if any.
        noise: The prior of the noise variance.
    """

    kernel: Kernel
    features: Features
    X: Array
    z: Array
    known_noise: Array
    warping: InputWarping | None = None
    trend: PolynomialTrend | None = None
    noise: NoisePrior = field(default_factory=NoisePrior)

    @cached_property
    def _points(self) -> Array:
        return self.features(self.X)

    @cached_property
    def _trend_covariance(self) -> Array:
        """Covariances of a trend of variance 1, `n x n`; 0 if there is none."""
        if self.trend is None:
            return np.zeros((1, 1))
        basis = self.trend.basis(self.X)
        return basis @ basis.T

    @cached_property
    def _warps(self) -> slice:
        """Where the hyperparameters of the warping are; that of the trend comes after them."""
        size = 0 if self.warping is None else self.warping.size(self.features.categories)
        return slice(self.dimensions, self.dimensions + size)

    def features_at(self, raw: Array) -> Features:
        """Return the features of points at raw hyperparameters."""
        if self.warping is None:
            return self.features
        return self.warping.features(self.features, raw[self._warps])

    @cached_property
    def _unknown(self) -> np.ndarray:
        return np.isnan(self.known_noise)

    @cached_property
    def _known(self) -> Array:
        """Known noise variances, not below the bound, n; NaN where unknown."""
        return np.maximum(self.known_noise, self.noise.floor)

    @cached_property
    def _right(self) -> Array:
        """The right-hand sides that the mean is profiled out with: outcomes and ones, `n x 2`."""
        return np.stack([self.z, np.ones_like(self.z)], axis=1)

    @property
    def dimensions(self) -> int:
        """Number of length scales."""
        return self.features.lengths

    @cached_property
    def _lengthscale_prior(self) -> tuple[float, float]:
        return np.sqrt(2.0) + 0.5 * np.log(max(self.features.usual, 1.0)), np.sqrt(3.0)

    def bounds(self) -> list[tuple[float, float]]:
        """Return the bounds of the raw hyperparameters."""
        warps = [] if self.warping is None else self.warping.bounds(self.features.categories)
        trend = [] if self.trend is None else [self.trend.bounds]
        return [_LENGTHSCALE_BOUNDS] * self.dimensions + warps + trend + [_OUTPUTSCALE_BOUNDS, self.noise.bounds]

    @cached_property
    def limits(self) -> Array:
        """The lower and the upper bounds of the raw hyperparameters, `2 x p`."""
        return np.array(self.bounds()).T

    def may_be_raw(self, stored: Array) -> bool:
        """Return whether numbers may be raw hyperparameters of this objective: as many, and within the bounds."""
        lower, upper = self.limits
        return stored.shape == lower.shape and bool(np.all((stored >= lower) & (stored <= upper)))

    def starts(self) -> Array:
        """Return the initial conditions of a fit: the mode of the priors last, shorter length scales, less noise before."""
        location, width = self._lengthscale_prior
        mode = location - width**2
        warps = [0.0] * (self._warps.stop - self._warps.start)
        others = warps + ([] if self.trend is None else [self.trend.start]) + [0.0]
        if self.noise.start is not None:
            return np.array([[mode] * self.dimensions + [*others, self.noise.start]])
        rows = [[mode + shift] * self.dimensions + [*others, noise] for shift in (-1.2, 0.0) for noise in (-8.0, -5.0)]
        return np.asarray(rows)

    def may_be_rough(self, raw: Array) -> bool:
        """Return whether raw hyperparameters have much noise of unknown variance, which a rough function may explain."""
        return bool(self._unknown.any() and raw[-1] > _DOUBTED)

    def rougher(self, raw: Array) -> Array:
        """Return raw hyperparameters that explain by shorter length scales what others explain by noise.

        Args:
            raw: The others.

        Returns:
            One row for each length scale, shortened alone, and one with all of them shortened.
        """
        d = self.dimensions
        rows = np.repeat(raw[None], d + 1, axis=0)
        rows[:, :d] -= _SHORTER * np.vstack([np.eye(d), np.ones(d)])
        rows[:, -1] = _LITTLE
        lower, upper = self.limits
        return np.clip(rows, lower, upper)

    def hyperparameters(self, raw: Array, mean: float | None = None) -> Hyperparameters:
        """Return the hyperparameters of raw ones; if all noise is known, the noise is its mean.

        Args:
            raw: The raw hyperparameters.
            mean: The profiled mean, if it is known already.
        """
        mean = self.solved(raw).mean if mean is None else mean
        known = self.known_noise[~self._unknown]
        all_known = known.size == self.z.size and known.size > 0
        noise = float(max(known.mean(), self.noise.floor)) if all_known else float(np.exp(raw[-1]))
        trend = 0.0 if self.trend is None else float(np.exp(raw[-3]))
        return Hyperparameters(np.exp(raw[: self.dimensions]), float(np.exp(raw[-2])), noise, mean, trend)

    def noise_variances(self, raw: Array) -> Array:
        """Return the standardized noise variance of each outcome at raw hyperparameters, n."""
        return np.where(self._unknown, np.exp(raw[-1]), self._known)

    def solved(self, raw: Array) -> Solution:
        """Return factor, dual vector and profiled mean at raw hyperparameters."""
        return self._solve(raw, self.kernel.correlation(self._distances(raw)[1]))

    def _solve(self, raw: Array, correlation: Array) -> Solution:
        """Return factor, dual vector and profiled mean for `n x n` correlations."""
        covariance = np.exp(raw[-2]) * correlation
        if self.trend is not None:
            covariance += np.exp(raw[-3]) * self._trend_covariance
        np.einsum("ii->i", covariance)[:] += self.noise_variances(raw)
        factor = stable_cholesky(covariance)
        if not self.z.size:
            return Solution(raw.copy(), factor, self.z, 0.0)
        both = dpotrs(factor.T, self._right, lower=0)[0]
        mean = float(both[:, 0].sum() / both[:, 1].sum())
        return Solution(raw.copy(), factor, both[:, 0] - mean * both[:, 1], mean)

    def _distances(self, raw: Array) -> tuple[Array, Array]:
        """Return scaled points, `n x D`, and their squared distances, `n x n`."""
        points = self._points if self.warping is None else self.features_at(raw)(self.X)
        scaled = points / np.exp(raw[self.features.column])
        return scaled, squared_distances(scaled, scaled)

    def value(self, raw: Array) -> float:
        """Return the value at raw hyperparameters."""
        return self._likelihood(self.solved(raw)) + self._prior(raw)[0]

    def _likelihood(self, solution: Solution) -> float:
        """Return the negative log likelihood without its constant."""
        logarithms = np.log(np.diagonal(solution.factor))
        return float(0.5 * (self.z - solution.mean) @ solution.dual + logarithms.sum())

    def __call__(self, raw: Array) -> tuple[float, Array]:
        """Return value and gradient at raw hyperparameters."""
        return self.evaluated(raw)[:2]

    def evaluated(self, raw: Array) -> tuple[float, Array, Solution]:
        """Return value and gradient at raw hyperparameters, and what they were computed from."""
        scaled, s = self._distances(raw)
        correlation, derivative = self.kernel.with_derivative(s)
        solution = self._solve(raw, correlation)
        weights = _symmetric(dpotri(solution.factor.T, lower=0)[0])
        weights -= np.outer(solution.dual, solution.dual)
        gradient = np.empty_like(raw)
        if self.trend is not None:
            gradient[-3] = 0.5 * np.exp(raw[-3]) * np.einsum("ij,ij->", weights, self._trend_covariance)
        gradient[-2] = 0.5 * np.exp(raw[-2]) * np.einsum("ij,ij->", weights, correlation)
        gradient[-1] = 0.5 * np.exp(raw[-1]) * np.diagonal(weights)[self._unknown].sum()
        # In place, since memory of further n x n arrays costs more than the arithmetic.
        slopes = np.multiply(weights, derivative, out=weights)
        # sum_ab M_ab (x_aj - x_bj) (u_aj - u_bj) = 2 sum_a pull_aj u_aj, with a matrix product instead of n x n x d.
        pull = np.exp(raw[-2]) * (slopes.sum(axis=1)[:, None] * scaled - slopes @ scaled)
        per_feature = np.einsum("ij,ij->j", pull, scaled)
        gradient[: self.dimensions] = np.bincount(self.features.column, per_feature, minlength=self.dimensions)
        if self.warping is not None:
            features = self.warping.features(self.features, raw[self._warps])
            # Minus the pull is the gradient in the scaled points.
            own = features.pulled(self.X, self.X, pull / np.exp(raw[self.features.column]))
            gradient[self._warps] = -np.einsum("ij,kij->kj", own, features.derivatives(self.X)).ravel()
        prior, prior_gradient = self._prior(raw)
        return self._likelihood(solution) + prior, gradient + prior_gradient, solution

    @cached_property
    def prior_precision(self) -> Array:
        """Precisions of the raw hyperparameters a priori, all of whose priors are normal."""
        size = self.limits.shape[1]
        return self._prior(np.ones(size))[1] - self._prior(np.zeros(size))[1]

    def fitted(self, raw: Array) -> Array:
        """Return the precisions a priori of length scales, output scale and noise, d + 2, at raw hyperparameters.

        Infinite where nothing was fitted: at a bound, or if all noise is known.
        """
        lower, upper = self.limits
        free = (raw > lower) & (raw < upper)
        free[-1] &= bool(self._unknown.any())
        precision = np.where(free, self.prior_precision, np.inf)
        return np.concatenate([precision[: self.dimensions], precision[-2:]])

    def _prior(self, raw: Array) -> tuple[float, Array]:
        """Return the negative log prior of the raw hyperparameters, and its gradient."""
        location, width = self._lengthscale_prior
        lengths, outputscale = raw[: self.dimensions], raw[-2]
        deviation = (lengths - location) / width
        value, slope = self.noise(raw[-1])
        value += (lengths + 0.5 * deviation**2).sum() + 0.5 * outputscale**2
        gradient = np.zeros(len(raw))
        gradient[: self.dimensions] = 1.0 + deviation / width
        gradient[-2:] = outputscale, slope
        if self.warping is not None:
            own, gradient[self._warps] = self.warping.prior(raw[self._warps])
            value += own
        if self.trend is not None:
            own, gradient[-3] = self.trend.prior(raw[-3])
            value += own
        return float(value), gradient


@dataclass
class _Latest:
    """An objective that remembers its latest evaluation: the first and the last of a fit are needed twice."""

    objective: NegativeLogPosterior
    evaluation: tuple[float, Array, Solution] | None = None

    def value(self, raw: Array) -> float:
        """Return the value at raw hyperparameters."""
        return self._evaluated(raw)[0]

    def gradient(self, raw: Array) -> Array:
        """Return the gradient at raw hyperparameters."""
        return self._evaluated(raw)[1].copy()

    def solved(self, raw: Array) -> Solution:
        """Return factor, dual vector and profiled mean at raw hyperparameters."""
        known = self._known(raw)
        return self.objective.solved(raw) if known is None else known[2]

    def _evaluated(self, raw: Array) -> tuple[float, Array, Solution]:
        self.evaluation = self._known(raw) or self.objective.evaluated(raw)
        return self.evaluation

    def _known(self, raw: Array) -> tuple[float, Array, Solution] | None:
        latest = self.evaluation
        # Equal as bytes: these are a few numbers, for which a comparison of arrays costs more than that of the numbers.
        return latest if latest is not None and raw.tobytes() == latest[2].raw.tobytes() else None


def _known_noise(data: Dataset, units: Standardization) -> Array:
    """Return the known noise variances, standardized, n; NaN where unknown."""
    return np.full(len(data), np.nan) if data.Y_var is None else units.forward_variance(data.Y_var[:, 0])


def _symmetric(triangle: Array) -> Array:
    """Return the symmetric matrix of which one triangle is given (and the other is zero)."""
    full = triangle + triangle.T
    np.einsum("ii->i", full)[:] *= 0.5
    return full
