"""What a study is about, as plain data: written down when it is created, compared and rebuilt when it is resumed."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from calibo.spaces import Float, Int, Parameter, PoolSpace, ProductSpace, space_from_dict
from calibo.spaces.spec import CELLS, cell_spec
from calibo.study.distributions import labels


def described(space: ProductSpace | PoolSpace) -> dict[str, Any]:
    """A space as plain data; a pool only by its size, its features and a checksum, a user's own kind of product by name."""
    if isinstance(space, PoolSpace):
        rows = repr([{name: row[name] for name in space.names} for row in space.decode(space.X)])
        return {"pool": {"rows": len(space.X), "features": list(space.names), "sum": zlib.crc32(rows.encode())}}
    plain = {"parameters": {name: _parameter(parameter) for name, parameter in space.parameters.items()}}
    if type(space) is ProductSpace:
        return plain
    own = cell_spec(space) or {"type": type(space).__name__}
    # As it comes back from a storage, which has lists only.
    return {**plain, "own": json.loads(json.dumps(own))}


def rebuilt(description: Mapping[str, Any]) -> ProductSpace | None:
    """The space that was described, or ``None`` where only its makers can build it.

    That is a pool, choices of odd types, or a kind of product that is not the library's.
    """
    if (own := description.get("own")) is not None:
        return space_from_dict({"cell": own}, source="the stored space") if own["type"] in CELLS else None
    table = description.get("parameters")
    if table is None or any("labels" in one for one in table.values()):
        return None
    return space_from_dict(table, source="the stored space")


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """How two described spaces differ, in words; none if they are the same."""
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


def _parameter(parameter: Parameter) -> dict[str, Any]:
    kind = type(parameter).__name__.lower()
    if isinstance(parameter, Float | Int):
        return {"type": kind} | {field.name: getattr(parameter, field.name) for field in fields(parameter)}
    named = labels(parameter.choices)
    if named is None:
        return {"type": kind, "choices": list(parameter.choices)}
    return {"type": kind, "labels": list(named)}


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
