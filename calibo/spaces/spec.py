"""Spaces read from tables, in a TOML file or a dict: one table for each parameter, or a single one for a cell."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

from calibo.checks import is_text, read_mapping, shown
from calibo.errors import SpaceError
from calibo.spaces.base import Space, wrong_names
from calibo.spaces.cells import CellSpace, GraphCellSpace
from calibo.spaces.contexts import Context
from calibo.spaces.descriptors import SMILES
from calibo.spaces.mixture import Mixture
from calibo.spaces.parameters import NO_DEFAULT, Categorical, Float, Int, Ordinal, Parameter
from calibo.spaces.predicates import name_of
from calibo.spaces.product import ProductSpace

T = TypeVar("T")

TYPES: dict[str, type[Parameter]] = {"float": Float, "int": Int, "categorical": Categorical, "ordinal": Ordinal}
#: What the amount of a mixture's component may be.
_AMOUNTS: dict[str, type[Parameter]] = {"float": Float, "int": Int}
#: Spaces that a single table describes.
CELLS: dict[str, type[CellSpace] | type[GraphCellSpace]] = {"cell": CellSpace, "graph_cell": GraphCellSpace}


#: Parts, between dots, of the name of a table.
_MOST_PARTS = 100


def space_from_toml(path: str | os.PathLike[str]) -> ProductSpace:
    r"""Read a space from a TOML file with one table for each parameter.

        >>> import pathlib, tempfile
        >>> from calibo import space_from_toml
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "space.toml"
        >>> lines = '[lr]', 'type = "float"', 'low = 1e-4', 'high = 1.0', 'log = true'
        >>> _ = path.write_text("\n".join(lines))
        >>> space_from_toml(path)
        ProductSpace({'lr': Float(0.0001, 1.0, log=True)})

    The types are float, int, categorical (with ``choices = ["relu", "gelu"]``), ordinal and mixture (with
    ``components = {water = [0, 0.6], salt = [0, 1]}``, ``total`` and ``at_most``). All but mixtures may have a
    ``default``, tried first, and ``context = true`` if they are observed, not chosen; ``descriptors`` of choices are a
    table, or the path of a CSV file beside the TOML file. Linear constraints stand before all tables:
    ``constraints = ["a + b <= 1"]``; a predicate can be given in Python only. A cell of an architecture is a
    single table (whatever its name) of type cell or graph_cell with the arguments of ``CellSpace`` or ``GraphCellSpace``.

    Args:
        path: The file.

    Raises:
        SpaceError: If the file cannot be read or does not describe a space; it names the file and the parameter.
    """
    if not is_text(path) and not isinstance(path, os.PathLike):
        raise SpaceError(f"a space is read from the path of a TOML file, got {shown(path)}")
    source = os.fspath(path)
    return space_from_dict(tables_of_toml(source), source=source)


def tables_of_toml(source: str) -> dict[str, Any]:
    """Read the tables of a TOML file that describes a space; files of descriptors are looked for beside it.

    Args:
        source: The path of the file.

    Raises:
        SpaceError: If it cannot be read.
    """
    try:
        # Editors of Windows may put a mark before the text.
        text = Path(source).read_bytes().decode("utf-8-sig")
        _check_keys(source, text)
        table = tomllib.loads(text.replace("\r\n", "\n"))
    except SpaceError:
        raise  # of keys, which says what is wrong
    except RecursionError:
        raise SpaceError(f"{source}: is nested too deeply; every parameter is a table such as [lr]") from None
    except OSError as error:
        raise SpaceError(f"{source}: cannot be read ({error.strerror}); give the path of a TOML file") from error
    except UnicodeDecodeError as error:
        raise SpaceError(f"{source}: is not saved as UTF-8, as TOML must be ({error}); save it so") from error
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise SpaceError(
            f"{source}: is not valid TOML ({error}); every parameter is a table such as [lr], numbers have a decimal point, "
            'and a name that has spaces or letters other than a to z stands in quotation marks: ["Lösung A"]'
        ) from error
    folder = os.path.dirname(source)
    return {name: _beside(spec, folder) for name, spec in table.items()}


def _check_keys(source: str, text: str) -> None:
    """Refuse keys of very many parts, for which the time that TOML needs grows with their square."""
    for number, line in enumerate(text.splitlines(), start=1):
        key = line.partition("=")[0] if "=" in line or line.lstrip().startswith("[") else ""
        if key.count(".") > _MOST_PARTS and not key.lstrip(" [.").startswith(tuple("0123456789+-")):
            raise SpaceError(
                f"{source}: line {number} has a name of more than {_MOST_PARTS} parts; a name such as [lr] has one"
            )


def space_from_dict(table: Mapping[str, Any], *, source: str = "space") -> ProductSpace:
    """Build a space from a mapping of names to specifications.

        >>> from calibo.spaces import space_from_dict
        >>> space_from_dict({"layers": {"type": "int", "low": 1, "high": 4}})
        ProductSpace({'layers': Int(1, 4)})

    Args:
        table: For each parameter its type (float, int, categorical, ordinal, mixture) and the arguments of that type, and
            optionally a list of linear constraints; or a single entry of type cell or graph_cell.
        source: Where the table comes from, for error messages.

    Raises:
        SpaceError: If it does not describe a space; it names the parameter.
    """
    if not is_text(source):
        raise SpaceError(f"source must be text, got {shown(source)}")
    if not read_mapping(table):
        raise SpaceError(f"{source}: expected a table with one entry for every parameter, got {shown(table)}")
    cells = [name for name, spec in table.items() if isinstance(spec, Mapping) and spec.get("type") in list(CELLS)]
    if not cells:
        return _product(table, source)
    if len(table) > 1:
        raise SpaceError(
            f"{source}: a cell is a space of its own, so {cells[0]!r} must be the only table, got {list(table)}"
        )
    return _built(f"{source}, {cells[0]!r}", table[cells[0]], CELLS)


def _product(table: Mapping[str, Any], source: str) -> ProductSpace:
    """Build a product of parameters and mixtures, with its constraints."""
    # A parameter of that name is a table, constraints are a list.
    listed = table.get("constraints", ())
    constraints = () if isinstance(listed, Mapping) else listed
    if isinstance(constraints, str) or not all(isinstance(one, str) for one in constraints):
        raise SpaceError(f'{source}: constraints are a list of text, e.g. ["a + b <= 1"], got {shown(constraints)}')
    parameters = {
        name: _mixture(f"{source}, mixture {name!r}", spec)
        if isinstance(spec, Mapping) and spec.get("type") == "mixture"
        else _parameter(f"{source}, parameter {name!r}", spec)
        for name, spec in table.items()
        if spec is not constraints
    }
    try:
        return ProductSpace(parameters, constraints=tuple(constraints))  # pyright: ignore[reportArgumentType]
    except SpaceError as error:
        raise SpaceError(f"{source}: {error}") from None


def _mixture(where: str, spec: Mapping[str, Any]) -> Mixture:
    """Build the mixture that a table describes: its components are pairs of bounds, or tables of a float or int."""
    components = spec.get("components")
    if isinstance(components, Mapping):
        built = {
            name: _built(f"{where}, component {name!r}", one, _AMOUNTS) if isinstance(one, Mapping) else one
            for name, one in components.items()
        }
        spec = {**spec, "components": built}
    return _built(where, spec, {"mixture": Mixture})


def kind_of(space: Space) -> dict[str, Any] | None:
    """Return what tells a space from the product of its columns: ``None`` for a plain product, else a specification.

    A cell is specified by its type and arguments, so that ``space_from_dict`` can build it; another space by the name of
    its class only.
    """
    if type(space) is ProductSpace:
        return _conditions(space)
    for kind, made in CELLS.items():
        if type(space) is made:
            return {"type": kind, **{name: getattr(space, name) for name in _arguments(made)[0]}}
    return {"type": type(space).__name__}


def _conditions(space: ProductSpace) -> dict[str, Any] | None:
    """Return the constraints of a product, ``None`` if it has none; of a predicate only its name."""
    said: dict[str, Any] = {}
    if space.constraints:
        said["constraints"] = [str(one) for one in space.constraints]
    if space.mixtures:
        said["mixtures"] = {name: _described(mixture) for name, mixture in space.mixtures}
    if space.where is not None:
        said["where"] = name_of(space.where)
    return {"type": "product", **said} if said else None


def _described(mixture: Mixture) -> dict[str, Any]:
    """Return the table of a mixture."""
    components = {
        name: {"type": type(one).__name__.lower(), **{f.name: getattr(one, f.name) for f in fields(one)}}  # pyright: ignore[reportArgumentType]
        for name, one in mixture.components.items()
    }
    unsaid = (None, NO_DEFAULT)
    components = {name: {k: v for k, v in one.items() if v not in unsaid} for name, one in components.items()}
    limit = {} if mixture.at_most is None else {"at_most": mixture.at_most}
    return {"type": "mixture", "components": components, "total": mixture.total, **limit}


def _parameter(where: str, spec: Any) -> Parameter | Context:
    """Build the parameter that a table describes, which may say ``context = true``."""
    if not isinstance(spec, Mapping) or "context" not in spec:
        return _built(where, spec, TYPES, others=("mixture",))
    if not isinstance(spec["context"], bool):
        raise SpaceError(f"{where}: context must be true or false, got {spec['context']!r}")
    built = _built(where, {key: value for key, value in spec.items() if key != "context"}, TYPES)
    return Context(built) if spec["context"] else built


def _beside(spec: Any, folder: str) -> Any:
    """Return a specification whose file of descriptors is looked for beside the TOML file."""
    file = spec.get("descriptors") if isinstance(spec, Mapping) else None
    if not isinstance(file, str) or file.lower() == SMILES:
        return spec
    return {**spec, "descriptors": os.path.join(folder, file)}


def _built(where: str, spec: Any, types: Mapping[str, type[T]], others: tuple[str, ...] = ()) -> T:
    """Build the parameter or cell that a table describes; messages name ``others`` as types, too."""
    if not isinstance(spec, Mapping):
        raise SpaceError(f'{where}: expected a table such as {{type = "float", low = 0, high = 1}}, got {shown(spec)}')
    kind = spec.get("type")
    if not isinstance(kind, str) or kind not in types:
        given = f"got {shown(spec['type'])}" if "type" in spec else f"there is none among {sorted(spec)}"
        nested = any(isinstance(value, Mapping) for value in spec.values())
        hint = ' (quote a name that has a dot in it: ["model.lr"])' if nested else ""
        raise SpaceError(f"{where}: type must be one of {', '.join([*types, *others])}, {given}{hint}")
    arguments: dict[str, Any] = {str(key): value for key, value in spec.items() if key != "type"}
    allowed, needed = _arguments(types[kind])
    if wrong := wrong_names(arguments, allowed, needed):
        takes = f"{kind} takes {', '.join(allowed)} and needs {', '.join(needed) or 'none'}"
        hint = "; constraints stand before the first table of the file" if "constraints" in arguments else ""
        raise SpaceError(f"{where}: {wrong}; {takes}{hint}")
    try:
        return types[kind](**arguments)
    except SpaceError as error:
        raise SpaceError(f"{where}: {error}") from None


def _arguments(made: type[Any]) -> tuple[list[str], list[str]]:
    """Return the arguments of a parameter or cell, and those without a default."""
    own = sorted((f for f in fields(made) if f.init), key=lambda f: bool(f.kw_only))
    return [f.name for f in own], [f.name for f in own if f.default is MISSING]
