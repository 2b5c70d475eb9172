"""Predictions along one parameter, or over two, while the others are fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibo.data import Array
from calibo.distributions import Distribution
from calibo.errors import SpaceError
from calibo.search import Plan
from calibo.spaces import Parameter, Space
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
        grid = _grid(parameter, points)
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


@dataclass(frozen=True, eq=False)
class Plane:
    """Expected values over two parameters, in the user's sign and units.

    Attributes:
        names: Names of the two parameters that vary.
        values: Their `g` and `h` values.
        places: Coordinates of these values on [0, 1], `g` and `h`.
        mean: Expected values, `h x g`; NaN where the space has no point.
    """

    names: tuple[str, str]
    values: tuple[tuple[Any, ...], tuple[Any, ...]]
    places: tuple[Array, Array]
    mean: Array


def plane_at(
    plan: Plan,
    params: Mapping[str, Any],
    names: tuple[str, str],
    *,
    space: Space,
    direction: Direction,
    outcome: int = 0,
    points: int = 31,
) -> Plane:
    """Predict one outcome over two parameters.

    Args:
        plan: Plan with fitted models; see ``fitted_plan``.
        params: Parameters that are fixed while two of them vary, normally the best ones.
        names: Names of the two parameters.
        space: The space.
        direction: Direction of the outcome.
        outcome: Index of the outcome among the plan's models.
        points: Number of values of a parameter with more choices than that.
    """
    columns = [space.names.index(name) for name in names]
    grids = [_grid(space.columns[column], points) for column in columns]
    across, up = np.meshgrid(*grids)
    X = np.repeat(space.encode([params]), across.size, axis=0)
    X[:, columns[0]], X[:, columns[1]] = across.ravel(), up.ravel()
    valid = space.valid(X)
    mean = np.full(across.size, np.nan)
    if valid.any():
        mean[valid] = direction.value * plan.models[outcome].predict(X[valid], latent=True).mean
    x, y = (
        tuple(space.columns[column].decode(float(u)) for u in grid) for column, grid in zip(columns, grids, strict=True)
    )
    return Plane(names, (x, y), (grids[0], grids[1]), mean.reshape(across.shape))


def _grid(parameter: Parameter, points: int) -> Array:
    """Return values of a parameter on [0, 1]: all if they are few, else some evenly spread."""
    if parameter.cells is None or parameter.cells > points:
        return np.unique(parameter.round(np.linspace(0.0, 1.0, points)))
    return parameter.position(np.arange(parameter.cells))
