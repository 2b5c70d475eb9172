"""The report of a running study over HTTP: for those who know the token, on this computer only, read only."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from calibo import Float, minimize
from calibo.errors import StudyError
from calibo.study import load_result
from calibo.study.live import LOOPBACK, LiveReport, ReportServer
from calibo.study.result import Result

SPACE = {"x": Float(0, 1)}


def more(path: Path, trials: int) -> None:
    minimize(lambda p: p["x"], SPACE, trials, "gp_ei", storage=path, study_name="s", seed=0, progress=False)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("live") / "study.db"
    more(found, 4)
    return found


class Counted:
    """Reads a study, counts how often, and fails when told to."""

    def __init__(self, path: Path) -> None:
        self.path, self.times, self.broken = path, 0, False

    def __call__(self) -> Result:
        self.times += 1
        if self.broken:
            raise StudyError("the storage is gone: sqlite:///secret.db")
        return load_result(self.path)


@pytest.fixture
def read(path: Path) -> Counted:
    return Counted(path)


@pytest.fixture
def server(read: Counted) -> Iterator[ReportServer]:
    with ReportServer(LiveReport(read, every=0.0), "a-token") as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def get(
    server: ReportServer, path: str, *, method: str = "GET", host: str | None = None
) -> tuple[int, http.client.HTTPMessage, str]:
    connection = http.client.HTTPConnection(LOOPBACK, server.server_port, timeout=30)
    connection.request(method, path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, body


def test_the_page_and_its_version(server: ReportServer) -> None:
    status, headers, page = get(server, "/?token=a-token")
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8" and "4 trials" in page
    assert headers["Cache-Control"] == "no-store" and headers["Referrer-Policy"] == "no-referrer"
    status, _, version = get(server, "/version?token=a-token")
    assert status == 200 and f'data-version="{version}"' in page
    assert server.url == f"http://127.0.0.1:{server.server_port}/?token=a-token"
    status, headers, body = get(server, "/?token=a-token", method="HEAD")
    assert status == 200 and body == "" and int(headers["Content-Length"]) > 10_000


@pytest.mark.parametrize(
    "query", ["", "?token=", "?token=a-toke", "?token=a-token2", "?token=%C3%BC", "?other=a-token"]
)
def test_without_the_token_nothing_is_shown(server: ReportServer, query: str) -> None:
    for path in ("/", "/version", "/other"):
        status, _, body = get(server, path + query)
        assert status == 403 and "4 trials" not in body


def test_other_names_of_the_server_are_refused(server: ReportServer) -> None:
    """A page elsewhere may let its own name stand for this computer."""
    assert get(server, "/version?token=a-token", host=f"evil.example:{server.server_port}")[0] == 403
    assert get(server, "/version?token=a-token", host=f"localhost:{server.server_port}")[0] == 200


def test_nothing_can_be_changed(server: ReportServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert get(server, "/?token=a-token", method=method)[0] == 501
    assert get(server, "/elsewhere?token=a-token")[0] == 404


@pytest.mark.whole
def test_the_page_is_made_anew_only_if_the_study_has_changed(path: Path, tmp_path: Path) -> None:
    own = tmp_path / "study.db"
    own.write_bytes(path.read_bytes())
    read = Counted(own)
    live = LiveReport(read, every=0.0)
    first = live.page()
    assert live.page() is first
    version = live.version()
    more(own, 1)
    assert live.version() != version and b"5 trials" in live.page()
    assert read.times == 5
    seldom = LiveReport(read, every=3600.0)
    assert seldom.page() is seldom.page() and seldom.version()
    assert read.times == 6, "the study is read at most once in that time"


def test_a_study_that_cannot_be_read_is_said(server: ReportServer, read: Counted) -> None:
    read.broken = True
    status, _, body = get(server, "/?token=a-token")
    assert status == 503 and body.startswith("the storage is gone")
    read.broken = False
    assert get(server, "/?token=a-token")[0] == 200
