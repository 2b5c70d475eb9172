"""Progress bars: one line that changes in a terminal, and a new line now and then where the output goes to a file."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from tqdm import tqdm

#: Seconds between two lines of progress in a log.
LOG_SECONDS = 30.0


def progress_bar(total: int | None, *, shown: bool, unit: str, **settings: Any) -> Any:
    """Return a bar of tqdm's on the standard error.

    If that is no terminal, the first and the last state and one every half a minute are written, a line each.

    Args:
        total: Number of steps; with none there is no bar.
        shown: Whether to show it at all.
        unit: What a step is called.
        **settings: Further settings of ``tqdm``.
    """
    shown = shown and total != 0
    if not shown or _is_terminal(sys.stderr):
        return tqdm(total=total, disable=not shown, file=sys.stderr, unit=unit, dynamic_ncols=True, **settings)
    lines: Any = _Lines(sys.stderr)
    form = "{desc}: {n_fmt} of {total_fmt} {unit}s in {elapsed}{postfix}"
    if settings.get("unit_scale") or total is None:
        form = "{desc}: {n_fmt} {unit} in {elapsed}{postfix}"
    quick: dict[str, Any] = {"mininterval": LOG_SECONDS, "maxinterval": LOG_SECONDS, "bar_format": form}
    return tqdm(total=total, file=lines, unit=unit, **{**settings, **quick})


def _is_terminal(file: TextIO | None) -> bool:
    return file is not None and file.isatty()


class _Lines:
    """A file to which every state of a bar is written as a line of its own."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._last = ""

    def write(self, text: str) -> None:
        line = text.strip("\r\n ")
        if line and line != self._last:
            self._last = line
            self._file.write(f"{line}\n")

    def flush(self) -> None:
        self._file.flush()
