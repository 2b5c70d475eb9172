"""Several outcomes of the same trials as one record: objectives to trade off, constraints to meet, and what follows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from calibo.data import Array
from calibo.diagnostics import FeasibilityTable, feasibility_table
from calibo.errors import DataError
from calibo.optimize.records import Direction
from calibo.pareto import hypervolumes, inferred_reference, pareto_mask
from calibo.report.story import Story


@dataclass(frozen=True, eq=False, kw_only=True)
class Tradeoff:
    """What was tried with several outcomes in view: n trials in the order their outcomes arrived, the user's sign.

    A trial counts as a result if it has a value of every outcome. It is feasible if it meets all constraints, which
    means that no value of them is above 0.

    Attributes:
        title: Name of the study, shown on top.
        method: Name of the method that made the suggestions.
        objectives: A story of each of m objectives, titled by its name; all of the same trials.
        constraints: A story of each of c constraints, titled by its name, minimised and met where not positive.
        reference: Values of the objectives that are just not worth having, m; ``None`` if they are to be inferred.
    """

    title: str
    method: str
    objectives: tuple[Story, ...]
    constraints: tuple[Story, ...] = ()
    reference: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not self.objectives:
            raise DataError("a trade-off needs at least one objective, got none")
        for outcome in (*self.objectives, *self.constraints):
            if outcome.numbers != self.numbers:
                raise DataError(
                    f"{outcome.title!r} is told of other trials than {self.objectives[0].title!r}: "
                    "give every outcome the same trial numbers, with None where it has no value"
                )
        for constraint in self.constraints:
            if constraint.direction is not Direction.MINIMIZE:
                raise DataError(
                    f"constraint {constraint.title!r} must be minimised: it is met where it is not positive"
                )
        m = len(self.objectives)
        if self.reference is not None and (len(self.reference) != m or not all(map(math.isfinite, self.reference))):
            raise DataError(f"a reference point has one finite value for each of {m} objectives, got {self.reference}")
        if self.constraints:
            met = tuple(flag is True for flag in self.feasible)
            object.__setattr__(self, "objectives", tuple(story.constrained(met) for story in self.objectives))

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Trial numbers, n."""
        return self.objectives[0].numbers

    @property
    def params(self) -> tuple[Mapping[str, Any], ...]:
        """Parameters tried, n mappings by name."""
        return self.objectives[0].params

    @property
    def outcomes(self) -> tuple[Story, ...]:
        """The objectives, then the constraints."""
        return (*self.objectives, *self.constraints)

    @cached_property
    def signs(self) -> Array:
        """What makes large values of each objective the wanted ones, m."""
        return np.array([story.direction.value for story in self.objectives])

    @cached_property
    def feasible(self) -> tuple[bool | None, ...]:
        """Whether each trial meets all constraints, n; ``None`` where an outcome has no value."""
        return tuple(self._meets(i) for i in range(len(self)))

    @cached_property
    def results(self) -> tuple[int, ...]:
        """Indices of the trials with a value of every outcome."""
        return tuple(i for i, flag in enumerate(self.feasible) if flag is not None)

    @cached_property
    def met(self) -> tuple[int, ...]:
        """Indices of the results that meet all constraints, k of them."""
        return tuple(i for i in self.results if self.feasible[i])

    @cached_property
    def front(self) -> tuple[int, ...]:
        """Indices of the feasible results that no other feasible one dominates."""
        if not self.met:
            return ()
        return tuple(i for i, kept in zip(self.met, pareto_mask(self._larger_is_better).tolist(), strict=True) if kept)

    @cached_property
    def reference_point(self) -> tuple[float, ...] | None:
        """The reference point in the user's sign, m: as given, else inferred from the feasible results if there are any."""
        if self.reference is not None:
            return self.reference
        if not self.met:
            return None
        with np.errstate(over="ignore", invalid="ignore"):  # values near 1e308 have no finite extent
            # The turned zero is a plain zero again.
            return tuple((self.signs * inferred_reference(self._larger_is_better) + 0.0).tolist())

    @cached_property
    def hypervolumes(self) -> Array:
        """The hypervolume of the feasible results after each trial, n; NaN or infinite where no float holds it."""
        after = np.zeros(len(self))
        if self.reference_point is None:
            return after
        with np.errstate(over="ignore", invalid="ignore"):
            volumes = hypervolumes(self._larger_is_better, self.signs * np.array(self.reference_point))
        after[list(self.met)] = volumes
        return np.maximum.accumulate(after)

    @cached_property
    def feasibility(self) -> FeasibilityTable:
        """How stated probabilities of meeting all constraints came out, of the results with forecasts of all of them."""
        told = [i for i in self.results if all(c.forecasts[i] is not None for c in self.constraints)]
        judged = told if self.constraints else []
        with np.errstate(over="ignore", invalid="ignore"):
            return feasibility_table(
                [tuple(c.forecast(i) for c in self.constraints) for i in judged],
                [self.feasible[i] is True for i in judged],
            )

    @cached_property
    def _larger_is_better(self) -> Array:
        """Objectives of the feasible results in the house's sign, k x m."""
        values = [[story.value(i) for story in self.objectives] for i in self.met]
        return np.array(values, dtype=np.float64).reshape(-1, len(self.objectives)) * self.signs

    def _meets(self, index: int) -> bool | None:
        if any(story.values[index] is None for story in self.outcomes):
            return None
        return all(constraint.value(index) <= 0.0 for constraint in self.constraints)
