"""A space that is a product of parameters, and the doors through which anything becomes a space."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from calibo.data import Array, Params
from calibo.errors import SpaceError
from calibo.spaces.encoding import as_points
from calibo.spaces.parameters import Parameter
from calibo.spaces.pool import PoolSpace, is_frame


@runtime_checkable
class Space(Protocol):
    """What may be tried, and how it becomes points of the unit cube."""

    def encode(self, params: Sequence[Mapping[str, Any]]) -> Array:
        """Sets of parameters as points, n x d."""
        ...

    def decode(self, X: Array) -> list[Params]:
        """Points n x d as sets of parameters, n, in plain Python values."""
        ...

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Points drawn uniformly, n x d."""
        ...


@dataclass(frozen=True)
class ProductSpace:
    """Every combination of the values of some parameters; one column for each, in the order given.

    Attributes:
        parameters: The parameters by name.
        names: Their names, d.
        columns: The parameters themselves, d.
    """

    # Compared by names and columns, since for a dict, unlike for a point, the order does not count.
    parameters: Mapping[str, Parameter] = field(compare=False)
    names: tuple[str, ...] = field(init=False, repr=False)
    columns: tuple[Parameter, ...] = field(init=False, repr=False)

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
        set_ = object.__setattr__
        set_(self, "parameters", dict(self.parameters))
        set_(self, "names", tuple(self.parameters))
        set_(self, "columns", tuple(self.parameters.values()))

    @property
    def categories(self) -> tuple[int, ...]:
        """Number of choices of each categorical column, 0 for a numeric one, d."""
        return tuple(column.categories for column in self.columns)

    @property
    def size(self) -> int | None:
        """Number of points, or ``None`` if a column is continuous."""
        counts = [column.cells for column in self.columns]
        return None if None in counts else math.prod(count for count in counts if count is not None)

    def encode(self, params: Sequence[Mapping[str, Any]]) -> Array:
        """Sets of parameters as points, n x d; raises ``SpaceError`` if one does not belong to the space."""
        if isinstance(params, Mapping):
            raise SpaceError("encode takes a list of sets of parameters, got a single one; write encode([params])")
        rows = [self._encoded(i, point) for i, point in enumerate(params)]
        return np.array(rows, dtype=np.float64).reshape(-1, len(self.names))

    def _encoded(self, i: int, point: Mapping[str, Any]) -> list[float]:
        if point.keys() != self.parameters.keys():
            unknown = [name for name in point if name not in self.parameters]
            missing = [name for name in self.names if name not in point]
            wrong = [f"{what} {names}" for what, names in (("unknown", unknown), ("missing", missing)) if names]
            raise SpaceError(f"parameters {i}: {' and '.join(wrong)}; give exactly {list(self.names)}")
        row: list[float] = []
        for name, column in zip(self.names, self.columns, strict=True):
            try:
                row.append(column.encode(point[name]))
            except SpaceError as error:
                raise SpaceError(f"parameters {i}, {name!r}: {error}") from None
        return row

    def decode(self, X: npt.ArrayLike) -> list[Params]:
        """Points n x d as sets of parameters, n: the values nearest to each column, in plain Python."""
        points = as_points(X, len(self.names)).tolist()
        return [{name: c.decode(u) for name, c, u in zip(self.names, self.columns, x, strict=True)} for x in points]

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Valid points, n x d, drawn uniformly on the unit cube (so log scales are log-uniform)."""
        return self.snap(rng.random((n, len(self.names))))

    def valid(self, X: Array) -> np.ndarray:
        """Which points, m x d, make sense, m: all of them, unless a space says otherwise."""
        return np.ones(len(X), dtype=bool)

    def snap(self, U: npt.ArrayLike) -> Array:
        """The valid points nearest, column by column, to points n x d, n x d."""
        points = as_points(U, len(self.names))
        return np.column_stack([column.snap(points[:, j]) for j, column in enumerate(self.columns)])


@runtime_checkable
class HasFeatures(Protocol):
    """A space that has more to say of a point than its columns do."""

    def features(self, X: Array) -> Array:
        """What a model of features sees of points, m x d -> m x D."""
        ...


def features_of(space: Space) -> Callable[[Array], Array] | None:
    """The space's own features of points, or ``None`` if it has none."""
    return space.features if isinstance(space, HasFeatures) else None


def as_space(obj: Any) -> Space:
    """The space that ``obj`` describes.

    Args:
        obj: A space (returned as it is), a mapping of names to parameters, or a table of rows to choose from: a pandas
            DataFrame or a list of dicts.
    """
    if isinstance(obj, Space):
        return obj
    if isinstance(obj, Mapping):
        parameters: Mapping[Any, Any] = obj
        return ProductSpace(parameters)
    if is_frame(obj) or (isinstance(obj, list | tuple) and all(isinstance(row, Mapping) for row in obj)):
        return PoolSpace(obj)
    raise SpaceError(
        "a space must be a Space, a mapping of names to parameters, a DataFrame or a list of dicts, "
        f"got {type(obj).__name__}; read a TOML file with space_from_toml"
    )
