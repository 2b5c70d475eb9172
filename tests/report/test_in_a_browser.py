"""Pages in a real browser: every figure is drawn, nothing is complained of, nothing is wider than the window."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import optuna
import pandas as pd
import pytest

import calibo
from calibo import Float, Int, Optimizer, minimize
from calibo.report import ReportData, write_ranking_report, write_report
from calibo.study import load_result
from calibo.study.live import LiveReport, ReportServer
from tests.report.chromium import Page, executable, opened

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(executable() is None, reason="there is no Chromium to show pages in"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened(tmp_path_factory.mktemp("profile")) as page:
        yield page


def check(browser: Page, address: str, width: int, *, dark: bool) -> None:
    """Open a page and see that it is drawn as a whole and fits, without a complaint."""
    browser.errors.clear()
    browser.open(address, width, dark=dark)
    browser.until("document.querySelectorAll('.figure').length > 0")
    # Figures are drawn when they are unfolded.
    browser.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    browser.until("[...document.querySelectorAll('.figure')].every((one) => one.querySelector('.main-svg'))")
    assert browser.value("document.documentElement.scrollWidth <= innerWidth")
    background = browser.value("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 3 * 128) is dark, background
    assert browser.errors == []


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)])
def test_a_report(browser: Page, simulated: ReportData, tmp_path: Path, width: int, dark: bool) -> None:
    """Of an optimizer, with the optimum and the reasons, and of several objectives with constraints."""
    optimizer = Optimizer({"x": Float(0.01, 1, log=True), "k": Int(1, 5)}, "gp_ei", seed=0)
    for _ in range(8):
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, suggestion.params["x"] + (suggestion.params["k"] - 2) ** 2)
    for path in (optimizer.report(tmp_path / "one.html"), write_report(simulated, tmp_path / "several.html")):
        check(browser, path.as_uri(), width, dark=dark)


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (400, False)])
def test_a_ranking(browser: Page, tmp_path: Path, width: int, dark: bool) -> None:
    rows = [
        {"heat": heat, "dose": dose, "yield": heat * dose if dose == 2 else None}
        for heat in range(9)
        for dose in range(4)
    ]
    batch = calibo.rank(pd.DataFrame(rows), target="yield", n=3, method="gp_ei", progress=False)
    check(browser, write_ranking_report(batch, tmp_path / "rank.html").as_uri(), width, dark=dark)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (400, True)])
def test_an_audit(browser: Page, tmp_path: Path, width: int, dark: bool) -> None:
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 2 + trial.suggest_int("k", 1, 3), n_trials=20)
    audited = calibo.audit(study, methods=["ocbo", "gp_ei"], progress=False)
    check(browser, audited.report(tmp_path / "audit.html").as_uri(), width, dark=dark)


def test_a_live_report_refreshes_itself_while_a_study_runs(browser: Page, tmp_path: Path) -> None:
    path = tmp_path / "study.db"

    def more(trials: int) -> None:
        minimize(
            lambda p: p["x"], {"x": Float(0, 1)}, trials, "gp_ei", storage=path, study_name="s", seed=0, progress=False
        )

    more(4)
    with ReportServer(LiveReport(lambda: load_result(path), every=0.2), "a-token") as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            check(browser, server.url, 400, dark=False)
            assert "4 trials" in browser.value("document.body.innerText")
            more(2)
            browser.until("document.body.innerText.includes('6 trials')")
            browser.until("[...document.querySelectorAll('.figure')].every((one) => one.querySelector('.main-svg'))")
            assert browser.errors == []
        finally:
            server.shutdown()
            thread.join()
