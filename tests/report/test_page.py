"""The page: all parts, escaped, small, nothing from the network; and how it is written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibo.data import Marginal
from calibo.errors import StudyError
from calibo.report import OutcomeData, ReportData, write_report
from calibo.report.bundle import reduced
from calibo.report.html import packed_text
from calibo.report.page import (
    FORECAST_SECTIONS,
    MOST_PARAMETERS,
    MOST_ROWS,
    SECTIONS,
    _best_parameters,
    _pareto_optimal,
    page,
)

Report = Callable[..., ReportData]


def embedded(text: str) -> str:
    """The JSON of the figures inside a page."""
    return packed_text(text, "figures")


def figures_of(text: str) -> dict[str, Any]:
    """The figures inside a page, by their ids."""
    figures = json.loads(embedded(text))
    assert set(figures) == set(re.findall(r'<div class="figure" id="([^"]*)"', text))
    return figures


@pytest.fixture(scope="module")
def single(real: OutcomeData) -> ReportData:
    return ReportData(
        title="A real study",
        method="ocbo",
        trials=real.trials,
        directions=real.directions,
        expected_best=real.expected_best,
        slices=(real.slices,),
    )


def test_one_objective(single: ReportData) -> None:
    text = page(single, script="")
    assert all(sentence[1:] in text for sentence in single.objectives[0].calibration.sentences())
    assert "Is calibration helping?" in text and "What these verdicts promise" in text
    places = single.objectives[0].calibration_by_place
    assert places.headline() in text
    for row in (row for place in places.rows for row in place.calibration.rows):
        assert f"<td>{row.contained} of {row.of}</td>" in text
    # Every result with a forecast is in a group, as the page says.
    assert sum(row.of for row in places.rows) == len(single.objectives[0].forecasted)
    assert "results without a forecast are in no group" in text
    figures = figures_of(text)
    assert list(figures) == [section.name for section in SECTIONS]
    assert text.count("How to read this") == len(SECTIONS) == 7
    assert "x0" in text and "Best parameters" in text
    for figure in figures.values():  # the page shows the titles
        assert not figure["layout"].get("title", {}).get("text")
        for menu in figure["layout"].get("updatemenus", []):
            for button in menu["buttons"]:
                assert not any(key.startswith("title.") for key in button["args"][1])


def test_the_page_requests_nothing(single: ReportData) -> None:
    text = page(single, script="")
    assert not re.search(r"(?:src|href|action|poster)\s*=|@import|url\(|fetch\(|XMLHttpRequest|<link|<iframe", text)
    assert "http://" not in text and "https://" not in text
    assert "default-src 'none'" in text
    # Plotly's toolbar would offer to send the chart to a server.
    assert "showSendToCloud: false" in text and 'plotlyServerURL: ""' in text


def test_several_outcomes(simulated: ReportData, real: OutcomeData) -> None:
    text = page(replace(simulated, slices=(real.slices, (), ())), script="")
    figures = figures_of(text)
    objectives = [
        f"objective-{k}-{section.name}" for k in range(3) for section in SECTIONS if k == 0 or section.name != "slices"
    ]
    constraints = [f"constraint-{k}-{section.name}" for k in range(2) for section in FORECAST_SECTIONS]
    assert list(figures) == ["pareto-front", "hypervolume", "feasibility", *objectives, *constraints]
    for one in simulated.outcomes:
        assert all(sentence[1:] in text for sentence in one.calibration.sentences())
        assert f"Forecasts and results: {one.name}" in text
    assert text.count('<details class="panel outcome">') == 5
    assert "Pareto-optimal trials" in text and "Best parameters" not in text

    def axis(name: str) -> str:
        return figures[name]["layout"]["yaxis"]["title"]["text"]

    assert axis("objective-1-forecasts") == "speed (larger is better)"
    assert axis("constraint-0-forecasts") == "heat (met at or below 0)"
    assert figures["constraint-0-forecasts"]["layout"]["shapes"][0]["y0"] == 0
    assert axis("objective-0-best-so-far") == "loss (smaller is better)"
    assert axis("objective-0-coverage") == "share inside the interval"


def test_one_objective_with_constraints(report: Report) -> None:
    text = page(report([[1.0, 2.0, 3.0, None]], [[1.0, -1.0, 0.0, None]], names=("loss",)), script="")
    assert "Best parameters" in text and "Pareto" not in text
    figures = figures_of(text)
    assert not {"pareto-front", "hypervolume"} & set(figures) and "feasibility" in figures
    assert '<details class="panel outcome" open>' in text
    assert "constraints not met" in [trace["name"] for trace in figures["objective-0-best-so-far"]["data"]]
    assert "No result meets all constraints yet." in _best_parameters(report([[1.0]], [[1.0]]).objectives[0])
    assert "No trial has a value yet." in _best_parameters(report([[None]]).objectives[0])


def cells(text: str) -> list[list[str]]:
    """Cells of a table, by rows."""
    rows = re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def test_pareto_optimal_trials(report: Report) -> None:
    data = report([[3.0, 1.0, 5.0], [1.0, 3.0, 5.0]], [[-1.0, 0.0, -1.0]], names=("loss", "cost"), limits=("memory",))
    head, *rows = cells(_pareto_optimal(data))
    assert [re.sub(r"<.*", "", cell) for cell in head] == ["trial", "loss", "cost", "memory", "x"]
    assert "smaller is better" in head[1] and "met at or below 0" in head[3]
    assert rows == [["1", "1", "3", "0", "1"], ["0", "3", "1", "-1", "0"]]
    # Parameters that only some trials have.
    head, *rows = cells(_pareto_optimal(report([[1.0, 2.0], [2.0, 1.0]], params=({"x": 1}, {"y": "<b>"}))))
    assert head[-2:] == ["x", "y"] and [row[-2:] for row in rows] == [["1", ""], ["", "&lt;b&gt;"]]
    assert "No trial has a value yet." in _pareto_optimal(report([[None], [None]]))
    assert "No result meets all constraints yet." in _pareto_optimal(report([[1.0], [1.0]], [[2.0]]))


def test_a_long_front_and_many_parameters_are_cut(report: Report) -> None:
    n = 100
    params = tuple({f"p{j}": float(i + j) for j in range(MOST_PARAMETERS + 3)} for i in range(n))
    text = _pareto_optimal(report([[float(i) for i in range(n)], [float(-i) for i in range(n)]], params=params))
    head, *rows = cells(text)
    assert len(rows) == MOST_ROWS and len(head) == 3 + MOST_PARAMETERS
    assert (rows[0][0], rows[-1][0]) == ("0", "99")
    assert f"{MOST_ROWS} of 100 are listed, evenly spread along objective 0." in text
    assert "3 parameters left out." in text


@pytest.mark.parametrize(("objectives", "limits"), [(1, None), (1, [[0.0] * 6]), (3, [[0.0, 1.0] * 3])])
def test_users_text_is_escaped(report: Report, objectives: int, limits: list[list[float]] | None) -> None:
    evil = '"><img onerror=x></title></script><script>alert(1)</script> a & b'
    values = [[0.1 * i for i in range(6)], [-0.1 * i for i in range(6)], [0.0] * 6][:objectives]
    given = dict(
        title=evil, method=evil, params=tuple({evil: evil} for _ in range(6)), limits=(evil,) if limits else ()
    )
    text = page(report(values, limits, names=(evil,) * objectives, **given), script="")
    markup = text.replace(embedded(text), "")
    assert evil not in markup and "<" not in embedded(text)
    assert markup.count("<script") == 3 and markup.count("</script") == 3
    shown = json.dumps([_texts(figure) for figure in figures_of(text).values()])
    assert "<img" not in shown and "<script" not in shown


def _texts(figure: dict[str, Any]) -> list[Any]:
    """All texts of a figure in which Plotly reads HTML."""
    axes = [figure["layout"].get(axis, {}).get("title", {}).get("text") for axis in ("xaxis", "yaxis")]
    menus = [b["label"] for menu in figure["layout"].get("updatemenus", []) for b in menu["buttons"]]
    return [axes, menus, [[trace.get("name"), trace.get("customdata")] for trace in figure["data"]]]


def test_large_studies_stay_small(report: Report, real: OutcomeData) -> None:
    rng, n = np.random.default_rng(0), 1010
    params = tuple({f"parameter_{j}": v for j, v in enumerate(row)} for row in rng.random((n, 8)).tolist())
    values = (50.0 * rng.standard_normal(n)).tolist()  # hardly any inside its interval
    text = page(report([values], params=params, expected_best=tuple(values), slices=(real.slices,)), script="")
    assert len(text.encode()) < 400_000
    assert "600 of 1010 trials are drawn" in text
    values = rng.standard_normal((2, n)).tolist()
    text = page(report(values, params=params), script="")
    assert len(text.encode()) < 1_000_000  # less than a quarter of the script that draws it
    assert "600 of 1010 results are drawn" in text


def test_extreme_and_degenerate_studies(report: Report) -> None:
    huge = [1e300, -1e300, 1e308, 5.0, None]
    wide, exact = [Marginal(0.0, 1e308)] * 5, [Marginal(0.0, 0.0)] * 12
    for data in (
        report([huge, huge[::-1]], [[-1e300, -1.0, 0.0, 1e300, None]], distributions=wide),
        report([[0.0] * 12] * 2, [[0.0] * 12], distributions=exact),
        report([[]]),
        report([[], []], [[]]),
        report([[1.0], [2.0], [1e-300]], [[1.0]], distributions=[None]),
    ):
        figures_of(page(data, script=""))


def test_one_file_with_the_script_inside(single: ReportData, tmp_path: Path) -> None:
    from plotly.offline import get_plotlyjs

    path = write_report(single, tmp_path / "report.html")
    assert path == tmp_path / "report.html" and os.listdir(tmp_path) == ["report.html"]
    text = path.read_text(encoding="utf-8")
    assert packed_text(text, "plotly") == reduced(get_plotlyjs(), frozenset({"scatter"}))
    assert not re.search(r"<(?:script|link|img|iframe)[^>]*(?:src|href)\s*=", text) and len(text) < 1_000_000


def test_paths_that_cannot_be_written(report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = report([[0.1]])
    with pytest.raises(StudyError, match="there is no folder .*none.*: give a file in a folder you may write to"):
        write_report(data, tmp_path / "none" / "report.html")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(StudyError, match="No space left on device"):
        write_report(data, tmp_path / "report.html")
    assert os.listdir(tmp_path) == []


def test_the_package_loads_without_plotly() -> None:
    code = "import sys, calibo.report as r; r.ReportData; dir(r); sys.exit('plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
