"""Pages of benchmarks/: tables beside the stored results that they are made from, and none is forgotten in the index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import mixtures, page_tables, places, scale, several_objectives

FOLDER = page_tables.FOLDER
PAGES = sorted(page.stem for page in FOLDER.glob("*.md") if page.stem != "README")


def test_the_page_shows_the_stored_hypervolumes() -> None:
    asked = "python -m benchmarks.several_objectives --page"
    stored = several_objectives.table(several_objectives.stored())
    assert page_tables.shown("several_objectives", "several_objectives") == stored, asked


def test_the_page_shows_the_stored_regrets_of_mixtures() -> None:
    assert page_tables.shown("mixtures", "mixtures") == mixtures.table(), "python -m benchmarks.mixtures page"


def test_the_page_shows_the_stored_coverages() -> None:
    for name, table in places.tables().items():
        assert page_tables.shown("places", name) == table, "python -m benchmarks.places --page"


def test_the_page_shows_the_stored_times_of_many_results() -> None:
    for name, table in scale.tables().items():
        assert page_tables.shown("scale", name) == table, "python -m benchmarks.scale --page"


def test_only_the_table_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "some.md"
    page.write_text("a\n<!-- table: x -->\nold\n<!-- end of table: x -->\nb\n", encoding="utf-8")
    monkeypatch.setattr(page_tables, "FOLDER", tmp_path)
    page_tables.write("some", "x", "| new |")
    assert page.read_text(encoding="utf-8") == "a\n<!-- table: x -->\n| new |\n<!-- end of table: x -->\nb\n"
    assert page_tables.shown("some", "x") == "| new |"
    with pytest.raises(ValueError, match="must have the marks"):
        page_tables.shown("some", "y")


def test_the_index_and_the_site_have_every_page() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\]\((\w+)\.md\)", index)) == PAGES
    site = (FOLDER.parent / "docs" / "measurements.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\{include\} \.\./benchmarks/(\w+)\.md", site)) == PAGES
