"""Checks of measured values: everything that enters a trial is a finite number, or is rejected with a reason."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibo.arguments import checked
from calibo.checks import check_name, read_items, read_mapping, shown
from calibo.errors import ValueRejected
from calibo.trials.direction import by_name

#: Constraints that a trial may have.
MOST_CONSTRAINTS = 1_000


def finite_value(value: object, what: str = "the objective's value") -> float:
    """Return ``value``, called ``what`` in messages, as a float; strings, booleans and ``None`` are no numbers.

    Raises:
        ValueRejected: If it is not a finite number.
    """
    boolean = isinstance(value, bool | np.bool_) or (isinstance(value, np.ndarray) and value.dtype == np.bool_)
    if isinstance(value, str | bytes) or value is None or boolean:
        raise ValueRejected(f"{what} must be a finite number, got {shown(value)}")
    try:
        number = float(value)  # pyright: ignore[reportArgumentType]
    except Exception:  # of the user's own class, too
        said = f"{type(value).__name__}: {shown(value, 60)}"
        raise ValueRejected(f"{what} must be a finite number, got a {said}") from None
    if not np.isfinite(number):
        raise ValueRejected(f"{what} must be a finite number, got {number}")
    return number


@checked
def finite_values(values: object, count: int, names: Sequence[str] = ()) -> tuple[float, ...]:
    """Return the values of ``count`` objectives as floats: of a number for one, of a sequence for several.

    Values of objectives that have ``names`` may be a mapping.

    Raises:
        ValueRejected: If the number of values is wrong, or one of them is not a finite number.
    """
    values = by_name(values, names, "the objective's values")
    if count == 1:
        return (finite_value(values),)
    items = read_items(values)
    if items is None or len(items) != count:
        raise ValueRejected(
            f"the objective's value must be {count} numbers, one for each direction, got {shown(values)}"
        )
    return tuple(finite_value(value) for value in items)


def finite_constraints(constraints: object) -> dict[str, float]:
    """Return constraints by name as floats.

    Args:
        constraints: A mapping of names to numbers, a sequence of numbers (named "0", "1", ... as in Optuna), or ``None``.

    Raises:
        ValueRejected: If it is neither, or one of the values is not a finite number.
    """
    if constraints is None:
        return {}
    items = read_items(constraints)
    named = read_mapping(constraints) if items is None else {str(i): value for i, value in enumerate(items)}
    if named is None:
        raise ValueRejected(
            "constraints are numbers by name, such as {'memory': used - limit}, or a sequence of numbers, each met where "
            f"it is not positive; got {shown(constraints)}"
        )
    if len(named) > MOST_CONSTRAINTS:
        raise ValueRejected(
            f"a trial has at most {MOST_CONSTRAINTS:,} constraints, as each has a model of its own, got {len(named):,}: "
            "combine them, such as by their largest"
        )
    names = [check_name("the name of a constraint", name, ValueRejected) for name in named]
    return {
        name: finite_value(value, f"constraint {name!r}") for name, value in zip(names, named.values(), strict=True)
    }


@checked
def standard_errors(sem: object, count: int, names: Sequence[str] = ()) -> tuple[float, ...] | None:
    """Return the standard errors of ``count`` objectives as floats: of a number for one, of a sequence for several.

    Those of objectives that have ``names`` may be a mapping. ``None``, if none are known, is returned as it is.

    Raises:
        ValueRejected: If the number of values is wrong, or one of them is negative, not finite, or so small or large that
            its square is lost to rounding.
    """
    if sem is None:
        return None
    sem = by_name(sem, names, "the standard errors (sem)")
    given = read_items(sem) if count > 1 else [sem]
    if given is None or len(given) != count:
        raise ValueRejected(
            f"the standard error (sem) must have a value for each of {count} objectives, got {shown(sem)}"
        )
    return tuple(_standard_error(one) for one in given)


def _standard_error(sem: object) -> float:
    number = finite_value(sem, "the standard error (sem)")
    variance = number * number if abs(number) < 1e150 else float("inf")
    if number < 0.0 or not np.isfinite(variance) or (number > 0.0 and variance == 0.0):
        raise ValueRejected(f"the standard error (sem) must lie between 1e-160 and 1e150, or be 0, got {number}")
    return number
