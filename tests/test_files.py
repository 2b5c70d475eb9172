"""Files are replaced by complete ones only, and what cannot be written is found out before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from calibo.files import replacing, why_unwritable


def test_what_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_unwritable(tmp_path / "new.html") is None
    assert why_unwritable(tmp_path) == "it is a folder"
    assert why_unwritable(tmp_path / "none" / "new.html") == f"there is no folder {tmp_path / 'none'}"
    assert why_unwritable(Path(os.devnull)) == "it is not a file that may be replaced"
    monkeypatch.setattr(os, "access", lambda *_: False)  # tests may be run as root
    assert why_unwritable(tmp_path / "new.html") == f"you may not write to the folder {tmp_path}"


def test_a_file_is_replaced_in_one_step_with_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    with replacing(path) as new:
        new.write_text("first")
        assert new.suffix == ".html" and not path.exists()
    assert path.read_text() == "first" and path.stat().st_mode & 0o600 == 0o600
    path.chmod(0o640)
    with replacing(path) as new:
        new.write_text("second")
    assert path.read_text() == "second" and path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["report.html"]


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as new:
        new.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["report.html"]
