"""The documentation: the blocks of every page run as they are, one after another, and the site is built clean.

Run are the Python blocks of a page. Comments, which readers do not see, say what else happens:

- ``<!-- setup`` to ``-->`` holds Python that is run before the block after it;
- ``<!-- file: train.py -->`` before a block writes that block to a file;
- ``<!-- run -->`` before a console block runs its commands, the lines that begin with ``$ calibo``.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import calibo
from calibo import space_from_toml

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
#: Pages with a block that needs an extra.
EXTRAS = {
    "docs/botorch_users.md",
    "docs/dashboard.md",
    "docs/integrations.md",
    "docs/likelihood_free.md",
    "docs/ray.md",
}
#: Pages whose blocks are run by a test of their own.
OWN_TESTS = {
    "README.md",
    "docs/choosing.md",
    "docs/command_line.md",
    "docs/contributing.md",
    "docs/spaces.md",
    "docs/stopping.md",
    "docs/tutorial.md",
    "docs/workers.md",
}
SITE = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
PAGES = sorted(page.relative_to(ROOT).as_posix() for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *SITE])
STEP = re.compile(
    r"<!-- setup\n(?P<setup>.*?)-->"
    r"|<!-- file: (?P<file>\S+) -->\n+```\w+\n(?P<text>.*?)```"
    r"|<!-- run -->\n+```\w+\n(?P<commands>.*?)```"
    r"|```python\n(?P<python>.*?)```",
    flags=re.DOTALL,
)


def blocks_of(page: str, language: str) -> list[str]:
    """Return the blocks of a page in one language."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)


def run_blocks(page: str) -> dict[str, Any]:
    """Do what a page says, in the present folder, and return what its Python blocks define."""
    known: dict[str, Any] = {"__name__": page}
    text = (ROOT / page).read_text(encoding="utf-8")
    for step in STEP.finditer(text):
        if step["file"]:
            Path(step["file"]).write_text(step["text"], encoding="utf-8")
            sys.modules.pop(Path(step["file"]).stem, None)  # that of another page
        elif step["commands"]:
            run_commands(step["commands"])
        else:
            # The line in the page, for tracebacks.
            before = "\n" * text[: step.start()].count("\n")
            exec(compile(before + "\n" + (step["setup"] or step["python"]), page, "exec", dont_inherit=True), known)
    return known


def run_commands(block: str) -> None:
    """Run the commands of a console block that begin with calibo."""
    from calibo.cli.app import app

    commands = re.findall(r"^\$ calibo (.*)$", block, flags=re.MULTILINE)
    assert commands, f"no command in:\n{block}"
    for command in commands:
        done = CliRunner().invoke(app, shlex.split(command, comments=True))
        assert done.exit_code == 0, f"calibo {command}\n{done.output}\n{done.exception!r}"


@pytest.mark.whole
@pytest.mark.filterwarnings("default")  # users see warnings, too
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.extras if page in EXTRAS else ())
        for page in PAGES
        if page not in OWN_TESTS and STEP.search((ROOT / page).read_text(encoding="utf-8"))
    ],
)
def test_the_blocks_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # pages may write files
    run_blocks(page)


@pytest.mark.filterwarnings("default")
def test_the_readme_shows_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The words are compared exactly, counts up to 2 and scores up to a fifth: versions and processors may differ."""
    monkeypatch.chdir(tmp_path)
    run_blocks("README.md")
    shown = blocks_of("README.md", "text")[0]
    printed = "".join(capsys.readouterr().out.splitlines(keepends=True)[: shown.count("\n")])
    numbers = re.compile(r"\d+(?:\.\d+)?")
    assert numbers.sub("#", printed) == numbers.sub("#", shown)
    for now, then in zip(numbers.findall(printed), numbers.findall(shown), strict=True):
        assert abs(float(now) - float(then)) <= (0.2 * float(then) if "." in then else 2.0)


@pytest.mark.whole
def test_the_tutorial_finds_what_its_picture_and_its_blocks_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Words are compared, and numbers are not."""
    monkeypatch.chdir(tmp_path)
    result = run_blocks("docs/tutorial.md")["result"]
    assert _words(capsys.readouterr().out) == _words("".join(blocks_of("docs/tutorial.md", "text")))
    monkeypatch.syspath_prepend(DOCS)
    import pictures  # pyright: ignore[reportMissingImports]

    drawn = pictures.numbers_of("tutorial.png")
    assert drawn["trials"] == len(result.trials)
    assert abs(drawn["best"] - result.best_value) < 0.01, "python docs/pictures.py draws it anew"


@pytest.mark.whole
def test_parts_of_ones_own_pass_their_suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    suites = {name: one for name, one in run_blocks("docs/contributing.md").items() if name.startswith("Test")}
    assert suites.keys() == {"TestMeanScale", "TestQuadratic"}
    for suite in suites.values():
        for name in (name for name in dir(suite) if name.startswith("test_")):
            getattr(suite(), name)()


@pytest.mark.whole
def test_the_page_about_choosing_shows_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    run_blocks("docs/choosing.md")
    assert capsys.readouterr().out == blocks_of("docs/choosing.md", "text")[0]


@pytest.mark.whole
def test_the_page_about_stopping_stops(capsys: pytest.CaptureFixture[str]) -> None:
    known = run_blocks("docs/stopping.md")
    assert known["result"].stopped
    assert len(known["study"].trials) < 80
    assert "stop: after" in capsys.readouterr().out


@pytest.mark.whole
def test_the_page_about_suggesting_shows_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commands, in a terminal of 80 columns, with its space and its filled tables; numbers are compared in round 1."""
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


@pytest.mark.whole
def test_the_page_about_the_command_line_shows_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commands, in a terminal of 80 columns, with its files; words are compared, and numbers are not."""
    from calibo.cli.app import app

    page = "docs/command_line.md"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "space.toml").write_text(blocks_of(page, "toml")[0])
    for name, block in zip(("train.py", "mine.py"), blocks_of(page, "python"), strict=True):
        monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)
        (tmp_path / name).write_text(block)
    for block in blocks_of(page, "console"):
        for command, printed in re.findall(r"\$ calibo (.*)\n((?:(?!\$).*\n)*)", block):
            done = CliRunner().invoke(app, shlex.split(command))
            assert done.exit_code == 0, done.output
            assert max(map(len, done.output.splitlines()), default=0) <= 80
            assert _words(done.stderr + done.stdout) == _words(printed), command


def _words(text: str) -> list[str]:
    """Return the words of an output, of which numbers, times and hashes are not compared."""
    return re.sub(r"[0-9a-f]{16}|[-+]?\d[\d.]*(e-?\d+)?(T[\d:.]+)?|─+", "#", text).split()


@pytest.mark.parametrize("name", ["ocbo", "locbo", "cbo", "lfbo", "bananas_cp"])
def test_the_page_of_a_paper_has_the_stored_verdicts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS)
    import verdict_tables  # pyright: ignore[reportMissingImports]

    assert verdict_tables.REPRODUCED.keys() == {page.stem for page in verdict_tables.PAPERS.glob("*.md")} - {"index"}
    page = (verdict_tables.PAPERS / f"{name}.md").read_text(encoding="utf-8")
    assert verdict_tables.filled(name) == page, "python docs/verdict_tables.py writes it anew"


def build(builder: str, folder: Path, *options: str) -> None:
    """Build the site, a warning being an error."""
    pytest.importorskip("sphinx", reason="the site needs calibo[docs]")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", builder, *options]
    done = subprocess.run([*command, str(DOCS), str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_rows_within_an_error_budget_are_those_that_were_measured() -> None:
    """Every cell of the table is computed from the stored replays: the share that misses, its error, the share accepted."""
    stored = json.loads((ROOT / "benchmarks/results/error_budget.json").read_text(encoding="utf-8"))
    rules = {
        "budget .1, drawn at random (300 replays)": ("random", "drawn, budget 0.1"),
        "budget .2, drawn at random (300 replays)": ("random", "drawn, budget 0.2"),
        "budget .1, drawn after a search (30 replays)": ("search", "drawn after a search, budget 0.1"),
        "budget .2, drawn after a search (30 replays)": ("search", "drawn after a search, budget 0.2"),
        "the k likeliest rows, k as many as are good": ("random", "top k"),
        "forecast probability at least .9, no check": ("random", "probability, budget 0.1"),
    }
    page = (DOCS / "measurements.md").read_text(encoding="utf-8")
    for row, (design, rule) in rules.items():
        cells = [row]
        for table in ("crossed_barrel", "direct_arylation", "zinc_logp"):
            missed, accepted = np.transpose([replay[rule] for replay in stored[table][design].values()])
            error = missed.std() / len(missed) ** 0.5
            share = f"{missed.mean():.3f} ± {error:.3f}".replace("0.", ".")
            cells.append(f"{share}, {accepted.mean():.0%}".replace("%", " %") if missed.any() else "0, none")
        assert f"| {' | '.join(cells)} |" in page


@pytest.mark.whole
def test_the_pages_are_read_without_warnings(tmp_path: Path) -> None:
    """All pages but the docstrings: links, headings to link to, pages that no table of contents has."""
    build("dummy", tmp_path, "-t", "quick")


@pytest.mark.slow
def test_the_site_is_built_without_warnings(tmp_path: Path) -> None:
    build("html", tmp_path)
    reference = (tmp_path / "api.html").read_text(encoding="utf-8")
    names = set(calibo.__all__) - {"__version__", "methods"}  # these are no objects of the reference's
    assert not [name for name in names if f'id="calibo.{name}"' not in reference]
    for page in SITE:
        written = (tmp_path / page.relative_to(DOCS)).with_suffix(".html").read_text(encoding="utf-8")
        # Nothing is loaded from elsewhere.
        assert not re.findall(r'(?:src|href)="https?://[^"]*\.(?:js|css)', written)


def test_the_reference_has_every_public_name() -> None:
    listed = re.findall(r"auto(?:function|class|module|exception|data):: calibo\.(\S+)", (DOCS / "api.md").read_text())
    public = set(calibo.__all__) - {"__version__"}
    assert public <= set(listed), f"add to docs/api.md: {', '.join(sorted(public - set(listed)))}"
    for name in public:
        assert (getattr(calibo, name).__doc__ or "").strip(), name


@pytest.mark.whole
def test_the_page_about_spaces_shows_what_is_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_blocks("docs/spaces.md")
    shown = " ".join(" ".join(blocks_of("docs/spaces.md", "text")).split())
    assert " ".join(capsys.readouterr().out.split()) == shown
    (tmp_path / "space.toml").write_text(blocks_of("docs/spaces.md", "toml")[0])
    assert space_from_toml(tmp_path / "space.toml").names == ("water", "ethanol", "glycerol", "salt", "temperature")


@pytest.mark.whole
def test_the_page_about_workers_runs() -> None:
    known = run_blocks("docs/workers.md")
    assert len(known["result"].trials) == 12 and len(known["study"].trials) == 5
