"""Tables that people fill in: CSV files as they are written in different countries, and Excel files."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibo.errors import DataError
from calibo.tables.sheets import Dialect, read_sheet, write_sheet

ROWS = [{"name": "Öl", "heat": 1.5, "k": 2, "y": None}, {"name": "=1+1", "heat": -0.25, "k": -3, "y": 0.5}]


@pytest.mark.parametrize(
    "dialect",
    [
        Dialect(encoding="utf-8-sig"),
        Dialect(";", ",", "cp1252"),
        Dialect("\t", ".", "utf-16"),
        Dialect(";", ".", "utf-8-sig"),
    ],
    ids=str,
)
def test_what_is_written_is_read_again(tmp_path: Path, dialect: Dialect) -> None:
    write_sheet(tmp_path / "a.csv", ROWS, dialect)
    sheet = read_sheet(tmp_path / "a.csv")
    assert sheet.columns == ("name", "heat", "k", "y") and sheet.dialect == dialect
    mark = dialect.decimal
    assert [line for line, _ in sheet.rows] == [2, 3]
    assert sheet.rows[0][1] == {"name": "Öl", "heat": f"1{mark}5", "k": "2", "y": None}
    assert sheet.rows[1][1] == {"name": "=1+1", "heat": f"-0{mark}25", "k": "-3", "y": f"0{mark}5"}


def test_excel(tmp_path: Path) -> None:
    write_sheet(tmp_path / "a.xlsx", ROWS)
    sheet = read_sheet(tmp_path / "a.xlsx")
    assert [dict(row) for _, row in sheet.rows] == ROWS


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_no_cell_is_run_as_a_formula(tmp_path: Path, ending: str) -> None:
    import openpyxl

    rows = [{"=head": start + "1+1", "x": -1.5} for start in "=+-@\t"]
    path = tmp_path / f"a.{ending}"
    write_sheet(path, rows)
    if ending == "csv":
        cells = [line.split(",")[0].strip('"') for line in path.read_text().splitlines()]
        assert all(line.endswith(",-1.5") for line in path.read_text().splitlines()[1:])
    else:
        sheet = openpyxl.load_workbook(path).active
        assert sheet is not None
        cells = [str(row[0].value) for row in sheet.iter_rows()]
        assert all(row[0].data_type != "f" for row in sheet.iter_rows())
    assert all(cell.startswith("'") for cell in cells)
    assert [row["=head"] for _, row in read_sheet(path).rows] == [row["=head"] for row in rows]


def test_text_that_an_encoding_lacks_is_written_as_unicode(tmp_path: Path) -> None:
    write_sheet(tmp_path / "a.csv", [{"a": "漢字"}], Dialect(";", ",", "cp1252"))
    sheet = read_sheet(tmp_path / "a.csv")
    assert sheet.rows[0][1] == {"a": "漢字"} and sheet.dialect.encoding == "utf-8-sig"


def test_quoted_cells_short_rows_and_empty_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('a,"b, c",\n1,"x, y",\n\n2\n,,\n')
    sheet = read_sheet(tmp_path / "a.csv")
    assert sheet.columns == ("a", "b, c")
    assert sheet.rows == ((2, {"a": "1", "b, c": "x, y"}), (4, {"a": "2", "b, c": None}))


def test_a_first_line_may_tell_the_separator(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sep=;\na,b;c\n1;2,5\n")
    sheet = read_sheet(tmp_path / "a.csv")
    assert sheet.columns == ("a,b", "c") and sheet.rows == ((3, {"a,b": "1", "c": "2,5"}),)
    (tmp_path / "a.csv").write_bytes(b"sep=\r\n1\r\n")
    assert read_sheet(tmp_path / "a.csv").columns == ("sep=",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "is empty"),
        (b"a,a\n1,2\n", "several columns named 'a'"),
        (b"a,b\n1,2,3\n", "row 2: 3 cells for 2 columns"),
        (b"# Monday\na,b\n1,2\n", "row 2: 2 cells for 1 column;"),
        (b"a\0b", "is not text"),
    ],
)
def test_what_is_no_table(tmp_path: Path, text: bytes, said: str) -> None:
    (tmp_path / "a.csv").write_bytes(text)
    with pytest.raises(DataError, match=said):
        read_sheet(tmp_path / "a.csv")
    with pytest.raises(DataError, match="is not there"):
        read_sheet(tmp_path / "missing.csv")


@pytest.mark.parametrize(
    ("cells", "decimal"),
    [
        ("88,54;1.200", ","),
        ("88,54;1.2", "."),
        ("88.54;1.200", "."),
        ("88,54;0.125", "."),
        ("88;1.200", "."),
        ("1.234,5;1.200", ","),
        ("1.234.567;1.200", ","),
        ("1,234.5;1,200", "."),
        ("1,234,567;1,200", "."),
        ("88.541 %;88", "."),
    ],
)
def test_marks_between_thousands_are_no_decimal_marks(tmp_path: Path, cells: str, decimal: str) -> None:
    (tmp_path / "a.csv").write_text(f"a;b\n{cells}\n")
    assert read_sheet(tmp_path / "a.csv").dialect.decimal == decimal
