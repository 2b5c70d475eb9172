"""Processes that a run starts: what they can be given, and what they send back."""

from __future__ import annotations

import multiprocessing
import pickle
from typing import Any

import pytest

from calibo.errors import RecipeError
from calibo.study.processes import reason_of, sendable, started


def test_a_reason_is_found_for_any_exception() -> None:
    class Bad(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert reason_of(Bad()) == "Bad: its message cannot be shown"
    assert len(reason_of(ValueError("x" * 10**6))) == 500


class Locked(Exception):
    """Cannot be read by another process: it takes two arguments, and pickle gives it one."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(what)


def test_what_cannot_be_sent_is_replaced() -> None:
    assert pickle.loads(sendable({"a": 1}, lambda: "other")) == {"a": 1}
    for answer in (Locked("a", "b"), lambda: 1):
        assert pickle.loads(sendable(answer, lambda: "other")) == "other"


def echo(words: str, answers: Any) -> None:
    answers.send_bytes(words.encode())
    answers.close()


def test_a_process_answers_on_its_pipe() -> None:
    answers, process = started(echo, "hello", remedy="none")
    assert answers.recv_bytes() == b"hello"
    process.join(10)
    assert process.exitcode == 0


def test_what_cannot_be_given_to_a_process_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none: "spawn")
    with pytest.raises(RecipeError, match="cannot be given to it .*: define it elsewhere"):
        started(lambda answers: None, remedy="define it elsewhere")
