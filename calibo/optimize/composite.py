"""Composite objectives g(h(x)), of which the vector h is measured and g is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibo.classifiers.composite import Outer, composed_values, require_torch
from calibo.data import Array
from calibo.errors import RecipeError, ValueRejected
from calibo.optimize.likelihood_free import MISSING_FUNCTION, CompositeLikelihoodFree
from calibo.optimize.strategy import Strategy
from calibo.trials import Direction


@dataclass(frozen=True)
class Composite:
    """The known function of a composite objective in the user's sign.

    Attributes:
        function: g, a torch tensor `m x k` -> `m`; the direction says whether it is minimized or maximized.
    """

    function: Outer

    def measured(self, vector: object, length: int | None = None) -> tuple[tuple[float, ...], float]:
        """Check a measured vector and compute its value.

        Args:
            vector: The vector.
            length: Its expected length, if known.

        Returns:
            The vector as floats, and the value of the function.

        Raises:
            ValueRejected: If it is no vector of that length, or its value is not finite.
        """
        numbers = finite_vector(vector, length)
        # Evaluated with two rows, since training uses many: a function that works for one row only is found out here.
        value = float(self.values(np.array([numbers, numbers]))[0])
        if not np.isfinite(value):
            shown = str(list(numbers[:4]))[:-1] + (", ...]" if len(numbers) > 4 else "]")
            raise ValueRejected(f"the composite function must give a finite number, got {value} for the vector {shown}")
        return numbers, value

    def values(self, H: Array) -> Array:
        """Return the values of `n x k` vectors, `n`."""
        return composed_values(self.function, H)


@dataclass(frozen=True)
class Negated:
    """The negative of a function of tensors: one that is minimized as one that is maximized."""

    function: Outer

    def __call__(self, H: Any) -> Any:
        """Return minus the function's values, `m x k` -> `m`."""
        return -self.function(H)


def default_method(method: str | Strategy | None, composite: Outer | None) -> str | Strategy:
    """Return the method given, or the default for a plain or a composite objective."""
    if method is not None:
        return method
    return "auto" if composite is None else "composite_lfbo"


def composed(
    strategy: Strategy, composite: Outer | None, directions: Sequence[Direction]
) -> tuple[Strategy, Composite | None]:
    """Combine a strategy with the function of a composite objective.

    Args:
        strategy: The method.
        composite: The function in the user's sign, or ``None``.
        directions: Directions of the objectives.

    Returns:
        The strategy that knows the function, and the function in the user's sign; ``None`` for a plain objective. A
        function that the strategy itself has (``outer``) is maximized, so with "minimize" it is negated for the user.

    Raises:
        RecipeError: If the method does not take a function, if none or two are given, or with several objectives.
    """
    if not isinstance(strategy, CompositeLikelihoodFree):
        if composite is None:
            return strategy, None
        raise RecipeError(
            f"{strategy.name} does not take composite=, as it models values and not the vectors they are made of; "
            "composite_lfbo does. Or leave composite out, and return the value of the function instead of the vector"
        )
    if composite is not None and strategy.outer is not None:
        raise RecipeError(
            f"{strategy.name} has a known function already (outer): give it there or as composite=, not both"
        )
    function = strategy.outer if composite is None else composite
    if function is None:
        raise RecipeError(MISSING_FUNCTION.format(name=strategy.name))
    if not callable(function):
        raise RecipeError(f"composite= is a function of a torch tensor m x k, got a {type(function).__name__}")
    if len(directions) != 1:
        raise RecipeError(f"a composite objective is one objective, got {len(directions)} directions")
    require_torch()
    negated = Negated(function) if directions[0] is Direction.MINIMIZE else function
    if composite is None:
        return strategy, Composite(negated)
    return replace(strategy, outer=negated), Composite(function)


def finite_vector(vector: object, length: int | None = None) -> tuple[float, ...]:
    """Return a vector as floats.

    Raises:
        ValueRejected: If it is not a row of finite numbers, or not of the given length.
    """
    expected = "a row of finite numbers" if length is None else f"a row of {length} finite numbers"
    try:
        row = np.asarray(vector)
        if row.dtype.kind not in "iuf" or row.ndim != 1 or not len(row):
            raise ValueError
    except (TypeError, ValueError, RuntimeError):
        given = f"a {type(vector).__name__}: {str(vector)[:60]}"
        raise ValueRejected(f"the vector of a composite objective must be {expected}, got {given}") from None
    if length is not None and len(row) != length:
        raise ValueRejected(f"the vector of a composite objective must be {expected}, as those before, got {len(row)}")
    numbers = tuple(float(number) for number in row)
    for place, number in enumerate(numbers):
        if not np.isfinite(number):
            raise ValueRejected(
                f"the vector of a composite objective must be {expected}, got {number} at place {place}"
            )
    return numbers
