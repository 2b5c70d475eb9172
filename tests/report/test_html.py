"""Writing the report: complete or not at all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from calibo.errors import StudyError
from calibo.report import Story, Tradeoff, write_report


def test_one_file_with_the_script_inside(real: Story, tmp_path: Path) -> None:
    path = write_report(real, tmp_path / "report.html")
    assert path == tmp_path / "report.html" and os.listdir(tmp_path) == ["report.html"]
    text = path.read_text(encoding="utf-8")
    assert len(re.findall(r"plotly\.js v\d", text)) == 1
    assert not re.search(r"<(?:script|link|img|iframe)[^>]*(?:src|href)\s*=", text.replace(_plotly(), ""))
    assert len(text) - len(_plotly()) < 150_000
    if os.name == "posix":
        assert path.stat().st_mode & 0o600 == 0o600


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return get_plotlyjs()


def test_several_outcomes_in_one_file(simulated: Tradeoff, tmp_path: Path) -> None:
    text = write_report(simulated, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h1>A trade-off</h1>" in text and len(re.findall(r"plotly\.js v\d", text)) == 1
    assert not re.search(r"<(?:script|link|img|iframe)[^>]*(?:src|href)\s*=", text.replace(_plotly(), ""))


def test_an_old_report_is_replaced(tell: Callable[..., Story], tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    path.chmod(0o640)
    assert write_report(tell([0.1]), str(path)) == path
    assert "Made up" in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o777 == 0o640


def test_an_old_report_survives_a_failure(
    tell: Callable[..., Story], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)  # the disk fills up while the new report is written
    with pytest.raises(StudyError, match="No space left on device.*folder you may write to"):
        write_report(tell([0.1]), path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["report.html"]


def test_missing_folder_and_folder_as_file(tell: Callable[..., Story], tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="there is no folder .*create it"):
        write_report(tell([0.1]), tmp_path / "none" / "report.html")
    with pytest.raises(StudyError, match=r"is a folder: give the name of a file in it, such as .*report\.html"):
        write_report(tell([0.1]), tmp_path)


def test_a_read_only_folder(tell: Callable[..., Story], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: object) -> None:  # what a read-only folder answers, also to tests run by an almighty user
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "mkstemp", refused)
    with pytest.raises(StudyError, match=r"cannot be written to .*report\.html \(Permission denied\); give a path"):
        write_report(tell([0.1]), tmp_path / "report.html")


def test_the_package_loads_without_plotly() -> None:
    code = "import sys, calibo.report as r; r.Story; dir(r); sys.exit('plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
