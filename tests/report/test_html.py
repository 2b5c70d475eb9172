"""The document, its style sheet and script, its elements, and figures as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from calibo.diagnostics import Verdict
from calibo.report import OutcomeData, ReportData, plot_forecasts
from calibo.report.html import (
    BADGES,
    SCRIPT,
    STYLE,
    badge,
    calibration_rows,
    compact_json,
    document,
    figure_section,
    header,
    panel,
    table,
)
from calibo.report.page import page

Outcome = Callable[..., OutcomeData]
Report = Callable[..., ReportData]


def test_the_document_holds_the_figures_and_the_script_once(outcome: Outcome) -> None:
    figure: Any = plot_forecasts(outcome([0.1, 5.0]))
    text = document("a < b", "<p>body</p>", {"shown": figure}, script="let plotly;")
    assert "<title>a &lt; b</title>" in text and text.count("<p>body</p>") == text.count("let plotly;") == 1
    held = re.search(r'id="figures">(.*?)</script>', text)
    assert held is not None and set(json.loads(held.group(1))) == {"shown"}
    assert figure.layout.title.text == "Forecasts and results"  # the caller's figure keeps its title


def test_elements(outcome: Outcome) -> None:
    text = header("<t>", ["<f>", "g"], "<h>")
    assert "<h1>&lt;t&gt;</h1>" in text and "&lt;f&gt; · g" in text and ">&lt;h&gt;<" in text
    assert panel("Heading", "<p>x</p>") == '<section class="panel"><h2>Heading</h2>\n<p>x</p></section>'
    assert '<tr><th scope="row">1</th><td>2</td></tr>' in table(["a", "b"], [["1", "2"]])
    for verdict in Verdict:
        assert badge(verdict) == f'<span class="badge {verdict.name.lower()}">{BADGES[verdict]}</span>'
    data = outcome([0.1] * 30).calibration
    rows = calibration_rows(data)
    assert rows.count("<tr>") == 3 and all(sentence[1:] in rows for sentence in data.sentences())


def test_a_figure_on_its_own_or_inside_a_panel(outcome: Outcome) -> None:
    figure: Any = plot_forecasts(outcome([0.1]))
    own, inner = (figure_section(figure, "name", "Read < it.", inner=inner) for inner in (False, True))
    assert 'class="panel"' in own and "<h2>" in own and 'id="name"' in own and "Read &lt; it." in own
    assert 'class="inner"' in inner and "<h3>" in inner


def test_the_style_sheet_is_well_formed_and_needs_no_network() -> None:
    assert STYLE.count("{") == STYLE.count("}") > 10 and "@media (max-width:" in STYLE
    rules = re.findall(r"\{([^{}]*)\}", STYLE)
    assert all(
        re.fullmatch(r"[a-z-]+: [^:;]+", one.strip()) for rule in rules for one in rule.split(";") if one.strip()
    )
    for text in (STYLE, SCRIPT):
        assert not re.search(r"https?:|url\(|@import|fetch\(|XMLHttpRequest|</", text)


def test_style_and_script_match_the_page(simulated: ReportData, report: Report) -> None:
    pages = [page(data, script="") for data in (report([[9.0] * 40]), simulated)]
    markup = "".join(text.replace(STYLE, "") for text in pages)
    used = {name for names in re.findall(r'class="([^"]*)"', markup) for name in names.split()}
    styled = set(re.findall(r"\.([a-z_]+)", " ".join(re.findall(r"([^{}]+)\{", STYLE))))
    verdicts = {verdict.name.lower() for verdict in Verdict}
    assert used - verdicts == styled - verdicts
    (held,) = re.findall(r'getElementById\("(\w+)"\)', SCRIPT)
    assert all(f'id="{held}"' in text for text in pages)
    assert SCRIPT.count("{") == SCRIPT.count("}") and SCRIPT.count("(") == SCRIPT.count(")")


def test_numbers_are_rounded_to_what_a_screen_shows() -> None:
    assert compact_json([1 / 3, 2.0, None, 1e300]) == "[0.33333,2,null,1e+300]"
    assert json.loads(compact_json([1000000.001, 1000000.002])) == pytest.approx([1000000.001, 1000000.002], abs=1e-7)
    assert json.loads(compact_json({"x": 1 / 3})) == {"x": 1 / 3}
    assert compact_json([0.1 + 0.2] * 3) == f"[{0.1 + 0.2},{0.1 + 0.2},{0.1 + 0.2}]"
    assert compact_json([1.7e308, -1.7e308, np.int64(3)]) == "[1.7e+308,-1.7e+308,3]"


def test_json_of_arrays_figures_and_non_finite_numbers() -> None:
    assert compact_json([np.nan, np.inf, np.float64(1.5)]) == "[null,null,1.5]"
    assert compact_json({"a": float("inf")}) == '{"a":null}' and compact_json(np.array([1, 2])) == "[1,2]"
    figure = go.Figure(go.Scatter(x=[0, 1, 2], y=[1.0, 2.0, 3.0]), layout=dict(height=300))
    found = json.loads(compact_json(figure))
    assert found["data"][0]["x"] == [0, 1, 2] and found["layout"]["height"] == 300


def test_json_cannot_end_a_script() -> None:
    text = compact_json({"</script><script>alert(1)": ["<!--"]})
    assert "<" not in text
    assert json.loads(text) == {"</script><script>alert(1)": ["<!--"]}
