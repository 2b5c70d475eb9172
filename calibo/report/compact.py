"""A figure as JSON of few characters that a page can carry inside a script element."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

#: Significant digits kept of numbers in a list: finer than a screen.
_DIGITS = 5
#: A float64 has no more.
_ALL_DIGITS = 17


def compact_json(value: Any) -> str:
    """``value`` as JSON without blanks in which nothing can end a script element; numbers in lists are rounded.

    Args:
        value: A figure, or mappings and lists (of mappings ...) that may hold figures, arrays, strings and numbers.
    """
    text = json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")


def _plain(value: Any) -> Any:
    """The same out of the types JSON has; infinities and NaNs become null."""
    if isinstance(value, go.Figure):
        return _plain(value.to_plotly_json())
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        digits = _digits(value)
        return [_rounded(item, digits) if isinstance(item, float) else _plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _digits(values: list[Any] | tuple[Any, ...]) -> int:
    """Significant digits to keep, more where numbers differ only in their later digits."""
    numbers = [v for v in values if isinstance(v, float) and math.isfinite(v)]
    if not numbers:
        return _DIGITS
    spread, largest = max(numbers) / 2 - min(numbers) / 2, max(abs(v) for v in numbers)
    if spread == 0:
        return _ALL_DIGITS
    return min(_ALL_DIGITS, _DIGITS + max(0, math.ceil(math.log10(largest / 2 / spread))))


def _rounded(value: float, digits: int) -> float | int | None:
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e6 else short
