"""The point with the best expected value, in a context or with fixed values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibo.acquisition import Feasibility
from calibo.data import Array, Dataset
from calibo.optimize.strategy import anchor_points, expected_here
from calibo.search import MultiStart, Plan, Pool
from calibo.spaces import Space

#: How many of the most promising recorded points are searched around.
_ANCHORS = 10


def recommended(plan: Plan, data: Dataset, space: Space, *, rng: np.random.Generator) -> tuple[Array, float]:
    """Return the point with the best expected latent value of a single objective, d, and that value; larger is better.

    Args:
        plan: A plan with models, fitted to the data.
        data: The observations.
        space: The space that the point is sought in, with held columns if some are.
        rng: The only source of randomness.
    """
    goal, constraints = plan.models[0], Feasibility(plan.models[1:])
    here = expected_here(plan.models[:1], replace(data, held=space.repair))
    anchors = anchor_points(here, _ANCHORS)
    # Points that rather not meet the constraints come after all that do.
    penalty = 1e3 * max(float(np.ptp(data.Y[:, 0])), float(np.abs(data.Y[:, 0]).max()), 1e-300)

    def expected(X: Array) -> Array:
        return goal.predict(X, latent=True).mean

    def merit(X: Array) -> Array:
        if not data.constraints:
            return expected(X)
        lacking = np.minimum(constraints.log(X) - np.log(0.5), 0.0)
        return expected(X) + penalty * np.maximum(lacking, -1e3)

    search = Pool() if space.is_pool else MultiStart()
    wanted = Plan(acquisition=merit, anchors=anchors, avoid=np.empty((0, space.dimension)))
    found = space.repair(np.vstack([search.maximize(wanted, space, 1, rng=rng), anchors]))
    best = found[int(np.argmax(merit(found)))]
    return best, float(expected(best[None, :])[0])
