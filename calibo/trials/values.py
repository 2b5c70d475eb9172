"""Checks of measured values: everything that enters a trial is a finite number, or is rejected with a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from calibo.errors import ValueRejected


def finite_value(value: object, what: str = "the objective's value") -> float:
    """Return ``value``, called ``what`` in messages, as a float; strings, booleans and ``None`` are no numbers.

    Raises:
        ValueRejected: If it is not a finite number.
    """
    boolean = getattr(value, "dtype", None) == np.bool_
    if isinstance(value, str | bytes | bool) or value is None or boolean:
        raise ValueRejected(f"{what} must be a finite number, got {value!r}")
    try:
        number = float(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError, OverflowError):
        said = f"{type(value).__name__}: {str(value)[:60]}"
        raise ValueRejected(f"{what} must be a finite number, got a {said}") from None
    if not np.isfinite(number):
        raise ValueRejected(f"{what} must be a finite number, got {number}")
    return number


def finite_values(values: object, count: int) -> tuple[float, ...]:
    """Return the values of ``count`` objectives as floats: of a number for one, of a sequence for several.

    Raises:
        ValueRejected: If the number of values is wrong, or one of them is not a finite number.
    """
    if count == 1:
        return (finite_value(values),)
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str | bytes) or len(values) != count:
        raise ValueRejected(f"the objective's value must be {count} numbers, one for each direction, got {values!r}")
    return tuple(finite_value(value) for value in values)


def finite_constraints(constraints: object) -> dict[str, float]:
    """Return constraints by name as floats.

    Args:
        constraints: A mapping of names to numbers, a sequence of numbers (named "0", "1", ... as in Optuna), or ``None``.

    Raises:
        ValueRejected: If it is neither, or one of the values is not a finite number.
    """
    if constraints is None:
        return {}
    if isinstance(constraints, Mapping):
        named = dict(constraints)
    elif isinstance(constraints, Sequence | np.ndarray) and not isinstance(constraints, str | bytes):
        named = {str(i): value for i, value in enumerate(constraints)}
    else:
        raise ValueRejected(
            "constraints are numbers by name, such as {'memory': used - limit}, or a sequence of numbers, each met where "
            f"it is not positive; got {constraints!r}"
        )
    return {str(name): finite_value(value, f"constraint {str(name)!r}") for name, value in named.items()}


def standard_errors(sem: object, count: int) -> tuple[float, ...] | None:
    """Return the standard errors of ``count`` objectives as floats: of a number for one, of a sequence for several.

    ``None``, if none are known, is returned as it is.

    Raises:
        ValueRejected: If the number of values is wrong, or one of them is negative, not finite, or so small or large that
            its square is lost to rounding.
    """
    if sem is None:
        return None
    given = list(sem) if count > 1 and isinstance(sem, Sequence | np.ndarray) and not isinstance(sem, str) else [sem]
    if len(given) != count:
        raise ValueRejected(f"the standard error (sem) must have a value for each of {count} objectives, got {sem!r}")
    return tuple(_standard_error(one) for one in given)


def _standard_error(sem: object) -> float:
    number = finite_value(sem, "the standard error (sem)")
    variance = number * number if abs(number) < 1e150 else float("inf")
    if number < 0.0 or not np.isfinite(variance) or (number > 0.0 and variance == 0.0):
        raise ValueRejected(f"the standard error (sem) must lie between 1e-160 and 1e150, or be 0, got {number}")
    return number
