"""What all commands have in common."""

from __future__ import annotations

import json
import logging
import math
import warnings
from datetime import datetime

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from calibo.cli import answering
from calibo.cli.answering import LOGGER, Answer, Debug, Quiet, explained, plain
from calibo.errors import FallbackWarning, StudyError


@pytest.fixture
def app() -> typer.Typer:
    """Commands that answer, that only do something, and that fail."""
    made = typer.Typer()

    @made.command()
    @explained
    def speak(code: int = 0, quiet: Quiet = False, debug: Debug = False) -> Answer:
        print("printed by somebody else")
        warnings.warn("careful", FallbackWarning, stacklevel=2)
        LOGGER.info("by the way")
        return Answer(lambda: typer.echo("said"), lambda: {"x": math.inf}, code)

    @made.command()
    @explained
    def fail(debug: Debug = False) -> None:
        raise StudyError("no, sqlite://me:secret@host/db")

    return made


@pytest.mark.parametrize("words", [[], ["--json"], ["--quiet"]])
def test_an_answer(app: typer.Typer, words: list[str]) -> None:
    done = CliRunner().invoke(app, ["speak", "--code", "3", *words])
    assert done.exit_code == 3
    if words == ["--json"]:
        assert json.loads(done.stdout) == {"format": 1, "command": "speak", "x": None}
        assert "printed by somebody else" in done.stderr
    else:
        assert done.stdout == "printed by somebody else\n" + ("" if words else "said\n")
    assert "warning: careful" in done.stderr and "by the way" not in done.stderr


def test_the_log_and_its_level(app: typer.Typer) -> None:
    before = (list(LOGGER.handlers), LOGGER.level)
    assert "info: by the way\n" in CliRunner().invoke(app, ["speak", "--log-level", "INFO"]).stderr
    assert CliRunner().invoke(app, ["speak", "--log-level", "error"]).stderr == ""
    assert (LOGGER.handlers, LOGGER.level) == before
    assert CliRunner().invoke(app, ["speak", "--log-level", "loud"]).exit_code == 2


def test_errors_are_a_line_without_passwords(app: typer.Typer) -> None:
    done = CliRunner().invoke(app, ["fail"])
    assert done.exit_code == 2 and done.stdout == ""
    assert done.stderr.startswith("error: no, ") and "secret" not in done.stderr
    assert "Traceback" in CliRunner().invoke(app, ["fail", "--debug"]).stderr
    assert CliRunner().invoke(app, ["fail", "--json"]).exit_code == 2  # it has nothing to answer


def test_plain_data() -> None:
    given = {"a": np.float64(1.5), 2: (np.int64(3), math.nan, None, True), "t": datetime(2026, 1, 2), "v": np.ones(2)}
    known = {"a": 1.5, "2": [3, None, None, True], "t": "2026-01-02T00:00:00", "v": [1.0, 1.0]}
    assert plain(given) == known
    assert plain({"f": len}) == {"f": str(len)} and logging.getLogger("calibo") is LOGGER


def test_messages_are_broken_between_words_in_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log keeps one line for one message, which programs look for."""
    monkeypatch.setenv("COLUMNS", "30")
    message = "a message of quite some words, and of 'a/name/that/is/longer/than/the/line'"
    assert answering._for_terminal(message) == message
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    lines = answering._for_terminal(message).split("\n")
    assert lines == ["a message of quite some words,", "  and of", "  'a/name/that/is/longer/than/the/line'"]
