"""Checks of the settings of recipes, so that a wrong one is refused where it is given."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Literal

import numpy as np

from calibo.errors import RecipeError


def check_whole(what: str, value: object, least: int = 1) -> None:
    """Refuses what is not a whole number from ``least`` on.

    Args:
        what: The setting, as the message calls it.
        value: What was given.
        least: The smallest allowed.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise RecipeError(f"{what} is a whole number from {least} on, got {value!r}")


def check_between(
    what: str,
    value: object,
    low: float,
    high: float,
    *,
    including: Literal["neither", "low", "high"] = "neither",
) -> None:
    """Refuses what is not a number between ``low`` and ``high``; neither of them will do, unless one is included."""
    ends = [end for name, end in (("low", low), ("high", high)) if including == name]
    if isinstance(value, bool) or not isinstance(value, Real) or not (low < float(value) < high or value in ends):
        also = "".join(f", {end:g} included" for end in ends)
        raise RecipeError(f"{what} is a number between {low:g} and {high:g}{also}, got {value!r}")


def check_flag(what: str, value: object) -> None:
    """Refuses what is neither ``True`` nor ``False``."""
    if not isinstance(value, bool | np.bool_):
        raise RecipeError(f"{what} is True or False, got {value!r}")


def check_one_of(what: str, value: object, names: Sequence[str]) -> None:
    """Refuses what is not one of ``names``."""
    if not isinstance(value, str) or value not in names:
        raise RecipeError(f"{what} is one of {', '.join(map(repr, names))}, got {value!r}")


def check_has(what: str, value: object, method: str, such_as: str) -> None:
    """Refuses what is not an object with a method: a name, or a class that was not called.

    Args:
        what: The setting, as the message calls it.
        value: What was given.
        method: What it must be able to do.
        such_as: An example that would do.
    """
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        given = f"the class {value.__name__}, which needs ()" if isinstance(value, type) else repr(value)
        raise RecipeError(f"{what} is an object such as {such_as}, got {given}")
