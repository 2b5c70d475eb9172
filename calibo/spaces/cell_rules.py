"""What holds of every cell, wherever its operations are: names of operations, bits of paths, drawing valid cells."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from calibo.errors import SpaceError

#: Bits of a path encoding that are features unless a space says how many. Their number grows exponentially with the nodes,
#: while the long paths at the end are rarely those of a random cell: the encoding cut off is as good (White et al. 2021).
PATH_BITS = 4096
#: Characters that part the names of operations in a cell's string.
_PARTING = "|+~"


def operation_names(operations: Sequence[str]) -> tuple[str, ...]:
    """Operations as given by a user, checked to be several names that can be read back from a cell's string."""
    listed = isinstance(operations, Sequence | np.ndarray) and not isinstance(operations, str | bytes)
    if not listed or not all(isinstance(name, str) for name in operations):
        raise SpaceError(f"operations are a list of names such as ['none', 'conv'], got {operations!r}")
    odd = [str(name) for name in operations if not name or any(sign in name for sign in _PARTING)]
    if odd:
        raise SpaceError(
            f"names of operations are not empty and have none of {' '.join(_PARTING)} in them, which part them in a cell's "
            f"string, got {odd}; rename them"
        )
    return tuple(str(name) for name in operations)


def special_operation(role: str, name: str | None, usual: str, operations: tuple[str, ...]) -> str | None:
    """The operation of a special role, or ``None`` if the cell has none.

    Args:
        role: Its name as a setting.
        name: The operation as given by a user.
        usual: What it is called by default; a cell that has no operation of this name has none of the role.
        operations: Those of the cell.
    """
    if name is None or name in operations:
        return name
    if name == usual:
        return None
    raise SpaceError(f"{role} is one of the operations {list(operations)}, or None if none of them is, got {name!r}")


def checked_bits(setting: str, bits: Any) -> int | None:
    """How many bits of a path encoding to keep, as given by a user: a whole number from 1 on, or ``None``."""
    if bits is None:
        return None
    if isinstance(bits, bool) or not isinstance(bits, Integral) or int(bits) < 1:
        raise SpaceError(
            f"at least one bit of the path encoding is kept, in whole numbers, got {setting}={bits!r}; leave it out to "
            "have as many as there are"
        )
    return int(bits)
