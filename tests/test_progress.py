"""Progress in a terminal and in a log."""

from __future__ import annotations

import io
import sys

import pytest

from calibo.progress import progress_bar


class Terminal(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def run(file: io.StringIO, monkeypatch: pytest.MonkeyPatch, *, shown: bool = True, total: int | None = 2000) -> str:
    monkeypatch.setattr(sys, "stderr", file)
    with progress_bar(total, shown=shown, unit="trial") as bar:
        for step in range(2000):
            bar.set_postfix_str(f"best={step}", refresh=False)
            bar.update()
    return file.getvalue()


def test_a_log_has_few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = run(io.StringIO(), monkeypatch).splitlines()
    assert lines[0] == "0 of 2000 trials in 00:00" and lines[-1].startswith("2000 of 2000 trials in 00:0")
    assert lines[-1].endswith(", best=1999") and len(lines) <= 3
    assert "\r" not in run(io.StringIO(), monkeypatch, total=None)


def test_a_terminal_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    text = run(Terminal(), monkeypatch)
    assert "100%" in text and text.count("\n") == 1 and "\r" in text


def test_nothing_is_shown_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(io.StringIO(), monkeypatch, shown=False) == "" == run(Terminal(), monkeypatch, shown=False)
