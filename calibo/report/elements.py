"""The elements of a page: the document around it, cards of words, and figures with their reading."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from calibo.diagnostics import CalibrationTable, Verdict
from calibo.report.compact import compact_json
from calibo.report.look import SCRIPT, STYLE
from calibo.report.sections import Section
from calibo.report.story import Story
from calibo.report.words import number, percent

#: The browser itself refuses every request the page might make.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"

BADGES = {
    Verdict.COMPATIBLE: "as promised",
    Verdict.TOO_NARROW: "too narrow",
    Verdict.TOO_WIDE: "too wide",
    Verdict.NOT_YET: "not yet",
}


def document(title: str, body: str, figures: Mapping[str, go.Figure], *, script: str) -> str:
    """The whole page.

    Args:
        title: Of the window.
        body: HTML of all that is seen.
        figures: By the names of the elements that hold them.
        script: Plotly's own script, put into the page once.
    """
    data = compact_json({name: _without_title(figure) for name, figure in figures.items()})
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
{body}
</main>
<script type="application/json" id="figures">{data}</script>
<script>{script}</script>
<script>{SCRIPT}</script>
</body>
</html>
"""


def header(title: str, facts: Sequence[str], headline: str) -> str:
    """The top of the page: its name, a line of facts, and what matters most."""
    return f"""<header>
<h1>{html.escape(title)}</h1>
<p class="facts">{html.escape(" · ".join(facts))}</p>
<p class="headline">{html.escape(headline)}</p>
<noscript><p>The figures below need JavaScript, which is switched off here.</p></noscript>
</header>"""


def badge(verdict: Verdict) -> str:
    """A verdict in a word or two."""
    return f'<span class="badge {verdict.name.lower()}">{BADGES[verdict]}</span>'


def calibration_rows(table: CalibrationTable) -> str:
    """Per coverage the promise, the verdict in a word, and the whole sentence."""
    rows = "\n".join(
        f'<tr><th scope="row">{percent(row.nominal)}</th>'
        f"<td>{badge(row.verdict)}</td>"
        f"<td>{html.escape(sentence(row.sentence()))}</td></tr>"
        for row in table.rows
    )
    return f"<table>{rows}</table>"


def best_card(story: Story) -> str:
    """The best parameters and their value."""
    if story.best_params is None:
        some = "result meets all constraints" if story.finished else "trial has a value"
        body = f"<p>No {some} yet.</p>"
    else:
        rows = "\n".join(
            f'<tr><th scope="row">{html.escape(str(name))}</th><td>{html.escape(number(value, 6))}</td></tr>'
            for name, value in story.best_params.items()
        )
        value = html.escape(number(story.best_value, 6))
        total = f'<tr class="total"><th scope="row">value</th><td>{value}</td></tr>'
        body = f'<div class="scroll"><table class="best">{rows}{total}</table></div>'
    return f'<section class="card"><h2>Best parameters</h2>\n{body}</section>'


def figure_section(section: Section, figure: go.Figure, *, name: str | None = None, inner: bool = False) -> str:
    """A figure with its title, what it says, and how to read it.

    Args:
        section: What it is.
        figure: The figure.
        name: Of the element that holds it; by default the section's own.
        inner: Whether it is inside a part of the page that has a card and a heading of its own.
    """
    title = figure.layout.title
    look, heading = ("inner", "h3") if inner else ("card", "h2")
    # Titles come escaped by the figures, which read a dialect of HTML themselves.
    caption = f"<p>{title.subtitle.text}</p>" if title.subtitle.text else ""
    return f"""<section class="{look}"><{heading}>{title.text}</{heading}>
{caption}
<div class="figure" id="{name or section.name}" style="height:{figure.layout.height}px"></div>
<details><summary>How to read this</summary><p>{html.escape(section.reading)}</p></details></section>
"""


def sentence(text: str) -> str:
    """A text with a capital and a full stop."""
    return f"{text[0].upper()}{text[1:]}."


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
