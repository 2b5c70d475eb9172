"""Several objectives as one number: the augmented Tchebycheff function with weights drawn at random.

Notation: n points, m objectives, which are maximized.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.arguments import check_fields
from calibo.checks import check_between
from calibo.data import Array
from calibo.pareto import pareto_front


@dataclass(frozen=True)
class Tchebycheff:
    """Scalarization of several objectives by the augmented Tchebycheff function with random weights (Knowles 2006).

    1. g_j = (best_j - y_j) / (best_j - worst_j) for every objective, best and worst on the Pareto front; a given reference
       point replaces the worst.
    2. Weights w, uniform on the simplex.
    3. y = -(max_j w_j g_j + rho sum_j w_j g_j).

    Every suggestion, and every point of a batch, has its own weights, so that the search covers the front. Classifiers
    are trained on it, because the contribution to the hypervolume is 0 for all dominated points, which are most.

    Attributes:
        rho: Weight of the sum, which distinguishes points of equal maximum.
    """

    rho: float = 0.05

    def __post_init__(self) -> None:
        check_fields(self)
        check_between("rho", self.rho, 0.0, np.inf, including="low")

    def scalarize(self, Y: Array, reference: tuple[float, ...], *, rng: np.random.Generator) -> Array:
        """Scalarize the rows of Y, `n x m`, to one number each, `n`."""
        return self.weighted(Y, reference, rng=rng)(Y)

    def weighted(self, Y: Array, reference: tuple[float, ...], *, rng: np.random.Generator) -> WeightedTchebycheff:
        """Draw weights, and take the units of the objectives from outcomes.

        Args:
            Y: Outcomes, `n x m`, whose front says what is best and worst.
            reference: The reference point, or nothing.
            rng: Source of the weights.
        """
        weights = rng.dirichlet(np.ones(Y.shape[1]))
        # Halves, so that the difference of two outcomes of any size is finite.
        half = 0.5 * Y
        front = 0.5 * pareto_front(Y)
        best = front.max(axis=0)
        worst = 0.5 * np.asarray(reference) if reference else front.min(axis=0)
        everywhere = best - half.min(axis=0)
        extent = np.where(best > worst, best - worst, np.where(everywhere > 0.0, everywhere, 1.0))
        return WeightedTchebycheff(weights, best, extent, self.rho)


@dataclass(frozen=True, eq=False)
class WeightedTchebycheff:
    """The augmented Tchebycheff function of one choice of weights.

    Attributes:
        weights: Weights of the objectives, `m`, whose sum is 1.
        half_best: Half of the best outcome of each, `m`.
        half_extent: Half of what counts as one unit of each, `m`.
        rho: Weight of the sum.
    """

    weights: Array
    half_best: Array
    half_extent: Array
    rho: float

    def __call__(self, Y: Array) -> Array:
        """Scalarize outcomes, `... x m`, to one number each; larger is better, and 0 is the best of all objectives."""
        lacking = self.weights * ((self.half_best - 0.5 * Y) / self.half_extent)
        return -(lacking.max(axis=-1) + self.rho * lacking.sum(axis=-1))
