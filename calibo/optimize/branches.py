"""A share of the points for each branch of a conditional space.

How good a branch is once its parameters are tuned cannot be seen from a few points of it, and a model of all branches, most
of whose data are from the one that is best so far, is too sure of the others: it gave the better of two branches 3 of 40
points. So while a group of parameters that are active together has been active in too few points, every second point is
sought where it is active, by what is known of these points alone: their own model, and improvement over their own best one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibo.data import Array, Dataset
from calibo.optimize.design import design_point
from calibo.optimize.sources import Chosen, as_source
from calibo.optimize.strategy import Strategy
from calibo.search.base import untried_point
from calibo.spaces import Space
from calibo.spaces.conditional import pinned

#: Points that a group of parameters gets, for each of them.
_SHARE = 4
#: With fewer points a model of a branch has nothing to say, and the next point is one of the initial design.
_FEWEST = 3


def branches_due(data: Dataset) -> list[int]:
    """Return a column of each group of parameters that is due, the one with the least of its share first.

    Points count wherever they come from: pending and failed ones, too.
    """
    if data.activity is None or len(data.tried) % 2:
        return []
    active = data.activity(data.tried)
    groups = [(active[:, group[0]].sum() / (_SHARE * len(group)), group[0]) for group in data.activity.groups]
    return [column for share, column in sorted(groups) if share < 1.0]


def branch_point(
    data: Dataset, column: int, *, space: Space, strategy: Strategy, seed: int, number: int
) -> Chosen | None:
    """Return a point at which a column is active, with the forecast of the model of all data.

    Args:
        data: All observations, at least one.
        column: The column that must be active.
        space: The search space, whose columns are conditional.
        strategy: Makes the plans.
        seed: Seed of the study.
        number: Number of the point; with the seed it determines all randomness.

    Returns:
        The point with its plan; ``None`` if the column cannot be active in this part of the space, or all points have been
        tried at which it is.
    """
    rng = np.random.default_rng([seed, number])
    part = _part_with(space, column, rng)
    if part is None or untried_point(part, data.tried, np.random.default_rng([seed, number, 1])) is None:
        return None
    plan = strategy.plan(data, rng=rng)
    assert data.activity is not None
    inside = np.flatnonzero(data.activity(data.X)[:, column])
    if len(inside) < _FEWEST:
        X = design_point(part, seed=seed, number=number, avoid=data.tried)[None, :]
        return Chosen(X, tuple(space.decode(X)), plan)
    own = strategy.plan(_only(data, inside, column), rng=rng)
    local = replace(plan, acquisition=own.acquisition, anchors=own.anchors)
    found = as_source(part).choose(local, strategy, 1, rng=rng)
    return replace(found, plan=replace(found.plan, why=plan.why))


def _part_with(space: Space, column: int, rng: np.random.Generator) -> Space | None:
    """Return a part of the space in which a column is active: one way, drawn at random; ``None`` if there is none."""
    assert space.activity is not None
    ways = space.activity.ways(column)
    way = ways[int(rng.integers(len(ways)))]
    cells = {parent: sorted(own)[int(rng.integers(len(own)))] for parent, own in sorted(way.items())}
    part = pinned(space, {parent: float(space.columns[parent].position(cell)) for parent, cell in cells.items()})
    return part if space.active(part.sample(1, rng))[0, column] else None


def _only(data: Dataset, rows: np.ndarray, column: int) -> Dataset:
    """Return the data at whose points a column is active, with the pending and failed points of that kind."""
    assert data.activity is not None

    def kept(X: Array) -> np.ndarray:
        return np.asarray(data.activity(X)[:, column]) if data.activity is not None else np.ones(len(X), dtype=bool)

    failed = kept(data.X_failed)
    return replace(
        data.rows(rows),
        X_pending=data.X_pending[kept(data.X_pending)],
        X_failed=data.X_failed[failed],
        Y_failed=data.Y_failed[failed],
        hyperparameters=(),
    )
