"""Values of parameters on the command line: NAME=VALUE."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from calibo.errors import SpaceError
from calibo.spaces import Categorical, Int, Ordinal, Parameter, Space


def assigned(option: str, words: Sequence[str] | None, space: Space) -> dict[str, Any]:
    """Return the values that ``NAME=VALUE`` words give to parameters of a space, by name.

    Args:
        option: Name of the option, for messages.
        words: What was given.
        space: The space; a choice is named by its text.

    Raises:
        SpaceError: If a word is not NAME=VALUE, a parameter is named twice, or a value is not one of its parameter's.
    """
    columns, found = dict(zip(space.names, space.columns, strict=True)), dict[str, Any]()
    for word in words or ():
        name, sign, text = (part.strip() for part in word.partition("="))
        if not sign or not name:
            raise SpaceError(f"{option} takes NAME=VALUE, such as material=steel, got {word!r}")
        if name in found:
            raise SpaceError(f"{option}: {name!r} is given twice; give one value")
        found[name] = _value(f"{option} {name}", columns.get(name), text)
    return found


def _value(where: str, column: Parameter | None, text: str) -> Any:
    """Return the value that a text means, for a column of the space or (of a table) any other."""
    if isinstance(column, Categorical | Ordinal):
        named = [choice for choice in column.choices if str(choice) == text]
        if len(named) != 1:
            raise SpaceError(
                f"{where}: {text!r} is not a choice, of which there are {', '.join(map(str, column.choices))}"
            )
        return named[0]
    try:
        number = json.loads(text)
    except json.JSONDecodeError:
        number = text
    if column is None:
        return number
    if not isinstance(number, int | float) or isinstance(number, bool):
        raise SpaceError(f"{where}: expected a number with a decimal point, got {text!r}")
    return int(number) if isinstance(column, Int) and float(number).is_integer() else number
