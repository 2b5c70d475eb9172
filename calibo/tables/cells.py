"""Cells of a filled-in table: the value of a parameter, or an outcome, that somebody has written."""

from __future__ import annotations

import enum
import re
from typing import Any

import numpy as np

from calibo.errors import ValueRejected
from calibo.spaces import Parameter

#: Values of a parameter that are compared with the text of a cell.
_MOST_VALUES = 1000
#: What people write where nothing is measured yet, and where an experiment has failed.
_EMPTY = ("", "nan", "na", "n/a", "-", "pending", "todo", "tbd")
_FAILED = ("failed", "fail", "failure", "error", "fehlgeschlagen", "fehler", "misslungen")
#: What spreadsheets show of truth values, in English and in German.
_TRUTH = {"true": True, "false": False, "wahr": True, "falsch": False}
#: Digits in groups of three, by the decimal mark of the file: the other mark stands between thousands.
_THOUSANDS = {
    ".": re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?"),
    ",": re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+(,\d*)?"),
}
#: Of these it cannot be told whether the mark stands before decimals or between thousands.
_AMBIGUOUS = {".": re.compile(r"[-+]?[1-9]\d{0,2},\d{3}"), ",": re.compile(r"[-+]?[1-9]\d{0,2}\.\d{3}")}


class Blank(enum.Enum):
    """What a cell of an outcome says that is no number."""

    #: Not measured yet.
    PENDING = "not measured yet"
    #: The experiment was made and failed.
    FAILED = "failed"


def read_number(cell: Any, decimal: str = ".") -> float | None:
    """Return the number in a cell, ``None`` if there is none, or if it could be one of two.

    Args:
        cell: A number, or text such as "1.5", "1e-3", "12,5" (with a decimal comma), "1,234.5" or "12.5 %".
        decimal: The decimal mark of the file; in cells of other files than CSV either mark may be written.
    """
    if isinstance(cell, bool):
        return None
    if isinstance(cell, int | float):
        return float(cell)
    if not isinstance(cell, str):
        return None
    text = digits_of(cell)
    if is_ambiguous(text, decimal):
        return None
    if _THOUSANDS[decimal].fullmatch(text):
        text = text.replace("," if decimal == "." else ".", "")
    text = text.replace(",", ".") if decimal == "," or "." not in text else text
    try:
        return float(text)
    except ValueError:
        return None


def digits_of(text: str) -> str:
    """Return the text of a number without spaces and percent signs."""
    return text.strip().removesuffix("%").strip().replace("\u00a0", "").replace("\u2212", "-")


def is_ambiguous(text: str, decimal: str) -> bool:
    """Return whether the mark in a number that is not the decimal one may stand before decimals or between thousands.

    Args:
        text: The number, as ``digits_of`` gives it.
        decimal: The decimal mark of the file.
    """
    return _AMBIGUOUS[decimal].fullmatch(text) is not None


def _check_clear(cell: Any, decimal: str) -> None:
    """Check that a cell does not hold a number that could be a thousand times as large.

    Args:
        cell: The cell.
        decimal: The decimal mark of the file.

    Raises:
        ValueRejected: If it does.
    """
    text = digits_of(cell) if isinstance(cell, str) else ""
    if is_ambiguous(text, decimal):
        mark = "," if decimal == "." else "."
        raise ValueRejected(
            f"{cell!r} could have thousands or decimals: write {text.replace(mark, '')} or {text.replace(mark, decimal)}"
        )


def read_parameter(cell: Any, column: Parameter | None, decimal: str = ".") -> Any:
    """Return the value of a parameter in a cell; what cannot be read is returned as it is, to be refused by the space.

    Args:
        cell: The cell.
        column: The parameter; ``None`` if it is not known, and then numbers are read as numbers.
        decimal: The decimal mark of the file.

    Raises:
        ValueRejected: If it could be one of two numbers.
    """
    number = read_number(cell, decimal)
    if column is not None and column.cells is not None and column.cells <= _MOST_VALUES:
        values = [column.decode(float(u)) for u in column.position(np.arange(column.cells))]
        text = str(cell).strip()
        for value in values:
            same = isinstance(value, bool) and _TRUTH.get(text.lower()) is value
            if same or str(value) == text or (isinstance(value, int | float) and number == float(value)):
                return value
        named = [value for value in values if str(value).lower() == text.lower()]
        if len(named) == 1:
            return named[0]
    if number is None:
        _check_clear(cell, decimal)
        return cell
    return int(number) if column is not None and column.cells is not None and number.is_integer() else number


def read_outcome(cell: Any, decimal: str = ".") -> float | Blank:
    """Return the outcome in a cell: a finite number, or that it is not measured yet, or that the experiment failed.

    Raises:
        ValueRejected: If it is none of these, or could be one of two numbers.
    """
    word = "" if cell is None else str(cell).strip().lower()
    if word in _EMPTY:
        return Blank.PENDING
    if word in _FAILED:
        return Blank.FAILED
    _check_clear(cell, decimal)
    number = read_number(cell, decimal)
    if number is None or not np.isfinite(number):
        raise ValueRejected(
            f"expected a finite number, an empty cell where nothing is measured yet, or the word failed, got {cell!r}"
        )
    return number
