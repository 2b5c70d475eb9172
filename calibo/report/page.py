"""The report as one page of HTML: words first, then five figures, and nothing from the network."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass

import plotly.graph_objects as go

from calibo.diagnostics import CalibrationTable, Verdict
from calibo.report.cards import forecast_card
from calibo.report.compact import compact_json
from calibo.report.coverage import coverage_over_time
from calibo.report.fans import fan
from calibo.report.look import SCRIPT, STYLE
from calibo.report.progress import best_so_far
from calibo.report.reliabilities import reliability
from calibo.report.story import Story
from calibo.report.words import counted, number, percent

#: The browser itself refuses every request the page might make.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


@dataclass(frozen=True)
class Section:
    """One figure of the report and how to read it.

    Attributes:
        name: Of the element that holds it.
        draw: Makes the figure.
        reading: How to read it, in plain words.
    """

    name: str
    draw: Callable[[Story], go.Figure]
    reading: str


SECTIONS: tuple[Section, ...] = (
    Section(
        "forecast-card",
        forecast_card,
        "Before each trial ran, the model said where its result would lie: with 80 % probability inside the thick "
        "bar, with 95 % inside the thin one. The dot is what was measured. An orange cross is a miss: a result "
        "outside its thick bar. One in five should be a miss; many more mean bars that are too short, hardly any "
        "mean bars that are too long. The first trials are chosen without a model and have no bar. Zoom with the "
        "mouse, double-click to come back.",
    ),
    Section(
        "coverage-over-time",
        coverage_over_time,
        "After each result: which share of all results so far fell inside their interval? It should settle at the "
        "dotted line. The shaded band is where chance alone would put it 95 times out of 100, so a line inside the "
        "band is no evidence of a fault; below the band the intervals are too narrow, above it too wide. The "
        "dashed line is the model without calibration. The band is exact for each single time, so a long curve may "
        "leave it briefly.",
    ),
    Section(
        "reliability",
        reliability,
        "A forecast says for every level where the result will lie: below its 10 % level in one case of ten, and "
        "so on. The curve shows how often results really fell below each level; right forecasts follow the "
        "diagonal. An S that is steep in the middle means intervals too wide, steep at the ends too narrow, a "
        "curve all above or all below that forecasts are too high or too low. The band holds the whole curve of "
        "right forecasts 95 times out of 100.",
    ),
    Section(
        "fan",
        fan,
        "One parameter varies, the others stay at the best point. The shaded fan is where the next measurement is "
        "believed to lie (50, 80 and 95 %), dashed is the 80 % interval of the model without calibration. Below, "
        "the acquisition: the higher, the sooner the method would try that value next. Dots are results whose "
        "other parameters are close to the best point's.",
    ),
    Section(
        "best-so-far",
        best_so_far,
        "Each dot is a result; the line is the best of all results so far and its diamonds are improvements. If "
        "measurements are noisy the best one was partly lucky: the expected value (if drawn) is the more honest "
        "one.",
    ),
)

_BADGES = {
    Verdict.COMPATIBLE: "as promised",
    Verdict.TOO_NARROW: "too narrow",
    Verdict.TOO_WIDE: "too wide",
    Verdict.NOT_YET: "not yet",
}


def page(story: Story, *, script: str) -> str:
    """The whole page.

    Args:
        story: What to tell.
        script: Plotly's own script, put into the page once.
    """
    figures = {section.name: section.draw(story) for section in SECTIONS}
    parts = [_section(section, figures[section.name]) for section in SECTIONS]
    data = compact_json({name: _without_title(figure) for name, figure in figures.items()})
    title = html.escape(story.title)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
{_header(story)}
<div class="columns">
{_calibration(story.calibration)}
{_best(story)}
</div>
{"".join(parts)}
</main>
<script type="application/json" id="figures">{data}</script>
<script>{script}</script>
<script>{SCRIPT}</script>
</body>
</html>
"""


def headline(story: Story) -> str:
    """What matters most, in plain words: the best value, and whether the intervals can be believed."""
    if story.best_value is None:
        best = "No trial has a value yet."
    else:
        wanted = "Smallest" if story.direction.value < 0 else "Largest"
        best = f"{wanted} value so far: {number(story.best_value, 6)}, after {counted(len(story.finished), 'result')}."
    return f"{best} {story.calibration.headline()}"


def _header(story: Story) -> str:
    failed = len(story) - len(story.finished)
    facts = [f"method {story.method}", f"{story.direction.name.lower()}d", counted(len(story), "trial")]
    facts += [f"{failed} failed"] if failed else []
    return f"""<header>
<h1>{html.escape(story.title)}</h1>
<p class="facts">{html.escape(" · ".join(facts))}</p>
<p class="headline">{html.escape(headline(story))}</p>
<noscript><p>The figures below need JavaScript, which is switched off here.</p></noscript>
</header>"""


def _calibration(table: CalibrationTable) -> str:
    """Per coverage the promise, the verdict in a word, and the whole sentence."""
    rows = "\n".join(
        f'<tr><th scope="row">{percent(row.nominal)}</th>'
        f'<td><span class="badge {row.verdict.name.lower()}">{_BADGES[row.verdict]}</span></td>'
        f"<td>{html.escape(_sentence(row.sentence()))}</td></tr>"
        for row in table.rows
    )
    return f"""<section class="card"><h2>Can the intervals be believed?</h2>
<table>{rows}</table></section>"""


def _best(story: Story) -> str:
    if story.best_params is None:
        body = "<p>No trial has a value yet.</p>"
    else:
        rows = "\n".join(
            f'<tr><th scope="row">{html.escape(str(name))}</th><td>{html.escape(number(value, 6))}</td></tr>'
            for name, value in story.best_params.items()
        )
        value = html.escape(number(story.best_value, 6))
        total = f'<tr class="total"><th scope="row">value</th><td>{value}</td></tr>'
        body = f'<div class="scroll"><table class="best">{rows}{total}</table></div>'
    return f'<section class="card"><h2>Best parameters</h2>\n{body}</section>'


def _section(section: Section, figure: go.Figure) -> str:
    title = figure.layout.title
    # Titles come escaped by the figures, which read a dialect of HTML themselves.
    caption = f"<p>{title.subtitle.text}</p>" if title.subtitle.text else ""
    return f"""<section class="card"><h2>{title.text}</h2>
{caption}
<div class="figure" id="{section.name}" style="height:{figure.layout.height}px"></div>
<details><summary>How to read this</summary><p>{html.escape(section.reading)}</p></details></section>
"""


def _without_title(figure: go.Figure) -> go.Figure:
    """The figure for a page that has its title in its own words, which can break over lines on a phone."""
    bare = go.Figure(figure)
    menus = bool(bare.layout.updatemenus)
    bare.update_layout(title=None, margin=dict(t=52 if menus else 32), autosize=True)
    for choice in bare.layout.updatemenus:
        for button in choice.buttons:
            changes = {key: value for key, value in button.args[1].items() if not key.startswith("title.")}
            button.args = [button.args[0], changes, *button.args[2:]]
    return bare


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
