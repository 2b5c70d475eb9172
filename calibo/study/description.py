"""Descriptions of search spaces as plain data, stored with a study, compared and rebuilt when it is resumed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from calibo.spaces import Categorical, Float, Int, Ordinal, Parameter, Space, space_from_dict
from calibo.spaces.spec import CELLS, kind_of
from calibo.study.distributions import labels


def described(space: Space) -> dict[str, Any]:
    """Describe a space as plain data: its columns, and what kind of space it is unless it is a plain product.

    A pool is described only by its size, its features and a checksum, a space of the user's own by its class's name.
    """
    if space.is_pool:
        rows = space.values(space.enumerate())  # pyright: ignore[reportArgumentType]
        checksum = zlib.crc32(repr(rows).encode())
        return {"pool": {"rows": len(rows), "features": list(space.names), "sum": checksum}}
    columns = {name: _column(c) for name, c in zip(space.names, space.columns, strict=True)}
    observed = {name: {**columns[name], "context": True} for name in space.contexts}
    plain = {"parameters": {**columns, **observed}}
    kind = kind_of(space)
    # As it comes back from a storage, which has lists only.
    return plain if kind is None else {**plain, "own": json.loads(json.dumps(kind))}


def rebuilt(description: Mapping[str, Any]) -> Space | None:
    """Build the space that was described, or return ``None`` where only the user's code can.

    That is a pool, choices that are not plain values, or a space of the user's own.
    """
    table, own = description.get("parameters"), description.get("own")
    if table is not None and own is not None and own["type"] == "product":
        table = _with_conditions(table, own)
    elif own is not None:
        table = {"cell": own} if own["type"] in CELLS else None
    if table is None or any("labels" in one for one in table.values() if isinstance(one, Mapping)):
        return None
    return space_from_dict(table, source="the stored space")


def _with_conditions(parameters: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the table of a product with constraints; ``None`` if one of these is a function."""
    if "where" in own:
        return None
    mixtures = own.get("mixtures", {})
    mixed = {name: key for key, mixture in mixtures.items() for name in mixture["components"]}
    table: dict[str, Any] = {}
    for name, spec in parameters.items():
        key = mixed.get(name)
        table[name if key is None else key] = spec if key is None else mixtures[key]
    return {**table, "constraints": own["constraints"]} if "constraints" in own else table


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """List how two descriptions differ, in words; empty if they describe the same space."""
    if "pool" in old or "pool" in new:
        return [] if old == new else [f"it was {_shown(old)} and is now {_shown(new)}"]
    before, after = old["parameters"], new["parameters"]
    gone = [f"{name!r} is missing" for name in before if name not in after]
    added = [f"{name!r} is new" for name in after if name not in before]
    changed = [
        f"{name!r} was {_spec(before[name])} and is now {_spec(after[name])}"
        for name in before
        if name in after and before[name] != after[name]
    ]
    kinds = [description.get("own") for description in (old, new)]
    if not (gone or added or changed) and kinds[0] != kinds[1]:
        changed = [f"it was {_kind(kinds[0])} and is now {_kind(kinds[1])}"]
    return gone + added + changed


def _column(column: Parameter) -> dict[str, Any]:
    kind = {"type": type(column).__name__.lower(), **_when(column.when)}
    if isinstance(column, Float | Int):
        # A default says where a search begins, not what may be tried.
        kept = [one.name for one in fields(column) if one.name not in ("default", "when")]
        return kind | {name: getattr(column, name) for name in kept}
    assert isinstance(column, Categorical | Ordinal), "Optuna stores no other kinds"
    named = labels(column.choices)
    choices: dict[str, Any] = {"choices": list(column.choices)} if named is None else {"labels": list(named)}
    if isinstance(column, Categorical) and column.descriptors is not None:
        choices["descriptors"] = [list(row) for row in column.descriptors]
    return kind | choices


def _when(when: Any) -> dict[str, Any]:
    """Describe when a parameter is active, with lists of values that a storage can keep; nothing if it always is."""
    if when is None:
        return {}
    alternatives = [when] if isinstance(when, Mapping) else when
    listed = [{name: _listed(values) for name, values in one.items()} for one in alternatives]
    return {"when": listed[0] if len(listed) == 1 else listed}


def _listed(values: Any) -> list[Any]:
    own = list(values) if isinstance(values, list | tuple | set | frozenset | range) else [values]
    named = labels(own)
    return own if named is None else list(named)


def _kind(own: Mapping[str, Any] | None) -> str:
    return "a plain product" if own is None else _spec(own)


def _spec(spec: Mapping[str, Any]) -> str:
    said = {key: value for key, value in spec.items() if key != "type" and value is not None and value is not False}
    return f"{spec['type']}({', '.join(f'{key}={json.dumps(value)}' for key, value in said.items())})"


def _shown(description: Mapping[str, Any]) -> str:
    if "pool" not in description:
        return f"a product of {', '.join(description['parameters'])}"
    pool = description["pool"]
    return f"a pool of {pool['rows']} rows with {', '.join(pool['features'])} (checksum {pool['sum']:08x})"
