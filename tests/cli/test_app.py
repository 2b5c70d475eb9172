"""The commands that read a study, and what all commands have in common."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner, Result

from calibo import Categorical, Float, __version__, minimize
from calibo.cli.app import FAILED, app, complete_methods, complete_studies


def calibo(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def errors(result: Result) -> str:
    assert result.exit_code == FAILED, result.output
    assert "Traceback" not in result.output
    return result.stderr


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study that is only read."""
    folder = tmp_path_factory.mktemp("finished")
    space = {"x": Float(-1, 1), "kind": Categorical(["plain", "two words"])}
    settings = {"storage": folder / "s.db", "study_name": "b", "seed": 1, "progress": False}
    minimize(lambda p: p["x"] ** 2 + (p["kind"] != "plain"), space, 7, **settings)  # pyright: ignore
    return folder


class TestReading:
    @pytest.fixture
    def study(self, finished: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        monkeypatch.chdir(finished)
        return "s.db"

    def test_predict(self, study: str, finished: Path) -> None:
        point = '{"x": 0.5, "kind": "two words"}'
        done = calibo("predict", study, "b", "--params", point, "--params", '{"x": 0, "kind": "plain"}')
        assert done.exit_code == 0, done.output
        assert "two words" in done.stdout
        # Once for each point, and in words.
        rests = [line.strip().split(maxsplit=2)[2] for line in done.stdout.splitlines() if "rests on" in line]
        assert len(rests) == 2 and all(
            w in ("model alone", "mostly the model") or "similar forecast" in w for w in rests
        )
        (finished / "points.csv").write_text("x,kind\n0.5,two words\n")
        done = calibo("predict", study, "--params", "points.csv", "--csv", "out.csv")
        assert done.exit_code == 0, done.output
        assert pd.read_csv("out.csv")["kind"].tolist() == ["two words"]
        done = calibo("predict", study, "--params", "points.csv", "--csv", "-")
        assert done.stdout.startswith("x,kind,mean,median,")
        assert done.stdout.splitlines()[0].endswith(",similar_forecasts,calibration")

    def test_report(self, study: str, finished: Path) -> None:
        done = calibo("report", study, "b", "-o", "out.html")
        assert done.exit_code == 0, done.output
        assert "Wrote out.html" in done.stdout
        assert "<html" in (finished / "out.html").read_text(encoding="utf-8")[:2000].lower()

    def test_json(self, study: str) -> None:
        done = calibo("predict", study, "--params", '{"x": 0.5, "kind": "plain"}', "--json")
        data = json.loads(done.stdout)
        assert data["command"] == "predict" and data["states"] == {"complete": 7}
        assert data["predictions"][0]["params"] == {"x": 0.5, "kind": "plain"}
        assert data["predictions"][0]["measured_low_80"] < data["predictions"][0]["median"]
        done = calibo("report", study, "-o", "j.html", "--json")
        assert json.loads(done.stdout)["report"] == "j.html"
        assert calibo("report", study, "-o", "j.html", "--quiet").output == ""

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["predict", "s.db", "--params", '{"x": 0.5}'], "missing ['kind']"),
            (["predict", "s.db", "--params", '{"x": 5, "kind": "plain"}'], "lies outside"),
            (["report", "s.db", "c"], "there is no study 'c'"),
            (["report", "t.db"], "t.db: there is no such file"),
            (["report", "s.db", "-o", "no/where.html"], "there is no folder no"),
        ],
    )
    def test_errors(self, study: str, finished: Path, words: list[str], message: str) -> None:
        assert message in errors(calibo(*words))
        assert not (finished / "t.db").exists()


def test_methods_and_version() -> None:
    assert "ocbo" in calibo("methods").stdout
    assert calibo("--version").stdout.strip() == f"calibo {__version__}"
    listed = json.loads(calibo("methods", "--json").stdout)["methods"]
    assert {"name", "summary", "paper"} == set(listed[0]) and "gp_ei" in [one["name"] for one in listed]


def test_no_command_is_described_by_half_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = calibo("--help").stdout.partition("Commands:")[2].strip().splitlines()
    assert len(listed) > 15 and all(line.endswith(".") and not line.endswith("...") for line in listed)


def test_did_you_mean() -> None:
    assert "Did you mean 'run'?" in calibo("rnu").stderr
    assert "--trials" in calibo("run", "--trails", "3").stderr


def test_every_command_has_the_common_options() -> None:
    commands = typer.main.get_command(app).commands  # pyright: ignore
    assert typer.main.get_command(app).list_commands(None)[0] == "run"  # pyright: ignore
    for name, command in commands.items():
        options = {option for parameter in command.params for option in parameter.opts}
        assert {"--log-level", "--debug"} <= options, name


def test_completion(finished: Path) -> None:
    assert [name for name, _ in complete_methods("BANANAS")] == ["bananas_cp", "bananas"]
    context = typer.Context(typer.main.get_command(app))  # pyright: ignore
    context.params = {"storage": str(finished / "s.db")}
    assert complete_studies(context, "") == ["b"] and complete_studies(context, "c") == []
    context.params = {"storage": str(finished / "none.db")}
    assert complete_studies(context, "") == []
    shell = {"_CALIBO_COMPLETE": "complete_bash", "COMP_WORDS": "calibo st", "COMP_CWORD": "1"}
    done = CliRunner().invoke(app, [], env=shell, prog_name="calibo")
    assert done.stdout.split() == ["studies"]
