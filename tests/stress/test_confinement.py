"""Nothing outside of the folder of a test can be changed."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from stress.confinement import confined


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.write_text("no"),
        lambda file: os.open(file, os.O_WRONLY | os.O_TRUNC),
        lambda file: file.unlink(),
        lambda file: file.rename("mine"),
        lambda file: Path("mine.txt").rename(file),
        lambda file: sqlite3.connect(file),
        lambda file: sqlite3.connect(f"file:{file}", uri=True),
        lambda file: Path(os.path.relpath(file)).write_text("no"),
        lambda file: file.with_name("new").mkdir(),
    ],
)
def test_files_elsewhere_stay_as_they_are(change: Callable[[Path], object], tmp_path: Path) -> None:
    file = tmp_path / "theirs"
    file.write_text("theirs")
    with confined():
        Path("mine.txt").write_text("mine")
        with pytest.raises(PermissionError, match="outside of the folder"):
            change(file)
        assert file.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [file] and file.read_text() == "theirs"


def test_the_folder_itself_and_temporary_files_can_be_written() -> None:
    before = Path.cwd()
    with confined() as folder:
        (folder / "a").write_text("a")
        with tempfile.TemporaryDirectory() as name:
            sqlite3.connect(Path(name) / "a.db").close()
        assert Path("a").read_text() == "a"
    assert Path.cwd() == before and not folder.exists()


def test_afterwards_everything_is_as_before(tmp_path: Path) -> None:
    with confined():
        pass
    (tmp_path / "a").write_text("a")
