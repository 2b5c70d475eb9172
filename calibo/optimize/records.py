"""The door of the house: what was tried, in the user's sign, becomes a dataset in which larger is better."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from calibo.data import Array, Dataset, Forecasts, KnownForecasts
from calibo.errors import DataError, FallbackWarning, RecipeError, ValueRejected


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

    @classmethod
    def several(cls, names: str | Direction | Sequence[str | Direction]) -> tuple[Direction, ...]:
        """The directions meant by one name, or by a sequence of them, one for each objective."""
        if isinstance(names, str | Direction):
            return (cls.of(names),)
        if not isinstance(names, Sequence) or not names:
            raise RecipeError(f'directions are a list such as ["minimize", "maximize"], got {names!r}')
        return tuple(cls.of(name) for name in names)


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
        values: Objectives, m, if told; of a point that failed because it was pruned, what was measured last; else empty.
        variances: Noise variances of the objectives, m, NaN where unknown.
        vector: Of a composite objective the vector that was measured, of which the value is a function; else empty.
        constraints: Constraints by name, each met where its value is not positive; only if told.
        forecasts: What was believed when the point was asked for, or ``None``: of the m objectives, then of the
            constraints that were known of then.
        forecast_constraints: The names of those.
        hyperparameters: Per outcome, the hyper-parameters of the model that made the suggestion.
    """

    x: Array
    state: State
    values: tuple[float, ...] = ()
    variances: tuple[float, ...] | None = None
    constraints: Mapping[str, float] = field(default_factory=dict)
    forecasts: Forecasts | None = None
    forecast_constraints: tuple[str, ...] = ()
    hyperparameters: tuple[tuple[float, ...], ...] = ()
    vector: tuple[float, ...] = ()


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


def finite_values(values: object, count: int) -> tuple[float, ...]:
    """``values`` as ``count`` floats: a plain number for one objective, a sequence with one for each of several."""
    if count == 1:
        return (finite_value(values),)
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str | bytes) or len(values) != count:
        raise ValueRejected(f"the objective's value must be {count} numbers, one for each direction, got {values!r}")
    return tuple(finite_value(value) for value in values)


def finite_constraints(constraints: object) -> dict[str, float]:
    """Constraints by name; those in a sequence are named by their places, "0", "1" and so on, as Optuna does."""
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


def meets(constraints: Mapping[str, float], names: Sequence[str]) -> bool:
    """Whether all of the named constraints are known and met: their values are not positive."""
    return all(name in constraints and constraints[name] <= 0.0 for name in names)


def constraint_names(records: Iterable[Record]) -> tuple[str, ...]:
    """The names of all constraints that were ever told, sorted: the order of their columns."""
    return tuple(sorted({name for record in records for name in record.constraints}))


def checked_outcome(outcome: int | str, objectives: int, constraints: Sequence[str]) -> None:
    """Refuses an outcome that is neither the place of an objective nor the name of a constraint."""
    if isinstance(outcome, str):
        if outcome not in constraints:
            known = ", ".join(map(repr, constraints)) or "none"
            raise RecipeError(f"there is no constraint {outcome!r}; those told so far: {known}")
    elif not 0 <= outcome < objectives:
        raise RecipeError(f"objectives are counted from 0 to {objectives - 1}, got {outcome}")


def reference_values(reference: Sequence[float] | None, directions: Sequence[Direction]) -> tuple[float, ...]:
    """A reference point in the user's sign, one value per objective, in the house's; empty if there is none."""
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


def dataset(
    records: Iterable[Record],
    *,
    directions: Sequence[Direction],
    categories: tuple[int, ...],
    hyperparameters: tuple[tuple[float, ...], ...] = (),
    reference: tuple[float, ...] = (),
    features: Callable[[Array], Array] | None = None,
) -> Dataset:
    """All records as a dataset; told points keep the order in which they are given (the order of their outcomes).

    A constraint is a further outcome, of which small values are wanted. A point that was told without one of them says
    nothing that could be used, which is announced.

    Args:
        records: What was tried.
        directions: One per objective.
        categories: Number of choices of each categorical column, 0 for numeric ones, d.
        hyperparameters: Where the next fit may start; normally those of the latest suggestion.
        reference: The reference point in the house's sign, or empty.
        features: What a model of features sees of points, if the space says so.
    """
    records = list(records)
    names = constraint_names(records)
    told = _with_all_constraints([r for r in records if r.state is State.TOLD], names)
    wanted = [*directions, *[Direction.MINIMIZE] * len(names)]
    d, outcomes = len(categories), len(wanted)

    def points(state: State) -> Array:
        return np.array([r.x for r in records if r.state is state], dtype=np.float64).reshape(-1, d)

    failed = [r for r in records if r.state is State.FAILED]
    signs = [direction.value for direction in directions]
    last = (
        np.array([r.values or (np.nan,) * len(signs) for r in failed], dtype=np.float64).reshape(-1, len(signs)) * signs
    )
    known = any(r.variances is not None for r in told)
    nothing, unknown = (float("nan"),) * len(directions), (float("nan"),) * len(names)
    variances = np.array([(*(r.variances or nothing), *unknown) for r in told], dtype=np.float64)
    values = [(*r.values, *(r.constraints[name] for name in names)) for r in told]
    # The turned zero is a plain zero again: a constraint that is just met.
    Y = np.array(values, dtype=np.float64).reshape(-1, outcomes) * [direction.value for direction in wanted] + 0.0
    return Dataset(
        X=np.array([r.x for r in told], dtype=np.float64).reshape(-1, d),
        Y=Y,
        Y_var=variances.reshape(-1, outcomes) if known else None,
        forecasts=tuple(_known_forecasts(r, names, directions) for r in told),
        X_pending=points(State.PENDING),
        X_failed=points(State.FAILED),
        categories=categories,
        hyperparameters=hyperparameters if len(hyperparameters) == outcomes else (),
        constraints=len(names),
        reference=reference,
        Y_failed=last,
        H=_vectors(told),
        features=features,
    )


def _vectors(told: list[Record]) -> Array | None:
    """The vectors of told points, n x length, with NaN where there is none; ``None`` if there are none at all."""
    lengths = {len(r.vector) for r in told if r.vector}
    if not lengths:
        return None
    if len(lengths) > 1:
        raise DataError(f"vectors of different lengths were told ({', '.join(map(str, sorted(lengths)))}): keep to one")
    nothing = (float("nan"),) * lengths.pop()
    return np.array([r.vector or nothing for r in told], dtype=np.float64)


def _with_all_constraints(told: list[Record], names: tuple[str, ...]) -> list[Record]:
    whole = [r for r in told if len(r.constraints) == len(names)]
    if len(whole) < len(told):
        warnings.warn(
            f"{len(told) - len(whole)} of {len(told)} points were told without all of the constraints "
            f"{', '.join(map(repr, names))} and are left out: tell every point with all of them",
            FallbackWarning,
            stacklevel=3,
        )
    return whole


def _known_forecasts(record: Record, names: tuple[str, ...], directions: Sequence[Direction]) -> KnownForecasts | None:
    """The forecasts of a record in the house's sign, one for each objective and named constraint."""
    forecasts = turned(record.forecasts, directions, record.forecast_constraints)
    if forecasts is None:
        return None
    of_constraint = dict(zip(record.forecast_constraints, forecasts[len(directions) :], strict=True))
    return (*forecasts[: len(directions)], *(of_constraint.get(name) for name in names))


def turned(
    forecasts: Forecasts | None, directions: Sequence[Direction], constraints: Sequence[str] = ()
) -> Forecasts | None:
    """Forecasts in the house's sign as the user's, or the other way round (turning twice changes nothing).

    Args:
        forecasts: Of the objectives, then of the constraints.
        directions: One per objective.
        constraints: The names of the constraints.
    """
    if forecasts is None:
        return None
    wanted = [*directions, *[Direction.MINIMIZE] * len(constraints)]
    if len(forecasts) != len(wanted):
        raise DataError(f"{len(forecasts)} forecasts for {len(wanted)} outcomes: one is needed for each")
    pairs = zip(forecasts, wanted, strict=True)
    return tuple(f.negated() if direction is Direction.MINIMIZE else f for f, direction in pairs)
