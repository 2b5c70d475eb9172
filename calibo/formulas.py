"""Tables written for people: no cell of text is read as a formula by a spreadsheet.

A spreadsheet runs a cell of a CSV or Excel file that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return. Such
text is written with an apostrophe before it, which spreadsheets show as text; numbers, also negative ones, stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def inert(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; what is no text, or is a number, is returned as it is."""
    if not isinstance(value, str) or not value.lstrip(" ").startswith(_STARTS) or _is_number(value):
        return value
    return f"'{value}"


def inert_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of which no cell, heading or row name is taken for a formula."""
    cells = table.copy()
    for place, kind in enumerate(table.dtypes):
        if kind.kind not in "biufcmM":
            cells.isetitem(place, table.iloc[:, place].astype(object).map(inert, na_action="ignore"))
    cells.columns = [inert(name) for name in table.columns]
    return cells


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text == text.strip()
