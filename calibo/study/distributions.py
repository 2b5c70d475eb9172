"""Optuna's distributions and calibo's parameters, one as the other, and a space as Optuna sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from calibo.data import Array, Params
from calibo.errors import RecipeError
from calibo.spaces import Categorical, Float, Int, Ordinal, Parameter, PoolSpace, ProductSpace, Space

#: Types of choices that every Optuna storage keeps as they are.
PLAIN = (type(None), bool, int, float, str)

#: Longest name under which a choice that is not plain is stored.
LABEL_LENGTH = 80


def parameter_of(distribution: BaseDistribution) -> Parameter:
    """The parameter that means the same as an Optuna distribution; one with a single value becomes its only choice."""
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(distribution.choices)
    if not isinstance(distribution, FloatDistribution | IntDistribution):
        raise RecipeError(
            f"calibo knows float, int and categorical distributions, got {type(distribution).__name__}; "
            "use suggest_float, suggest_int or suggest_categorical"
        )
    if distribution.single():
        return Categorical((distribution.low,))
    if isinstance(distribution, IntDistribution):
        return Int(distribution.low, distribution.high, log=distribution.log, step=distribution.step)
    return Float(distribution.low, distribution.high, log=distribution.log, step=distribution.step)


def distribution_of(parameter: Parameter) -> BaseDistribution:
    """The Optuna distribution of a parameter.

    Optuna has no ordered choices: an ``Ordinal`` becomes a categorical distribution, and its order is known only to
    those who know the space. Nor has it steps on a log scale: they become a log scale without, which holds all values.
    """
    if isinstance(parameter, Float):
        return FloatDistribution(parameter.low, parameter.high, log=parameter.log, step=parameter.step)
    if isinstance(parameter, Int):
        step = 1 if parameter.log else parameter.step
        return IntDistribution(parameter.low, parameter.high, log=parameter.log, step=step)
    return CategoricalDistribution(labels(parameter.choices) or parameter.choices)


def labels(choices: Sequence[Any]) -> tuple[str, ...] | None:
    """Names to store instead of the choices, or ``None`` if Optuna can store these and tell them apart.

    It cannot store tuples, functions or other objects, and takes 1, 1.0 and True for one another.
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
    """A space with the names, distributions and values under which Optuna knows it.

    *Stored* parameters are what a trial holds; *params* are what the user's objective takes. They differ where Optuna
    cannot store a choice, and for a pool, whose trials hold the features of a row and whose objective takes all of it.

    Attributes:
        space: The space.
        distributions: For each column its distribution, by name, in the order of the columns.
        labelled: The parameters whose choices are stored as labels, by name.
    """

    space: ProductSpace | PoolSpace
    distributions: Mapping[str, BaseDistribution]
    labelled: Mapping[str, Categorical | Ordinal]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, d."""
        return self.space.names

    def stored(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters as a trial holds them: Python ints and floats, and choices that Optuna can store."""
        return {name: self._stored(name, params[name]) for name in self.names}

    def restored(self, stored: Mapping[str, Any]) -> Params:
        """Some values that a trial holds, of any of the columns, in the user's own terms."""
        return {name: self._restored(name, value) for name, value in stored.items()}

    def params(self, stored: Mapping[str, Any]) -> Params:
        """What the objective takes: the values of the columns, or all of a pool's row."""
        if isinstance(self.space, PoolSpace):
            return self.space.decode(self.encode([stored]))[0]
        return self.restored(stored)

    def encode(self, stored: Sequence[Mapping[str, Any]]) -> Array:
        """Stored parameters as points, n x d; raises ``SpaceError`` if one does not belong to the space.

        What else a trial holds, for a parameter that is not of this space, is passed over.
        """
        own = [{name: one[name] for name in self.names if name in one} for one in stored]
        return self.space.encode([self.restored(one) for one in own])

    def internal(self, stored: Mapping[str, Any]) -> dict[str, float]:
        """Stored parameters as the numbers in which Optuna's storages keep them."""
        return {name: float(self.distributions[name].to_internal_repr(stored[name])) for name in self.names}

    def external(self, internal: Mapping[str, float]) -> dict[str, Any]:
        """Stored parameters from the numbers in which Optuna's storages keep them."""
        return {n: self.distributions[n].to_external_repr(v) for n, v in internal.items() if n in self.distributions}

    def restricted(self, names: Collection[str]) -> OptunaSpace:
        """The same space with some of its columns only."""
        if set(names) == set(self.names):
            return self
        if isinstance(self.space, PoolSpace):
            raise RecipeError(f"the columns of a pool cannot be fixed one by one, and only {sorted(names)} are free")
        return optuna_space(ProductSpace({n: p for n, p in self.space.parameters.items() if n in names}))

    def _stored(self, name: str, value: Any) -> Any:
        distribution = self.distributions[name]
        if isinstance(distribution, CategoricalDistribution):
            column = self.labelled.get(name)
            return value if column is None else distribution.choices[int(column.cell(column.encode(value)))]
        return float(value) if isinstance(distribution, FloatDistribution) else int(value)

    def _restored(self, name: str, value: Any) -> Any:
        column = self.labelled.get(name)
        return value if column is None else column.choices[int(self.distributions[name].to_internal_repr(value))]


def optuna_space(space: Space) -> OptunaSpace:
    """A space as Optuna sees it."""
    if isinstance(space, PoolSpace):
        parameters, distributions = _pool_columns(space)
    elif isinstance(space, ProductSpace):
        parameters = space.parameters
        distributions = {name: distribution_of(parameter) for name, parameter in parameters.items()}
    else:
        raise RecipeError(
            f"Optuna can keep a product of parameters or a pool of rows, got {type(space).__name__}; "
            "use calibo.Optimizer for other spaces"
        )
    labelled = {n: p for n, p in parameters.items() if isinstance(p, Categorical | Ordinal) and labels(p.choices)}
    return OptunaSpace(space, distributions, labelled)


def space_of(distributions: Mapping[str, BaseDistribution]) -> OptunaSpace:
    """The product of some Optuna distributions, in their order; ``distributions`` are kept as they are."""
    space = ProductSpace({name: parameter_of(distribution) for name, distribution in distributions.items()})
    return OptunaSpace(space, dict(distributions), {})


def suggest(trial: optuna.Trial, space: OptunaSpace) -> dict[str, Any]:
    """Have a trial hold a value of every column of the space, as its sampler (or queue) says; the stored values."""
    return {name: _suggest(trial, name, distribution) for name, distribution in space.distributions.items()}


def _suggest(trial: optuna.Trial, name: str, distribution: BaseDistribution) -> Any:
    d = distribution
    if isinstance(d, FloatDistribution):
        return trial.suggest_float(name, d.low, d.high, step=d.step, log=d.log)
    if isinstance(d, IntDistribution):
        return trial.suggest_int(name, d.low, d.high, step=d.step, log=d.log)
    assert isinstance(d, CategoricalDistribution)
    return trial.suggest_categorical(name, d.choices)


def _pool_columns(space: PoolSpace) -> tuple[dict[str, Categorical], dict[str, BaseDistribution]]:
    """For each feature of a pool its parameter (only if it has choices) and its distribution."""
    rows = space.decode(space.X)
    columns: dict[str, Categorical] = {}
    distributions: dict[str, BaseDistribution] = {}
    for j, name in enumerate(space.names):
        values = [row[name] for row in rows]
        if space.categories[j]:
            first = np.unique(space.X[:, j], return_index=True)[1]
            columns[name] = Categorical([values[i] for i in first])
            distributions[name] = distribution_of(columns[name])
        elif all(isinstance(value, int) for value in values):
            distributions[name] = IntDistribution(min(values), max(values))
        else:
            distributions[name] = FloatDistribution(float(min(values)), float(max(values)))
    return columns, distributions
