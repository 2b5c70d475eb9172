"""Stated probabilities of feasibility against observed shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from calibo import report
from calibo.data import Marginal
from calibo.report import Tradeoff

Trade = Callable[..., Tradeoff]
Find = Callable[[Any, str], Any]
feasibility: Any = report.feasibility  # figures are too dynamic for a type checker


@pytest.fixture
def hopeful(trade: Trade) -> Tradeoff:
    """Ten points called all but sure, of which five were feasible; three about which nothing was said; two doubtful."""
    distributions = [Marginal(-3.0, 1.0)] * 10 + [None] * 3 + [Marginal(1.0, 1.0)] * 2
    limits = [-1.0] * 5 + [1.0] * 5 + [-1.0] * 3 + [1.0, -1.0]
    return trade([[1.0] * 15], [limits], distributions=distributions)


def test_shares_promises_and_bands(hopeful: Tradeoff, trace_of: Find) -> None:
    figure = feasibility(hopeful)
    row, doubtful = hopeful.feasibility.rows[3], hopeful.feasibility.rows[1]
    assert (row.of, row.met, doubtful.of) == (10, 5, 2)
    wrong = trace_of(figure, "observed: too hopeful")
    assert (wrong.x, wrong.y) == ((3,), (0.5,))
    early = trace_of(figure, "observed: too few")
    assert (early.x, early.y, early.marker.symbol) == ((1,), (0.5,), "circle-open")
    assert trace_of(figure, "promised").y == (doubtful.stated, row.stated)
    band = trace_of(figure, "expected")
    assert band.y[3:5] == (row.expected[0] / 10, row.expected[1] / 10)
    assert not trace_of(figure, "observed: as promised").showlegend


def test_the_words(hopeful: Tradeoff) -> None:
    layout = feasibility(hopeful).layout
    assert layout.title.subtitle.text.startswith("Of 10 points called feasible with at least 90 %, 5 met")
    assert layout.xaxis.ticktext == (
        "below 10 %<br>0 points",
        "10 to 50 %<br>2 points",
        "50 to 90 %<br>0 points",
        "90 % or more<br>10 points",
    )


def test_nothing_to_see(trade: Trade) -> None:
    assert "no constraints" in feasibility(trade([[1.0]])).layout.annotations[0].text
    silent = trade([[1.0]], [[1.0]], distributions=[None])
    assert "no forecast of the constraints" in feasibility(silent).layout.annotations[0].text
    certain = trade([[1.0] * 6], [[-1.0] * 6], distributions=[Marginal(-1.0, 0.0)] * 6)
    assert len(feasibility(certain).data) > 2
