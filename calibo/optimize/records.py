"""The door of the house: what was tried, in the user's sign, becomes a dataset in which larger is better."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from calibo.data import Array, Dataset, Forecasts
from calibo.errors import RecipeError, ValueRejected


class Direction(enum.Enum):
    """Whether small or large outcomes are wanted; the value is the sign that makes large ones wanted."""

    MINIMIZE = -1.0
    MAXIMIZE = 1.0

    @classmethod
    def of(cls, name: str | Direction) -> Direction:
        """The direction meant by "minimize" / "min" or "maximize" / "max"."""
        if isinstance(name, Direction):
            return name
        for direction in cls:
            if isinstance(name, str) and name.lower() in (direction.name.lower(), direction.name.lower()[:3]):
                return direction
        raise RecipeError(f'a direction is "minimize" or "maximize", got {name!r}')


class State(enum.Enum):
    """What has become of a point."""

    PENDING = "pending"
    TOLD = "told"
    FAILED = "failed"


@dataclass(frozen=True)
class Record:
    """One point that was asked for or told, in the user's sign and units.

    Attributes:
        x: The encoded point, d.
        state: What has become of it.
        values: Outcomes, m; only if told.
        variances: Noise variances of the outcomes, m, NaN where unknown.
        forecasts: What was believed of the outcomes when the point was asked for, or ``None``.
        hyperparameters: Per outcome, the hyper-parameters of the model that made the suggestion.
    """

    x: Array
    state: State
    values: tuple[float, ...] = ()
    variances: tuple[float, ...] | None = None
    forecasts: Forecasts | None = None
    hyperparameters: tuple[tuple[float, ...], ...] = ()


def finite_value(value: object, what: str = "the objective's value") -> float:
    """``value`` as a float; anything that is not a finite number is rejected by name."""
    boolean = getattr(value, "dtype", None) == np.bool_
    if isinstance(value, str | bytes | bool) or value is None or boolean:
        raise ValueRejected(f"{what} must be a finite number, got {value!r}; report a failure with tell_failed()")
    try:
        number = float(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError, OverflowError):
        raise ValueRejected(
            f"{what} must be a finite number, got a {type(value).__name__}: {str(value)[:60]}"
        ) from None
    if not np.isfinite(number):
        raise ValueRejected(f"{what} must be a finite number, got {number}; report a failure with tell_failed()")
    return number


def dataset(
    records: Iterable[Record],
    *,
    directions: Sequence[Direction],
    categories: tuple[int, ...],
    hyperparameters: tuple[tuple[float, ...], ...] = (),
) -> Dataset:
    """All records as a dataset; told points keep the order in which they are given (the order of their outcomes).

    Args:
        records: What was tried.
        directions: One per outcome.
        categories: Number of choices of each categorical column, 0 for numeric ones, d.
        hyperparameters: Where the next fit may start; normally those of the latest suggestion.
    """
    records = list(records)
    d, m = len(categories), len(directions)
    signs = np.array([direction.value for direction in directions])
    told = [r for r in records if r.state is State.TOLD]

    def points(state: State) -> Array:
        return np.array([r.x for r in records if r.state is state], dtype=np.float64).reshape(-1, d)

    known = any(r.variances is not None for r in told)
    unknown = (float("nan"),) * m
    variances = np.array([r.variances or unknown for r in told], dtype=np.float64).reshape(-1, m)
    return Dataset(
        X=points(State.TOLD),
        Y=np.array([r.values for r in told], dtype=np.float64).reshape(-1, m) * signs,
        Y_var=variances if known else None,
        forecasts=tuple(turned(r.forecasts, directions) for r in told),
        X_pending=points(State.PENDING),
        X_failed=points(State.FAILED),
        categories=categories,
        hyperparameters=hyperparameters,
    )


def turned(forecasts: Forecasts | None, directions: Sequence[Direction]) -> Forecasts | None:
    """Forecasts in the house's sign as the user's, or the other way round (turning twice changes nothing)."""
    if forecasts is None:
        return None
    pairs = zip(forecasts, directions, strict=True)
    return tuple(f.negated() if direction is Direction.MINIMIZE else f for f, direction in pairs)
