"""The page about ranked rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibo.errors import DataError
from calibo.report import ranking
from calibo.report.html import packed_text
from calibo.report.ranking import ranking_page, write_ranking_report
from calibo.tables import rank

# Figures are too dynamic for a type checker.
plot_rows: Any = ranking.plot_rows
plot_promises: Any = ranking.plot_promises


@pytest.fixture
def answers(tmp_path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two rounds of ranking."""
    x = np.linspace(0.0, 1.0, 40)
    truth = pd.Series(np.sin(5 * x))
    table = pd.DataFrame({"x": x, "<b>y</b>": truth.where(np.arange(40) % 8 == 0)})
    options: dict[str, Any] = {"target": "<b>y</b>", "n": 5, "method": "gp_ei", "study": tmp_path / "study.json"}
    first = rank(table, **options)
    table.loc[first.index, "<b>y</b>"] = truth[first.index]
    return first, rank(table, **options)


def test_rows_and_promises_are_drawn(answers: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    first, second = answers
    rows = plot_rows(second, ["a", "b", "c", "d", "e"], "<b>y</b>")
    assert list(rows.data[1].x) == pytest.approx(second["mean"].tolist()) and rows.layout.yaxis.autorange == "reversed"
    promised = second.attrs["calibo"]["promised"]
    assert [one["row"] for one in promised] == first.index.tolist(), "in the order in which they were suggested"
    assert [one["mean"] for one in promised] == pytest.approx(first["mean"].tolist())
    kept = plot_promises(promised, "<b>y</b>")
    assert sum(len(trace.y) for trace in kept.data[1:]) == 5
    assert "no forecast has met" in plot_promises([], "y").layout.annotations[0].text


def test_the_page(answers: tuple[pd.DataFrame, pd.DataFrame], tmp_path: Path) -> None:
    page = ranking_page(answers[1], title="<lab>", labels=(), script="")
    assert "&lt;lab&gt;" in page and "<b>y</b>" not in page and "5 of 5 results fell inside" in page
    assert "promises-0" in packed_text(page, "figures")
    path = write_ranking_report(answers[0], tmp_path / "page.html", labels=["one"] * 5)
    assert "No suggested row has been measured yet" in path.read_text(encoding="utf-8")
    with pytest.raises(DataError, match=r"what calibo\.rank returned"):
        write_ranking_report(pd.DataFrame({"x": [1.0]}), tmp_path / "other.html")
