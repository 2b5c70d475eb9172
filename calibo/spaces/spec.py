"""Spaces read from tables, in a TOML file or a dict: one table for each parameter, or a single one for a cell."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from calibo.errors import SpaceError
from calibo.spaces.base import Space, wrong_names
from calibo.spaces.cells import CellSpace, GraphCellSpace
from calibo.spaces.parameters import Categorical, Float, Int, Ordinal, Parameter
from calibo.spaces.product import ProductSpace

T = TypeVar("T")

TYPES: dict[str, type[Parameter]] = {"float": Float, "int": Int, "categorical": Categorical, "ordinal": Ordinal}
#: Spaces that a single table describes.
CELLS: dict[str, type[CellSpace] | type[GraphCellSpace]] = {"cell": CellSpace, "graph_cell": GraphCellSpace}


def space_from_toml(path: str | os.PathLike[str]) -> ProductSpace:
    r"""Read a space from a TOML file with one table for each parameter.

        >>> import pathlib, tempfile
        >>> from calibo import space_from_toml
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "space.toml"
        >>> lines = '[lr]', 'type = "float"', 'low = 1e-4', 'high = 1.0', 'log = true'
        >>> _ = path.write_text("\n".join(lines))
        >>> space_from_toml(path)
        ProductSpace({'lr': Float(0.0001, 1.0, log=True)})

    The types are float, int, categorical (with ``choices = ["relu", "gelu"]``) and ordinal. A cell of an architecture is a
    single table (whatever its name) of type cell or graph_cell with the arguments of ``CellSpace`` or ``GraphCellSpace``.

    Args:
        path: The file.

    Raises:
        SpaceError: If the file cannot be read or does not describe a space; it names the file and the parameter.
    """
    source = os.fspath(path)
    try:
        with open(source, "rb") as file:
            table = tomllib.load(file)
    except OSError as error:
        raise SpaceError(f"{source}: cannot be read ({error.strerror}); give the path of a TOML file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpaceError(f"{source}: is not valid TOML ({error}); every parameter is a table such as [lr]") from error
    return space_from_dict(table, source=source)


def space_from_dict(table: Mapping[str, Any], *, source: str = "space") -> ProductSpace:
    """Build a space from a mapping of names to specifications.

        >>> from calibo.spaces import space_from_dict
        >>> space_from_dict({"layers": {"type": "int", "low": 1, "high": 4}})
        ProductSpace({'layers': Int(1, 4)})

    Args:
        table: For each parameter its type (float, int, categorical, ordinal) and the arguments of that type; or a
            single entry of type cell or graph_cell.
        source: Where the table comes from, for error messages.

    Raises:
        SpaceError: If it does not describe a space; it names the parameter.
    """
    if not isinstance(table, Mapping) or not table:
        raise SpaceError(f"{source}: expected a table with one entry for every parameter, got {table!r}")
    cells = [name for name, spec in table.items() if isinstance(spec, Mapping) and spec.get("type") in list(CELLS)]
    if not cells:
        return ProductSpace(
            {name: _built(f"{source}, parameter {name!r}", spec, TYPES) for name, spec in table.items()}
        )
    if len(table) > 1:
        raise SpaceError(
            f"{source}: a cell is a space of its own, so {cells[0]!r} must be the only table, got {list(table)}"
        )
    return _built(f"{source}, {cells[0]!r}", table[cells[0]], CELLS)


def kind_of(space: Space) -> dict[str, Any] | None:
    """Return what tells a space from the product of its columns: ``None`` for a plain product, else a specification.

    A cell is specified by its type and arguments, so that ``space_from_dict`` can build it; another space by the name of
    its class only.
    """
    if type(space) is ProductSpace:
        return None
    for kind, made in CELLS.items():
        if type(space) is made:
            return {"type": kind, **{name: getattr(space, name) for name in _arguments(made)[0]}}
    return {"type": type(space).__name__}


def _built(where: str, spec: Any, types: Mapping[str, type[T]]) -> T:
    """Build the parameter or cell that a table describes."""
    if not isinstance(spec, Mapping):
        raise SpaceError(f'{where}: expected a table such as {{type = "float", low = 0, high = 1}}, got {spec!r}')
    kind = spec.get("type")
    if not isinstance(kind, str) or kind not in types:
        given = f"got {spec['type']!r}" if "type" in spec else f"there is none among {sorted(spec)}"
        nested = any(isinstance(value, Mapping) for value in spec.values())
        hint = ' (quote a name that has a dot in it: ["model.lr"])' if nested else ""
        raise SpaceError(f"{where}: type must be one of {', '.join(types)}, {given}{hint}")
    arguments: dict[str, Any] = {str(key): value for key, value in spec.items() if key != "type"}
    allowed, needed = _arguments(types[kind])
    if wrong := wrong_names(arguments, allowed, needed):
        takes = f"{kind} takes {', '.join(allowed)} and needs {', '.join(needed) or 'none'}"
        raise SpaceError(f"{where}: {wrong}; {takes}")
    try:
        return types[kind](**arguments)
    except SpaceError as error:
        raise SpaceError(f"{where}: {error}") from None


def _arguments(made: type[Any]) -> tuple[list[str], list[str]]:
    """Return the arguments of a parameter or cell, and those without a default."""
    own = [f for f in fields(made) if f.init]
    return [f.name for f in own], [f.name for f in own if f.default is MISSING]
