"""Writes the report: one HTML file that needs nothing else, put in place only when it is complete."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from calibo.errors import StudyError
from calibo.report.story import Story
from calibo.report.tradeoff import Tradeoff


def write_report(story: Story | Tradeoff, path: str | os.PathLike[str]) -> Path:
    """Writes the report as one self-contained HTML file, which opens without a network, and returns its path.

    An old report of that name is replaced only once the new one is complete.

    Args:
        story: What to tell, of one outcome or of several.
        path: The file to write, normally ending in .html. A folder that is missing or cannot be written to is a
            ``StudyError``.
    """
    target = Path(path)
    _check(target)
    from plotly.offline import get_plotlyjs

    from calibo.report.page import page

    text = page(story, script=get_plotlyjs())
    try:
        _replace(target, text)
    except OSError as error:
        reason = error.strerror or error
        raise StudyError(
            f"the report cannot be written to {target} ({reason}); give a path in a folder you may write to, "
            "or make room. The study itself is untouched."
        ) from error
    return target


def _check(target: Path) -> None:
    """Refuses what cannot work before the figures are drawn."""
    if target.exists() and not target.is_file() and not target.is_dir():
        raise StudyError(f"{target} is not a file that may be replaced: give the name of a file of its own")
    if target.is_dir():
        raise StudyError(f"{target} is a folder: give the name of a file in it, such as {target / 'report.html'}")
    if not target.parent.is_dir():
        raise StudyError(
            f"the report cannot be written to {target}: there is no folder {target.parent}; "
            "create it, or give a path in a folder that exists"
        )


def _replace(target: Path, text: str) -> None:
    """Writes beside the target, then puts the file in its place in one step."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        part.chmod(_mode(target))
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """The old report's permissions, or those a plain open() would have given; temporary files are private."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
