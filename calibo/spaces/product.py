"""Products of parameters, and the conversion of what a user gives to a space."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calibo.data import Array, Params
from calibo.errors import SpaceError
from calibo.spaces.base import Part, Space, column_ends, perturbed, stretched
from calibo.spaces.parameters import Categorical, Float, Int, Parameter
from calibo.spaces.pool import PoolSpace, is_frame


@dataclass(frozen=True)
class ProductSpace(Space):
    """Every combination of the values of some parameters; one column for each, in the order given.

        >>> from calibo.spaces import Float, Int, ProductSpace
        >>> space = ProductSpace({"lr": Float(0.0, 0.1), "layers": Int(1, 4)})
        >>> space
        ProductSpace({'lr': Float(0.0, 0.1), 'layers': Int(1, 4)})
        >>> space.decode([[0.5, 0.9]])
        [{'lr': 0.05, 'layers': 4}]

    Attributes:
        parameters: The parameters by name.
    """

    # Compared by their items, since for a dict, unlike for a point, the order does not count.
    parameters: Mapping[str, Parameter] = field(compare=False)
    _items: tuple[tuple[str, Parameter], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.parameters, Mapping):
            raise SpaceError(f"a space is a mapping of names to parameters, got {type(self.parameters).__name__}")
        if not self.parameters:
            raise SpaceError('a space needs at least one parameter, got none; write e.g. {"x": Float(0, 1)}')
        for name, parameter in self.parameters.items():
            if not isinstance(name, str) or not name:
                raise SpaceError(f"parameters must be named by non-empty strings, got {name!r}")
            if not isinstance(parameter, Parameter):
                raise SpaceError(
                    f"parameter {name!r} must be a Float, Int, Categorical or Ordinal, got {parameter!r}; "
                    "write e.g. Float(0, 1), or pass a table of specifications to space_from_dict"
                )
        object.__setattr__(self, "parameters", dict(self.parameters))
        object.__setattr__(self, "_items", tuple(self.parameters.items()))

    def __repr__(self) -> str:
        return f"ProductSpace({self.parameters})"

    @cached_property
    def names(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
        return tuple(name for name, _ in self._items)

    @cached_property
    def columns(self) -> tuple[Parameter, ...]:  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
        return tuple(parameter for _, parameter in self._items)

    def encode(self, params: Sequence[Mapping[str, Any]]) -> Array:
        return self.from_values(params)

    def decode(self, X: npt.ArrayLike) -> list[Params]:
        return self.values(X)

    def subspace(self, names: Collection[str]) -> Space:
        if type(self) is not ProductSpace:  # there are constraints among its parameters
            return super().subspace(names)
        return ProductSpace({name: self.parameters[name] for name in self.names if name in names})

    def within(self, lower: Array, upper: Array, *, centre: Array) -> Part:
        """Return the part of the space within a box, stretched to the unit cube, so that steps are as fine as it is small.

        Finite numeric columns keep the values that lie in the box, categorical ones all. See ``Space.within``.
        """
        if type(self) is not ProductSpace:  # its constraints are those of the whole space
            return super().within(lower, upper, centre=centre)
        local = [_restricted(c, *ends) for c, *ends in zip(self.columns, lower, upper, strict=True)]
        columns = [column for column, *_ in local]
        low, high, start, width = np.array([numbers for _, *numbers in local]).T
        middle = stretched(self.repair(centre[None, :]), start, width)[0]
        # Column by column the local space has as many values as there are cells in the box.
        same_values = all(a.cells == b.cells for a, b in zip(columns, self.columns, strict=True))
        continuous = np.array([column.cells is None for column in self.columns])
        whole = same_values and bool((width[continuous] >= 1.0).all())
        named = {name: columns[j] for j, name in enumerate(self.names)}
        return Part(_Stretched(named, centre=tuple(middle)), low, high, start, width, is_everything=whole)

    def _round(self, U: Array) -> Array:
        return np.column_stack([column.round(U[:, j]) for j, column in enumerate(self.columns)])


@dataclass(frozen=True)
class _Stretched(ProductSpace):
    """A box of a product stretched to the unit cube, whose random points leave most of many columns at the centre."""

    centre: tuple[float, ...] = field(kw_only=True)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return perturbed(super().sample(n, rng), np.array(self.centre), rng)


def _restricted(column: Parameter, lower: float, upper: float) -> tuple[Parameter, float, float, float, float]:
    """Return the part of a column between two coordinates: as a column, and its lower and upper end, start and width."""
    if column.categories:
        return column, 0.0, 1.0, 0.0, 1.0
    low, high = column_ends(column, lower, upper)
    if column.cells is None:
        return Float(0.0, 1.0), low, high, low, high - low
    first, last = (int(cell) for cell in column.cell(np.array([low, high])))
    if first == last:
        return Categorical(["only"]), low, high, low, 0.0
    local: Parameter = Int(0, last - first)
    if isinstance(column, Int) and column.log:
        # Its values stand unevenly; the same values on a log scale of their own stand alike, up to an affine map.
        local = Int(column.decode(low), column.decode(high), log=True, step=column.step)
    own_low, own_high = (float(u) for u in local.position(np.array([0, last - first])))
    width = (high - low) / (own_high - own_low)
    return local, low, high, low - own_low * width, width


def as_space(obj: Any) -> Space:
    """Convert to a space.

    Args:
        obj: A space (returned as it is), a mapping of names to parameters, or a table of rows to choose from: a pandas
            DataFrame or a list of dicts.

    Raises:
        SpaceError: If it is none of these.
    """
    if isinstance(obj, Space):
        return obj
    if isinstance(obj, Mapping):
        parameters: Mapping[Any, Any] = obj
        return ProductSpace(parameters)
    if is_frame(obj) or (isinstance(obj, list | tuple) and all(isinstance(row, Mapping) for row in obj)):
        return PoolSpace(obj)
    if isinstance(obj, type) and issubclass(obj, Space):
        raise SpaceError(f"a space must be an object, got the class {obj.__name__}; write {obj.__name__}(...)")
    raise SpaceError(
        "a space must be a Space, a mapping of names to parameters, a DataFrame or a list of dicts, "
        f"got {type(obj).__name__}; read a TOML file with space_from_toml, and inherit from calibo.spaces.Space for "
        "a space of your own"
    )
