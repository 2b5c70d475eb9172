"""Directions of objectives, and the one place where signs are converted.

Users see outcomes in their own sign: an objective is minimized or maximized, and a constraint is met where its value is
not positive. Internally every outcome is maximized, so the outcomes that are minimized, constraints among them, are
negated on the way in and their forecasts on the way out.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from calibo.arguments import checked
from calibo.checks import as_floats, is_array, is_text, read_items, read_mapping, shown
from calibo.data import Array, Forecast
from calibo.errors import DataError, RecipeError, ValueRejected

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
            if is_text(name) and str(name).lower() in (direction.name.lower(), direction.name.lower()[:3]):
                return direction
        raise RecipeError(f'a direction is "minimize" or "maximize", got {shown(name)}')

    @classmethod
    def several(cls, names: Directions) -> tuple[Direction, ...]:
        """Return the directions of one or several objectives, given in order or by the names of the objectives."""
        if isinstance(names, str | Direction):
            return (cls.of(names),)
        named = read_mapping(names)
        items = read_items(names) if named is None else list(named.values())
        if not items:
            raise RecipeError(f'directions are a list such as ["minimize", "maximize"], got {shown(names)}')
        return tuple(cls.of(name) for name in items)


#: Directions as users give them: of one objective, of several in order, or of objectives by name.
Directions = str | Direction | Sequence[str | Direction] | Mapping[str, str | Direction]


def objective_names(directions: Directions | None) -> tuple[str, ...]:
    """Return the names of the objectives whose directions are given by name; ``()`` if they are given otherwise.

    Raises:
        RecipeError: If a name is no text, is empty, or is a number, which counts objectives.
    """
    named = read_mapping(directions)
    if named is None:
        return ()
    for name in named:
        if not isinstance(name, str) or not name.strip() or name.strip().isdigit():
            raise RecipeError(
                'directions by name are a mapping such as {"error": "minimize", "latency": "minimize"}; a name is a text '
                f"that is not empty and not a number, got {shown(name)}"
            )
    return tuple(named)


def by_name(given: object, names: Sequence[str], what: str) -> object:
    """Return what is given for each objective in their order, if it is given by name; anything else as it is.

    Args:
        given: A mapping by the names of the objectives, or values in order.
        names: Names of the objectives; ``()`` if they have none.
        what: What is given, for the message.

    Returns:
        A list in the order of the objectives (the value itself if there is only one), or ``given``.

    Raises:
        ValueRejected: If the names are not those of the objectives.
    """
    if not isinstance(given, Mapping):
        return given
    named = read_mapping(given)
    if named is None or set(named) != set(names):
        known = ", ".join(map(repr, names)) or "none: name them with directions={...}"
        raise ValueRejected(
            f"{what} by name must have exactly the names of the objectives ({known}), got {shown(given)}"
        )
    values = [named[name] for name in names]
    return values[0] if len(values) == 1 else values


@checked
def outcome_directions(directions: Sequence[Direction], constraints: Sequence[str] = ()) -> tuple[Direction, ...]:
    """Return the directions of all outcomes: of the objectives, then of the constraints, which are minimized."""
    return (*directions, *[Direction.MINIMIZE] * len(constraints))


def convert_values(values: npt.ArrayLike, directions: Sequence[Direction]) -> Array:
    """Convert `n x m` outcomes, one direction per column, from the user's sign to the internal one, or back.

    There are no negative zeros: a constraint of exactly 0 is met in either sign.

    Raises:
        DataError: If there are not as many values as directions.
    """
    rows = values if isinstance(values, np.ndarray) else list(values)  # pyright: ignore[reportArgumentType, reportCallIssue]
    try:
        table = np.asarray(rows, dtype=np.float64).reshape(len(rows), -1 if len(rows) else len(directions))
    except ValueError:
        if all(np.size(row) == len(directions) for row in rows):
            raise DataError(f"the values of results must be numbers, got {shown(values)}") from None
        table = np.empty((len(rows), 0))
    if table.shape[1] != len(directions):
        raise DataError(f"each result needs one value for each of the {len(directions)} directions")
    return table * [direction.value for direction in directions] + 0.0


@checked
def convert_forecasts(
    forecasts: Sequence[_Forecast] | None, directions: Sequence[Direction]
) -> tuple[_Forecast, ...] | None:
    """Convert forecasts, one (or ``None``) per outcome, from the internal sign to the user's, or back."""
    if forecasts is None:
        return None
    if not all(one is None or isinstance(one, Forecast) for one in forecasts):
        raise DataError(f"forecasts must be Forecasts, or None, got {shown(forecasts)}")
    if len(forecasts) != len(directions):
        raise DataError(f"expected one forecast for each of {len(directions)} outcomes, got {len(forecasts)}")
    return signed_forecasts(forecasts, directions)


def signed_forecasts(forecasts: Sequence[_Forecast], directions: Sequence[Direction]) -> tuple[_Forecast, ...]:
    """Convert forecasts that are known to be right: a study's are converted at every suggestion."""
    pairs = zip(forecasts, directions, strict=True)
    return tuple(f.negated() if f is not None and way is Direction.MINIMIZE else f for f, way in pairs)


@checked
def reference_values(
    reference: object, directions: Sequence[Direction], names: Sequence[str] = ()
) -> tuple[float, ...]:
    """Check a reference point, one value per objective in the user's sign, and convert it; ``()`` without one.

    ``names`` are those of the objectives, by which the values may be given.
    """
    if reference is None:
        return ()
    try:
        given: Any = by_name(reference, names, "a reference point")
    except ValueRejected as error:
        raise RecipeError(str(error)) from None
    values = as_floats("reference", given, RecipeError) if is_array(given) else np.empty(0)
    if len(directions) < 2 or values.shape != (len(directions),) or not np.isfinite(values).all():
        raise RecipeError(
            f"a reference point has one finite value for each of several objectives, got {shown(reference)} for "
            f"{len(directions)}: leave it out to have it inferred"
        )
    return tuple(direction.value * float(value) for value, direction in zip(values, directions, strict=True))
