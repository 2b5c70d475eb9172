"""What is believed along one parameter while the others stay put: the material of the fan picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibo.data import Array, Dataset
from calibo.distributions import Distribution
from calibo.errors import DataError, RecipeError, SpaceError
from calibo.models import Model
from calibo.optimize.predictions import believed
from calibo.optimize.records import Direction
from calibo.optimize.strategy import Plan, Strategy
from calibo.spaces import Space


@dataclass(frozen=True, eq=False)
class Slice:
    """Beliefs along one parameter, in the user's sign and units.

    Attributes:
        name: The parameter that varies.
        values: Its values, g.
        raw: The uncalibrated distributions of a measurement at the g points.
        calibrated: The calibrated ones.
        acquisition: Of the next suggestion at the g points, g; larger is better.
    """

    name: str
    values: tuple[Any, ...]
    raw: Distribution
    calibrated: Distribution
    acquisition: Array


def slices_at(
    data: Dataset,
    params: Mapping[str, Any],
    names: Sequence[str],
    *,
    space: Space,
    strategy: Strategy,
    direction: Direction,
    rng: np.random.Generator,
    outcome: int = 0,
    points: int = 121,
) -> tuple[Slice, ...]:
    """Beliefs of one outcome along each of the named parameters through ``params`` (normally the incumbent)."""
    if not len(data):
        raise DataError("there is no outcome yet: at least one measurement is needed")
    for name in names:
        if name not in space.names:
            raise SpaceError(f"no parameter {name!r} in the space; there are {', '.join(space.names)}")
    plan = strategy.plan(data, rng=rng)
    if not plan.models:
        raise RecipeError("this method chooses points without a predictive distribution: there is nothing to show")
    x = space.encode([params])[0]
    return tuple(_slice(plan, plan.models[outcome], x, name, space, direction, points) for name in names)


def _slice(
    plan: Plan, model: Model, x: Array, name: str, space: Space, direction: Direction, points: int
) -> Slice:
    column = space.names.index(name)
    parameter = space.columns[column]
    if parameter.cells is None or parameter.cells > points:
        grid = np.unique(parameter.round(np.linspace(0.0, 1.0, points)))
    else:
        grid = parameter.position(np.arange(parameter.cells))
    X = np.repeat(x[None, :], len(grid), axis=0)
    X[:, column] = grid
    distributions = [believed(inner, X, direction, latent=False) for inner in model.stages]
    values = tuple(parameter.decode(float(u)) for u in grid)
    return Slice(name, values, distributions[0], distributions[-1], plan.acquisition(X))
