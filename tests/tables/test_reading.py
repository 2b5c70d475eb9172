"""Tables as streams: the same rows whatever the file and the batch, and named errors for what is no table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from calibo.errors import DataError, MissingExtra
from calibo.tables.reading import FrameTable, open_table

FRAME = pd.DataFrame({"a": [1.5, 2.5, None, 4.0, 5.0], "b": ["x", "y", None, "x", "z"], "y": [1, 2, 3, 4, 5]})


def stored(folder: Path, kind: str) -> Path:
    path = folder / f"table{kind}"
    if kind.startswith(".csv"):
        FRAME.to_csv(path, index=False)
    elif kind == ".tsv":
        FRAME.to_csv(path, index=False, sep="\t")
    elif kind == ".parquet":
        FRAME.to_parquet(path)
    else:
        FRAME.to_excel(path, index=False)
    return path


def rows_of(table: Any) -> pd.DataFrame:
    return pd.concat(list(table.mapped(lambda frame: frame, text=frozenset())))


@pytest.mark.parametrize("kind", [".csv", ".csv.gz", ".tsv", ".parquet", ".xlsx"])
@pytest.mark.parametrize("batch", [2, 100])
def test_every_kind_of_file_gives_the_same_rows(tmp_path: Path, kind: str, batch: int) -> None:
    table = open_table(stored(tmp_path, kind), batch=batch)
    assert table.columns == ("a", "b", "y")
    assert table.rows in (None, 5)
    pd.testing.assert_frame_equal(rows_of(table), FRAME, check_dtype=False, check_index_type=False)


def test_a_frame_keeps_its_index_and_is_not_copied() -> None:
    frame = FRAME.set_index(pd.Index(list("pqrst")))
    table = open_table(frame, batch=2)
    assert isinstance(table, FrameTable) and table.frame is frame
    pd.testing.assert_frame_equal(rows_of(table), frame)


def test_an_index_stored_with_a_parquet_file_is_kept(tmp_path: Path) -> None:
    frame = FRAME.set_index(pd.Index(list("pqrst"), name="vial"))
    frame.to_parquet(tmp_path / "t.parquet")
    table = open_table(tmp_path / "t.parquet", batch=2)
    assert table.columns == ("a", "b", "y")
    pd.testing.assert_frame_equal(rows_of(table), frame, check_dtype=False)


def test_words_are_read_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    path.write_text("code,y\n1.50,1\n2,\nabc,\n")
    parts = list(open_table(path, batch=1).mapped(lambda frame: frame["code"].iloc[0], text=frozenset(["code"])))
    assert parts == ["1.50", "2", "abc"]


def test_a_large_row_group_is_read_in_batches(tmp_path: Path) -> None:
    pd.DataFrame({"a": range(1000), "y": 0.0}).to_parquet(tmp_path / "t.parquet", row_group_size=1000)
    sizes = list(open_table(tmp_path / "t.parquet", batch=300).mapped(len, text=frozenset()))
    assert sizes == [300, 300, 300, 100]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("picture.csv", b"\x89PNG\r\n\x1a\n" + bytes(64), "a PNG picture"),
        ("noise.csv", b"a,b\n1,\x00\x01", "not text"),
        ("latin.csv", "größe,y\n1,2\n".encode("latin-1"), "named like a CSV table but cannot be read"),
        ("empty.csv", b"", "is empty"),
        ("text.parquet", b"a,b\n1,2\n", "named like a Parquet file but cannot be read"),
        ("text.xlsx", b"a,b\n1,2\n", "named like an Excel file but cannot be read"),
        ("plain.csv.gz", b"a,b\n1,2\n", "named like a CSV table but cannot be read"),
        ("table.json", b"{}", "does not end in .csv"),
    ],
)
def test_a_file_that_is_not_what_it_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        open_table(path)
    assert path.read_bytes() == content


def test_uneven_rows_are_named(tmp_path: Path) -> None:
    path = tmp_path / "uneven.csv"
    path.write_text("a,y\n1,2\n1,2,3,4\n")
    with pytest.raises(DataError, match="line 3"):
        rows_of(open_table(path))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("nowhere.csv", "not there"),
        (".", "a folder"),
        ([1, 2], "got a list"),
        (pd.DataFrame({1: [2]}), "named by strings"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "several columns named 'a'"),
        (pd.DataFrame(), "no columns"),
    ],
)
def test_what_is_no_table(table: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        open_table(table)


@pytest.mark.parametrize(("kind", "package"), [(".parquet", "pyarrow"), (".xlsx", "openpyxl")])
def test_a_missing_extra_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, package: str
) -> None:
    path = stored(tmp_path, kind)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"pip install 'calibo\[tables\]'"):
        open_table(path)
