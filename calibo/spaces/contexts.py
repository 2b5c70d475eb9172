"""Contexts: parameters that are observed, not chosen, such as the temperature of the day."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from calibo.arguments import checked
from calibo.checks import is_text, read_mapping, shown
from calibo.data import Array
from calibo.errors import ContextWarning, RecipeError, SpaceError, warn
from calibo.spaces.parameters import Float, Int, Parameter

if TYPE_CHECKING:
    from calibo.spaces.base import Space


@dataclass(frozen=True, repr=False)
class Context:
    """Marks a parameter of a space as observed, not chosen: it is given with ``ask`` and told with the outcome.

        >>> from calibo import Context, Float, Optimizer
        >>> optimizer = Optimizer({"x": Float(0, 1), "temperature": Context(Float(10, 40))}, seed=0)
        >>> suggestion = optimizer.ask(context={"temperature": 21.5})
        >>> suggestion.params["temperature"]
        21.5
        >>> optimizer.tell(suggestion, 3.2, context={"temperature": 22.1})

    Attributes:
        parameter: The parameter, such as ``Float(10, 40)``: the range in which values are expected.
    """

    parameter: Any

    def __post_init__(self) -> None:
        if isinstance(self.parameter, Context):
            raise SpaceError("Context(Context(...)) is a context already: write Context once")

    def __repr__(self) -> str:
        return f"Context({self.parameter!r})"

    @staticmethod
    def unwrapped(parameter: Any) -> tuple[Any, bool]:
        """Return the parameter itself, and whether it was given as a context."""
        return (parameter.parameter, True) if isinstance(parameter, Context) else (parameter, False)


def checked_context(space: Space, context: Mapping[str, Any] | None, *, partly: bool = False) -> dict[str, Any]:
    """Return the observed values of a space's contexts as values of their parameters.

    A number outside of its range counts as the nearest one inside, with a warning, since what was observed must not be lost.

    Args:
        space: The space.
        context: Values by name.
        partly: Whether some may be missing.

    Raises:
        SpaceError: If a name is unknown or missing, or a value is not one that its parameter can have.
    """
    _check_space(space)
    given = {} if context is None else read_mapping(context)
    if given is None:
        raise SpaceError(f'a context is a dict by name, such as {{"temperature": 21.5}}, got {shown(context)}')
    unknown = [name for name in given if not is_text(name) or name not in space.contexts]
    if unknown:
        known = f"its contexts are {list(space.contexts)}" if space.contexts else "it has no contexts"
        raise SpaceError(
            f"{', '.join(map(shown, unknown))} is no context of the space ({known}): declare one as Context(Float(10, 40)), "
            "or hold a parameter with fixed={...}"
        )
    missing = [name for name in space.contexts if name not in given]
    if missing and not partly:
        wanted = ", ".join(f'"{name}": ...' for name in missing)
        raise SpaceError(f"the context {', '.join(map(repr, missing))} must be given: context={{{wanted}}}")
    columns = dict(zip(space.names, space.columns, strict=True))
    return {name: _inside(name, columns[name], value) for name, value in given.items()}


def held_values(space: Space, fixed: Mapping[str, Any] | None, context: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return all values that the next suggestion must have, by name: fixed ones, and those of the contexts.

    Raises:
        SpaceError: If a context is missing, or fixed, or one of its values is not one that it can have.
    """
    observed = checked_context(space, context)
    given = {} if fixed is None else read_mapping(fixed)
    if given is None:
        raise SpaceError(f'fixed values are a dict by name, such as {{"material": "steel"}}, got {shown(fixed)}')
    both = [name for name in given if is_text(name) and name in space.contexts]
    if both:
        raise SpaceError(f"{', '.join(map(repr, both))} is a context: give it by context={{...}}, not by fixed")
    return {**given, **observed}


@checked
def moved_point(space: Space, x: Array, values: Mapping[str, Any]) -> Array:
    """Return a point, d, with other values in some columns."""
    _check_space(space)
    x = np.asarray(x, dtype=np.float64)
    if x.shape != (len(space.names),):
        raise SpaceError(f"a point has {len(space.names)} coordinates, got the shape {x.shape}")
    moved = x.copy()
    for name, value in values.items():
        if name not in space.names:
            raise SpaceError(f"the space has no parameter {shown(name)}; it has {list(space.names)}")
        j = space.names.index(name)
        moved[j] = space.columns[j].encode(value)
    if not np.array_equal(space.active(moved[None, :]), space.active(x[None, :])):
        raise SpaceError(
            f"the context {', '.join(map(repr, values))} decides which parameters are active and cannot turn out otherwise: "
            "tell the parameters with their values instead of the suggestion"
        )
    return moved


@checked
def check_no_contexts(space: Space, what: str, instead: str) -> None:
    """Raise a ``RecipeError`` if a space has contexts, on which ``what`` depends."""
    _check_space(space)
    if space.contexts:
        raise RecipeError(f"{what} depends on the context ({', '.join(space.contexts)}): {instead}")


def _check_space(space: object) -> None:
    from calibo.spaces.base import Space  # which imports this module

    if not isinstance(space, Space):
        raise SpaceError(f"expected a space, such as as_space({{...}}), got {shown(space)}")


def _inside(name: str, column: Parameter, value: Any) -> Any:
    """Return an observed value, or the nearest one that the parameter has."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not isinstance(column, Float | Int) or not math.isfinite(number):
        try:
            column.encode(value)
        except SpaceError as error:
            raise SpaceError(f"context {name!r}: {error}") from None
        return value
    if not column.low <= number <= column.high:
        warn(
            f"context {name!r} is {value}, outside of {column!r}: models see the nearest value; widen the range if such "
            "values are usual",
            ContextWarning,
        )
    clipped = min(max(number, float(column.low)), float(column.high))
    if column.cells is None:
        return clipped
    return column.decode(float(column.position(round((clipped - column.low) / (column.step or 1)))))
