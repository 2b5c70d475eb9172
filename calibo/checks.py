"""Checks of settings, so that a wrong one is refused where it is given.

Each check takes what the setting is called in the message, and the value that was given; it raises a ``RecipeError`` that
says what was expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from numbers import Integral, Real
from typing import Any, Literal, TypeVar

import numpy as np

from calibo.errors import MissingExtra, RecipeError

T = TypeVar("T")


def check_whole(
    what: str, value: object, least: int = 1, *, most: int | None = None, error: type[Exception] = RecipeError
) -> int:
    """Return a whole number (no bool or float) from ``least`` to ``most`` as a Python int; else raise ``error``."""
    if not isinstance(value, bool) and isinstance(value, Integral):
        number = int(value)
        if least <= number and (most is None or number <= most):
            return number
    allowed = f"of at least {least}" if most is None else f"from {least} to {most}"
    raise error(f"{what} must be a whole number {allowed}, got {value!r}")


def check_seed(seed: object) -> int:
    """Return the seed of a random generator, a whole number of at least 0, as a Python int."""
    return check_whole("seed", seed, least=0)


def check_between(
    what: str,
    value: object,
    low: float,
    high: float,
    *,
    including: Literal["neither", "low", "high"] = "neither",
) -> None:
    """Check that a value is a number between two bounds, which are excluded unless one is named in ``including``."""
    ends = [end for name, end in (("low", low), ("high", high)) if including == name]
    if isinstance(value, bool) or not isinstance(value, Real) or not (low < float(value) < high or value in ends):
        also = "".join(f", {end:g} included" for end in ends)
        raise RecipeError(f"{what} must be a number between {low:g} and {high:g}{also}, got {value!r}")


def check_probability(what: str, value: float) -> None:
    """Check that a value is strictly between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise RecipeError(f"{what} must lie strictly between 0 and 1, got {value}: write 95 % as 0.95")


def check_flag(what: str, value: object) -> None:
    """Check that a value is ``True`` or ``False``."""
    if not isinstance(value, bool | np.bool_):
        raise RecipeError(f"{what} must be True or False, got {value!r}")


def check_one_of(what: str, value: object, names: Sequence[str]) -> None:
    """Check that a value is one of some names."""
    if not isinstance(value, str) or value not in names:
        raise RecipeError(f"{what} must be one of {', '.join(map(repr, names))}, got {value!r}")


def check_instance(what: str, value: object, kind: type[T], such_as: str) -> T:
    """Return a value that is an instance of a base class.

    Args:
        what: The setting.
        value: The value given; the message says so if it is a class instead of an object.
        kind: The base class.
        such_as: An example to write instead, such as ``"GaussianProcess()"``.
    """
    if not isinstance(value, kind):
        given = f"the class {value.__name__}, which needs ()" if isinstance(value, type) else repr(value)
        raise RecipeError(f"{what} must be a {kind.__name__} such as {such_as}, got {given}")
    return value


def import_extra(package: str, what: str, extra: str, otherwise: str = "") -> Any:
    """Import a package that only an extra installs.

    Args:
        package: Name of the module.
        what: What needs it, in the plural, for the message.
        extra: Extra of calibo that installs it.
        otherwise: What can be done without it, for the message.

    Raises:
        MissingExtra: If it is not installed.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise MissingExtra(
            f"{what} need {package}, which is not installed: pip install 'calibo[{extra}]'{otherwise}"
        ) from error
