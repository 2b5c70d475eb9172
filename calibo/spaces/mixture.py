"""Mixtures: amounts of components that add up to a fixed total, of which only some may be present."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from calibo.checks import check_whole, read_mapping, real_number, shown
from calibo.errors import SpaceError
from calibo.spaces.constraints import LinearConstraint
from calibo.spaces.parameters import Float, Int, Parameter


@dataclass(frozen=True, repr=False)
class Mixture:
    """Amounts of components that add up to a total, optionally with at most some of them present.

    It is given among the parameters of a space, under any name; its components become parameters of the space by their
    own names. It is also a space of its own.

        >>> from calibo import Float, Mixture
        >>> from calibo.spaces import ProductSpace
        >>> recipe = Mixture({"water": (0.2, 0.8), "salt": (0, 0.3), "sugar": (0, 0.3)})
        >>> ProductSpace({"recipe": recipe, "temperature": Float(20, 90)}).names
        ('water', 'salt', 'sugar', 'temperature')

    Attributes:
        components: Smallest and largest amount of each component, by name; or a ``Float`` or ``Int``, for amounts in
            steps or on a log scale.
        total: What the amounts add up to.
        at_most: How many components may be present at once; an absent one has the amount 0, and the bounds of a
            component are then those of its amount if it is present. ``None`` for all.
    """

    components: Mapping[str, tuple[float, float] | Parameter]
    total: float = 1.0
    at_most: int | None = None

    def __post_init__(self) -> None:
        given = read_mapping(self.components)
        if given is None or len(given) < 2:
            raise SpaceError(
                'a mixture takes the bounds of two or more components by name, e.g. {"water": (0, 0.6), "salt": (0, 1)}, '
                f"got {shown(self.components)}"
            )
        total = real_number(self.total)
        if total is None or not math.isfinite(total):
            raise SpaceError(f"the total of a mixture must be a finite number, got {shown(self.total)}")
        components = {name: _component(name, one) for name, one in given.items()}
        object.__setattr__(self, "components", components)
        object.__setattr__(self, "total", total)
        if self.at_most is None:
            return
        check_whole("at_most of a mixture", self.at_most, error=SpaceError)
        for name, part in components.items():
            if part.low < 0.0 or (part.low > 0.0 and (part.log or part.step is not None)):
                raise SpaceError(
                    f"component {name!r} of a mixture with at_most needs an amount of 0 when it is absent: its lower bound "
                    f"must be 0, or positive without a step or log scale, got {shown(part)}"
                )

    def __hash__(self) -> int:
        return hash((tuple(self.components.items()), self.total, self.at_most))

    def __repr__(self) -> str:
        limits = "" if self.at_most is None else f", at_most={self.at_most}"
        parts = {name: (p.low, p.high) if _plain(p) else p for name, p in self._parts.items()}
        return f"Mixture({parts}, total={self.total:.12g}{limits})"

    @property
    def _parts(self) -> dict[str, Float | Int]:
        return self.components  # pyright: ignore[reportReturnType]

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """The components as parameters, by name: from 0 on where a component may be absent."""
        optional = self.at_most is not None
        return {
            name: replace(part, low=0.0) if optional and part.low > 0 else part for name, part in self._parts.items()
        }

    @cached_property
    def sum(self) -> LinearConstraint:
        """The constraint that the amounts add up to the total."""
        return LinearConstraint(dict.fromkeys(self.components, 1.0), "==", self.total)

    @property
    def support(self) -> Support | None:
        """The rule on how many components may be present; ``None`` if all may."""
        least = tuple(float(part.low) for part in self._parts.values())
        if self.at_most is None or (self.at_most >= len(least) and not any(least)):
            return None
        return Support(tuple(self.components), least, self.at_most)


@dataclass(frozen=True)
class Support:
    """The rule that at most some parameters differ from 0, each then being at least some amount.

    Attributes:
        names: Names of the parameters.
        least: Smallest amount of each where it is present.
        at_most: How many may differ from 0.
    """

    names: tuple[str, ...]
    least: tuple[float, ...]
    at_most: int

    def __str__(self) -> str:
        return f"at most {self.at_most} of {', '.join(self.names)} present"


def _component(name: Any, given: Any) -> Float | Int:
    if not isinstance(name, str) or not name:
        raise SpaceError(f"components of a mixture are named by non-empty strings, got {name!r}")
    if isinstance(given, Float | Int):
        return given
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 2:
        raise SpaceError(
            f"component {name!r} of a mixture takes its smallest and largest amount, e.g. (0, 0.6), or a Float or Int, "
            f"got {shown(given)}"
        )
    if real_number(given[0]) is not None and given[0] == given[1]:
        raise SpaceError(
            f"component {name!r} always has the amount {shown(given[0])}: leave it out of the mixture, and subtract its "
            "amount from the total"
        )
    try:
        return Float(*given)
    except SpaceError as error:
        raise SpaceError(f"component {name!r}: {error}") from None


def _plain(part: Float | Int) -> bool:
    return isinstance(part, Float) and not part.log and part.step is None
