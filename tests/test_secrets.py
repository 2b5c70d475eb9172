"""No password is shown, however a storage is written."""

from __future__ import annotations

import traceback

import pytest

from calibo.errors import CaliboError
from calibo.secrets import redacted, without_secrets
from calibo.study import load_result, open_storage

URLS = [
    "postgresql+psycopg://u:s3cret@127.0.0.1:1/x",
    "postgresql+psycopg://u:s3cret@127.0.0.1:abc/x",
    "postgresql+psycopg://u:s3{c}ret@127.0.0.1:1/x",
    "postgresql+psycopg://u:s3cr%40et@127.0.0.1:1/x",
    "postgresql+psycopg://u:s3:cr@et@127.0.0.1:1/x",
    "postgresql+psycopg://127.0.0.1:1/x?user=u&password=s3cret&sslmode=require",
    "postgresql+psycopg://127.0.0.1:1/x?PassWord=s3cret",
    "mysql+nosuchdriver://u:s3cret@h/x",
    "foo://u:s3cret@h/x",
    "postgresql+psycopg://u:s3cret@[::1/x",
    "u:s3cret@host password=s3cret",
]


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("use", [open_storage, load_result])
def test_no_message_or_traceback_has_the_password(url: str, use: object) -> None:
    with pytest.raises(CaliboError) as caught:
        use(url)  # pyright: ignore[reportCallIssue]
    shown = "".join(traceback.format_exception_only(caught.value))
    assert "s3" not in shown.replace("u:s3cret@host", "")
    cause = caught.value.__cause__
    while cause is not None:
        assert "s3" not in str(cause)
        cause = cause.__cause__


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at postgresql://a:b@h/d now", "at postgresql://a:***@h/d now"),
        ("postgresql://a@h/d", "postgresql://a@h/d"),
        ("sqlite:///a:b.db", "sqlite:///a:b.db"),
        ("https://h/x?q=1", "https://h/x?q=1"),
        ("x?password%3Dabc&y=1", "x?password%3D***&y=1"),
        ("host=h password='abc' user=u", "host=h password='***' user=u"),
        ("the compass = north", "the compass = north"),
        ("", ""),
    ],
)
def test_redaction(text: str, expected: str) -> None:
    assert redacted(text) == expected
    assert redacted(redacted(text)) == expected


def test_passwords_in_the_words_of_a_driver() -> None:
    url = "postgresql://a:p%40ss%20word@h/d"
    assert without_secrets("failed for p@ss word, p%40ss%20word", url) == "failed for ***, ***"


def test_a_long_text_takes_no_longer_than_it_is_long() -> None:
    assert redacted("x" * 10**6) == "x" * 10**6
    assert redacted("a" * 10**5 + " postgresql://ann:secret@h/d").endswith("ann:***@h/d")
