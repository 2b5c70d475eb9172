"""The elements of a page: words and figures in HTML."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from calibo.diagnostics import Verdict
from calibo.report import Story, forecast_card
from calibo.report.elements import (
    BADGES,
    badge,
    best_card,
    calibration_rows,
    document,
    figure_section,
    header,
    sentence,
)
from calibo.report.sections import SECTIONS


def test_the_document_holds_the_figures_and_the_script_once(tell: Callable[..., Story]) -> None:
    figure: Any = forecast_card(tell([0.1, 5.0]))
    text = document("a < b", "<p>body</p>", {"card": figure}, script="let plotly;")
    assert "<title>a &lt; b</title>" in text and text.count("<p>body</p>") == text.count("let plotly;") == 1
    held = re.search(r'id="figures">(.*?)</script>', text)
    assert held is not None and set(json.loads(held.group(1))) == {"card"}
    assert figure.layout.title.text == "Forecast report card"  # the caller's figure keeps its title


def test_the_header_is_escaped() -> None:
    text = header("<t>", ["<f>", "g"], "<h>")
    assert "<h1>&lt;t&gt;</h1>" in text and "&lt;f&gt; · g" in text and ">&lt;h&gt;<" in text


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_has_a_badge(verdict: Verdict) -> None:
    assert badge(verdict) == f'<span class="badge {verdict.name.lower()}">{BADGES[verdict]}</span>'


def test_a_row_per_coverage(tell: Callable[..., Story]) -> None:
    rows = calibration_rows(tell([0.1] * 30).calibration)
    assert rows.count("<tr>") == 3 and "80 % intervals have contained 30 of 30 results" in rows


def test_the_best_or_why_there_is_none(tell: Callable[..., Story]) -> None:
    assert "<td>1</td>" in best_card(tell([2.0, 1.0]))
    assert "No trial has a value yet." in best_card(tell([None]))
    assert "No result meets all constraints yet." in best_card(tell([1.0], feasible=(False,)))


def test_a_figure_inside_a_part(tell: Callable[..., Story]) -> None:
    section = SECTIONS[0]
    figure = section.draw(tell([0.1]))
    own, inner = figure_section(section, figure), figure_section(section, figure, name="other", inner=True)
    assert 'class="card"' in own and "<h2>" in own and 'id="forecast-card"' in own
    assert 'class="inner"' in inner and "<h3>" in inner and 'id="other"' in inner
    assert "How to read this" in own and "How to read this" in inner


def test_sentences() -> None:
    assert sentence("of 3, A is best") == "Of 3, A is best."
