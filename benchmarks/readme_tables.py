"""Tables of the README of this folder that are made from stored results, each between two marks that name it."""

from __future__ import annotations

from pathlib import Path

README = Path(__file__).parent / "README.md"


def shown(name: str) -> str:
    """Return the table that the README has between the marks of a name."""
    _, table, _ = _parts(name)
    return table


def write(name: str, table: str) -> None:
    """Replace the table that the README has between the marks of a name."""
    before, _, after = _parts(name)
    README.write_text(f"{before}{table}{after}", encoding="utf-8")


def _parts(name: str) -> tuple[str, str, str]:
    """Return what stands before a table, the table, and what stands after it; the marks are no part of the table."""
    start, end = f"<!-- table: {name} -->\n", f"\n<!-- end of table: {name} -->"
    text = README.read_text(encoding="utf-8")
    if text.count(start) != 1 or text.count(end) != 1:
        raise ValueError(f"{README} must have the marks {start.strip()} and {end.strip()} once each, around the table")
    before, rest = text.split(start)
    table, after = rest.split(end)
    return before + start, table, end + after
