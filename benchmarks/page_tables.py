"""Tables of the pages of this folder that are made from stored results, each between two marks that name it."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent


def shown(page: str, name: str) -> str:
    """Return the table that a page (``places`` for ``places.md``) has between the marks of a name."""
    _, table, _ = _parts(page, name)
    return table


def write(page: str, name: str, table: str) -> None:
    """Replace the table that a page has between the marks of a name."""
    before, _, after = _parts(page, name)
    _file(page).write_text(f"{before}{table}{after}", encoding="utf-8")


def _file(page: str) -> Path:
    return FOLDER / f"{page}.md"


def _parts(page: str, name: str) -> tuple[str, str, str]:
    """Return what stands before a table, the table, and what stands after it; the marks are no part of the table."""
    start, end = f"<!-- table: {name} -->\n", f"\n<!-- end of table: {name} -->"
    text = _file(page).read_text(encoding="utf-8")
    if text.count(start) != 1 or text.count(end) != 1:
        where = _file(page)
        raise ValueError(f"{where} must have the marks {start.strip()} and {end.strip()} once each, around the table")
    before, rest = text.split(start)
    table, after = rest.split(end)
    return before + start, table, end + after
