"""Several forecasters of the same results: their picture, and a page of their own."""

from __future__ import annotations

import html
import os
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from calibo.arguments import checked
from calibo.diagnostics import Verdict
from calibo.diagnostics.forecasters import ForecasterRow, ForecasterTable, shown_ratio
from calibo.report import figure as draw
from calibo.report.data import OutcomeData
from calibo.report.html import badge, calibration_rows, document, figure_section, header, panel, table
from calibo.report.page import FORECAST_SECTIONS, save
from calibo.report.summary import number, percent, safe, sentence, shortened

#: Part of the width that the coverage has, and where the scores begin.
_COVERAGE_END, _SCORES_BEGIN = 0.64, 0.70
#: Distance of the rows of one forecaster for its intervals of 50, 80 and 95 %.
_APART = 0.22
#: Characters of a line under the title, which fit a notebook, and the room of a further one in pixels: the title is centred.
_LINE, _LINE_ROOM = 105, 36
#: Ratios of scores beyond these are drawn at the edge, as triangles.
_SMALLEST, _LARGEST = 0.25, 4.0
_COLOURS = {
    Verdict.COMPATIBLE: draw.CALIBRATED,
    Verdict.NOT_YET: draw.RAW,
    Verdict.TOO_NARROW: draw.MISS,
    Verdict.TOO_WIDE: draw.MISS,
}
_SYMBOLS = {
    Verdict.COMPATIBLE: "circle",
    Verdict.NOT_YET: "circle-open",
    Verdict.TOO_NARROW: "triangle-left",
    Verdict.TOO_WIDE: "triangle-right",
}
_CLEAR = {"better": draw.BEST, "worse": draw.MISS}
_READING = (
    "Left: the share of the results that fell inside the 50 %, 80 % and 95 % intervals of each forecaster; it should be "
    "at the dotted line. The bar is where the true share may lie: valid whenever one looks, with 95 % confidence. A blue "
    "dot agrees with its line. An orange triangle does not: pointing left the intervals are too narrow, right too wide. "
    "Right: the mean scores over those of the reference, smaller is sharper; green (orange) is better (worse) than the "
    "reference by more than chance, grey may be chance, and a triangle lies beyond the edge. Sharpness counts only among "
    "the honest."
)
_VERDICT = (
    "The verdict is that of all three intervals together. A forecaster that is right is ever called too narrow or too wide "
    "with probability 5 % at most, however often one looks."
)
_COMPARED = (
    "Better or worse: than the reference by more than chance. Mixed: better if large misses count no more than others, but "
    "worse on average, or the other way round."
)
_MEANING = (
    "Replayed forecasts are made from the results before, in the order in which these arrived: that is what is meant "
    "here where a figure says that something was forecast before a trial ran. Forecasts that were stored with the trials "
    "were made then."
)


def plot_forecasters(found: ForecasterTable) -> go.Figure:
    """Plot for each forecaster the coverage of its intervals with a band valid at any time, and its relative scores.

    Args:
        found: The table of forecasters.
    """
    rows = found.rows[::-1]  # the first row of the table is drawn on top
    figure = draw.blank("Who was honest, who was sharp", x="inside the interval", y="", height=180 + 62 * len(rows))
    figure.update_layout(
        xaxis=dict(domain=[0, _COVERAGE_END], range=[-0.02, 1.02], tickformat=".0%"),
        xaxis2=dict(
            domain=[_SCORES_BEGIN, 1],
            anchor="y",
            title=dict(text=f"score over {safe(shortened(found.reference, 12))}'s", standoff=8),
            tickangle=0,
            **_score_axis(found),
        ),
        yaxis=dict(
            tickvals=list(range(len(rows))),
            ticktext=[safe(shortened(row.name, 22)) for row in rows],
            range=[-0.6, len(rows) - 0.4],
            showgrid=False,
            ticks="",
        ),
        margin=dict(l=110),
    )
    for level in (row.nominal for row in rows[0].calibration.rows):
        figure.add_vline(x=level, line=dict(color=draw.OUTCOME, width=1, dash="dot"))
        figure.add_annotation(x=level, y=1.0, yref="paper", yanchor="bottom", text=f"{level:.0%}", showarrow=False)
    for place in range(len(rows) - 1):
        figure.add_hline(y=place + 0.5, line=dict(color="#ececec", width=1))
    figure.add_traces([*_coverage_traces(rows), *_score_traces(rows, found.reference)])
    figure.add_shape(
        type="line",
        xref="x2",
        yref="paper",
        x0=1.0,
        x1=1.0,
        y0=0,
        y1=1,
        line=dict(color=draw.OUTCOME, width=1, dash="dot"),
    )
    lines = textwrap.wrap(safe(found.headline()), _LINE, break_on_hyphens=False, break_long_words=False)
    draw.subtitle(figure, "<br>".join(lines))
    figure.update_layout(margin=dict(t=figure.layout.margin.t + _LINE_ROOM * (len(lines) - 1)))
    return figure


def _coverage_traces(rows: Sequence[ForecasterRow]) -> list[go.Scatter]:
    """Return the bands (one trace) and the shares inside, one trace for each verdict."""
    marks = [
        (place + _APART * (1 - level), row, one, ends)
        for place, row in enumerate(rows)
        for level, (one, ends) in enumerate(zip(row.calibration.rows, row.intervals(), strict=True))
        if one.of
    ]
    upright = draw.segments([y for y, *_ in marks], [ends for *_, ends in marks])
    band = "where the true share may lie (95 %, at any time)"
    look = dict(color=draw.tint(draw.CALIBRATED, 0.3), width=5)
    bars = go.Scatter(x=upright["y"], y=upright["x"], mode="lines", name=band, line=look, hoverinfo="skip")
    traces = [bars]
    for verdict in Verdict:
        judged = [mark for mark in marks if mark[2].verdict is verdict]
        hover = "<b>%{customdata[0]}</b><br>%{customdata[1]}"
        texts = [(safe(row.name), safe(sentence(one.sentence()))) for _, row, one, _ in judged]
        marker = dict(color=_COLOURS[verdict], symbol=_SYMBOLS[verdict], size=10)
        shares = [one.contained / one.of for _, _, one, _ in judged]
        name = "as expected" if verdict is Verdict.COMPATIBLE else verdict.value
        trace = draw.dots(shares, [y for y, *_ in judged], name, marker, hover, customdata=texts)
        traces.append(trace)
    return traces


def _score_traces(rows: Sequence[ForecasterRow], reference: str) -> list[go.Scatter]:
    """Return the relative CRPS and interval scores of all but the reference."""
    places = [(place, row) for place, row in enumerate(rows) if row.name != reference]
    traces: list[go.Scatter] = []
    kinds = (("CRPS", "circle", 0.12), ("80 % interval score", "diamond", -0.12))
    for kind, (name, symbol, offset) in enumerate(kinds):
        shown = [(place + offset, row, (row.crps_ratio, row.score_ratio)[kind]) for place, row in places]
        shown = [one for one in shown if np.isfinite(one[2])]
        hover = f"<b>%{{customdata[0]}}</b><br>{name}: %{{customdata[1]}} times that of {safe(reference)}"
        texts = [(safe(row.name), number(value, 3)) for _, row, value in shown]
        x = [float(np.clip(value, _SMALLEST, _LARGEST)) for *_, value in shown]
        symbols = [_edge(value) or symbol for *_, value in shown]
        marker = dict(color=[_CLEAR.get(row.compared, draw.RAW) for _, row, _ in shown], symbol=symbols, size=10)
        look = dict(customdata=texts, xaxis="x2", showlegend=False)
        traces.append(draw.dots(x, [y for y, *_ in shown], name, marker, hover, **look))
        # In the legend a mark without a verdict.
        grey = dict(color=draw.RAW, symbol=symbol, size=10)
        traces.append(draw.dots([None], [np.nan], name, grey, "", xaxis="x2"))
    return traces


def _edge(ratio: float) -> str:
    """Return the triangle that points to a ratio beyond the edge, or nothing for one that is drawn."""
    return "triangle-left" if ratio < _SMALLEST else "triangle-right" if ratio > _LARGEST else ""


def _score_axis(found: ForecasterTable) -> dict[str, object]:
    """Return the range of the axis of scores, which includes 1; logarithmic, so that half and twice are as far from it."""
    ratios = [v for row in found.rows for v in (row.crps_ratio, row.score_ratio) if np.isfinite(v)]
    ends = np.clip([min([0.8, *ratios]), max([1.25, *ratios])], _SMALLEST, _LARGEST)
    low, high = np.log(ends) / np.log(10.0)
    pad = 0.08 * (high - low)
    ticks = [v for v in (0.25, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0) if ends[0] <= v <= ends[1]]
    if len(ticks) > 5:
        ticks = [v for v in (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0) if ends[0] <= v <= ends[1]]
    return {
        "type": "log",
        "range": [float(low - pad), float(high + pad)],
        "tickvals": ticks,
        "ticktext": [f"{v:g}" for v in ticks],
    }


@checked
def write_forecasters(
    title: str,
    facts: Sequence[str],
    found: ForecasterTable,
    outcomes: Mapping[str, OutcomeData],
    notes: Sequence[str],
    path: str | os.PathLike[str],
) -> Path:
    """Write the page of several forecasters as one self-contained HTML file.

    Args:
        title: Title of the page.
        facts: What was forecast, in a few words each.
        found: The table of forecasters.
        outcomes: The results with the forecasts of each forecaster, by its name.
        notes: What to know about the comparison, in sentences.
        path: The file to write, normally ending in .html.

    Returns:
        The path of the file.

    Raises:
        StudyError: If the folder is missing or cannot be written to.
    """
    return save(path, lambda script: forecasters_page(title, facts, found, outcomes, notes, script=script))


def forecasters_page(
    title: str,
    facts: Sequence[str],
    found: ForecasterTable,
    outcomes: Mapping[str, OutcomeData],
    notes: Sequence[str],
    *,
    script: str,
) -> str:
    """Return the whole page; see ``write_forecasters``. ``script`` is Plotly's, put into the page once."""
    figures = {"forecasters": plot_forecasters(found)}
    draw.subtitle(figures["forecasters"], "The honest first, and the sharpest of them on top.")
    known = "".join(f"<li>{html.escape(note)}</li>" for note in [_VERDICT, _COMPARED, *notes])
    parts = [
        header(title, facts, found.headline()),
        panel("All forecasters", _table(found)),
        figure_section(figures["forecasters"], "forecasters", _READING),
        panel("What to know", f"<ul>{known}</ul>"),
    ]
    for place, row in enumerate(found.rows):
        part, drawn = _forecaster_part(row, outcomes[row.name], f"forecaster-{place}")
        parts.append(part)
        figures |= drawn
    return document(title, "\n".join(parts), figures, script=script)


def _table(found: ForecasterTable) -> str:
    nominal = [f"{percent(row.nominal)}<br><small>inside</small>" for row in found.rows[0].calibration.rows]
    relative = f"CRPS<br><small>over {html.escape(shortened(found.reference, 16))}'s</small>"
    score = f"80 % score<br><small>over {html.escape(shortened(found.reference, 16))}'s</small>"
    head = ["forecaster", "verdict", *nominal, "CRPS<br><small>mean</small>", relative, "", score]
    return table(head, [_cells(row) for row in found.rows])


def _cells(row: ForecasterRow) -> list[str]:
    shares = [f"{100 * one.contained / one.of:.0f} %" if one.of else "-" for one in row.calibration.rows]
    compared = f"<small>{row.compared or 'the reference'}</small>"
    scores = [number(row.crps, 3), shown_ratio(row.crps_ratio), compared, shown_ratio(row.score_ratio)]
    return [html.escape(shortened(row.name)), badge(row.verdict), *shares, *scores]


def _forecaster_part(row: ForecasterRow, outcome: OutcomeData, prefix: str) -> tuple[str, dict[str, go.Figure]]:
    """Return the part of the page about one forecaster, and its figures by their ids."""
    drawn: dict[str, go.Figure] = {}
    sections: list[str] = []
    for section in FORECAST_SECTIONS:
        name = f"{prefix}-{section.name}"
        drawn[name] = section.draw(outcome)
        sections.append(figure_section(drawn[name], name, section.reading, inner=True))
    part = f"""<details class="panel outcome">
<summary><h2>{html.escape(shortened(row.name))}</h2> <span>{html.escape(sentence(row.about) if row.about else "")}
{html.escape(outcome.calibration.headline())}</span></summary>
<p>{_MEANING}</p>
{calibration_rows(outcome.calibration)}
{"".join(sections)}</details>
"""
    return part, drawn
