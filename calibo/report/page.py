"""The report as one page of HTML: words first, then figures, and nothing from the network."""

from __future__ import annotations

from dataclasses import replace

import plotly.graph_objects as go

from calibo.report.elements import best_card, calibration_rows, document, figure_section, header
from calibo.report.sections import SECTIONS
from calibo.report.story import Story
from calibo.report.tradeoff import Tradeoff
from calibo.report.tradeoff_page import tradeoff_body, tradeoff_headline
from calibo.report.words import counted, number


def page(story: Story | Tradeoff, *, script: str) -> str:
    """The whole page.

    Args:
        story: What to tell.
        script: Plotly's own script, put into the page once.
    """
    told = _simplest(story)
    if isinstance(told, Tradeoff):
        body, figures = tradeoff_body(told)
        return document(told.title, body, figures, script=script)
    figures = {section.name: section.draw(told) for section in SECTIONS}
    return document(told.title, _body(told, figures), figures, script=script)


def headline(story: Story | Tradeoff) -> str:
    """What matters most, in plain words: the best value or the front, and whether the intervals can be believed."""
    told = _simplest(story)
    if isinstance(told, Tradeoff):
        return tradeoff_headline(told)
    if told.best_value is None:
        best = "No trial has a value yet."
    else:
        wanted = "Smallest" if told.direction.value < 0 else "Largest"
        best = f"{wanted} value so far: {number(told.best_value, 6)}, after {counted(len(told.finished), 'result')}."
    return f"{best} {told.calibration.headline()}"


def _simplest(story: Story | Tradeoff) -> Story | Tradeoff:
    """A trade-off of one objective without constraints is an ordinary story."""
    if isinstance(story, Story) or len(story.outcomes) > 1:
        return story
    return replace(story.objectives[0], title=story.title, method=story.method)


def _body(story: Story, figures: dict[str, go.Figure]) -> str:
    failed = len(story) - len(story.finished)
    facts = [f"method {story.method}", f"{story.direction.name.lower()}d", counted(len(story), "trial")]
    facts += [f"{failed} failed"] if failed else []
    parts = [figure_section(section, figures[section.name]) for section in SECTIONS]
    return f"""{header(story.title, facts, headline(story))}
<div class="columns">
<section class="card"><h2>Can the intervals be believed?</h2>
{calibration_rows(story.calibration)}</section>
{best_card(story)}
</div>
{"".join(parts)}"""
