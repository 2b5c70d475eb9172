"""The document, its style sheet and script, its elements, and figures as JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calibo.data import Marginal
from calibo.diagnostics import Verdict, calibration_table
from calibo.errors import DataError
from calibo.report import OutcomeData, ReportData, plot_forecasts
from calibo.report.html import (
    LIVE_SCRIPT,
    SCRIPT,
    STYLE,
    Live,
    badge,
    calibration_rows,
    compact_json,
    document,
    packed_text,
)
from calibo.report.insight import Insight
from calibo.report.page import page

Outcome = Callable[..., OutcomeData]
Report = Callable[..., ReportData]


def test_the_document_holds_the_figures_and_the_script_once(outcome: Outcome) -> None:
    figure: Any = plot_forecasts(outcome([0.1, 5.0]))
    text = document("a < b", "<p>body</p>", {"shown": figure}, script="let plotly;")
    assert "<title>a &lt; b</title>" in text and text.count("<p>body</p>") == 1
    assert packed_text(text, "plotly") == "let plotly;"
    assert set(json.loads(packed_text(text, "figures"))) == {"shown"}
    assert figure.layout.title.text == "Forecasts and results"  # the caller's figure keeps its title


def test_the_policy_names_every_script_and_style_sheet_by_its_hash(outcome: Outcome) -> None:
    text = document("t", "<p>body</p>", {"shown": plot_forecasts(outcome([0.1, 5.0]))}, script="let plotly;")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert "unsafe" not in policy and "style=" not in text

    def named(source: str) -> bool:
        return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'" in policy

    run = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert run == [SCRIPT] and re.findall(r"<style>(.*?)</style>", text, re.DOTALL) == [STYLE]
    assert all(named(one) for one in (SCRIPT, STYLE, "let plotly;", "")) and not named("alert(1)")


def test_packed_text_survives() -> None:
    for figures in ({}, {"<!--": "</script>é\u2028"}):
        text = document("t", "", {}, script=json.dumps(figures))
        assert packed_text(text, "plotly") == json.dumps(figures)
    with pytest.raises(DataError, match="no packed element"):
        packed_text("<p></p>", "plotly")


def test_style_sheets_of_maps_count_as_there() -> None:
    text = document("t", "", {}, script=f'if(!document.getElementById("{"ab" * 32}"))add()')
    assert f'<template id="{"ab" * 32}">' in text


def test_the_style_sheet_is_well_formed_and_needs_no_network() -> None:
    assert STYLE.count("{") == STYLE.count("}") > 10 and "@media (max-width:" in STYLE
    rules = re.findall(r"\{([^{}]*)\}", STYLE)
    assert all(
        re.fullmatch(r"[a-z-]+: [^:;]+", one.strip()) for rule in rules for one in rule.split(";") if one.strip()
    )
    for text in (STYLE, SCRIPT):
        assert not re.search(r"https?:|url\(|@import|fetch\(|XMLHttpRequest|</", text)


def test_style_and_script_match_the_page(simulated: ReportData, report: Report) -> None:
    told = Insight(optimum=("By the model:", "x"), why=(("reason", "exploit"),), trial=3)
    several = (report([[9.0] * 39 + [None]], insight=told), simulated)
    pages = [page(data, script="", live=Live("1", 2.0)) for data in several]
    markup = "".join(text.replace(STYLE, "") for text in pages)
    used = {name for names in re.findall(r'class="([^"]*)"', markup) for name in names.split()}
    styled = set(re.findall(r"\.([a-z_]+)", " ".join(re.findall(r"([^{}]+)\{", STYLE))))
    verdicts = {verdict.name.lower() for verdict in Verdict}
    assert used - verdicts == styled - verdicts
    held = re.findall(r'unpacked\("(\w+)"\)', SCRIPT)
    assert held == ["plotly", "figures"] and all(f'id="{name}"' in text for text in pages for name in held)
    code = re.sub(r'"(?:[^"\\]|\\.)*"', "", SCRIPT)
    assert code.count("{") == code.count("}") and code.count("(") == code.count(")")


def test_only_a_page_that_is_served_may_ask_and_only_its_server() -> None:
    kept, served = (document("t", "", {}, script="", live=live) for live in (None, Live("v<1>", 2.0)))
    assert "connect-src" not in kept and "fetch(" not in kept
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', served)
    assert policy is not None and "default-src 'none'" in policy[1] and policy[1].endswith("; connect-src 'self'")
    assert 'data-version="v&lt;1&gt;" data-every="2"' in served
    digest = base64.b64encode(hashlib.sha256(LIVE_SCRIPT.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy[1] and LIVE_SCRIPT in served
    assert LIVE_SCRIPT.count("{") == LIVE_SCRIPT.count("}") and not re.search(r"https?:|innerHTML", LIVE_SCRIPT)


def test_a_verdict_that_only_all_coverages_have_gets_a_row_of_its_own() -> None:
    """So that the card does not say "as expected" three times under a headline that says "too narrow"."""
    y = np.random.default_rng(1).permutation([0.0] * 10 + [1.0] * 14 + [9.0] * 16)
    together = calibration_table([Marginal(0.0, 1.0)] * 40, y, coverages=(0.5, 0.8))
    text = calibration_rows(together)
    assert text.count("as expected") == 2 and text.count(badge(Verdict.TOO_NARROW)) == 1 and together.headline() in text
    single = calibration_table([Marginal(0.0, 1.0)] * 40, [9.0] * 40, coverages=(0.5, 0.8))
    assert calibration_rows(single).count("<tr>") == 2


def test_numbers_are_rounded_to_what_a_screen_shows() -> None:
    assert compact_json([1 / 3, 2.0, None, 1e300]) == "[0.33333,2,null,1e+300]"
    assert json.loads(compact_json([1000000.001, 1000000.002])) == pytest.approx([1000000.001, 1000000.002], abs=1e-7)
    assert json.loads(compact_json({"x": 1 / 3})) == {"x": 1 / 3}
    assert compact_json([0.1 + 0.2] * 3) == f"[{0.1 + 0.2},{0.1 + 0.2},{0.1 + 0.2}]"
    assert compact_json({"a": [np.nan, np.inf, np.array([1, 2])]}) == '{"a":[null,null,[1,2]]}'
    assert compact_json([1.7e308, -1.7e308, np.int64(3)]) == "[1.7e+308,-1.7e+308,3]"


def test_json_cannot_end_a_script() -> None:
    text = compact_json({"</script><script>alert(1)": ["<!--"]})
    assert "<" not in text
    assert json.loads(text) == {"</script><script>alert(1)": ["<!--"]}
