"""Tables of benchmarks/README.md beside the stored results that they are made from."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import mixtures, places, readme_tables, several_objectives


def test_the_readme_shows_the_stored_hypervolumes() -> None:
    asked = "python -m benchmarks.several_objectives --readme"
    assert readme_tables.shown("several_objectives") == several_objectives.table(several_objectives.stored()), asked


def test_the_readme_shows_the_stored_regrets_of_mixtures() -> None:
    assert readme_tables.shown("mixtures") == mixtures.table(), "python -m benchmarks.mixtures readme"


def test_the_readme_shows_the_stored_coverages() -> None:
    for name, table in places.tables().items():
        assert readme_tables.shown(name) == table, "python -m benchmarks.places --readme"


def test_only_the_table_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "README.md"
    page.write_text("a\n<!-- table: x -->\nold\n<!-- end of table: x -->\nb\n", encoding="utf-8")
    monkeypatch.setattr(readme_tables, "README", page)
    readme_tables.write("x", "| new |")
    assert page.read_text(encoding="utf-8") == "a\n<!-- table: x -->\n| new |\n<!-- end of table: x -->\nb\n"
    assert readme_tables.shown("x") == "| new |"
    with pytest.raises(ValueError, match="must have the marks"):
        readme_tables.shown("y")
