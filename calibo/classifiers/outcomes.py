"""All outcomes of a point as the one number by which it is labelled; larger is better.

Notation: n points, m objectives, y one number for each point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibo.data import Array, Dataset
from calibo.errors import RecipeError
from calibo.pareto import pareto_front


@dataclass(frozen=True)
class Tchebycheff:
    """Several objectives as one, by the augmented Tchebycheff function with random weights (Knowles 2006).

    1. g_j = (best_j - y_j) / (best_j - worst_j) for every objective, best and worst on the Pareto front; a reference point
       that was given stands in for the worst.
    2. Weights w, uniform on the simplex.
    3. y = -(max_j w_j g_j + rho sum_j w_j g_j).

    Every suggestion, and every point of a batch, has weights of its own, so that the search moves along the front.
    Chosen over the contribution to the hypervolume, because that is zero for all dominated points, which are most.

    Attributes:
        rho: Share of the sum, which tells points apart that the maximum does not.
    """

    rho: float = 0.05

    def __post_init__(self) -> None:
        if not self.rho >= 0.0:
            raise RecipeError(f"rho is a number from 0 on, got {self.rho}")

    def scalarize(self, Y: Array, reference: tuple[float, ...], *, rng: np.random.Generator) -> Array:
        """One number for each row of Y, n x m -> n."""
        weights = rng.dirichlet(np.ones(Y.shape[1]))
        # Halves, so that the difference of two outcomes of any size is finite.
        half = 0.5 * Y
        front = 0.5 * pareto_front(Y)
        best = front.max(axis=0)
        worst = 0.5 * np.asarray(reference) if reference else front.min(axis=0)
        everywhere = best - half.min(axis=0)
        extent = np.where(best > worst, best - worst, np.where(everywhere > 0.0, everywhere, 1.0))
        lacking = weights * ((best - half) / extent)
        return -(lacking.max(axis=1) + self.rho * lacking.sum(axis=1))


def merits(data: Dataset, tradeoff: Tchebycheff, *, rng: np.random.Generator) -> Array:
    """The number by which each point of the data is labelled, n.

    1. One objective is taken as it is, several as ``tradeoff`` says.
    2. Points that do not meet all constraints are all equal, and worse than the worst that does: so none of them is ever
       above a threshold.
    3. As long as no point meets all constraints, it is what they lack of it, in units of the most that is lacking.
    """
    goals = data.Y[:, : data.objectives]
    if not data.constraints:
        return goals[:, 0] if data.objectives == 1 else tradeoff.scalarize(goals, data.reference, rng=rng)
    met = data.feasible
    if not met.any():
        lacking = np.minimum(data.Y[:, data.objectives :], 0.0)
        most = np.maximum(-lacking.min(axis=0), np.finfo(np.float64).tiny)
        return (lacking / most).sum(axis=1)
    of_met = goals[met, 0] if data.objectives == 1 else tradeoff.scalarize(goals[met], data.reference, rng=rng)
    lowest, highest = float(of_met.min()), float(of_met.max())
    below = (highest - lowest) or abs(lowest) or 1.0
    y = np.full(len(data), lowest - below)
    y[met] = of_met
    return y
