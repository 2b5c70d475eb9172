"""The report of a study that is running, served on the loopback interface and made anew when the study has changed."""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from calibo.checks import message_of
from calibo.errors import CaliboError
from calibo.secrets import redacted
from calibo.study.result import Result

#: The only address that is listened on.
LOOPBACK = "127.0.0.1"
#: Seconds between two readings of the study, however many pages are open.
EVERY = 2.0


class LiveReport:
    """The page of a study as it is, made when it is asked for and kept until a trial has finished.

    Args:
        read: Reads the study.
        every: Seconds between two readings.
    """

    def __init__(self, read: Callable[[], Result], *, every: float = EVERY) -> None:
        self._read = read
        self._every = every
        self._lock = threading.Lock()
        self._result: Result | None = None
        self._read_at = 0.0
        self._made: tuple[str, bytes] | None = None

    def version(self) -> str:
        """Return what changes whenever a trial has finished; the study is read if that was long ago.

        Raises:
            CaliboError: If the study cannot be read.
        """
        with self._lock:
            return _version(self._latest())

    def page(self) -> bytes:
        """Return the page of the study as it is.

        Raises:
            CaliboError: If the study cannot be read.
        """
        from calibo.report.page import live_page

        with self._lock:
            result = self._latest()
            version = _version(result)
            if self._made is None or self._made[0] != version:
                self._made = version, live_page(result.report_data(), version=version, every=self._every).encode()
            return self._made[1]

    def _latest(self) -> Result:
        now = time.monotonic()
        if self._result is None or now - self._read_at >= self._every:
            self._result = self._read()
            self._read_at = now
        return self._result


def _version(result: Result) -> str:
    done = [(t.number, t.state.value, str(t.datetime_complete)) for t in result.optuna_trials if t.state.is_finished()]
    return hashlib.sha256(repr(done).encode()).hexdigest()[:16]


class ReportServer(ThreadingHTTPServer):
    """A server of one live report, on the loopback interface only, for those who know its token.

    Args:
        report: The report.
        token: What a request must know, in its address.
        port: Port to listen on; 0 for any that is free.
    """

    daemon_threads = True

    def __init__(self, report: LiveReport, token: str, port: int = 0) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.report = report
        self.token = token

    @property
    def url(self) -> str:
        """The address to open."""
        return f"http://{LOOPBACK}:{self.server_port}/?token={self.token}"

    def admits(self, host: str, query: str) -> bool:
        """Return whether a request names this server, as no page of another site can make it, and knows the token."""
        known = {f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost")}
        given = parse_qs(query).get("token", [""])[0]
        return hmac.compare_digest(given.encode(), self.token.encode()) and host in known


class _Handler(BaseHTTPRequestHandler):
    """Answers with the page or its version; nothing can be changed by a request."""

    server: ReportServer  # pyright: ignore[reportIncompatibleVariableOverride]
    server_version = "calibo"
    sys_version = ""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        if not self.server.admits(self.headers.get("Host", ""), address.query):
            self._answer(HTTPStatus.FORBIDDEN, b"open the address that calibo watch has printed, with its token\n")
        elif address.path == "/":
            self._answer_with(self.server.report.page, "text/html")
        elif address.path == "/version":
            self._answer_with(lambda: self.server.report.version().encode(), "text/plain")
        else:
            self._answer(HTTPStatus.NOT_FOUND, b"there is only the report, at /\n")

    do_HEAD = do_GET

    def _answer_with(self, make: Callable[[], bytes], kind: str) -> None:
        try:
            self._answer(HTTPStatus.OK, make(), kind)
        except CaliboError as error:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, redacted(f"{message_of(error)}\n").encode())

    def _answer(self, status: HTTPStatus, body: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of single requests, whose addresses hold the token."""
