"""The documentation: the Python blocks of every page run as they are, one after another, and the site is built clean.

A comment in a page, ``<!-- setup`` to ``-->``, holds Python that is run before the block after it and is not shown.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from calibo import space_from_toml

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
#: Pages with a block that needs an extra.
EXTRAS = {"docs/dashboard.md", "docs/likelihood_free.md"}
PAGES = sorted(page.relative_to(ROOT).as_posix() for page in [ROOT / "README.md", *DOCS.glob("*.md")])


def blocks_of(page: str, language: str) -> list[str]:
    """Return the blocks of a page in one language."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)


def run_blocks(page: str) -> dict[str, Any]:
    """Run the Python blocks of a page and the comments that prepare them, and return what they define."""
    known: dict[str, Any] = {"__name__": page}
    text = (ROOT / page).read_text(encoding="utf-8")
    for match in re.finditer(r"<!-- setup\n(.*?)-->|```python\n(.*?)```", text, flags=re.DOTALL):
        # The line in the page, for tracebacks.
        before = "\n" * text[: match.start()].count("\n")
        exec(compile(before + "\n" + (match[1] or match[2]), page, "exec"), known)
    return known


@pytest.mark.filterwarnings("default")  # users see warnings, too
@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=pytest.mark.extras if page in EXTRAS else ()) for page in PAGES]
)
def test_the_blocks_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # pages may write files
    run_blocks(page)


def test_the_page_about_choosing_shows_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    run_blocks("docs/choosing.md")
    assert capsys.readouterr().out == blocks_of("docs/choosing.md", "text")[0]


def test_the_page_about_stopping_stops(capsys: pytest.CaptureFixture[str]) -> None:
    known = run_blocks("docs/stopping.md")
    assert known["result"].stopped
    assert len(known["study"].trials) < 80
    assert "stop: after" in capsys.readouterr().out


def test_the_page_about_suggesting_shows_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commands, in a terminal of 80 columns, with its space and its filled tables; numbers are compared in round 1."""
    from typer.testing import CliRunner

    from calibo.cli.app import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "space.toml").write_text(blocks_of("docs/suggest.md", "toml")[0])
    shown, tables = blocks_of("docs/suggest.md", "text"), [*blocks_of("docs/suggest.md", "csv"), ""]
    assert len(shown) == 3
    for number, (block, table) in enumerate(zip(shown, tables, strict=True), start=1):
        command, _, printed = block.partition("\n")
        done = CliRunner().invoke(app, command.removeprefix("$ calibo ").split())
        assert done.exit_code == 0, done.output
        lines = "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"
        assert number > 1 or lines == printed
        assert re.sub(r"[\d.]+|─+| +", " ", lines) == re.sub(r"[\d.]+|─+| +", " ", printed)
        if table:
            columns = (tmp_path / f"round{number}.csv").read_text().splitlines()[0]
            assert table.splitlines()[0] == columns
            (tmp_path / f"round{number}.csv").write_text(table)


def test_the_site_is_built_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("sphinx", reason="the site needs calibo[docs]")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(DOCS), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Optimizer" in (tmp_path / "api.html").read_text(encoding="utf-8")
    # Every page is reached from the index, and nothing is loaded from elsewhere.
    pages = {page.stem for page in DOCS.glob("*.md")}
    assert pages <= {page.stem for page in tmp_path.glob("*.html")}
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert not re.findall(r'(?:src|href)="https?://[^"]*\.(?:js|css)', index)


def test_the_page_about_spaces_shows_what_is_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_blocks("docs/spaces.md")
    shown = " ".join(" ".join(blocks_of("docs/spaces.md", "text")).split())
    assert " ".join(capsys.readouterr().out.split()) == shown
    (tmp_path / "space.toml").write_text(blocks_of("docs/spaces.md", "toml")[0])
    assert space_from_toml(tmp_path / "space.toml").names == ("water", "ethanol", "glycerol", "salt", "temperature")


def test_the_page_about_workers_runs() -> None:
    known = run_blocks("docs/workers.md")
    assert len(known["result"].trials) == 12 and len(known["study"].trials) == 5
