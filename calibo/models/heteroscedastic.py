"""A Gaussian process whose noise depends on the point, learned from points that were measured several times.

Notation: a group is a point measured k times; s^2 is the sample variance of its outcomes, r(x) the noise variance at x.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import digamma, ndtri, polygamma

from calibo.data import Array, Dataset
from calibo.distributions import Gaussian
from calibo.errors import FallbackWarning, warn
from calibo.models.base import Model, Surrogate
from calibo.models.gaussian_process import GaussianProcess
from calibo.models.gp_posterior import Posterior
from calibo.models.standardization import Standardization, single_outcome

#: Least noise variance, as a share of the outcomes' variance: the least that the Gaussian process itself allows by default.
NOISE_FLOOR = 1e-6
#: Points nearer than this are the same point: storage may round them.
_SAME_POINT = 1e-9
#: Sampling variance of the log of a noise variance that is known.
_KNOWN = 1e-6


@dataclass(frozen=True, eq=False)
class Groups:
    """The g different points, with the number and the outcomes of their measurements.

    Attributes:
        X: `g x d` points.
        count: Number of measurements, g.
        mean: Means of the standardized outcomes, g.
        log_variance: Log noise variances without bias, g; NaN where there is no information.
        sampling_variance: Sampling variances of these, g; NaN where there is no information.
    """

    X: Array
    count: Array
    mean: Array
    log_variance: Array
    sampling_variance: Array

    @classmethod
    def of(cls, X: Array, z: Array, known: Array) -> Groups:
        """Group `n x d` points, with standardized outcomes, n, and their noise variances, n, NaN where unknown."""
        first, member = np.unique(same_points(X), return_inverse=True)
        count = np.bincount(member).astype(np.float64)
        mean = np.bincount(member, z) / count
        squares = np.bincount(member, np.square(z - mean[member]))
        replicated = count > 1
        half = np.where(replicated, count - 1.0, np.nan) / 2.0
        log_sample = np.log(np.maximum(squares / (2.0 * half), NOISE_FLOOR))
        informed = np.bincount(member, ~np.isnan(known))
        given = np.bincount(member, np.nan_to_num(known)) / np.where(informed > 0, informed, np.nan)
        return cls(
            X=X[first],
            count=count,
            mean=mean,
            log_variance=np.where(
                np.isnan(given), log_sample - digamma(half) + np.log(half), np.log(np.maximum(given, NOISE_FLOOR))
            ),
            sampling_variance=np.where(np.isnan(given), polygamma(1, half), _KNOWN),
        )

    @property
    def informative(self) -> np.ndarray:
        """Whether each group has information on the noise, g."""
        return ~np.isnan(self.log_variance)

    def dataset(self, z: Array, variance: Array | None, data: Dataset, stored: tuple[float, ...]) -> Dataset:
        """Return the groups as a dataset of g values with known noise variances."""
        return Dataset(
            X=self.X,
            Y=z[:, None],
            Y_var=None if variance is None else variance[:, None],
            categories=data.categories,
            descriptors=data.descriptors,
            activity=data.activity,
            hyperparameters=(stored,),
        )


def same_points(X: Array) -> np.ndarray:
    """Return for each of `n x d` points the index of the first one that is the same up to rounding, n."""
    return np.asarray(np.argmax(cdist(X, X, "chebyshev") < _SAME_POINT, axis=1), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class LogNoise:
    """A Gaussian process of the log noise variance of standardized outcomes, around a constant level.

    Attributes:
        posterior: Posterior of log r minus the level; `None` if the noise is the same everywhere.
        level: Precision-weighted mean of the known log r. It is subtracted because a process of few values takes its scale
            from their size, which would depend on the unit of the noise.
    """

    posterior: Posterior | None
    level: float

    def at(self, X: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation of log r at points, each `... x q`; the mean is never below the floor."""
        if self.posterior is None:
            return np.full(X.shape[:-1], self.level), np.zeros(X.shape[:-1])
        distribution = self.posterior.predict(X, latent=True)
        return np.maximum(self.level + distribution.mean, np.log(NOISE_FLOOR)), distribution.std

    @property
    def stored(self) -> tuple[float, ...]:
        return () if self.posterior is None else self.posterior.hyperparameters


@dataclass(frozen=True, eq=False)
class HeteroscedasticModel(Model):
    """A Gaussian process of f and one of the noise at each point.

    Attributes:
        means: Posterior of f, standardized.
        noise: Distribution of the log noise variance, standardized.
        units: The standardization of the outcomes.
    """

    means: Posterior
    noise: LogNoise
    units: Standardization

    def predict(self, X: Array, *, latent: bool) -> Gaussian:
        distribution = self.means.predict(X, latent=True)
        noise_std = np.exp(0.5 * self.noise.at(X)[0])
        if latent:
            return self.units.gaussian(distribution.mean, distribution.std, distribution.correlation, noise_std)
        total = np.hypot(distribution.std, noise_std)

        def correlation() -> Array:
            share = distribution.std / total
            joint = np.asarray(distribution.correlation() if distribution.correlation else np.eye(total.shape[-1]))
            joint = joint * (share[..., :, None] * share[..., None, :])
            index = np.arange(total.shape[-1])
            joint[..., index, index] = 1.0
            return joint

        return self.units.gaussian(distribution.mean, total, correlation)

    def noise_variance(self, X: Array, *, level: float = 0.5) -> Array:
        """Return a quantile of the noise variance, ... x q; infinite where outcomes are too large for squares."""
        log_variance, std = self.noise.at(X)
        quantile = np.maximum(log_variance + ndtri(level) * std, np.log(NOISE_FLOOR))
        with np.errstate(over="ignore"):
            return np.square(self.units.backward_std(np.exp(0.5 * quantile)))

    def dependence(self, Z: Array) -> Callable[[Array], Array]:
        return self.means.dependence(Z)

    @property
    def lengthscales(self) -> Array:
        return self.means.lengthscales

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        return (*self.means.hyperparameters, *self.noise.stored)


@dataclass(frozen=True)
class HeteroscedasticGP(Surrogate):
    """Two Gaussian processes: one of the log noise variance, learned from replicates, and one of the means.

    1. Points measured k >= 2 times (rows of X that are equal) give log s^2. Its sampling distribution is known: with
       v = (k - 1) / 2 its expectation is log r + digamma(v) - log v and its variance trigamma(v). The bias is subtracted.
    2. A Gaussian process of these, with their sampling variances as known noise, predicts log r anywhere. Noise
       variances given with the outcomes count as known values of r.
    3. A Gaussian process of the means of all groups (k = 1 included), with known noise variances r / k, predicts f.

    The noise at a point is taken to be exp of the expected log r: its median (the most likely noise of Kersting et al.
    2007), which does not grow with the uncertainty. No noise variance is below 1e-6 of the outcomes' variance;
    sample variances below that (equal outcomes) count as that.

    Without replicates or known variances the noise cannot be learned: it is then the same everywhere,
    as ``means`` fits it, and a ``FallbackWarning`` says so.

    Attributes:
        means: Surrogate of the means.
        log_noise: Surrogate of the log noise variances.
        replicates_follow: Whether replicates will be measured later (as by `Replicated`), so that no warning is needed
            before.
    """

    means: GaussianProcess = field(default_factory=GaussianProcess)
    log_noise: GaussianProcess = field(default_factory=GaussianProcess)
    replicates_follow: bool = False
    model_type: ClassVar = HeteroscedasticModel

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> HeteroscedasticModel:
        """Fit the noise, then the means; `rng` is not used."""
        y = single_outcome(data.Y)
        units = Standardization.of(y)
        known = np.full(len(data), np.nan) if data.Y_var is None else units.forward_variance(data.Y_var[:, 0])
        groups = Groups.of(data.X, units.forward(y), known)
        stored = data.hyperparameters[0] if data.hyperparameters else ()
        size = self.means.stored_size(data)
        own, noise_own = stored[:size], stored[size:]
        if not groups.informative.any():
            if not self.replicates_follow:
                # Without the number of points, so that Python shows it once a study and not at every step.
                warn(
                    "no point was measured twice, so where the noise is large cannot be learned: the same noise is "
                    "assumed everywhere; measure points several times (Replicated) or give their standard errors (sem)",
                    FallbackWarning,
                )
            means = self.means.fit(groups.dataset(groups.mean, None, data, own), rng=rng)
            variance = float(np.square(means.units.backward_std(np.sqrt(means.theta.noise))))
            return HeteroscedasticModel(means, LogNoise(None, float(np.log(variance))), units)
        noise = self._log_noise(groups, data, noise_own, rng)
        variances = np.exp(noise.at(groups.X)[0]) / groups.count
        means = self.means.fit(groups.dataset(groups.mean, variances, data, own), rng=rng)
        return HeteroscedasticModel(means, noise, units)

    def _log_noise(
        self, groups: Groups, data: Dataset, stored: tuple[float, ...], rng: np.random.Generator
    ) -> LogNoise:
        """Fit the process of the log noise variance to the groups with information on it."""
        known = groups.informative
        values, sampling = groups.log_variance[known], groups.sampling_variance[known]
        level = float(np.average(values, weights=1.0 / sampling))
        informed = Groups(groups.X[known], groups.count[known], groups.mean[known], values, sampling)
        return LogNoise(self.log_noise.fit(informed.dataset(values - level, sampling, data, stored), rng=rng), level)
