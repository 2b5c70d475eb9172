"""Directions of objectives, and the one place where signs are converted.

Users see outcomes in their own sign: an objective is minimized or maximized, and a constraint is met where its value is
not positive. Internally every outcome is maximized, so the outcomes that are minimized, constraints among them, are
negated on the way in and their forecasts on the way out.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from calibo.data import Array, Forecast
from calibo.errors import DataError, RecipeError

_Forecast = TypeVar("_Forecast", Forecast, Forecast | None)


class Direction(enum.Enum):
    """Direction of optimization of one outcome; its value is the factor between the user's and the internal sign."""

    MINIMIZE = -1.0
    MAXIMIZE = 1.0

    @classmethod
    def of(cls, name: str | Direction) -> Direction:
        """Return the direction called "minimize" / "min" or "maximize" / "max".

        Raises:
            RecipeError: If there is no such direction.
        """
        if isinstance(name, Direction):
            return name
        for direction in cls:
            if isinstance(name, str) and name.lower() in (direction.name.lower(), direction.name.lower()[:3]):
                return direction
        raise RecipeError(f'a direction is "minimize" or "maximize", got {name!r}')

    @classmethod
    def several(cls, names: str | Direction | Sequence[str | Direction]) -> tuple[Direction, ...]:
        """Return the directions of one or several objectives."""
        if isinstance(names, str | Direction):
            return (cls.of(names),)
        if not isinstance(names, Sequence) or not names:
            raise RecipeError(f'directions are a list such as ["minimize", "maximize"], got {names!r}')
        return tuple(cls.of(name) for name in names)


def outcome_directions(directions: Sequence[Direction], constraints: Sequence[str] = ()) -> tuple[Direction, ...]:
    """Return the directions of all outcomes: of the objectives, then of the constraints, which are minimized."""
    return (*directions, *[Direction.MINIMIZE] * len(constraints))


def convert_values(values: npt.ArrayLike, directions: Sequence[Direction]) -> Array:
    """Convert `n x m` outcomes, one direction per column, from the user's sign to the internal one, or back.

    There are no negative zeros: a constraint of exactly 0 is met in either sign.
    """
    table = np.asarray(values, dtype=np.float64).reshape(-1, len(directions))
    return table * [direction.value for direction in directions] + 0.0


def convert_forecasts(
    forecasts: Sequence[_Forecast] | None, directions: Sequence[Direction]
) -> tuple[_Forecast, ...] | None:
    """Convert forecasts, one (or ``None``) per outcome, from the internal sign to the user's, or back."""
    if forecasts is None:
        return None
    if len(forecasts) != len(directions):
        raise DataError(f"expected one forecast for each of {len(directions)} outcomes, got {len(forecasts)}")
    pairs = zip(forecasts, directions, strict=True)
    return tuple(f.negated() if f is not None and way is Direction.MINIMIZE else f for f, way in pairs)


def reference_values(reference: Sequence[float] | None, directions: Sequence[Direction]) -> tuple[float, ...]:
    """Check a reference point, one value per objective in the user's sign, and convert it; ``()`` without one."""
    if reference is None:
        return ()
    try:
        values = np.asarray(reference, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if len(directions) < 2 or values.shape != (len(directions),) or not np.isfinite(values).all():
        raise RecipeError(
            f"a reference point has one finite value for each of several objectives, got {reference!r} for "
            f"{len(directions)}: leave it out to have it inferred"
        )
    return tuple(direction.value * float(value) for value, direction in zip(values, directions, strict=True))
