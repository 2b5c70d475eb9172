"""Problems measured with Gaussian noise, the same everywhere or depending on the point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibo.arguments import checked
from calibo.data import Array
from calibo.errors import DataError, RecipeError
from calibo.problems.synthetic import NoiseStd, Problem


@dataclass(frozen=True)
class NoisyProblem:
    """A problem and the noise of its measurements.

    Attributes:
        problem: The problem without noise: regret is counted on it.
        std: Standard deviation of the noise, one number or a function of the points.
    """

    problem: Problem
    std: NoiseStd

    def __call__(self, X: npt.ArrayLike, rng: np.random.Generator) -> Array:
        """Measure at points in original units, n x d, with noise drawn from ``rng``; returns n values."""
        values = self.problem(X)
        return values + self.noise_std(X) * rng.standard_normal(values.shape)

    def noise_std(self, X: npt.ArrayLike) -> Array:
        """Return the standard deviation of the noise, n, at points in original units, n x d."""
        points = np.asarray(X, dtype=np.float64)
        given = np.asarray(self.std(points) if callable(self.std) else self.std, dtype=np.float64)
        if given.shape not in ((), (len(points),)) or not np.all(np.isfinite(given) & (given >= 0)):
            raise DataError(
                f"the noise function of {self.problem.name} must give {len(points)} standard deviations, finite and not "
                f"negative, got shape {given.shape}"
            )
        return np.broadcast_to(given, (len(points),)).copy()

    def objective(self, params: Mapping[str, float], rng: np.random.Generator) -> float:
        """Measure once at parameters given by name."""
        return float(self(self.problem.point(params), rng)[0])


@checked
def with_noise(problem: Problem, std: NoiseStd | None = None) -> NoisyProblem:
    """Return a problem that is measured with noise: ``with_noise(ackley(2, bound=10), 0.5)(X, rng)``.

    Args:
        problem: The problem without noise.
        std: Standard deviation of the noise, or a function n x d -> n that gives it; the problem's own by default.
    """
    level = problem.noise_std if std is None else std
    if not callable(level) and not (np.isfinite(level) and level >= 0):
        raise RecipeError(f"a standard deviation must be finite and not negative, got {level}: 0 means no noise")
    return NoisyProblem(problem=problem, std=level)


@dataclass(frozen=True)
class NormNoise:
    """Standard deviation of noise whose variance is offset + slope |x|, |x| the Euclidean norm; n x d -> n."""

    slope: float
    offset: float = 0.0

    def __call__(self, X: Array) -> Array:
        return np.sqrt(self.offset + self.slope * np.linalg.norm(X, axis=1))
