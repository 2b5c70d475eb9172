"""What is believed along one parameter while the others stay put: the material of the fan picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibo.calibration import stages
from calibo.data import Array, Dataset
from calibo.errors import DataError, RecipeError, SpaceError
from calibo.optimize.records import Direction
from calibo.optimize.strategy import Strategy
from calibo.predictive import Predictive
from calibo.space import ProductSpace


@dataclass(frozen=True, eq=False)
class Slice:
    """Beliefs along one parameter, in the user's sign and units.

    Attributes:
        name: The parameter that varies.
        values: Its values, g.
        raw: The uncalibrated laws of a measurement at the g points.
        calibrated: The calibrated ones.
        acquisition: Of the next suggestion at the g points, g; larger is better.
    """

    name: str
    values: tuple[Any, ...]
    raw: Predictive
    calibrated: Predictive
    acquisition: Array


def slice_at(
    data: Dataset,
    params: Mapping[str, Any],
    name: str,
    *,
    space: ProductSpace,
    strategy: Strategy,
    direction: Direction,
    rng: np.random.Generator,
    points: int = 121,
) -> Slice:
    """Beliefs along the parameter ``name`` through ``params`` (normally the incumbent)."""
    if not len(data):
        raise DataError("nothing has been told yet: tell at least one outcome first")
    if name not in space.names:
        raise SpaceError(f"no parameter {name!r} in the space; there are {', '.join(space.names)}")
    column = space.names.index(name)
    parameter = space.columns[column]
    if parameter.cells is None or parameter.cells > points:
        grid = np.unique(parameter.snap(np.linspace(0.0, 1.0, points)))
    else:
        grid = parameter.position(np.arange(parameter.cells))
    X = np.repeat(space.encode([params]), len(grid), axis=0)
    X[:, column] = grid
    plan = strategy.plan(data, rng=rng)
    if plan.model is None:
        raise RecipeError("this method chooses points without a predictive distribution: there is nothing to show")
    laws = [model.predict(X, latent=False) for model in stages(plan.model)]
    if direction is Direction.MINIMIZE:
        laws = [law.negated() for law in laws]
    values = tuple(parameter.decode(float(u)) for u in grid)
    return Slice(name, values, laws[0], laws[-1], plan.acquisition(X))
