"""Runs, in this process and as a user starts them."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from calibo.cli.app import FAILED, app
from calibo.cli.run import resume_line
from calibo.study import load_result
from calibo.study.attributes import read_output

ROOT = Path(__file__).resolve().parents[2]

SPACE = """
[x]
type = "float"
low = -1.0
high = 1.0

[kind]
type = "categorical"
choices = ["plain", "two words"]
"""

OBJECTIVES = """
def bowl(params):
    return (params["x"] - 0.25) ** 2 + (params["kind"] != "plain")

def never(params):
    return None

def objective(x, kind):
    return x ** 2

def chatty(trial):
    print("hello")
    return trial.suggest_float("x", -1, 1) ** 2 + len(trial.suggest_categorical("kind", ["plain", "two words"]))

def fragile(params):
    return inner() if params["x"] < 0.5 else params["x"]

def inner():
    return 1 / 0

def goals(params):
    return {"error": (params["x"] - 0.25) ** 2, "speed": params["x"]}
"""

TRAIN = """
import sys
x, kind = float(sys.argv[1]), sys.argv[2]
print("training", kind)
if kind != "plain":
    print("cannot train:", kind, file=sys.stderr)
    sys.exit(4)
print((x - 0.25) ** 2)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with objectives, which is the current one."""
    _write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "cli_objectives", raising=False)
    return tmp_path


def _write_files(folder: Path) -> None:
    (folder / "space.toml").write_text(SPACE)
    (folder / "cli_objectives.py").write_text(OBJECTIVES)
    (folder / "train.py").write_text(TRAIN)


def calibo(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def run(*words: str) -> Result:
    return calibo("run", *words, "--no-progress", "--seed", "1")


def errors(result: Result) -> str:
    assert result.exit_code == FAILED, result.output
    assert "Traceback" not in result.output
    return result.stderr


class TestStopping:
    def test_a_run_ends_early_and_says_why(self, folder: Path) -> None:
        words = ["cli_objectives.py:bowl", "--space", "space.toml", "--trials", "60", "--stop-regret", "0.3"]
        first = run(*words, "--stop-confidence", "0.8", "--patience", "40")
        assert first.exit_code == 0, first.output
        said = " ".join(first.stdout.split())
        assert "Stopped early: after" in said
        assert "no point is better than the best one found by more than 0.3 (asked for was 0.8)." in said
        done = len(load_result("calibo.db").trials)
        assert done < 40
        again = run(*words, "--stop-confidence", "0.8")
        assert "Stopped early: after" in " ".join(again.stdout.split())
        assert len(load_result("calibo.db").trials) == done

    def test_patience(self, folder: Path) -> None:
        words = ["cli_objectives.py:bowl", "--space", "space.toml", "--method", "lfbo"]
        result = run(*words, "--trials", "60", "--patience", "3")
        assert "Stopped early: no improvement in the last 3 trials." in result.stdout
        assert len(load_result("calibo.db").trials) < 60

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("--stop-regret", "-1"), "epsilon"),
            (("--stop-regret", "1", "--stop-confidence", "1.5"), "confidence"),
            (("--patience", "0"), "trials of Patience"),
            (("--stop-regret", "1", "--method", "bore"), "bore has none"),
            (("--trials", "5", "--more", "3"), "give either --trials, the total of the study, or --more"),
        ],
    )
    def test_wrong_settings(self, folder: Path, words: tuple[str, ...], said: str) -> None:
        result = run("cli_objectives.py:bowl", "--space", "space.toml", *words)
        assert said in errors(result)
        assert not Path("calibo.db").exists()


class TestRunning:
    def test_a_function_and_again(self, folder: Path) -> None:
        first = run("cli_objectives.py:bowl", "--space", "space.toml", "--trials", "6", "--method", "gp_ei")
        assert first.exit_code == 0, first.output
        assert "Study 'cli_objectives:bowl': 6 trials (6 complete)." in first.stdout
        assert "smallest value is" in first.stdout
        assert "kind = plain" in first.stdout
        assert "intervals" in first.stdout
        again = run("cli_objectives.py:bowl", "--space", "space.toml", "--more", "2", "--report", "r.html")
        assert "Resuming study 'cli_objectives:bowl' in calibo.db: 6 trials (6 complete)." in again.stdout
        assert "8 trials (8 complete)" in again.stdout
        assert (folder / "r.html").stat().st_size > 100_000
        result = load_result(folder / "calibo.db")
        # Without --method a study goes on with its own.
        assert len(result.trials) == 8 and result.method == "gp_ei"
        nothing = run("cli_objectives.py:bowl", "--space", "space.toml", "--trials", "6")
        assert "Nothing to run: --trials is the number of trials in the end, here 6." in nothing.stdout
        assert "0 of 0" not in nothing.stderr

    def test_maximize(self, folder: Path) -> None:
        words = "--space space.toml --trials 2 --maximize --storage sqlite:///other.db --study top"
        done = run("cli_objectives.py:bowl", *words.split())
        assert "largest value is" in done.stdout
        assert load_result("other.db", "top").directions[0].name == "MAXIMIZE"

    def test_objectives_with_names(self, folder: Path) -> None:
        words = "--space space.toml --trials 4 --method gp_ei --directions error=minimize,speed=max"
        done = run("cli_objectives.py:goals", *words.split())
        assert done.exit_code == 0, done.output
        assert "Objective 'error': " in done.stdout and "Objective 'speed': " in done.stdout
        heading = next(line for line in done.stdout.splitlines() if "trial" in line and "speed" in line)
        assert heading.split() == ["trial", "error", "speed", "x", "kind"]
        assert load_result(folder / "calibo.db").names == ("error", "speed")
        shown = calibo("predict", "calibo.db", "--params", '{"x": 0.5, "kind": "plain"}')
        assert re.search(r"^ +speed +next measurement", shown.stdout, re.MULTILINE), shown.stdout
        for wrong in ("error=min,max", "error=min,error=max"):
            refused = run("cli_objectives.py:goals", "--space", "space.toml", "--directions", wrong)
            assert refused.exit_code == FAILED and "a different name for each objective" in refused.stderr
        changed = run("cli_objectives.py:goals", "--space", "space.toml", "--directions", "loss=min,speed=max")
        assert changed.exit_code == FAILED and "are called 'error', 'speed'" in changed.stderr

    def test_a_command(self, folder: Path) -> None:
        command = f"{shlex.quote(sys.executable)} train.py {{x}} {{kind}}"
        done = run("--command", command, "--space", "space.toml", "--trials", "6", "--study", "trained")
        assert done.exit_code == 0, done.output
        result = load_result("calibo.db", "trained")
        assert {entry.params["kind"] for entry in result.trials if entry.value is not None} == {"plain"}
        # One choice makes the command fail: shown with what it complained of, and the run goes on.
        assert result.failures
        assert "exit status 4" in done.stderr
        assert "cannot train: two words" in done.stderr
        assert f"{len(result.failures)} failed" in done.stdout
        # What it printed is kept with its trial.
        printed = {one.number: read_output(one) for one in result.optuna_trials}
        failed, fine = result.failures[0].number, result.best_trial.number
        assert printed[failed] == "training two words\n--- standard error ---\ncannot train: two words"
        assert (printed[fine] or "").splitlines()[0] == "training plain"
        shown = calibo("show", "calibo.db", "trained", "--trial", str(failed))
        assert "It printed, at the end:\n  training two words\n" in shown.stdout
        data = json.loads(calibo("export", "calibo.db", "--json").stdout)
        assert [one["output"] for one in data["trials"]] == list(printed.values())

    def test_json(self, folder: Path) -> None:
        words = ("--space", "space.toml", "--trials", "3", "--method", "GP-EI")
        done = run("cli_objectives.py:chatty", *words, "--json", "--report", "r.html")
        assert done.exit_code == 0, done.output
        data = json.loads(done.stdout)
        assert (data["format"], data["command"], data["study"]) == (1, "run", "cli_objectives:chatty")
        assert data["method"] == "gp_ei" and data["states"] == {"complete": 3}
        result = load_result("calibo.db")
        assert data["best"]["params"] == result.best_params
        assert data["best"]["values"] == {"value": result.best_value}
        assert data["report"] == "r.html" and data["interrupted"] is None and data["stopped"] is None
        assert done.stderr.count("hello") == 3

    def test_quiet(self, folder: Path) -> None:
        words = ("--space", "space.toml", "--trials", "1", "--method", "gp_ei", "--seed", "1")
        done = calibo("run", "cli_objectives.py:bowl", *words, "--quiet")
        assert done.exit_code == 0 and done.output == ""
        assert calibo("run", "cli_objectives.py:bowl", *words, "-q").output == ""

    def test_the_log(self, folder: Path) -> None:
        words = ("cli_objectives.py:fragile", "--space", "space.toml", "--trials", "4", "--method", "gp_ei")
        assert "trial 0 failed" in run(*words, "--study", "a").stderr
        assert run(*words, "--study", "b", "--log-level", "error").stderr == ""
        said = run("cli_objectives.py:bowl", *words[1:-4], "--trials", "7", "--log-level", "debug").stderr
        assert "info: method: " in said and "debug: trial 6 begins: x=" in said and "debug: trial 6 ended: " in said

    def test_the_same_study_by_another_name(self, folder: Path) -> None:
        words = ("--space", "space.toml", "--method", "gp_ei")
        run("cli_objectives.py", *words, "--trials", "1")
        again = run("cli_objectives.py:objective", *words, "--trials", "2")
        assert "Resuming study 'cli_objectives:objective'" in again.stdout
        assert len(load_result("calibo.db").trials) == 2

    def test_a_parameter_that_there_is_not(self, folder: Path) -> None:
        (folder / "wrong.py").write_text("def objective(params):\n    return params['y']\n")
        done = run("wrong.py", "--space", "space.toml", "--trials", "2")
        assert "KeyError: 'y' (wrong.py, line 2)" in done.stderr and "(the parameters are x, kind" in done.stderr

    def test_failures_say_where(self, folder: Path) -> None:
        done = run("cli_objectives.py:fragile", "--space", "space.toml", "--trials", "6", "--method", "gp_ei")
        first, *others = done.stderr.splitlines()
        assert re.fullmatch(r"trial 0 failed: ZeroDivisionError: .* \(cli_objectives\.py, line \d+\)", first)
        assert "in inner" in "".join(others[:6]) and "1 / 0" in "".join(others[:6])
        # Of later ones only the first line.
        assert done.stderr.splitlines()[-1].startswith("trial ") and "calibo/" not in done.stderr

    def test_a_method_of_ones_own(self, folder: Path) -> None:
        (folder / "mine.py").write_text(
            "from calibo import gp_ei\ndef mine():\n    return gp_ei()\nready = gp_ei()\nwrong = 3\n"
        )
        words = ("cli_objectives.py:bowl", "--space", "space.toml")
        assert run(*words, "--trials", "6", "--method", "mine.py:mine").exit_code == 0
        assert load_result("calibo.db").trials[-1].forecast is not None
        assert "cannot be restored from its storage" in errors(run(*words, "--trials", "7"))
        assert run(*words, "--trials", "7", "--method", "mine.py:ready").exit_code == 0
        assert "name a strategy" in errors(run(*words, "--trials", "8", "--method", "mine.py:wrong"))

    def test_an_objective_that_never_works(self, folder: Path) -> None:
        done = run("cli_objectives.py:never", "--space", "space.toml", "--trials", "9")
        assert "none of 5 trials succeeded" in errors(done)
        assert done.stderr.count("must return a finite number, it returned None") >= 5

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ([], "give either FILE.py:FUNCTION or --command"),
            (["cli_objectives.py:bowl"], "give the space with --space"),
            (["cli_objectives.py:bow", "--space", "space.toml"], "has no 'bow'; it has bowl, never"),
            (["cli_objectives.py:bowl", "--space", "space.toml", "--method", "magic"], "unknown method 'magic'"),
            (["cli_objectives.py:bowl", "--space", "space.toml", "--storage", "train.py"], "a storage is a URL"),
            (["cli_objectives.py:bowl", "--space", "space.toml", "--report", "no/r.html"], "cannot be written"),
            (["--command", "echo {x} {kind} {y}", "--space", "space.toml"], "the command has {y}"),
        ],
    )
    def test_errors_come_before_the_first_trial(self, folder: Path, words: list[str], message: str) -> None:
        assert message in errors(run(*words))
        assert not (folder / "calibo.db").exists()

    def test_debug_shows_the_traceback(self, folder: Path) -> None:
        done = calibo("run", "nothing.py:objective", "--space", "space.toml", "--debug")
        assert done.exit_code == FAILED
        assert "Traceback" in done.stderr


COMPOSITE = """
def vector(params):
    return [params["x"] - 0.25, float(params["kind"] != "plain"), params["x"] ** 2]

def g(h):
    return h[:, 0] ** 2 + h[:, 1]

def other(h):
    return h[:, 2]

def loses_rows(h):
    return h.sum()
"""


class TestComposite:
    SPACE = ("--space", "space.toml")
    WORDS = (*SPACE, "--trials", "5")

    @pytest.fixture(autouse=True)
    def composite(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delitem(sys.modules, "cli_composite", raising=False)
        (folder / "cli_composite.py").write_text(COMPOSITE)

    @pytest.mark.extras
    def test_a_function_and_again(self, folder: Path) -> None:
        first = run("cli_composite.py:vector", "--composite", "cli_composite.py:g", *self.WORDS)
        assert first.exit_code == 0, first.output
        again = run("cli_composite.py:vector", "--composite", "cli_composite.py:g", *self.SPACE, "--more", "5")
        assert "10 trials (10 complete)" in again.stdout
        result = load_result("calibo.db")
        assert result.method == "composite_lfbo"
        for entry in result.trials:
            expected = (entry.params["x"] - 0.25) ** 2 + (entry.params["kind"] != "plain")
            assert entry.value == pytest.approx(expected)
        assert calibo("report", "calibo.db", "-o", "r.html").exit_code == 0
        assert "made with another composite function" in errors(
            run("cli_composite.py:vector", "--composite", "cli_composite.py:other", *self.WORDS)
        )
        assert "--composite FILE.py:g" in errors(run("cli_composite.py:vector", *self.WORDS))

    @pytest.mark.extras
    def test_a_command_that_prints_a_vector(self, folder: Path) -> None:
        code = "import sys; x = float(sys.argv[1]); print([x - 0.25, float(sys.argv[2] != 'plain'), x * x])"
        command = f"{shlex.quote(sys.executable)} -c {shlex.quote(code)} {{x}} {{kind}}"
        words = ("--composite", "cli_composite.py:g", "--study", "printed", "--maximize", *self.WORDS)
        done = run("--command", command, *words)
        assert done.exit_code == 0, done.output
        entry = load_result("calibo.db", "printed").trials[-1]
        assert entry.value == pytest.approx((entry.params["x"] - 0.25) ** 2 + (entry.params["kind"] != "plain"))

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--composite", "cli_composite.py:h"], "has no 'h'; it has vector, g, other"),
            (["--composite", "cli_composite.py:g", "--method", "ocbo"], "ocbo does not take composite="),
            (
                ["--composite", "cli_composite.py:g", "--directions", "min,min"],
                "a composite objective is one objective",
            ),
            (["--method", "composite_lfbo"], "--composite FILE.py:g"),
        ],
    )
    def test_errors_come_before_the_first_trial(self, folder: Path, words: list[str], message: str) -> None:
        assert message in errors(run("cli_composite.py:vector", *self.WORDS, *words))
        assert not (folder / "calibo.db").exists()

    @pytest.mark.extras
    def test_what_a_trial_gets_wrong(self, folder: Path) -> None:
        number = run("cli_objectives.py:bowl", "--composite", "cli_composite.py:g", *self.WORDS)
        assert "none of 5 trials succeeded" in errors(number) and "a row of finite numbers" in number.stderr
        rows = run("cli_composite.py:vector", "--composite", "cli_composite.py:loses_rows", *self.WORDS)
        assert "returns one value for each of the m vectors" in errors(rows)


@pytest.mark.parametrize(
    "options",
    [
        "train.py:f --space s.toml --trials {}",
        "--space s.toml --command 'python train.py x' --trials {} --method ocbo",
        "f.py --space s.toml --trials {} --storage s.db --study 'a study' --seed 3 --maximize",
        "f.py --space s.toml --trials {} --directions min,max --reference 1.5,0 --no-progress",
        "f.py --space s.toml --trials {} --composite 'my model.py:g' --timeout 60.0 --report r.html",
        "f.py --space s.toml --trials {} --fixed k=a --fixed 'n=two words' --context t=21.5",
    ],
)
def test_the_line_to_resume_with(options: str) -> None:
    command = typer.main.get_command(app).commands["run"]  # pyright: ignore
    context = command.make_context("run", shlex.split(options.format(50)))
    assert resume_line(context) == f"calibo run {options.format(50)}"
    more = options.format(50).replace("--trials 50", "--more 20")
    context = command.make_context("run", shlex.split(more))
    assert sorted(shlex.split(resume_line(context, 7))) == sorted(
        ["calibo", "run", *shlex.split(more.replace("20", "7"))]
    )


def _process(words: list[str], folder: Path) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "calibo", *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.whole
def test_interruption_says_how_to_resume(folder: Path) -> None:
    log = folder / "log"
    slow = f"""
import time
def objective(params):
    with open({str(log)!r}, "a") as log:
        log.write("x")
    if len(open({str(log)!r}).read()) == 4:
        time.sleep(60)
    return params["x"] ** 2
"""
    (folder / "slow.py").write_text(slow)
    words = ["run", "slow.py", "--space", "space.toml", "--trials", "5", "--seed", "1", "--report", "r.html"]
    process = _process(words, folder)
    deadline = time.monotonic() + 60
    while not (log.exists() and len(log.read_text()) == 4):
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, complaint = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT, complaint
    assert "Traceback" not in complaint
    assert "Stopped. All 3 completed trials are stored. To go on:" in output
    assert "Wrote r.html" in output and (folder / "r.html").stat().st_size > 100_000
    line = re.search(r"^  (calibo run .*)$", output, flags=re.MULTILINE)
    assert line is not None
    resumed = calibo(*shlex.split(line.group(1))[1:], "--no-progress")
    assert resumed.exit_code == 0, resumed.output
    assert "Resuming study 'slow:objective'" in resumed.stdout
    states = [entry.state for entry in load_result(folder / "calibo.db").trials]
    assert states.count("complete") == 5
    assert states.count("interrupted") == 1
