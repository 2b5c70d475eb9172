"""Predictions along one parameter while the others are fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibo.data import Array
from calibo.distributions import Distribution
from calibo.errors import SpaceError
from calibo.search import Plan
from calibo.spaces import Space
from calibo.trials import Direction, in_user_sign


@dataclass(frozen=True, eq=False)
class Slice:
    """Predictions along one parameter, in the user's sign and units.

    Attributes:
        name: Name of the parameter that varies.
        values: Its `g` values.
        raw: Uncalibrated distributions of a measurement at the `g` points.
        calibrated: Calibrated distributions of a measurement at the `g` points.
        acquisition: Values of the acquisition function at the `g` points; larger is better.
    """

    name: str
    values: tuple[Any, ...]
    raw: Distribution
    calibrated: Distribution
    acquisition: Array


def slices_at(
    plan: Plan,
    params: Mapping[str, Any],
    names: Sequence[str],
    *,
    space: Space,
    direction: Direction,
    outcome: int = 0,
    points: int = 121,
) -> tuple[Slice, ...]:
    """Predict one outcome along each of the named parameters that are active.

    Args:
        plan: Plan with fitted models; see ``fitted_plan``.
        params: Parameters that are fixed while one of them varies, normally the best ones.
        names: Names of the parameters that vary.
        space: The space.
        direction: Direction of the outcome.
        outcome: Index of the outcome among the plan's models.
        points: Number of values of a parameter with more choices than that.

    Raises:
        SpaceError: If there is no parameter of a name.
    """
    for name in names:
        if name not in space.names:
            raise SpaceError(f"no parameter {name!r} in the space; there are {', '.join(space.names)}")
    x = space.encode([params])[0]
    active = space.active(x[None, :])[0]
    found: list[Slice] = []
    for name in names:
        column = space.names.index(name)
        if not active[column]:
            continue
        parameter = space.columns[column]
        if parameter.cells is None or parameter.cells > points:
            grid = np.unique(parameter.round(np.linspace(0.0, 1.0, points)))
        else:
            grid = parameter.position(np.arange(parameter.cells))
        X = np.repeat(x[None, :], len(grid), axis=0)
        X[:, column] = grid
        # Where another choice makes other parameters active, these are in the middle of their ranges.
        X = space.repair(X[space.valid(X)])
        if not len(X):
            continue  # with an equality, no value but the point's own is possible, and not even that after rounding
        values = tuple(parameter.decode(float(u)) for u in X[:, column])
        by_stage = plan.models[outcome].predict_stages(X)
        raw, calibrated = (in_user_sign(by_stage[i], direction) for i in (0, -1))
        found.append(Slice(name, values, raw, calibrated, plan.acquisition(X)))
    return tuple(found)
