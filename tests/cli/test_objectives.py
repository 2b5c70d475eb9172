"""Functions, spaces and commands named on the command line."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from calibo.cli.objectives import CommandObjective, _outcome, load_composite, load_objective, load_space
from calibo.data import Outcome
from calibo.errors import ObjectiveError, SpaceError
from calibo.spaces import Float, PoolSpace, ProductSpace

PYTHON = sys.executable


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


class TestFunctions:
    def test_by_name_and_by_default(self, tmp_path: Path) -> None:
        file = _write(tmp_path / "some_objective.py", "def objective(p): return p['x']\ndef other(p): return -p['x']\n")
        assert load_objective(f"{file}:other", ["x"])({"x": 2.0}) == -2.0
        assert load_objective(str(file), ["x"])({"x": 2.0}) == 2.0
        known = _write(tmp_path / "known.py", "def composite(h): return -h.sum(-1)\ng = 3.0\n")
        assert load_composite(str(known))(np.array([[1.0, 2.0]])) == -3.0
        with pytest.raises(ObjectiveError, match="g is a float; name a function of a torch tensor"):
            load_composite(f"{known}:g")

    def test_files_beside_it_can_be_imported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "path", [*sys.path])
        _write(tmp_path / "calibo_test_helper.py", "SHIFT = 3.0\n")
        file = _write(
            tmp_path / "with_helper.py",
            "from calibo_test_helper import SHIFT\ndef objective(p): return p['x'] + SHIFT\n",
        )
        assert load_objective(f"{file}:objective", ["x"])({"x": 1.0}) == 4.0

    def test_a_file_is_loaded_once(self, tmp_path: Path) -> None:
        log = tmp_path / "log"
        file = _write(
            tmp_path / "loaded_once.py",
            f"open({str(log)!r}, 'a').write('x')\nspace = {{}}\ndef objective(p): return 0.0\n",
        )
        load_objective(f"{file}:objective", ["x"])
        with pytest.raises(SpaceError):
            load_space(f"{file}:space")
        assert log.read_text() == "x"

    def test_a_file_called_like_a_package_does_not_replace_it(self, tmp_path: Path) -> None:
        import json

        file = _write(tmp_path / "json.py", "def objective(p): return 1.0\n")
        assert load_objective(f"{file}:objective", ["x"])({}) == 1.0
        assert sys.modules["json"] is json

    @pytest.mark.parametrize(
        ("text", "reference", "message"),
        [
            ("x = 1\n", "{file}:objective", "has no 'objective'; it has x"),
            ("objective = 1\n", "{file}:objective", "is a int; name a function"),
            ("import calibo_missing_package\n", "{file}:objective", "ModuleNotFoundError.*line 1"),
            ("def f(:\n", "{file}:objective", "SyntaxError"),
            ("", "nowhere/to/be/found.py:objective", "there is no such file"),
        ],
    )
    def test_errors(self, tmp_path: Path, text: str, reference: str, message: str) -> None:
        file = _write(tmp_path / "faulty.py", text)
        with pytest.raises(ObjectiveError, match=message):
            load_objective(reference.format(file=file), ["x"])


class TestSpaces:
    def test_toml(self, tmp_path: Path) -> None:
        file = _write(tmp_path / "space.toml", '[x]\ntype = "float"\nlow = 0\nhigh = 1\n')
        assert load_space(str(file)) == ProductSpace({"x": Float(0, 1)})

    def test_python(self, tmp_path: Path) -> None:
        file = _write(
            tmp_path / "spaces.py",
            "from calibo import Float\nspace = {'x': Float(0, 1)}\n"
            "def made(): return {'x': Float(0, 1)}\nrows = [{'x': 1.0}, {'x': 2.0}]\n",
        )
        assert load_space(str(file)) == load_space(f"{file}:made") == ProductSpace({"x": Float(0, 1)})
        assert isinstance(load_space(f"{file}:rows"), PoolSpace)

    def test_not_a_space(self, tmp_path: Path) -> None:
        with pytest.raises(SpaceError, match=r"FILE\.toml or FILE\.py:name"):
            load_space("space.yaml")
        file = _write(tmp_path / "no_space.py", "space = 3\n")
        with pytest.raises(SpaceError, match=r"no_space\.py: a space must be"):
            load_space(str(file))


class TestCommandLines:
    def test_values_stay_one_word(self) -> None:
        objective = CommandObjective.parse(f"{PYTHON} -c 'some code' --a={{a}} {{b}}{{a}}", ["a", "b"])
        words = objective.arguments({"a": "x; rm -rf 'y' $HOME", "b": 0.1})
        assert words == [PYTHON, "-c", "some code", "--a=x; rm -rf 'y' $HOME", "0.1x; rm -rf 'y' $HOME"]

    @pytest.mark.parametrize("value", [0.1 + 0.2, 1e-300, -5e-324, 1.7976931348623157e308, -0.0])
    def test_floats_keep_all_digits(self, value: float) -> None:
        objective = CommandObjective.parse(f"{PYTHON} {{x}}", ["x"])
        assert float(objective.arguments({"x": value})[1]) == value

    def test_names_with_dots_and_escaped_braces(self) -> None:
        objective = CommandObjective.parse(f"{PYTHON} '{{{{\"lr\": {{model.lr}}}}}}'", ["model.lr"])
        assert objective.arguments({"model.lr": 0.5})[1] == '{"lr": 0.5}'

    @pytest.mark.parametrize(
        ("command", "message"),
        [
            ("{python} {x} {y}", "has {y}, but the space has {x}"),
            ("{python} x", "does not use {x}"),
            ("{python} {x", "a placeholder is {name}"),
            ("{python} {x:.3f}", "the name of a parameter in braces"),
            ("{python} 'open {x}", "cannot be split"),
            ("", "is empty"),
            ("no-such-program-anywhere {x}", "was not found"),
        ],
    )
    def test_errors_before_the_first_trial(self, command: str, message: str) -> None:
        with pytest.raises(ObjectiveError, match=message):
            CommandObjective.parse(command.replace("{python}", PYTHON), ["x"])


class TestCommandRuns:
    @staticmethod
    def _objective(code: str) -> CommandObjective:
        escaped = code.replace("{", "{{").replace("}", "}}")
        return CommandObjective.parse(f'{PYTHON} -c "{escaped}" {{x}}', ["x"])

    def test_the_last_line_is_the_value(self) -> None:
        objective = self._objective("import sys; print('epoch 1'); print(2 * float(sys.argv[1])); print()")
        assert objective({"x": 1.25}) == Outcome(2.5)

    def test_several_numbers_and_constraints(self) -> None:
        both = CommandObjective.parse(f'{PYTHON} -c "print(1, 2.5)" {{x}}', ["x"], 2)
        assert both({"x": 1}) == Outcome((1.0, 2.5))
        line = '{\\"values\\": [3, 4], \\"constraints\\": {\\"memory\\": -1.5}}'
        escaped = line.replace("{", "{{").replace("}", "}}")
        limited = CommandObjective.parse(f"{PYTHON} -c \"print('{escaped}')\" {{x}}", ["x"], 2)
        assert limited({"x": 1}) == Outcome((3.0, 4.0), {"memory": -1.5})
        assert _outcome("(7.0, 2)", None) == _outcome("[7, 2]", None) == Outcome((7.0, 2.0))
        assert _outcome('{"values": [3, 4], "constraints": [-1.5]}', 2) == Outcome((3.0, 4.0), {"0": -1.5})
        for sem in ("0.5", "[0.5]"):
            assert _outcome(f'{{"values": 3, "sem": {sem}}}', 1) == Outcome(3.0, sem=0.5)
        assert _outcome('{"values": [3, 4], "sem": [0.5, 0]}', 2) == Outcome((3.0, 4.0), sem=(0.5, 0.0))
        for sem in ("[0.5]", "0.5", "[0.5, -1]"):
            with pytest.raises(ValueError, match=r"standard error \(sem\) must"):
                _outcome(f'{{"values": [3, 4], "sem": {sem}}}', 2)
        by_name = '{"values": {"speed": 4, "error": 3}, "sem": {"error": 0.5, "speed": 0}}'
        assert _outcome(by_name, 2, ("error", "speed")) == Outcome((3.0, 4.0), sem=(0.5, 0.0))
        with pytest.raises(ValueError, match="names of the objectives"):
            _outcome(by_name, 2, ("error", "time"))
        with pytest.raises(ValueError, match=r'may have "constraints" and "sem", got \[\'noise\', \'values\'\]'):
            _outcome('{"values": 3, "noise": 1}', 1)
        with pytest.raises(ValueError, match="constraints are numbers by name"):
            _outcome('{"values": 3, "constraints": 7}', 1)
        for line in ("print(1)", "print(1, 2, 3)", "print(1, 'a')"):
            with pytest.raises(ObjectiveError, match="the last line of its output is"):
                CommandObjective.parse(f'{PYTHON} -c "{line}" {{x}}', ["x"], 2)({"x": 1})

    def test_no_shell(self, tmp_path: Path) -> None:
        objective = self._objective("print(1)")
        assert objective({"x": f"; touch {tmp_path / 'made'}"}) == Outcome(1.0)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("code", "message"),
        [
            ("import sys; print('no memory', file=sys.stderr); sys.exit(3)", r"exit status 3\n    no memory"),
            ("pass", "it printed nothing, not a number"),
            ("print(float('nan'))", "the value it printed is nan"),
            ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended by SIGKILL and printed nothing"),
        ],
    )
    def test_failures(self, code: str, message: str) -> None:
        with pytest.raises(ObjectiveError, match=message):
            self._objective(code)({"x": 1.0})

    def test_only_the_end_of_the_output_is_shown(self) -> None:
        objective = self._objective("import sys; [print('line', i, file=sys.stderr) for i in range(5000)]; sys.exit(1)")
        with pytest.raises(ObjectiveError) as caught:
            objective({"x": 1.0})
        assert "line 4999" in str(caught.value)
        assert len(str(caught.value).splitlines()) < 20

    def test_an_interruption_stops_the_command(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        started: list[subprocess.Popen[bytes]] = []
        wait = subprocess.Popen.wait

        def interrupted(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
            if not started:
                started.append(process)
                raise KeyboardInterrupt
            return wait(process, timeout)

        monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
        before = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            self._objective("import time; time.sleep(60)")({"x": 1.0})
        assert started[0].poll() is not None
        assert time.monotonic() - before < 30
