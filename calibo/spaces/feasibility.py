"""Whether constraints can be met at all, by linear and integer programming; and if not, which of them are in conflict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calibo.data import Array
from calibo.errors import SpaceError, SpaceWarning, warn
from calibo.spaces.constraints import LinearConstraint
from calibo.spaces.mixture import Support
from calibo.spaces.values import Values

if TYPE_CHECKING:
    from calibo.spaces.feasible import FeasibleSet

#: Random points among which one must meet a predicate, and the share below which there is a warning.
_SOUGHT, _RARE = 10_000, 0.005

#: Share of the columns' ranges that a set without discrete parts must have room for, or it is nearly empty.
_ROOM = 1e-6
#: A finite column with at most so many values may be any list; a longer one is a whole number of steps.
_LISTED = 2000


@dataclass(frozen=True, eq=False)
class Program:
    """Constraints as a mixed-integer linear program.

    Attributes:
        names: Names of the c columns.
        values: The columns, c.
        low: Smallest values, c.
        high: Largest values, c.
        conditions: The constraints and supports, any of which may be left out to find a conflict.
    """

    names: tuple[str, ...]
    values: tuple[Values, ...]
    low: Array
    high: Array
    conditions: tuple[LinearConstraint | Support, ...]

    @classmethod
    def of(cls, feasible: FeasibleSet) -> Program:
        """Return the program of a feasible set; its predicate is left out."""
        names = tuple(feasible.names[j] for j in feasible.used)
        conditions = (*feasible.constraints, *feasible.supports)
        return cls(names, feasible.values, feasible.low, feasible.high, conditions)

    def solve(self, cost: Array | None = None) -> Array | None:
        """Return values of the columns that meet all conditions at the least cost, c; ``None`` if there are none."""
        from scipy.optimize import Bounds, milp
        from scipy.optimize import LinearConstraint as Rows

        model = _Model(self)
        rows, lower, upper = model.rows()
        costs = np.zeros(model.size) if cost is None else np.concatenate([cost, np.zeros(model.size - len(cost))])
        found = milp(
            costs,
            integrality=model.integrality,
            bounds=Bounds(model.low, model.high),  # pyright: ignore[reportArgumentType]
            constraints=Rows(rows, lower, upper) if len(rows) else None,  # pyright: ignore[reportArgumentType]
        )
        return None if found.x is None else np.clip(found.x[: len(self.names)], self.low, self.high)

    def conflict(self) -> tuple[LinearConstraint | Support, ...]:
        """Return conditions that cannot be met together, though they could without any one of them (a deletion filter)."""
        needed = list(self.conditions)
        for one in self.conditions:
            without = [other for other in needed if other is not one]
            if replace(self, conditions=tuple(without)).solve() is None:
                needed = without
        return tuple(needed)

    def room(self) -> float:
        """Return by what share of the columns' ranges a point can keep clear of all bounds and inequalities, at most."""
        from scipy.optimize import linprog

        linear = [one for one in self.conditions if isinstance(one, LinearConstraint)]
        width = self.high - self.low
        c = len(self.names)
        above, limits = [np.r_[np.eye(c)[i], width[i]] for i in range(c)], list(self.high)
        above += [np.r_[-np.eye(c)[i], width[i]] for i in range(c)]
        limits += list(-self.low)
        equal, totals = list[Array](), list[float]()
        for one in linear:
            row = self._row(one)
            if one.relation == "==":
                equal.append(np.r_[row, 0.0])
                totals.append(one.bound)
            else:
                sign = 1.0 if one.relation == "<=" else -1.0
                above.append(np.r_[sign * row, np.abs(row) @ width])
                limits.append(sign * one.bound)
        found = linprog(
            np.r_[np.zeros(c), -1.0],
            A_ub=np.array(above),
            b_ub=np.array(limits),
            A_eq=np.array(equal) if equal else None,
            b_eq=np.array(totals) if equal else None,
            bounds=[(None, None)] * c + [(None, 1.0)],
        )
        return -np.inf if found.x is None else float(found.x[-1])

    def _row(self, one: LinearConstraint) -> Array:
        row = np.zeros(len(self.names))
        for name, value in one.terms:
            row[self.names.index(name)] += value
        return row


class _Model:
    """The variables of a program: values, then those that say which of its values a finite or optional column has."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.low, self.high = list(program.low), list(program.high)
        self.integrality = [0] * len(self.low)
        self._rows: list[tuple[dict[int, float], float, float]] = []
        for i, values in enumerate(program.values):
            if values.finite and program.high[i] > program.low[i]:
                self._add_values(i, values)
        for one in program.conditions:
            if isinstance(one, Support):
                self._add_support(one)
            else:
                row = {program.names.index(name): 0.0 for name in one.names}
                for name, value in one.terms:
                    row[program.names.index(name)] += value
                self._rows.append((row, one.lower, one.upper))

    @property
    def size(self) -> int:
        return len(self.low)

    def rows(self) -> tuple[Array, Array, Array]:
        matrix = np.zeros((len(self._rows), self.size))
        for i, (row, _, _) in enumerate(self._rows):
            matrix[i, list(row)] = list(row.values())
        return matrix, np.array([r[1] for r in self._rows]), np.array([r[2] for r in self._rows])

    def _new(self, low: float, high: float) -> int:
        self.low.append(low)
        self.high.append(high)
        self.integrality.append(1)
        return self.size - 1

    def _add_values(self, i: int, values: Values) -> None:
        step = float(values.next(np.array(values.low), 1)) - values.low
        steps = (values.high - values.low) / step
        if values.graded or steps > _LISTED:
            count = self._new(0.0, round(steps))
            self._rows.append(({i: 1.0, count: -step}, values.low, values.low))
            return
        listed = [values.low]
        while listed[-1] < values.high:
            listed.append(float(values.next(np.array(listed[-1]), 1)))
        chosen = [self._new(0.0, 1.0) for _ in listed]
        self._rows.append((dict.fromkeys(chosen, 1.0), 1.0, 1.0))
        self._rows.append(({i: -1.0, **dict(zip(chosen, listed, strict=True))}, 0.0, 0.0))

    def _add_support(self, rule: Support) -> None:
        present: list[int] = []
        for name, least in zip(rule.names, rule.least, strict=True):
            i = self.program.names.index(name)
            here = self._new(0.0, 1.0)
            present.append(here)
            self._rows.append(({i: 1.0, here: -self.program.high[i]}, -np.inf, 0.0))
            self._rows.append(({i: 1.0, here: -least}, 0.0, np.inf))
        self._rows.append((dict.fromkeys(present, 1.0), 0.0, float(rule.at_most)))


def check_feasible(feasible: FeasibleSet, *, held: Mapping[str, Any] | None = None) -> None:
    """Check that the constraints leave something, and more than a corner or an edge.

    Args:
        feasible: The set.
        held: Values that are held fixed, by name, if that may be the reason.

    Raises:
        SpaceError: If they do not; it names the constraints in conflict, of which none could be left out.
    """
    program = Program.of(feasible)
    if not program.conditions:
        return
    if program.solve() is None:
        needed = program.conflict()
        together, what = (" together", "one of these constraints") if len(needed) > 1 else ("", "this constraint")
        said = f"no values meet {_listed(needed)}{together}, with {_ranges(program, needed)}"
        if held:
            values = ", ".join(f"{name} = {value!r}" for name, value in held.items())
            raise SpaceError(
                f"{said}, while {values} {'is' if len(held) == 1 else 'are'} held: hold other values, or fewer"
            )
        raise SpaceError(f"{said}: change or drop {what}, or widen the ranges")
    if held or feasible.supports or feasible.finite.any():
        return
    room = program.room()
    if room < _ROOM:
        tight = _tight(program)
        leave, what = ("leave", "one of these constraints") if len(tight) > 1 else ("leaves", "this constraint")
        raise SpaceError(
            f"{_listed(tight)} {leave} hardly any values, with {_ranges(program, tight)}: "
            f"only a corner, an edge or a face of the ranges. Relax {what} or widen the ranges; write "
            "an equality (==) for values that are to be equal, and leave out parameters whose value is known"
        )


def check_predicate(feasible: FeasibleSet) -> None:
    """Check that a predicate holds at some of many random points, and warn if it hardly ever does.

    Raises:
        SpaceError: If it holds nowhere.
    """
    if feasible.where is None:
        return
    found, tried = feasible.sought(_SOUGHT)
    if len(found) < _RARE * tried:
        warn(
            f"{len(found)} of {tried} random points meet {feasible.where.said}, so that points are hard to "
            "find and those found may lie close together: narrow the ranges of the parameters, or write linear conditions as "
            "constraints=[...], which are met by construction",
            SpaceWarning,
        )


def _tight(program: Program) -> tuple[LinearConstraint | Support, ...]:
    """Return constraints that leave no room together, though they would without any one of them."""
    needed = list(program.conditions)
    for one in program.conditions:
        without = [other for other in needed if other is not one]
        if replace(program, conditions=tuple(without)).room() < _ROOM:
            needed = without
    return tuple(needed)


def _listed(conditions: tuple[LinearConstraint | Support, ...]) -> str:
    said = [repr(str(one)) for one in conditions]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"


def _ranges(program: Program, conditions: tuple[LinearConstraint | Support, ...]) -> str:
    """Say which ranges the parameters of some constraints have, of many only the first."""
    named = list(dict.fromkeys(name for one in conditions for name in one.names))
    shown = [
        f"{name} from {program.low[i]:.6g} to {program.high[i]:.6g}"
        if program.low[i] < program.high[i]
        else f"{name} at {program.low[i]:.6g}"
        for name in named[:6]
        for i in [program.names.index(name)]
    ]
    return ", ".join(shown) + (f" and {len(named) - 6} more" if len(named) > 6 else "")
