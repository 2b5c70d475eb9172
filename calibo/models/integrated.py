"""A Gaussian process whose hyperparameters are integrated over, instead of being set to the most likely ones.

Draws come from the Laplace approximation of their posterior: a Gaussian around its mode, with the curvature found there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from calibo.arguments import check_fields
from calibo.checks import check_between, check_instance, check_whole
from calibo.data import Array, Dataset, Rows
from calibo.distributions import Gaussian
from calibo.models.base import Model, Surrogate
from calibo.models.gaussian_process import GaussianProcess, NegativeLogPosterior
from calibo.models.gp_posterior import SMALLEST_VARIANCE, Posterior
from calibo.models.kernels import squared_distances
from calibo.models.predictions import correlation_matrix, distinct_points

#: Covariances with the data are computed for about this many pairs at a time, but for no fewer points than the second number.
_BLOCK, _FEWEST_ROWS = 16384, 8
#: Step of the differences of gradients that give the Hessian.
_STEP = 1e-3
#: With fewer data nothing is known of the posterior but the prior.
_FEWEST = 3
#: Draws with less weight are left out.
_LEAST_WEIGHT = 1e-3


@dataclass(frozen=True, eq=False)
class IntegratedPosterior(Model):
    """Posteriors of the same data with several hyperparameters, as one Gaussian with the moments of their mixture.

    Attributes:
        parts: K posteriors that differ in hyperparameters alone; first that with the most likely ones.
        weights: Their weights, K, of sum 1.
    """

    parts: tuple[Posterior, ...]
    weights: Array

    @property
    def hyperparameters(self) -> tuple[float, ...]:
        return self.parts[0].hyperparameters

    @property
    def lengthscales(self) -> Array:
        return self.parts[0].lengthscales

    @cached_property
    def _whitening(self) -> Array:
        """L^-1 transposed, `K x n x n`."""
        return np.stack([part.inverse_cholesky.T for part in self.parts])

    @cached_property
    def _residuals(self) -> Array:
        return np.stack([part.residuals for part in self.parts])

    @cached_property
    def _means(self) -> Array:
        return np.array([part.theta.mean for part in self.parts])

    @cached_property
    def _outputscales(self) -> Array:
        return np.array([part.theta.outputscale for part in self.parts])

    @cached_property
    def _noise(self) -> float:
        """Mean variance of the noise: what measurements vary by more than f."""
        return float(self.weights @ [part.theta.noise for part in self.parts])

    def predict(self, X: Array, *, latent: bool) -> Gaussian:
        """Predict the outcome at `... x q x d` points; the joint covariance is computed only for joint draws."""
        points, index = distinct_points(X)
        scaled = [part.scale(points) for part in self.parts]
        means, variances = np.empty((2, len(self.parts), len(points)))
        rows = max(_BLOCK // max(len(self.parts) * len(self.parts[0].y), 1), _FEWEST_ROWS)
        for start in range(0, len(points), rows):
            block = slice(start, start + rows)
            projected = self._projected([own[block] for own in scaled])
            means[:, block] = (projected @ self._residuals[:, :, None])[..., 0]
            variances[:, block] = np.einsum("kpn,kpn->kp", projected, projected)
        means += self._means[:, None]
        prior = np.stack([part.prior_variance(own) for part, own in zip(self.parts, scaled, strict=True)])
        variances = np.maximum(prior - variances, SMALLEST_VARIANCE * prior)
        mean, deviations, total = self._moments(means, variances)
        std = np.sqrt(total if latent else total + self._noise)

        def correlation() -> Array:
            projected = self._projected(scaled)
            covariance = np.zeros((*index.shape, index.shape[-1]))
            for k, (weight, part) in enumerate(zip(self.weights, self.parts, strict=True)):
                places, own, off = scaled[k][index], projected[k][index], deviations[k][index]
                within = part.between(places, places) - own @ np.swapaxes(own, -1, -2)
                covariance += weight * (within + off[..., :, None] * off[..., None, :])
            return correlation_matrix(covariance, std[index])

        noise_std = np.sqrt(self._noise) if latent else None
        return self.parts[0].units.gaussian(mean[index], std[index], correlation, noise_std)

    def _projected(self, scaled: list[Array]) -> Array:
        """Return L^-1 k for each of p scaled points, `K x p x n`."""
        first, size = self.parts[0], len(self.parts[0].features.column)
        s = np.stack(
            [
                squared_distances(own[:, :size], part.scaled[:, :size])
                for own, part in zip(scaled, self.parts, strict=True)
            ]
        )
        cross = first.kernel.correlation(s)
        cross *= self._outputscales[:, None, None]
        if first.trend is not None:
            for k, (own, part) in enumerate(zip(scaled, self.parts, strict=True)):
                cross[k] += own[:, size:] @ part.scaled[:, size:].T
        return np.matmul(cross, self._whitening, out=s)

    def _moments(self, means: Array, variances: Array) -> tuple[Array, Array, Array]:
        """Return the mean, the deviations of the `K x p` means from it, and the variance of the mixture."""
        mean = self.weights @ means
        deviations = means - mean
        return mean, deviations, self.weights @ (variances + np.square(deviations))

    def leave_one_out(self, rows: Rows | None = None) -> Gaussian:
        """Predict each measurement, or some by their rows, from all others; hyperparameters and weights are kept."""
        some = slice(None) if rows is None else rows
        y = self.parts[0].units.forward(self.parts[0].y[some])
        precisions = np.stack([part.precision_diagonal[some] for part in self.parts])
        means = y - np.stack([part.dual[some] for part in self.parts]) / precisions
        mean, _, variance = self._moments(means, 1.0 / precisions)
        return self.parts[0].units.gaussian(mean, np.sqrt(variance))

    def one_step_ahead(self) -> Gaussian:
        """Predict each measurement from those before it, n; hyperparameters and their weights are kept."""
        y = self.parts[0].units.forward(self.parts[0].y)
        stds = np.stack([np.diagonal(part.cholesky) for part in self.parts])
        mean, _, variance = self._moments(y - stds * self._residuals, np.square(stds))
        return self.parts[0].units.gaussian(mean, np.sqrt(variance))


@dataclass(frozen=True)
class IntegratedGP(Surrogate):
    """A Gaussian process averaged over its hyperparameters: less sure than the most likely one while data are few.

    The posterior of the raw hyperparameters (logarithms) is taken to be that whose mode the fit finds. Draws are
    deterministic, in pairs on both sides of the mode, and weighted by the ratio of posterior and Laplace approximation; no
    weight exceeds the mean one by more than the root of the number of draws (Ionides 2008). The mode itself is one
    of them. Predictions have the mean, variance and dependence of the mixture.

    Conformal Bayes needs the closed form of a single process, which the mixture does not have.

    Attributes:
        process: The Gaussian process.
        draws: Number of draws besides the mode; with 0 it is the process itself.
        spread: Their standard deviations over those of the Laplace approximation; 0 is the process itself.
    """

    process: GaussianProcess = field(default_factory=GaussianProcess)
    draws: int = 8
    spread: float = 1.0
    model_type: ClassVar = IntegratedPosterior

    def __post_init__(self) -> None:
        check_fields(self)
        check_instance("process", self.process, GaussianProcess, "GaussianProcess()")
        check_whole("draws", self.draws, 0)
        check_between("spread", self.spread, 0.0, 3.0, including="low")

    def fit(self, data: Dataset, *, rng: np.random.Generator) -> IntegratedPosterior:
        """Fit the process, and draw around its hyperparameters; `rng` is not used."""
        mode = self.process.fit(data, rng=rng)
        if len(data) < _FEWEST or self.draws == 0:
            return IntegratedPosterior((mode,), np.ones(1))
        objective = self.process.objective(data)
        drawn, weights = laplace_draws(objective, np.asarray(mode.hyperparameters), self.draws, self.spread)
        parts = [self.process.posterior(data, objective, raw) for raw in drawn[1:]]
        return IntegratedPosterior((mode, *parts), weights)


def laplace_draws(objective: NegativeLogPosterior, mode: Array, draws: int, spread: float) -> tuple[Array, Array]:
    """Return raw hyperparameters drawn around the mode, which comes first, and their weights, of sum 1.

    Args:
        objective: The negative log posterior.
        mode: Where it is least.
        draws: Number of draws; those of hardly any weight are left out.
        spread: Standard deviations of the draws over those of the Laplace approximation.

    Returns:
        Raw hyperparameters, `K x p`, and weights, K, with K at most draws + 1.
    """
    lower, upper = np.array(objective.bounds()).T
    root = _deviations(objective, mode)
    normal = np.vstack([np.zeros(len(mode)), _normal_points(draws, len(mode))])
    raw = np.clip(mode + spread * normal @ root.T, lower, upper)
    values = np.array([objective.value(row) for row in raw])
    log_weights = 0.5 * np.square(normal).sum(axis=1) - values
    weights = _weights(np.where(np.isfinite(log_weights), log_weights, -np.inf))
    kept = weights >= _LEAST_WEIGHT
    kept[0] = True
    return raw[kept], weights[kept] / weights[kept].sum()


def _weights(log_weights: Array) -> Array:
    """Return truncated importance weights of sum 1."""
    weights = np.exp(log_weights - log_weights.max())
    weights = np.minimum(weights, np.sqrt(len(weights)) * weights.mean())
    return weights / weights.sum()


def _deviations(objective: NegativeLogPosterior, mode: Array) -> Array:
    """Return a root of the covariance of the Laplace approximation: columns along its axes, the longest first.

    Where the likelihood is not concave, its curvature is not counted: the data make no hyperparameter less certain than it
    is a priori.
    """
    prior = np.sqrt(objective.prior_precision)
    # In units of the prior, whose precision is 1.
    relative = _hessian(objective, mode) / np.outer(prior, prior)
    curvatures, directions = np.linalg.eigh(relative)
    root = directions / np.sqrt(np.maximum(curvatures, 1.0)) / prior[:, None]
    axes, lengths, _ = np.linalg.svd(root)
    return axes * lengths


def _hessian(objective: NegativeLogPosterior, raw: Array) -> Array:
    """Return the matrix of second derivatives, by differences of gradients towards the middle of the bounds."""
    lower, upper = np.array(objective.bounds()).T
    steps = np.where(raw > (lower + upper) / 2.0, -_STEP, _STEP)
    here = objective(raw)[1]
    rows = [(objective(raw + step * unit)[1] - here) / step for step, unit in zip(steps, np.eye(len(raw)), strict=True)]
    matrix = np.array(rows)
    return 0.5 * (matrix + matrix.T)


def _normal_points(count: int, dimensions: int) -> Array:
    """Return points of a standard normal distribution, `count x dimensions`, in pairs of opposite ones.

    They are those of an additive recurrence on the cube, whose generators are powers of the root of r^(d + 1) = r + 1.
    """
    root = 2.0
    for _ in range(40):
        root = (1.0 + root) ** (1.0 / (dimensions + 1.0))
    numbers = np.arange(1, count // 2 + count % 2 + 1)[:, None]
    uniform = np.mod(0.5 + numbers * root ** -np.arange(1.0, dimensions + 1.0), 1.0)
    half = ndtri(np.clip(uniform, 1e-3, 1.0 - 1e-3))
    return np.stack([half, -half], axis=1).reshape(-1, dimensions)[:count]
