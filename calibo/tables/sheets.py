"""Small tables that people fill in: CSV files of any country, and Excel files, read cell by cell and written alike.

A CSV file says by itself what separates its columns, what its decimal mark is, and how it is encoded: Excel in Germany, for
example, writes semicolons, decimal commas and cp1252.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calibo.errors import DataError, MissingExtra
from calibo.files import replacing
from calibo.tables.cells import digits_of, is_ambiguous
from calibo.tables.reading import FrameTable, open_table

#: Endings of files that can be written.
WRITTEN = (".csv", ".tsv", ".xlsx")
_TEXT = (".csv", ".tsv", ".txt")
#: Text that begins so is run by spreadsheets as a formula, unless an apostrophe comes before it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_TOLD_SEPARATOR = re.compile(r'"?sep=([^"\r\n])"?[ ;,\t]*\r?\n', re.IGNORECASE)
#: Numbers that have a decimal comma, or points between thousands that are no decimal points.
_COMMA_NUMBER = re.compile(r"[-+]?(\d+,\d+(e[-+]?\d+)?|[1-9]\d{0,2}((\.\d{3})+,\d*|(\.\d{3}){2,}))", re.IGNORECASE)
#: Numbers that have a decimal point, or commas between thousands that are no decimal commas.
_POINT_NUMBER = re.compile(r"[-+]?(\d+\.\d+(e[-+]?\d+)?|[1-9]\d{0,2}((,\d{3})+\.\d*|(,\d{3}){2,}))", re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """How the cells of a CSV file are written.

    Attributes:
        separator: What separates columns.
        decimal: The decimal mark, "." or ",".
        encoding: The encoding of the text.
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"


@dataclass(frozen=True)
class Sheet:
    """The cells of a table, as they are in its file.

    Attributes:
        path: The file.
        columns: Names of the columns.
        rows: For each row its line in the file (as a spreadsheet counts them) and its cells by column, ``None`` where
            empty.
        dialect: How the file is written.
    """

    path: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[int, Mapping[str, Any]], ...]
    dialect: Dialect = field(default_factory=Dialect)


def read_sheet(path: Path) -> Sheet:
    """Read a CSV, TSV, Excel or Parquet file.

    Raises:
        DataError: If it is not there, or cannot be read as a table.
        MissingExtra: If reading it needs a package that is not installed.
    """
    if path.suffix.lower() in _TEXT and path.is_file():
        return _read_text(path)
    table = open_table(path)
    frames = [table.frame] if isinstance(table, FrameTable) else list(table.mapped(_same, text=frozenset()))
    cells = [row for frame in frames for row in frame.astype(object).where(frame.notna(), None).to_dict("records")]
    plain = [{str(name): _plain(value) for name, value in row.items()} for row in cells]
    return Sheet(path, tuple(map(_read_back, table.columns)), _numbered(plain))


def _same(frame: Any) -> Any:
    return frame


def _plain(value: Any) -> Any:
    """Return the value of a cell as a Python object."""
    found = value.item() if hasattr(value, "item") and type(value).__module__ == "numpy" else value
    return (_read_back(found.strip()) or None) if isinstance(found, str) else found


def _numbered(rows: Sequence[Mapping[str, Any]], first: int = 2) -> tuple[tuple[int, Mapping[str, Any]], ...]:
    """Number rows as a spreadsheet does, from the first one below the headings on; empty rows are left out."""
    named = [{_read_back(name): value for name, value in row.items()} for row in rows]
    return tuple((i + first, row) for i, row in enumerate(named) if any(value is not None for value in row.values()))


def _read_text(path: Path) -> Sheet:
    body = path.read_bytes()
    if b"\0" in body[:4096] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path} is named like a table of text but is not text; give a CSV or Excel file")
    text, encoding = _decoded(body)
    # A first line that tells spreadsheets what separates the columns is no row of theirs.
    told = _TOLD_SEPARATOR.match(text)
    text = text[told.end() :] if told else text
    lines = text.splitlines()
    if not lines or not lines[0].strip():
        raise DataError(f"{path} is empty; expected a line with the names of the columns, then the rows")
    separator = told.group(1) if told else _separator(lines)
    first_row = 3 if told else 2
    try:
        first, *others = list(csv.reader(io.StringIO(text), delimiter=separator, strict=False))
    except csv.Error as error:
        raise DataError(f"{path} cannot be read as a table ({error}); check the file") from None
    columns = [_read_back(name.strip()) for name in first]
    while columns and not columns[-1]:
        columns.pop()  # what a spreadsheet leaves behind an emptied column
    _check_columns(path, columns)
    rows = list[Mapping[str, Any]]()
    for line, cells in enumerate(others, start=first_row):
        if any(cell.strip() for cell in cells[len(columns) :]):
            named = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
            raise DataError(
                f"{path}, row {line}: {len(cells)} cells for {named}; put text that has a {separator!r} in "
                "it in quotation marks, or name the columns in the first line"
            )
        padded = [*cells, *[""] * len(columns)]
        rows.append({name: _plain(cell) for name, cell in zip(columns, padded, strict=False)})
    return Sheet(
        path, tuple(columns), _numbered(rows, first_row), Dialect(separator, _decimal(rows, separator), encoding)
    )


def _check_columns(path: Path, columns: Sequence[str]) -> None:
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise DataError(f"{path} has several columns named {', '.join(map(repr, twice))}; rename or delete them")
    if not columns:
        raise DataError(f"{path} has no names of columns in its first line")


def _decoded(body: bytes) -> tuple[str, str]:
    """Return the text of a file and its encoding: Unicode if it is valid, else that of Windows in western Europe."""
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return body.decode("utf-16", errors="replace"), "utf-16"
    try:
        marked = body.startswith(b"\xef\xbb\xbf")
        return body.decode("utf-8-sig"), "utf-8-sig" if marked else "utf-8"
    except UnicodeDecodeError:
        return body.decode("cp1252", errors="replace"), "cp1252"


def _separator(lines: Sequence[str]) -> str:
    """Return what separates the columns: what the first line has most of outside of quotation marks."""
    header = re.sub(r'"[^"]*"', "", lines[0])
    counts = {mark: header.count(mark) for mark in ("\t", ";", ",")}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else ","


def _decimal(rows: Sequence[Mapping[str, Any]], separator: str) -> str:
    """Return the decimal mark: a comma if numbers have one and none has a point but between thousands.

    Commas separate nothing then.
    """
    cells = [digits_of(value) for row in rows for value in row.values() if isinstance(value, str)]
    commas = any(_COMMA_NUMBER.fullmatch(cell) for cell in cells)
    pointed = [cell for cell in cells if _POINT_NUMBER.fullmatch(cell)]
    points = any(not (commas and is_ambiguous(cell, ",")) for cell in pointed)
    # Without any number that tells, a semicolon is what a spreadsheet with decimal commas writes.
    return "," if separator != "," and not points and (commas or separator == ";") else "."


def write_sheet(path: Path, rows: Sequence[Mapping[str, Any]], dialect: Dialect | None = None) -> None:
    """Write rows to a CSV, TSV or Excel file, which is replaced in one step; ``None`` is an empty cell.

    Text that a spreadsheet would run as a formula gets an apostrophe before it, as it is in names of columns.

    Args:
        path: The file.
        rows: Cells by the names of the columns, which are those of the first row.
        dialect: How a CSV file is written; by default with commas, decimal points and Unicode.

    Raises:
        DataError: If the file cannot be written.
        MissingExtra: If writing it needs a package that is not installed.
    """
    columns = list(rows[0])
    table = [[_inert(name) for name in columns], *([_inert(row[name]) for name in columns] for row in rows)]
    try:
        with replacing(path) as new:
            if path.suffix.lower() == ".xlsx":
                _write_excel(new, table)
            else:
                _write_text(new, table, dialect or Dialect())
    except OSError as error:
        raise DataError(f"{path} cannot be written ({error.strerror or error}); give another file") from error


def _write_excel(path: Path, table: Sequence[Sequence[Any]]) -> None:
    try:
        import openpyxl
    except ImportError:
        raise MissingExtra(f"{path} needs openpyxl: pip install 'calibo[tables]', or write a .csv file") from None
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in table:
        sheet.append(list(row))
    book.save(path)


def _write_text(path: Path, table: Sequence[Sequence[Any]], dialect: Dialect) -> None:
    separator = "\t" if path.suffix.lower() == ".tsv" else dialect.separator
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=separator, lineterminator="\n")
    for row in table:
        writer.writerow([_written(cell, dialect.decimal) for cell in row])
    text, marked = buffer.getvalue(), "utf-8-sig"
    # Spreadsheets take text without the mark for that of their country.
    encoding = marked if dialect.encoding == "utf-8" and not text.isascii() else dialect.encoding
    try:
        body = text.encode(encoding)
    except UnicodeEncodeError:
        body = text.encode(marked)
    path.write_bytes(body)


def _written(cell: Any, decimal: str) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return repr(cell).replace(".", decimal)
    return str(cell)


def _inert(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip(" ").startswith(_FORMULA) else cell


def _read_back(text: str) -> str:
    """Return the text that was written as one that is no formula."""
    return text[1:] if text.startswith("'") and text[1:].lstrip(" ").startswith(_FORMULA) else text
