"""Spaces written down as tables, in a TOML file or a dict: one table for each parameter."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from calibo.errors import SpaceError
from calibo.space.parameters import Categorical, Float, Int, Ordinal, Parameter
from calibo.space.product import ProductSpace

TYPES: dict[str, type[Parameter]] = {"float": Float, "int": Int, "categorical": Categorical, "ordinal": Ordinal}


def space_from_toml(path: str | os.PathLike[str]) -> ProductSpace:
    """The space a TOML file describes, such as::

        [lr]
        type = "float"
        low = 1e-4
        high = 1.0
        log = true

        [act]
        type = "categorical"
        choices = ["relu", "gelu"]

    Args:
        path: The file. Anything wrong with it is a ``SpaceError`` that names it and the parameter.
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
    """The space a mapping of names to specifications describes: ``{"lr": {"type": "float", "low": 0, "high": 1}}``.

    Args:
        table: For each parameter its type (float, int, categorical, ordinal) and the arguments of that type.
        source: Where the table comes from, for error messages.
    """
    if not isinstance(table, Mapping) or not table:
        raise SpaceError(f"{source}: expected a table with one entry for every parameter, got {table!r}")
    return ProductSpace({name: _parameter(f"{source}, parameter {name!r}", spec) for name, spec in table.items()})


def _parameter(where: str, spec: Any) -> Parameter:
    if not isinstance(spec, Mapping):
        raise SpaceError(f'{where}: expected a table such as {{type = "float", low = 0, high = 1}}, got {spec!r}')
    kind = spec.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        given = f"got {kind!r}" if "type" in spec else f"there is none among {sorted(spec)}"
        nested = any(isinstance(value, Mapping) for value in spec.values())
        hint = ' (quote a name that has a dot in it: ["model.lr"])' if nested else ""
        raise SpaceError(f"{where}: type must be one of {', '.join(TYPES)}, {given}{hint}")
    arguments: dict[str, Any] = {str(key): value for key, value in spec.items() if key != "type"}
    allowed = [f.name for f in fields(TYPES[kind])]
    needed = [f.name for f in fields(TYPES[kind]) if f.default is MISSING]
    unknown = [key for key in arguments if key not in allowed]
    missing = [key for key in needed if key not in arguments]
    if unknown or missing:
        wrong = [f"{what} {', '.join(keys)}" for what, keys in (("unknown", unknown), ("missing", missing)) if keys]
        takes = f"{kind} takes {', '.join(allowed)} and needs {', '.join(needed)}"
        raise SpaceError(f"{where}: {' and '.join(wrong)}; {takes}")
    try:
        return TYPES[kind](**arguments)
    except SpaceError as error:
        raise SpaceError(f"{where}: {error}") from None
