"""Tables as streams of batches: a DataFrame, or a CSV, Parquet or Excel file that need not fit into memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from calibo.checks import shown
from calibo.errors import DataError, MissingExtra
from calibo.spaces.pool import is_frame

#: A pandas DataFrame and one of its columns; pandas is imported only when a table is opened.
Frame = Any
Series = Any
Part = TypeVar("Part")

#: Rows per batch.
BATCH = 65_536

#: First bytes of file formats that are not text, whatever the file's name.
_MAGIC = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"%PDF": "a PDF document",
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "an Excel or zip file",
    b"\xd0\xcf\x11\xe0": "an old Excel file",
    b"\x1f\x8b": "a gzip file",
}
_EXCEL = (".xlsx", ".xlsm")
_PARQUET = (".parquet", ".pq")
_SEPARATORS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True, eq=False)
class Table(ABC):
    """Rows with named columns, read batch by batch.

    Attributes:
        columns: Names of the columns.
        rows: Number of rows, ``None`` if it is not known before reading.
        batch: Rows per batch.
    """

    columns: tuple[str, ...]
    rows: int | None
    batch: int

    @abstractmethod
    def mapped(self, function: Callable[[Frame], Part], *, text: frozenset[str]) -> Iterator[Part]:
        """Apply a function to each batch of rows, in any order.

        Args:
            function: Takes a DataFrame with all columns; its index identifies the rows to the user.
            text: Columns to read as text although some values look like numbers.

        Returns:
            An iterator over the results.
        """


@dataclass(frozen=True, eq=False)
class FrameTable(Table):
    """A DataFrame in memory, which is never modified."""

    frame: Frame

    @classmethod
    def open(cls, frame: Frame, batch: int) -> FrameTable:
        """Open a DataFrame and check the names of its columns."""
        return cls(_checked_columns(frame.columns), len(frame), batch, frame)

    def mapped(self, function: Callable[[Frame], Part], *, text: frozenset[str]) -> Iterator[Part]:
        for start in range(0, len(self.frame), self.batch):
            yield function(self.frame.iloc[start : start + self.batch])


@dataclass(frozen=True, eq=False)
class CsvTable(Table):
    """A CSV or TSV file, optionally compressed by gzip.

    Attributes:
        path: Path of the file.
        separator: Field separator.
    """

    path: Path
    separator: str

    @classmethod
    def open(cls, path: Path, separator: str, batch: int) -> CsvTable:
        """Open a file and check its header."""
        import pandas as pd

        _check_text(path)
        try:
            head = pd.read_csv(path, sep=separator, nrows=0, index_col=False)
        except pd.errors.EmptyDataError:
            raise DataError(f"{path} is empty; expected a line with the names of the columns, then the rows") from None
        except (ValueError, OSError, EOFError) as error:
            raise _unreadable(path, "a CSV table", error) from None
        return cls(_checked_columns(head.columns), None, batch, path, separator)

    def mapped(self, function: Callable[[Frame], Part], *, text: frozenset[str]) -> Iterator[Part]:
        import pandas as pd

        as_text: Any = dict.fromkeys(text & set(self.columns), str)
        try:
            with pd.read_csv(
                self.path,
                sep=self.separator,
                chunksize=self.batch,
                dtype=as_text,
                index_col=False,
                # Otherwise the type of a column could change within a batch.
                low_memory=False,
            ) as batches:
                for frame in batches:
                    yield function(frame)
        except (pd.errors.ParserError, UnicodeDecodeError, OSError, EOFError, OverflowError) as error:
            raise _unreadable(self.path, "a CSV table", error) from None


@dataclass(frozen=True, eq=False)
class ParquetTable(Table):
    """A Parquet file.

    Attributes:
        path: Path of the file.
        indexed: Whether pandas stored an index in the file, which is kept; otherwise rows are numbered.
    """

    path: Path
    indexed: bool

    @classmethod
    def open(cls, path: Path, batch: int) -> ParquetTable:
        """Open a file and check its schema."""
        import pandas as pd

        arrow = _pyarrow(path)
        try:
            with arrow.parquet.ParquetFile(path) as file:
                _checked_columns(file.schema_arrow.names)  # pandas would rename some
                none = file.schema_arrow.empty_table().to_pandas()
                indexed = not isinstance(none.index, pd.RangeIndex)
                return cls(_checked_columns(none.columns), file.metadata.num_rows, batch, path, indexed)
        except (arrow.ArrowException, OSError) as error:
            raise _unreadable(path, "a Parquet file", error) from None

    def mapped(self, function: Callable[[Frame], Part], *, text: frozenset[str]) -> Iterator[Part]:
        import pandas as pd

        arrow = _pyarrow(self.path)
        start = 0
        try:
            # Without these settings a row group is read as a whole, however large it is.
            with arrow.parquet.ParquetFile(self.path, buffer_size=1 << 20, pre_buffer=False) as file:
                for batch in file.iter_batches(self.batch):
                    frame = batch.to_pandas()[list(self.columns)]
                    if not self.indexed:
                        frame.index = pd.RangeIndex(start, start + len(frame))
                    start += len(frame)
                    yield function(frame)
        except (arrow.ArrowException, OSError) as error:
            raise _unreadable(self.path, "a Parquet file", error) from None


def open_table(table: Any, *, batch: int = BATCH) -> Table:
    """Open a table.

    Args:
        table: A pandas DataFrame; the path of a .csv, .tsv (also .gz), .parquet or .xlsx file; a ``ray.data.Dataset``.
        batch: Rows per batch.

    Raises:
        DataError: If it is not a table, or the file cannot be read.
        MissingExtra: If reading the file needs a package that is not installed.
    """
    if is_frame(table):
        return FrameTable.open(table, batch)
    if type(table).__module__.partition(".")[0] == "ray":
        from calibo.tables.ray_tables import RayTable

        return RayTable.open(table, batch)
    if not isinstance(table, str | Path):
        raise DataError(
            f"a table is a pandas DataFrame, the path of a file, or a Ray Dataset, got a {type(table).__name__}"
        )
    path = Path(table)
    try:
        there, folder = path.is_file(), path.is_dir()
    except (OSError, ValueError) as error:  # such as a name that is too long
        raise DataError(f"{shown(str(path))} cannot be read: {error}; give the path of a table") from None
    if not there:
        raise DataError(f"{path} is {'a folder' if folder else 'not there'}; give the path of a table")
    kind = path.with_suffix("").suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()
    if kind in _SEPARATORS:
        return CsvTable.open(path, _SEPARATORS[kind], batch)
    if kind in _PARQUET:
        return ParquetTable.open(path, batch)
    if kind in _EXCEL:
        return FrameTable.open(_from_excel(path), batch)
    known = ", ".join((*_SEPARATORS, *_PARQUET, *_EXCEL))
    raise DataError(f"{path} does not end in {known}, so it is not known how to read it; rename or convert it")


def joined(frames: Sequence[Frame]) -> Frame:
    """Concatenate DataFrames; empty ones are left out, because they would change the types of columns."""
    import pandas as pd

    filled = [frame for frame in frames if len(frame)] or list(frames[:1])
    return pd.concat(filled) if len(filled) > 1 else filled[0]


def _from_excel(path: Path) -> Frame:
    import zipfile

    import pandas as pd

    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise _needs_tables(path, "openpyxl") from None
    try:
        return pd.read_excel(path, engine="openpyxl")
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise _unreadable(path, "an Excel file", error) from None


def _pyarrow(path: Path) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise _needs_tables(path, "pyarrow") from None
    return pyarrow


def _needs_tables(path: Path, package: str) -> MissingExtra:
    return MissingExtra(
        f"{path} needs {package}, which is not installed: pip install 'calibo[tables]', or use a CSV file"
    )


def _check_text(path: Path) -> None:
    """Raise ``DataError`` if a file is not text; pandas would read some pictures as tables."""
    with path.open("rb") as file:
        first = file.read(4096)
    compressed = path.suffix.lower() == ".gz"
    for magic, what in _MAGIC.items():
        if first.startswith(magic) and not (compressed and magic == b"\x1f\x8b"):
            raise DataError(f"{path} is named like a CSV table but is {what}; rename it, or give another file")
    if b"\0" in first and not compressed:
        raise DataError(f"{path} is named like a CSV table but contains bytes that are not text (UTF-8 is expected)")


def _unreadable(path: Path, what: str, error: Exception) -> DataError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return DataError(f"{path} is named like {what} but cannot be read as one ({reason}); check the file")


def _checked_columns(columns: Any) -> tuple[str, ...]:
    """Return the names of the columns, checked to be distinct strings."""
    names = list(columns)
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise DataError(f"columns must be named by strings, got {shown(odd[0])}; rename them, e.g. with str")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"the table has several columns named {', '.join(map(repr, twice))}; rename or drop them")
    if not names:
        raise DataError("the table has no columns; expected at least a target and a column that describes the rows")
    return tuple(names)
