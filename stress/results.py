"""Results of the stress scripts: small files of JSON, with what was run and where."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def store(name: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], **facts: Any) -> Path:
    """Write the result of a script.

    Args:
        name: Name of the script, and of the markers on the page.
        title: What was tried, in a sentence.
        columns: Headings of the table.
        rows: Rows of the table.
        **facts: Everything else that was measured or set, by name.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    found = {
        "title": title,
        "measured": datetime.now(UTC).strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "facts": facts,
        "columns": list(columns),
        "rows": [list(row) for row in rows],
    }
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def read_stored(name: str) -> dict[str, Any] | None:
    """Return the stored result of a script, if there is one."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def printed(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table as text with aligned columns."""
    cells = [[str(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(len(row[j]) for row in cells) for j in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


#: What tells the rows of a test apart: a new row takes the place of the old one with the same.
KEYS = ("store", "form", "what", "sampler", "workers", "trials_before")


def record(test: str, row: dict[str, Any]) -> None:
    """Print a row and store it, in the place of an earlier one of the same kind."""
    row = {**row, "date": date.today().isoformat(), "cores": os.cpu_count(), "python": platform.python_version()}
    print(json.dumps(row), flush=True)
    kept = [old for old in read(test) if any(old.get(key) != row.get(key) for key in KEYS)]
    RESULTS.mkdir(exist_ok=True)
    text = "".join(json.dumps(one) + "\n" for one in [*kept, row])
    (RESULTS / f"{test}.jsonl").write_text(text, encoding="utf-8")


def read(test: str) -> list[dict[str, Any]]:
    """Return the stored rows of a test."""
    file = RESULTS / f"{test}.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
