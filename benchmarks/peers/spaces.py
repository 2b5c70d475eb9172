"""Search spaces as plain records, which every optimizer's environment can read; needs NumPy alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Kind = Literal["float", "int", "ordinal", "categorical"]
Params = dict[str, Any]


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes:
        kind: "float" or "int" between ``low`` and ``high``; "ordinal" or "categorical" out of ``choices``.
        low: Smallest value of a number.
        high: Largest value of a number.
        log: Whether a number is searched on the logarithmic scale.
        choices: Values of an ordinal (in their order) or categorical parameter.
    """

    kind: Kind
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    choices: tuple[Any, ...] = ()

    def from_unit(self, u: float) -> Any:
        """Return the value at place ``u`` in [0, 1): uniform on the scale that is searched."""
        if self.choices:
            return self.choices[min(int(u * len(self.choices)), len(self.choices) - 1)]
        half = 0.5 if self.kind == "int" else 0.0
        low, high = self.low - half, self.high + half
        value = low * (high / low) ** u if self.log else low + u * (high - low)
        return self.clean(value)

    def to_unit(self, value: Any) -> float:
        """Return the place of a value in [0, 1]; that of a choice is the middle of its share."""
        if self.choices:
            return (self.choices.index(value) + 0.5) / len(self.choices)
        half = 0.5 if self.kind == "int" else 0.0
        low, high = self.low - half, self.high + half
        return math.log(value / low) / math.log(high / low) if self.log else (value - low) / (high - low)

    def clean(self, value: Any) -> Any:
        """Return a suggested value as the problem takes it: a plain number within the bounds, or a choice.

        Optimizers may return arrays' scalars, numbers outside by rounding, choices as text, or 1.0 for the choice 1.
        """
        if self.choices:
            texts = [str(choice) for choice in self.choices]
            return self.choices[self.choices.index(value) if value in self.choices else texts.index(str(value))]
        inside = min(max(float(value), self.low), self.high)
        return round(inside) if self.kind == "int" else inside


#: Parameters by name.
PeerSpace = Mapping[str, Parameter]


def floats(d: int, low: float, high: float) -> dict[str, Parameter]:
    """Return d floats of the same range, x00, x01, ..."""
    return {f"x{i:02d}": Parameter("float", low, high) for i in range(d)}


def is_continuous(space: PeerSpace) -> bool:
    """Return whether all parameters are floats."""
    return all(parameter.kind == "float" for parameter in space.values())


def from_unit(space: PeerSpace, u: Sequence[float]) -> Params:
    """Return the parameters at a point of the unit cube."""
    return {name: parameter.from_unit(float(v)) for (name, parameter), v in zip(space.items(), u, strict=True)}


def clean(space: PeerSpace, params: Mapping[str, Any]) -> Params:
    """Return suggested parameters as the problem takes them."""
    return {name: parameter.clean(params[name]) for name, parameter in space.items()}


def to_indices(space: PeerSpace, params: Mapping[str, Any]) -> Params:
    """Return parameters with ordinals by the number of their choice: what optimizers without ordinals are given."""
    return {name: p.choices.index(params[name]) if p.kind == "ordinal" else params[name] for name, p in space.items()}


def from_indices(space: PeerSpace, params: Mapping[str, Any]) -> Params:
    """Return clean parameters from such with ordinals by the number of their choice."""
    given = {
        name: p.choices[round(float(params[name]))] if p.kind == "ordinal" else params[name]
        for name, p in space.items()
    }
    return clean(space, given)


def to_json(space: PeerSpace) -> dict[str, Any]:
    """Return a space as plain values."""
    return {name: asdict(parameter) for name, parameter in space.items()}


def from_json(stored: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return a space from plain values."""
    return {name: Parameter(**{**record, "choices": tuple(record["choices"])}) for name, record in stored.items()}
