"""The page of results."""

from __future__ import annotations

import json
from pathlib import Path

from stress.page import PAGE, filled


def test_marked_parts_are_filled_and_others_left(tmp_path: Path) -> None:
    found = {
        "title": "Ten tries.",
        "measured": "2026-01-01",
        "python": "3.11",
        "facts": {"seed": 0, "wrong": []},
        "columns": ["part", "raw"],
        "rows": [["a|b", 0]],
    }
    (tmp_path / "tries.json").write_text(json.dumps(found))
    text = (
        "x\n<!-- stress:tries -->\nold\n<!-- /stress:tries -->\n<!-- stress:other -->\nkept\n<!-- /stress:other -->\n"
    )
    new = filled(text, tmp_path)
    assert "| a\\|b | 0 |" in new and "old" not in new and "kept" in new and "seed: 0" in new and "wrong" not in new
    assert filled(new, tmp_path) == new


def test_the_page_shows_the_stored_results() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert filled(text) == text
