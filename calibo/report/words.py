"""How numbers, parameters and counts are written for people, safely inside a figure."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from typing import Any

#: A single value or name longer than this is cut.
_LONGEST = 48


def number(value: object, digits: int = 4) -> str:
    """A number as people write it (4 significant digits, no trailing zeros); anything else by its own name."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int) and abs(value) < 10**9:
        return str(value)
    try:
        as_float = float(value)
    except OverflowError:  # an int beyond all floats
        return shortened(str(value))
    return f"{as_float:.{digits}g}" if math.isfinite(as_float) else str(as_float)


def percent(probability: float) -> str:
    """0.8 as "80 %"."""
    return f"{100 * probability:g} %"


def counted(count: int, what: str) -> str:
    """A count with its noun: "1 result", "38 results"."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def shortened(text: str, longest: int = _LONGEST) -> str:
    """The text, cut with an ellipsis if it is too long."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def safe(text: str) -> str:
    """A user's text as a figure shows it literally (figures read a small dialect of HTML)."""
    return html.escape(text, quote=False)


def params_text(params: Mapping[str, Any], room: int = 600) -> str:
    """Parameters for a hover box, a line each, escaped; those beyond ``room`` characters are only counted."""
    lines: list[str] = []
    used = 0
    for name, value in params.items():
        line = f"{shortened(str(name))} = {shortened(number(value))}"
        used += len(line)
        if lines and used > room:
            lines.append(f"… {len(params) - len(lines)} more")
            break
        lines.append(line)
    return "<br>".join(safe(line) for line in lines)


def room_for(trials: int) -> int:
    """How many characters of parameters each of so many trials may show, so that a report stays small."""
    return max(50, min(600, 60_000 // max(trials, 1)))
