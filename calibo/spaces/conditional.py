"""Conditional parameters: which columns of a product are active, given the values of the others.

A parameter with ``when={"model": "svm"}`` is *active* where ``model`` is active itself and has the value ``"svm"``. An
inactive parameter is left out of the parameters of a point; in an encoded point its coordinate is always the same, so that
equal configurations are equal points.

Notation: n points, d columns. A *rule* is a conjunction of conditions, each on one other column; a column with several rules
is active where one of them holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from calibo.checks import shown
from calibo.data import Activity, Array
from calibo.errors import FallbackWarning, SpaceError, warn
from calibo.spaces.base import Space
from calibo.spaces.parameters import Parameter, plain

#: A column with more values than this cannot decide which others are active.
MOST_VALUES = 10_000
#: Random points from which the usual number of active columns is estimated.
_DRAWN = 512

#: Cells of another column, by its index: those with which a column is active.
Rule = tuple[tuple[int, frozenset[int]], ...]


@dataclass(frozen=True)
class Conditions(Activity):
    """When each column of a product is active.

    Attributes:
        names: Names of the columns, d.
        columns: The columns, d.
        rules: Rules of each column, d; none for one that is always active.
        parents_first: Indices of the columns, each after those it depends on.
    """

    names: tuple[str, ...]
    columns: tuple[Parameter, ...]
    rules: tuple[tuple[Rule, ...], ...]
    parents_first: tuple[int, ...]

    @classmethod
    def of(cls, parameters: Mapping[str, Parameter]) -> Conditions | None:
        """Return the conditions of parameters by name; ``None`` if all are always active.

        Raises:
            SpaceError: If a parent is unknown or continuous, a value is none of its parent's, parents go in circles, or a
                parameter can never be active.
        """
        if all(parameter.when is None for parameter in parameters.values()):
            return None
        rules = tuple(_rules(name, parameters) for name in parameters)
        found = cls(tuple(parameters), tuple(parameters.values()), rules, _sorted(tuple(parameters), rules))
        for j in found.order:
            if not found.ways(j):
                raise SpaceError(
                    f"parameter {found.names[j]!r} can never be active: no combination of values meets "
                    f"when={found.columns[j].when!r} together with the conditions of its parents; change one of them"
                )
        return found

    @property
    def order(self) -> tuple[int, ...]:
        return self.parents_first

    @property
    def conditional(self) -> tuple[bool, ...]:
        return tuple(bool(rules) for rules in self.rules)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
        together = dict[tuple[Rule, ...], list[int]]()
        for j, rules in enumerate(self.rules):
            if rules:
                together.setdefault(rules, []).append(j)
        return tuple(map(tuple, together.values()))

    @cached_property
    def usual(self) -> float:  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
        drawn = np.random.default_rng(0).random((_DRAWN, len(self.columns)))
        return float(self(drawn).sum(axis=1).mean())

    @cached_property
    def parents(self) -> tuple[int, ...]:  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
        return tuple(sorted(set().union(*map(self.parents_of, range(len(self.columns))))))

    def parents_of(self, j: int) -> set[int]:
        """Return the indices of the columns that column j depends on directly."""
        return {parent for rule in self.rules[j] for parent, _ in rule}

    def ways(self, j: int) -> list[dict[int, frozenset[int]]]:
        return self._ways[j]

    @cached_property
    def _ways(self) -> dict[int, list[dict[int, frozenset[int]]]]:
        found = dict[int, list[dict[int, frozenset[int]]]]()
        for j in self.order:
            found[j] = [way for rule in self.rules[j] for way in _joined(rule, found)] if self.rules[j] else [{}]
        return found

    @cached_property
    def _allowed(self) -> tuple[tuple[tuple[tuple[int, np.ndarray], ...], ...], ...]:
        """The rules of each column, with an array of flags, one for each cell of the parent, instead of a set."""

        def flags(parent: int, cells: frozenset[int]) -> np.ndarray:
            return np.isin(np.arange(self.columns[parent].cells or 0), list(cells))

        return tuple(tuple(tuple((p, flags(p, cells)) for p, cells in rule) for rule in rules) for rules in self.rules)

    @cached_property
    def rest(self) -> Array:
        """Coordinates of inactive columns, d."""
        return np.array([float(column.round(0.5)) for column in self.columns])

    def __call__(self, X: Array) -> np.ndarray:
        active = np.ones(X.shape, dtype=bool)
        cells = {p: self.columns[p].cell(X[..., p]) for p in self.parents}
        for j in self.order:
            if not self.rules[j]:
                continue
            holds = np.zeros(X.shape[:-1], dtype=bool)
            for rule in self._allowed[j]:
                met = np.ones(X.shape[:-1], dtype=bool)
                for parent, allowed in rule:
                    met &= active[..., parent] & allowed[cells[parent]]
                holds |= met
            active[..., j] = holds
        return active

    def settled(self, X: Array) -> Array:
        """Return points, n x d, with inactive columns at their own coordinate."""
        return np.where(self(X), X, self.rest)

    def is_active(self, j: int, cells: Mapping[int, int]) -> bool:
        rules = self.rules[j]
        return not rules or any(all(cells.get(parent) in allowed for parent, allowed in rule) for rule in rules)

    def encode(self, point: Mapping[str, Any]) -> list[float]:
        """Encode the values of the active columns, by name, as d coordinates.

        A value of an inactive column is ignored, with a warning unless it is ``None`` or NaN.

        Raises:
            SpaceError: If an active column is missing, or a value is not one of its column's.
        """
        cells, row = dict[int, int](), self.rest.tolist()
        for j in self.order:
            name, column = self.names[j], self.columns[j]
            if not self.is_active(j, cells):
                if not _missing(point.get(name)):
                    self._announce(name, point)
                continue
            if name not in point:
                raise SpaceError(f"missing {name!r}, which is active{_because(column)}")
            try:
                row[j] = column.encode(point[name])
            except SpaceError as error:
                raise SpaceError(f"{name!r}: {error}") from None
            if column.cells is not None:
                cells[j] = int(column.cell(row[j]))
        return row

    def _announce(self, name: str, point: Mapping[str, Any]) -> None:
        when = self.columns[self.names.index(name)].when
        warn(
            f"the value {point[name]!r} of {name!r} is ignored, as {name!r} is inactive at these parameters: it counts only "
            f"with {shown(when)}; leave it out",
            FallbackWarning,
        )


def _because(column: Parameter) -> str:
    return "" if column.when is None else f" as {column.when!r} holds"


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _rules(name: str, parameters: Mapping[str, Parameter]) -> tuple[Rule, ...]:
    """Return the rules of a parameter, checked against the others; none if it is always active."""
    when = parameters[name].when
    if when is None:
        return ()
    alternatives = [when] if isinstance(when, Mapping) else when
    if isinstance(alternatives, str) or not isinstance(alternatives, Sequence) or not alternatives:
        raise _wrong(name, when)
    return tuple(_rule(name, one, parameters) for one in alternatives)


def _rule(name: str, when: Any, parameters: Mapping[str, Parameter]) -> Rule:
    if not isinstance(when, Mapping) or not when:
        raise _wrong(name, when)
    places = {other: i for i, other in enumerate(parameters)}
    rule = list[tuple[int, frozenset[int]]]()
    for parent, given in when.items():
        if parent not in parameters:
            raise SpaceError(
                f"parameter {name!r}: when names {parent!r}, which is not in the space; there are {', '.join(parameters)}"
            )
        if parent == name:
            raise SpaceError(f"parameter {name!r}: when names the parameter itself; name another one")
        column = parameters[parent]
        if column.cells is None or column.cells > MOST_VALUES:
            raise SpaceError(
                f"parameter {name!r}: when names {parent!r}, {column!r}, which has too many values to be listed; use a "
                "Categorical, Ordinal or Int, or a Float with a step"
            )
        rule.append((places[parent], _cells(name, parent, column, given)))
    return tuple(sorted(rule, key=lambda condition: condition[0]))


def _cells(name: str, parent: str, column: Parameter, given: Any) -> frozenset[int]:
    """Return the cells of a parent's value, or of a list of values."""
    try:
        # A list may itself be a choice.
        return frozenset({int(column.cell(column.encode(given)))})
    except SpaceError:
        if isinstance(given, list | tuple | set | frozenset | range | np.ndarray) and len(given):
            return frozenset(cell for one in given for cell in _cells(name, parent, column, plain(one)))
        raise SpaceError(
            f"parameter {name!r}: when gives {parent!r} the value {given!r}, which {column!r} cannot take; give one of its "
            "values, or a list of them"
        ) from None


def _wrong(name: str, when: Any) -> SpaceError:
    return SpaceError(
        f"parameter {name!r}: when must name other parameters with their values, such as when={{'model': 'svm'}}, "
        f"got {shown(when)}"
    )


def _sorted(names: tuple[str, ...], rules: tuple[tuple[Rule, ...], ...]) -> tuple[int, ...]:
    """Return the columns in an order in which parents come first, else as they are given."""
    order, left = list[int](), list(range(len(names)))
    parents = [{parent for rule in own for parent, _ in rule} for own in rules]
    while left:
        ready = next((j for j in left if parents[j] <= set(order)), None)
        if ready is None:
            circle = ", ".join(repr(names[j]) for j in left)
            raise SpaceError(f"the conditions of {circle} go in circles: one of them must not depend on the others")
        order.append(ready)
        left.remove(ready)
    return tuple(order)


def _joined(rule: Rule, known: Mapping[int, Sequence[Mapping[int, frozenset[int]]]]) -> list[dict[int, frozenset[int]]]:
    """Return what a rule and the rules of its parents ask for together, in each way in which that is possible."""
    found: list[dict[int, frozenset[int]]] = [dict(rule)]
    for parent, _ in rule:
        found = [both for one in found for way in known[parent] if (both := _met(one, way)) is not None]
    return found


def _met(one: Mapping[int, frozenset[int]], other: Mapping[int, frozenset[int]]) -> dict[int, frozenset[int]] | None:
    both = {j: one.get(j, cells) & cells for j, cells in other.items()}
    return None if any(not cells for cells in both.values()) else {**one, **both}


def pinned(space: Space, coordinates: Mapping[int, float]) -> Space:
    """Return the part of a conditional space in which some columns have one coordinate each, in the same coordinates."""
    lower, upper = np.zeros(space.dimension), np.ones(space.dimension)
    for column, coordinate in coordinates.items():
        lower[column] = upper[column] = coordinate
    return space.within(lower, upper, centre=0.5 * (lower + upper)).space
