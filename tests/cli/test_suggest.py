"""``calibo suggest``: what it prints, reads and writes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from calibo.cli.app import FAILED, app
from calibo.tables.sheets import Dialect, read_sheet, write_sheet

SPACE = """
[temperature]
type = "float"
low = 20.0
high = 100.0

[loading]
type = "float"
low = 0.5
high = 10.0
log = true

[base]
type = "categorical"
choices = ["KOH", "K2CO3"]
"""

MIXED = """
constraints = ["heat + 100 * salt <= 95"]

[recipe]
type = "mixture"
components = {water = [0.2, 1.0], salt = [0.0, 0.5], sugar = [0.0, 0.5]}

[heat]
type = "float"
low = 20.0
high = 90.0

[stirrer]
type = "categorical"
choices = ["paddle", "anchor"]

[humidity]
type = "float"
low = 10.0
high = 90.0
context = true
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with spaces, which is the current one, in a terminal of 80 columns."""
    (tmp_path / "space.toml").write_text(SPACE)
    (tmp_path / "lab.toml").write_text(SPACE + '\n[outcomes]\nyield = "max"\ncost = "min"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["suggest", *words])


def done(*words: str) -> str:
    result = run(*words, "--method", "gp_ei")
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    return result.stdout


def fill(path: str, dialect: Dialect | None = None) -> None:
    """Fill in the results of a table."""
    sheet = read_sheet(Path(path))

    def number(cell: Any) -> float:
        return float(str(cell).replace(",", "."))

    rows = [dict(row) for _, row in sheet.rows]
    for row in rows:
        heat, load = number(row["temperature"]), number(row["loading"])
        value = 80.0 - ((heat - 70.0) / 10.0) ** 2 + 5.0 * math.log10(load) + 4.0 * (row["base"] == "KOH")
        row["yield"] = f"{value:.2f}".replace(".", sheet.dialect.decimal) if path.endswith("csv") else round(value, 2)
    write_sheet(Path(path), rows, dialect or sheet.dialect)


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_three_rounds(folder: Path, ending: str) -> None:
    first = done("space.toml", "--target", "yield", "-n", "6", "-o", f"r1.{ending}")
    assert "Round 1: 0 results." in first and "these experiments are spread over the space" in " ".join(first.split())
    assert f"Wrote r1.{ending}" in first and "too early" not in first
    fill(f"r1.{ending}")
    second = done("space.toml", "--target", "yield", "--results", f"r1.{ending}", "-n", "5", "-o", f"r2.{ending}")
    assert "Round 2: 6 results." in second and "no forecast has met its result yet" in second
    assert "yield (80 %)" in second and "better" in second and " %" in second
    fill(f"r2.{ending}")
    tables = ("--results", f"r1.{ending}", "--results", f"r2.{ending}")
    third = " ".join(done("space.toml", "--target", "yield", *tables, "-n", "3").split())
    assert "Round 3: 11 results." in third and "yield: of 5 results" in third and "E012" in third
    names = {path.name for path in folder.iterdir()}
    assert names == {"space.toml", "lab.toml", f"r1.{ending}", f"r2.{ending}", "space.toml.calibo.json"}


def test_a_german_table_is_answered_in_german(folder: Path) -> None:
    rows = [
        {"Temperature": 30.5 + 10 * i, "loading": 1.25, "base": "KOH", "Bemerkung": "größer", "yield": 70.0 + i}
        for i in range(6)
    ]
    write_sheet(Path("werte.csv"), rows, Dialect(";", ",", "cp1252"))
    assert b"30,5;1,25;KOH;gr\xf6\xdfer;70,0" in Path("werte.csv").read_bytes()
    shown = done("space.toml", "--target", "yield", "--results", "werte.csv", "-n", "3", "-o", "plan.csv")
    assert "6 results." in shown
    written = Path("plan.csv").read_text(encoding="cp1252").splitlines()
    assert written[0].startswith("experiment;temperature;loading;base;yield;mean;low_80;high_80;")
    assert all(line.count(";") == written[0].count(";") for line in written) and "," in written[1]
    fill("plan.csv")
    both = ("--results", "werte.csv", "--results", "plan.csv")
    assert "yield: of 3 results" in " ".join(done("space.toml", "--target", "yield", *both).split())


@pytest.mark.whole
def test_a_mixture_with_fixed_and_context_values(folder: Path) -> None:
    Path("mixed.toml").write_text(MIXED)
    words, tables = ["mixed.toml", "--target", "strength", "--fixed", "stirrer=anchor"], list[str]()
    for number, humidity in enumerate((40.5, 62.0, 95.0), start=1):
        output = f"r{number}.xlsx"
        result = run(*words, *tables, "--context", f"humidity={humidity}", "-n", "9", "-o", output, "--method", "gp_ei")
        assert result.exit_code == 0, result.output
        assert max(map(len, result.stdout.splitlines())) <= 80
        rows = [dict(row) for _, row in read_sheet(Path(output)).rows]
        for row in rows:
            amounts = [float(row[name]) for name in ("water", "salt", "sugar")]
            assert sum(amounts) == pytest.approx(1.0, abs=1e-9) and all(len(str(one)) <= 7 for one in amounts)
            assert amounts[0] >= 0.2 and min(amounts[1:]) >= 0.0 and max(amounts[1:]) <= 0.5
            assert float(row["heat"]) + 100.0 * amounts[1] <= 95.0 + 1e-9
            assert row["stirrer"] == "anchor" and float(row["humidity"]) == humidity
            row["strength"] = round(
                amounts[1] + amounts[2] * float(row["heat"]) / 90.0 - float(row["humidity"]) / 300.0, 4
            )
        # The day was more humid than expected when the last experiment was made.
        rows[-1]["humidity"] = 70.0
        write_sheet(Path(output), rows)
        tables += ["--results", output]
    assert "Round 3: 18 results." in result.stdout
    # Those of round 2 had forecasts; one in another context is made anew.
    assert "strength: of 9 results" in " ".join(result.stdout.split())


def test_notes_name_the_rows_that_are_odd(folder: Path) -> None:
    branch = '\n[dose]\ntype = "float"\nlow = 1.0\nhigh = 5.0\nwhen = { stirrer = "anchor" }\n'
    Path("mixed.toml").write_text(MIXED + branch)
    usual = {"water": 0.6, "salt": 0.2, "sugar": 0.2, "heat": 50.0, "stirrer": "anchor", "humidity": 50.0, "dose": 2.0}
    changes: list[dict[str, Any]] = [
        {},
        {"water": 0.5},
        {"stirrer": "paddle"},
        {"dose": None},
        {"stirrer": "paddle", "dose": None},
        {"heat": 120.0},
        {"water": 0.4, "sugar": 0.4},
    ]
    rows = [{**usual, **change, "strength": 1.0 + 0.1 * i} for i, change in enumerate(changes)]
    write_sheet(Path("odd.csv"), rows)
    result = run("mixed.toml", "--target", "strength", "--results", "odd.csv", "--context", "humidity=60", "-n", "2")
    assert result.exit_code == 0 and "warning" not in result.output
    said = " ".join(result.output.split())
    assert "5 results" in said
    assert "row 3 breaks 'water + salt + sugar == 1': it counts as measured" in said
    assert "row 4: dose is ignored, as it is inactive" in said
    assert "row 5 is left out, as it is not in the space: missing 'dose'" in said
    assert "row 7 is left out, as it is not in the space: 'heat': 120" in said


def test_outcomes_in_the_file_of_the_space(folder: Path) -> None:
    done("lab.toml", "-n", "2", "-o", "both.csv")
    assert read_sheet(Path("both.csv")).columns[3:6] == ("base", "yield", "cost")
    done("lab.toml", "--target", "cost", "-n", "2", "--no-study", "-o", "one.csv")
    assert read_sheet(Path("one.csv")).columns[3:6] == ("base", "cost", "mean")


def test_files_of_descriptors_lie_beside_that_of_the_space(folder: Path) -> None:
    text = SPACE.replace('"K2CO3"]', '"K2CO3"]\ndescriptors = "bases.csv"') + '\n[outcomes]\nyield = "max"\n'
    Path("sub").mkdir()
    Path("sub/space.toml").write_text(text)
    Path("sub/bases.csv").write_text("base,pKa\nKOH,15.7\nK2CO3,10.3\n")
    done("sub/space.toml", "-n", "2", "-o", "next.csv")
    assert {cells["base"] for _, cells in read_sheet(Path("next.csv")).rows} <= {"KOH", "K2CO3"}


def test_one_table_is_wider_than_the_terminal(folder: Path) -> None:
    many = "".join(f'[parameter_number_{i}]\ntype = "float"\nlow = 0.0\nhigh = 1.0\n\n' for i in range(9))
    Path("wide.toml").write_text(many)
    shown = done("wide.toml", "--target", "y", "-n", "2")
    assert shown.count("  experiment ") == 3 and "parameter_number_8" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("space.toml",), 'yield = "max"'),
        (("space.toml", "--direction", "min"), "give --target, too"),
        (("space.toml", "--target", "a", "--target", "a"), "different columns"),
        (("space.toml", "--target", "a", "--direction", "min", "--direction", "max"), "one for each of the 1 targets"),
        (("space.toml", "--target", "a", "--direction", "up"), "a direction is"),
        (("space.toml", "--target", "a", "-o", "next.pdf"), "ends in .csv, .tsv, .xlsx"),
        (("space.toml", "--target", "a", "-o", "space.toml.csv", "--study", "space.toml.csv"), "never replaced"),
        (("missing.toml", "--target", "a"), "cannot be read"),
        (("space.toml", "--target", "a", "--results", "none.csv"), "is not there"),
        (("space.toml", "--target", "a", "--fixed", "base"), "--fixed takes NAME=VALUE"),
        (("space.toml", "--target", "a", "--fixed", "base=milk"), "'milk' is not a choice"),
        (("mixed.toml", "--target", "a"), "humidity is observed, not chosen: say what it is"),
        (("day.toml", "--target", "a"), "humidity, pressure are observed, not chosen: say what they are"),
        (("space.toml", "--target", "a", "--context", "base=KOH"), "is no context of the space"),
        (("bad.toml",), "[outcomes] has lines such as"),
    ],
)
def test_errors_are_explained(folder: Path, words: tuple[str, ...], said: str) -> None:
    Path("mixed.toml").write_text(MIXED)
    Path("day.toml").write_text(MIXED + '\n[pressure]\ntype = "float"\nlow = 990\nhigh = 1030\ncontext = true\n')
    Path("bad.toml").write_text(SPACE + "\n[outcomes]\nyield = 3\n")
    result = run(*words)
    assert result.exit_code == FAILED and "Traceback" not in result.output
    assert said in " ".join(result.stderr.split())
    assert not Path("space.toml.calibo.json").exists()


def test_a_file_is_replaced_only_with_force(folder: Path) -> None:
    words = ("space.toml", "--target", "yield", "-n", "2", "-o", "next.csv")
    done(*words)
    refused = run(*words)
    assert refused.exit_code == FAILED and "next.csv exists" in refused.stderr
    done(*words, "--force")
