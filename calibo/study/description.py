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
    plain = {"parameters": {name: _column(c) for name, c in zip(space.names, space.columns, strict=True)}}
    kind = kind_of(space)
    # As it comes back from a storage, which has lists only.
    return plain if kind is None else {**plain, "own": json.loads(json.dumps(kind))}


def rebuilt(description: Mapping[str, Any]) -> Space | None:
    """Build the space that was described, or return ``None`` where only the user's code can.

    That is a pool, choices that are not plain values, or a space of the user's own.
    """
    table, own = description.get("parameters"), description.get("own")
    if own is not None:
        table = {"cell": own} if own["type"] in CELLS else None
    if table is None or any("labels" in one for one in table.values()):
        return None
    return space_from_dict(table, source="the stored space")


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
    kind = {"type": type(column).__name__.lower()}
    if isinstance(column, Float | Int):
        return kind | {field.name: getattr(column, field.name) for field in fields(column)}
    assert isinstance(column, Categorical | Ordinal), "Optuna stores no other kinds"
    named = labels(column.choices)
    return kind | ({"choices": list(column.choices)} if named is None else {"labels": list(named)})


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
