"""Keeps a process from changing files outside of a folder, so that odd names in generated calls do no harm.

Python reports what it is about to do to files (``sys.addaudithook``); whatever would write elsewhere ends in a
``PermissionError``, as it would for a user without rights. Devices may be written. Files that code in C opens by itself are
not seen, except those of SQLite.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

#: Folders that processes may write in at the moment; ``None`` for everywhere.
_allowed: list[Path] | None = None
_hooked = False

#: Events whose first one or two arguments are names of files that are changed.
_CHANGED = {
    "os.chmod": 1,
    "os.chown": 1,
    "os.link": 2,
    "os.mkdir": 1,
    "os.remove": 1,
    "os.rename": 2,
    "os.rmdir": 1,
    "os.symlink": 2,
    "os.truncate": 1,
    "os.utime": 1,
    "shutil.rmtree": 1,
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _changed(event: str, args: tuple[Any, ...]) -> list[Any]:
    """Return the names of the files that an event is about to change."""
    if event == "open":
        name, mode, flags = args
        writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool(flags & _WRITING)
        return [name] if writes else []
    if event == "sqlite3.connect":
        return [args[0]]
    return list(args[: _CHANGED.get(event, 0)])


def _inside(name: Any, folders: list[Path]) -> bool:
    if isinstance(name, int):
        return True  # open already
    try:
        text = os.fsdecode(name)
    except (TypeError, ValueError):
        return True  # no name of a file, which whoever uses it will find out
    if not text or text == ":memory:" or "\0" in text:
        return True
    if text.startswith("file:"):
        text = unquote(urlsplit(text).path)
    path = Path(os.path.realpath(text))
    return path.is_relative_to("/dev") or any(path.is_relative_to(folder) for folder in folders)


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    if _allowed is None or (event != "open" and event != "sqlite3.connect" and event not in _CHANGED):
        return
    for name in _changed(event, args):
        if not _inside(name, _allowed):
            raise PermissionError(13, "Permission denied (outside of the folder of the test)", str(name))


@contextlib.contextmanager
def confined() -> Iterator[Path]:
    """Work in a new folder, the only place that can be written in this block, temporary files included."""
    global _allowed, _hooked
    if not _hooked:
        sys.addaudithook(_refuse)
        _hooked = True
    before, temporary = os.getcwd(), tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="calibo-stress-") as name:
        folder = Path(name).resolve()
        (folder / "tmp").mkdir()
        (folder / "work").mkdir()
        os.chdir(folder / "work")
        tempfile.tempdir, _allowed = str(folder / "tmp"), [folder]
        try:
            yield folder / "work"
        finally:
            os.chdir(before)
            tempfile.tempdir, _allowed = temporary, None
