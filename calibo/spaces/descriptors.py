"""Descriptors of choices: numbers that say what a choice is like, so that choices that are alike are learned together."""

from __future__ import annotations

import csv
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from calibo.checks import is_text, read_items, read_mapping, shown
from calibo.data import Array
from calibo.errors import SpaceError

#: Descriptors of all choices, in their order: one tuple of numbers each.
Rows = tuple[tuple[float, ...], ...]
#: The word for choices that are SMILES strings.
SMILES = "smiles"
_FORMS = (
    'a DataFrame indexed by choice, a dict such as {"water": [80.1, 100.0], ...}, one list of numbers for each choice, the '
    'path of a CSV file whose first column has the choices, or "smiles" if the choices are SMILES strings'
)


@dataclass(frozen=True)
class Described:
    """Stands for descriptors in the ``repr`` of a parameter, where a table would be too long."""

    count: int

    def __repr__(self) -> str:
        return f"{self.count} number{'s' if self.count > 1 else ''} each"


def as_descriptors(choices: Sequence[Any], table: Any) -> Rows:
    """Read the descriptors of choices.

    Args:
        choices: The choices.
        table: A DataFrame indexed by choice; a mapping of choices to numbers, lists of numbers or mappings of names to
            numbers; one list of numbers for each choice, in their order; the path of a CSV file whose first column has
            the choices and whose first line has names; or ``"smiles"`` for choices that are SMILES strings, which are
            described by the package rdkit (extra ``chem``).

    Returns:
        As many numbers for each choice, in the order of the choices.

    Raises:
        SpaceError: If a choice has no descriptors, or others have more, or they are not finite numbers that differ.
        MissingExtra: If SMILES are to be described and rdkit is not installed.
    """
    rows = [_numbers(choice, row) for choice, row in zip(choices, _raw(choices, table), strict=True)]
    counts = {len(row) for row in rows}
    if len(counts) > 1 or not rows[0]:
        raise SpaceError(
            f"descriptors must have as many numbers for every choice, at least one; got {sorted(counts)}: complete the table"
        )
    if len(rows) > 1 and not np.ptp(np.array(rows), axis=0).any():
        raise SpaceError("descriptors are the same for all choices and tell nothing: leave descriptors out")
    return tuple(rows)


def spread_out(rows: Rows) -> Array:
    """Return descriptors as coordinates, `choices x D`: standardized, and 1 apart on average (root mean square).

    Every descriptor counts alike; those that are the same for all choices are left out.
    """
    table = np.array(rows, dtype=np.float64)
    # Descriptors may be of any size.
    table = table / np.maximum(np.abs(table).max(axis=0), np.finfo(np.float64).tiny)
    spread = table.std(axis=0)
    varying = spread > 1e-12
    if not varying.any():
        return np.zeros((len(table), 1))
    scores = (table[:, varying] - table[:, varying].mean(axis=0)) / spread[varying]
    # Of k standardized numbers the mean square of all differences of two different ones is 2 k / (k - 1).
    k = len(scores)
    return scores / math.sqrt(2.0 * k / (k - 1) * scores.shape[1])


def _raw(choices: Sequence[Any], table: Any) -> list[Any]:
    """Return what describes each choice: a number, a sequence or a mapping."""
    if is_text(table) and table.lower() == SMILES:
        return _molecules(choices)
    if is_text(table) or isinstance(table, os.PathLike):
        return _looked_up(choices, _from_csv(table), f"the file {os.fspath(table)}")
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(table, pandas.DataFrame):
        if not table.index.is_unique:
            twice = list(table.index[table.index.duplicated()])
            raise SpaceError(f"descriptors: the table has several rows for {twice}; keep one each")
        return _looked_up(choices, dict(zip(table.index, table.to_dict("records"), strict=True)), "the table's index")
    if (named := read_mapping(table)) is not None:
        return _looked_up(choices, named, "the mapping")
    rows = read_items(table) if isinstance(table, Sequence | np.ndarray) else None
    if rows is not None and len(rows) == len(choices):
        return rows
    raise SpaceError(f"descriptors must be {_FORMS}; got {type(table).__name__} {shown(table, 80)}")


def _looked_up(choices: Sequence[Any], table: Mapping[Any, Any], where: str) -> list[Any]:
    """Return the rows of choices, found by the choice itself or by its text, as keys in files are."""
    by_text: dict[str, Any] = {str(key): row for key, row in table.items()}
    find: list[Callable[[Any], Any]] = [table.__getitem__, lambda choice: by_text[str(choice)]]
    rows, missing = list[Any](), list[Any]()
    for choice in choices:
        for look in find:
            try:
                rows.append(look(choice))
                break
            except (KeyError, TypeError):  # not there, or not hashable
                continue
        else:
            missing.append(choice)
    if missing:
        raise SpaceError(f"descriptors: {where} has no row for {missing}, only for {list(table)[:8]}; add them")
    return rows


def _numbers(choice: Any, row: Any) -> tuple[float, ...]:
    """Return one row as numbers; those of mappings by the sorted names, so that their order does not matter."""
    named = read_mapping(row)
    if named is not None:
        row = [named[name] for name in sorted(named, key=str)]
    items = [row] if isinstance(row, Real | str) else read_items(row)
    try:
        values: list[Any] = [math.nan] if items is None else items
        numbers = tuple(math.nan if isinstance(value, str | bool) else float(value) for value in values)
    except Exception:  # of Python, or of the user's own class
        numbers = (math.nan,)
    if not all(map(math.isfinite, numbers)):
        raise SpaceError(f"descriptors of {choice!r} must be finite numbers, got {shown(row, 200)}")
    return numbers


def _molecules(choices: Sequence[Any]) -> list[Any]:
    from calibo.chemistry import check_rdkit, described

    check_rdkit('choices described by descriptors="smiles"', "Or give a table of descriptors")
    words = [choice for choice in choices if not isinstance(choice, str)]
    if words:
        raise SpaceError(f'descriptors="smiles" describes SMILES strings, but there are other choices: {words}')
    rows = described([str(choice) for choice in choices])
    unread = [choice for choice, row in zip(choices, rows, strict=True) if np.isnan(row).any()]
    if unread:
        raise SpaceError(
            f"these choices cannot be read as SMILES: {unread}; correct them, or give a table of descriptors"
        )
    return list(rows)


def _from_csv(path: str | os.PathLike[str]) -> dict[str, list[float]]:
    """Read a CSV file with names in the first line and choices in the first column."""
    source = os.fspath(path)
    try:
        with open(source, newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file) if line]
    except (OSError, UnicodeDecodeError) as error:
        raise SpaceError(f"descriptors: {source} cannot be read ({error}); {_FORMS}") from error
    table: dict[str, list[float]] = {}
    for number, (key, *cells) in enumerate(lines[1:], start=2):
        if key in table:
            raise SpaceError(f"descriptors: {source}, line {number}: {key!r} has a row already; keep one each")
        try:
            table[key] = [float(cell) for cell in cells]
        except ValueError:
            raise SpaceError(
                f"descriptors: {source}, line {number}: expected numbers after {key!r}, got {cells}; write decimal points, "
                "and commas between the columns"
            ) from None
    return table
