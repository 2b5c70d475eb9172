"""The README: its numbers and pictures are those of stored results, its links lead somewhere (its blocks: test_docs.py).

``python docs/pictures.py`` writes the numbers and pictures anew.
"""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    """docs/pictures.py, which draws the pictures."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import pictures  # pyright: ignore[reportMissingImports]
    finally:
        sys.path.remove(str(ROOT / "docs"))
    return pictures


def test_the_picture_of_forrester_shows_what_the_searches_find(pictures: ModuleType) -> None:
    drawn = pictures.numbers_of("forrester.png")
    found = {title: float(search.y.min()) for title, search in pictures.forrester().items()}
    assert found == pytest.approx(drawn, abs=0.005), "python docs/pictures.py draws it anew"
    for value in drawn.values():
        assert README.count(f"{value:.2f}") == 2, "in the text and in the picture's description"


def test_the_chart_of_peers_is_that_of_the_stored_runs(pictures: ModuleType) -> None:
    rows, runs = pictures.peers()
    assert pictures.fill(README, {"peers": pictures.peers_caption(rows, runs)}) == README, "python docs/pictures.py"
    *drawn, on = pictures.numbers_of("peers.png")
    assert on == runs
    assert drawn == json.loads(json.dumps([[row.name, row.regret, row.coverage] for row in rows]))


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8")):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_the_description_on_pypi_has_no_link_that_leads_nowhere() -> None:
    describe = runpy.run_path(str(ROOT / "setup.py"))["long_description"]
    links = re.compile(r"\[[^]]*\]\(([^)]+)\)")
    without = describe(README, None)
    assert links.findall(without) == ["https://optuna.org"]
    assert "forecasts (docs/forecasts.md)" in without and "*Picture (docs/images/forrester.png): An over" in without
    within = describe(README, "https://example.org/calibo")
    assert len(links.findall(within)) == len(links.findall(README))
    assert all(target.startswith("https://") for target in links.findall(within))
    assert "](https://example.org/calibo/raw/main/docs/images/forrester.png)" in within
    # What is hidden from readers is not shown: neither on PyPI.
    assert "<!--" not in without and "optuna.logging" not in without


def test_the_readme_names_exactly_two_commands() -> None:
    assert re.findall(r"^\| `(make \w+)` \|", README, flags=re.MULTILINE) == ["make demo", "make test"]
