"""Conditions that are found to hold by trying: functions, and inequalities where their parameters are active."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from calibo.data import Params
from calibo.errors import SpaceError
from calibo.spaces.constraints import LinearConstraint

#: Returns whether parameters, by name, may be tried.
Where = Callable[[Params], Any]
#: How far a sum may be off its bound, relative to the size of its terms.
_TOLERANCE = 1e-12


def name_of(predicate: Any) -> str:
    """Return what to call a function in a message."""
    return getattr(predicate, "__name__", type(predicate).__name__)


@dataclass(frozen=True)
class Predicate:
    """What holds or not at given parameters, and says nothing of where it does.

    Attributes:
        inequalities: Linear constraints, each of which counts where all of its parameters are active.
        where: A function of the active parameters; ``None`` for none.
    """

    inequalities: tuple[LinearConstraint, ...] = ()
    where: Where | None = None

    def __call__(self, params: Params) -> bool:
        """Return whether parameters, by name, may be tried.

        Raises:
            SpaceError: If the function fails.
        """
        if any(_off(one, params, _TOLERANCE) for one in self.inequalities):
            return False
        return self._function_holds(params)

    @property
    def said(self) -> str:
        """What to call it in a message."""
        parts = [repr(str(one)) for one in self.inequalities]
        parts += [] if self.where is None else [f"the predicate {name_of(self.where)}"]
        return " and ".join(parts)

    def broken(self, params: Params, tolerance: float) -> tuple[str, ...]:
        """Return the conditions that parameters do not meet, in words; sums may be off by a share of their size."""
        said = tuple(str(one) for one in self.inequalities if _off(one, params, tolerance))
        return said if self._function_holds(params) else (*said, f"where={name_of(self.where)}")

    def _function_holds(self, params: Params) -> bool:
        try:
            return self.where is None or bool(self.where(params))
        except Exception as error:
            raise SpaceError(
                f"the predicate {name_of(self.where)} failed for {params}: {type(error).__name__}: {error}; it must "
                "return True or False for all parameters within their ranges"
            ) from error


def _off(constraint: LinearConstraint, params: Params, tolerance: float) -> bool:
    """Return whether parameters break a constraint; not where one of its parameters is inactive."""
    if not all(name in params for name in constraint.names):
        return False
    terms = [value * float(params[name]) for name, value in constraint.terms]
    room = tolerance * max(abs(constraint.bound), *map(abs, terms))
    return not constraint.lower - room <= sum(terms) <= constraint.upper + room
