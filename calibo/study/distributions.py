"""Conversion between Optuna's distributions and calibo's parameters, and a space as Optuna stores it."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from calibo.data import Array, Params
from calibo.errors import RecipeError, SpaceError
from calibo.spaces import Categorical, Float, Int, Ordinal, Parameter, ProductSpace, Space

#: Types of choices that every Optuna storage keeps as they are.
PLAIN = (type(None), bool, int, float, str)

#: Longest name under which a choice that is not plain is stored.
LABEL_LENGTH = 80


def parameter_of(distribution: BaseDistribution) -> Parameter:
    """Convert an Optuna distribution to a parameter; one with a single value becomes a categorical with one choice."""
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(distribution.choices)
    if not isinstance(distribution, FloatDistribution | IntDistribution):
        raise RecipeError(
            f"calibo knows float, int and categorical distributions, got {type(distribution).__name__}; "
            "use suggest_float, suggest_int or suggest_categorical"
        )
    if distribution.single():
        return Categorical((distribution.low,))
    kind: Any = Int if isinstance(distribution, IntDistribution) else Float
    return kind(distribution.low, distribution.high, log=distribution.log, step=distribution.step)


def distribution_of(parameter: Parameter) -> BaseDistribution:
    """Convert a parameter to an Optuna distribution.

    Optuna has no ordered choices: an ``Ordinal`` becomes a categorical distribution, without its order. Nor has it steps
    on a log scale: they become a log scale without steps, which contains all values.
    """
    if isinstance(parameter, Float):
        return FloatDistribution(parameter.low, parameter.high, log=parameter.log, step=parameter.step)
    if isinstance(parameter, Int):
        step = 1 if parameter.log else parameter.step
        return IntDistribution(parameter.low, parameter.high, log=parameter.log, step=step)
    if isinstance(parameter, Categorical | Ordinal):
        return CategoricalDistribution(labels(parameter.choices) or parameter.choices)
    raise RecipeError(
        f"Optuna can store columns of kind Float, Int, Categorical and Ordinal, got a {type(parameter).__name__}; "
        "use one of these for the columns of the space, or calibo.Optimizer, which stores nothing"
    )


def labels(choices: Sequence[Any]) -> tuple[str, ...] | None:
    """Return names to store instead of choices, or ``None`` if Optuna can store the choices and tell them apart.

    It cannot store tuples, functions or other objects, and does not distinguish 1, 1.0 and True.
    """
    plain = all(isinstance(choice, PLAIN) for choice in choices)
    if plain and len(set(choices)) == len(choices):
        return None
    names = [_label(choice)[:LABEL_LENGTH] for choice in choices]
    if len(set(names)) < len(names):
        names = [f"{i}: {name}" for i, name in enumerate(names)]
    return tuple(names)


def _label(choice: Any) -> str:
    if isinstance(choice, str):
        return choice
    name = getattr(choice, "__qualname__", None)
    text = name if isinstance(name, str) else repr(choice)
    # An address in memory is another one in the next process.
    return type(choice).__name__ if " at 0x" in text else text


@dataclass(frozen=True)
class OptunaSpace:
    """A space with the names, distributions and values under which Optuna stores it.

    A trial *stores* the values of the space's columns; the objective takes *parameters*. They are the same for a product
    of parameters, unless Optuna cannot store a choice. A trial of a pool stores the features of a row, and its objective
    takes the whole row; of a space of your own it stores ``space.values``, and the objective takes ``space.decode``.

    Attributes:
        space: The space.
        distributions: Distribution of each column, by name, in the order of the columns.
        labelled: Columns whose choices are stored as labels, by name.
    """

    space: Space
    distributions: Mapping[str, BaseDistribution]
    labelled: Mapping[str, Categorical | Ordinal]

    @property
    def names(self) -> tuple[str, ...]:
        return self.space.names

    def stored(self, x: Array, exact: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return what a trial stores of a point, d: Python ints and floats, and choices that Optuna can store.

        Args:
            x: The point.
            exact: Values that were given by name, which encoding may have changed in the last digit.
        """
        values = self.space.values(x[None, :])[0] | {n: v for n, v in (exact or {}).items() if n in self.names}
        return {name: self._stored(name, value) for name, value in values.items()}

    def restored(self, stored: Mapping[str, Any]) -> Params:
        """Return values that a trial stores, of any of the columns, as values of the columns."""
        chosen = {n: self.distributions[n].to_internal_repr(stored[n]) for n in self.labelled if n in stored}
        return {**stored, **{name: self.labelled[name].choices[int(i)] for name, i in chosen.items()}}

    def params(self, stored: Mapping[str, Any]) -> Params:
        """Return the parameters that the objective takes, from the values of all columns that a trial stores."""
        return self.space.decode(self.encode([stored]))[0]

    def encode(self, stored: Sequence[Mapping[str, Any]]) -> Array:
        """Encode what trials store as points, n x d, leaving out what is not a column of the space."""
        own = [{name: one[name] for name in self.names if name in one} for one in stored]
        return self.space.from_values([self.restored(one) for one in own])

    def internal(self, stored: Mapping[str, Any]) -> dict[str, float]:
        """Return stored values as the numbers that Optuna's storages keep."""
        own = [name for name in self.names if name in stored]
        return {name: float(self.distributions[name].to_internal_repr(stored[name])) for name in own}

    def external(self, internal: Mapping[str, float]) -> dict[str, Any]:
        """Return stored values from the numbers that Optuna's storages keep."""
        return {n: self.distributions[n].to_external_repr(v) for n, v in internal.items() if n in self.distributions}

    def coordinates(self, stored: Mapping[str, Any]) -> dict[int, float]:
        """Return the coordinates of stored values by the index of their column, leaving out what is none of its values."""
        found = dict[int, float]()
        for j, name in enumerate(self.names):
            if name in stored:
                with contextlib.suppress(SpaceError, ValueError):
                    found[j] = self.space.columns[j].encode(self.restored({name: stored[name]})[name])
        return found

    def restricted(self, names: Collection[str]) -> OptunaSpace:
        """Return the space of some of the columns only.

        Raises:
            SpaceError: If the space has no such part.
        """
        if set(names) == set(self.names):
            return self
        try:
            return optuna_space(self.space.subspace(names))
        except SpaceError as error:
            raise SpaceError(
                f"{error}. Optuna's PartialFixedSampler does not say at which values it fixes parameters: give "
                "CalibratedSampler(fixed={...}) instead"
            ) from None

    def _stored(self, name: str, value: Any) -> Any:
        distribution, column = self.distributions[name], self.labelled.get(name)
        if isinstance(distribution, CategoricalDistribution):
            return value if column is None else distribution.choices[int(column.cell(column.encode(value)))]
        return float(value) if isinstance(distribution, FloatDistribution) else int(value)


def optuna_space(space: Space) -> OptunaSpace:
    """Return a space as Optuna stores it."""
    columns = dict(zip(space.names, space.columns, strict=True))
    ranges = _pool_ranges(space) if space.is_pool else {}
    distributions = {name: ranges.get(name) or distribution_of(column) for name, column in columns.items()}
    labelled = {n: c for n, c in columns.items() if isinstance(c, Categorical | Ordinal) and labels(c.choices)}
    return OptunaSpace(space, distributions, labelled)


def _pool_ranges(space: Space) -> dict[str, BaseDistribution]:
    """Return the distributions of a pool's numeric columns: from the smallest to the largest value that a row has."""
    rows, ranges = space.values(space.enumerate()), dict[str, BaseDistribution]()  # pyright: ignore[reportArgumentType]
    for name in (name for name, choices in zip(space.names, space.categories, strict=True) if not choices):
        numbers = [row[name] for row in rows]
        whole = all(isinstance(number, int) for number in numbers)
        kind: Any = IntDistribution if whole else FloatDistribution
        ranges[name] = kind(min(numbers), max(numbers))
    return ranges


def space_of(distributions: Mapping[str, BaseDistribution]) -> OptunaSpace:
    """Return the product of some Optuna distributions, in their order; they are kept as they are."""
    space = ProductSpace({name: parameter_of(distribution) for name, distribution in distributions.items()})
    return OptunaSpace(space, dict(distributions), {})


def suggest(trial: optuna.Trial, space: OptunaSpace) -> dict[str, Any]:
    """Let a trial take a value of every active column of the space from its sampler (or queue), and return what it stores."""
    stored: dict[str, Any] = {}
    activity, cells = space.space.activity, dict[int, int]()
    for j in range(len(space.names)) if activity is None else activity.order:
        name = space.names[j]
        if activity is not None and not activity.is_active(j, cells):
            continue
        d = space.distributions[name]
        if isinstance(d, CategoricalDistribution):
            stored[name] = trial.suggest_categorical(name, d.choices)
        else:
            assert isinstance(d, FloatDistribution | IntDistribution)
            take: Any = trial.suggest_float if isinstance(d, FloatDistribution) else trial.suggest_int
            stored[name] = take(name, d.low, d.high, step=d.step, log=d.log)
        column = space.space.columns[j]
        if activity is not None and column.cells is not None:
            cells[j] = int(column.cell(column.encode(space.restored({name: stored[name]})[name])))
    return stored
