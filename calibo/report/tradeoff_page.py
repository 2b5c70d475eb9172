"""The page of several objectives or constraints: the front, whether they were met, and then each outcome by itself."""

from __future__ import annotations

import html
from collections.abc import Sequence

import plotly.graph_objects as go

from calibo.diagnostics import CalibrationTable, Verdict
from calibo.report.axes import axis_title, outcome_name, wanted
from calibo.report.elements import badge, best_card, calibration_rows, figure_section, header, sentence
from calibo.report.fronttable import front_card
from calibo.report.sections import CONSTRAINT_SECTIONS, FEASIBILITY, FRONT, HYPERVOLUME, SECTIONS, Section
from calibo.report.story import Story
from calibo.report.style import OUTCOME
from calibo.report.tradeoff import Tradeoff
from calibo.report.words import counted, number, percent, shortened


def tradeoff_headline(tradeoff: Tradeoff) -> str:
    """What matters most, in plain words: the front or the best value, whether intervals can be believed, feasibility."""
    one = len(tradeoff.objectives) == 1
    said = [_best_words(tradeoff) if one else _front_words(tradeoff)]
    said.append(tradeoff.objectives[0].calibration.headline() if one else _belief_words(tradeoff.objectives))
    if tradeoff.constraints and any(row.of for row in tradeoff.feasibility.rows):
        said.append(tradeoff.feasibility.headline())
    return " ".join(said)


def tradeoff_body(tradeoff: Tradeoff) -> tuple[str, dict[str, go.Figure]]:
    """HTML of all that is seen, and the figures by the names of the elements that hold them."""
    several = len(tradeoff.objectives) > 1
    overall = [FRONT, HYPERVOLUME] if several else []
    overall += [FEASIBILITY] if tradeoff.constraints else []
    figures = {section.name: section.draw(tradeoff) for section in overall}
    shared = "".join(figure_section(section, figures[section.name]) for section in overall)
    parts: list[str] = []
    for kind, stories in (("objective", tradeoff.objectives), ("constraint", tradeoff.constraints)):
        for k, story in enumerate(stories):
            drawn = _outcome_figures(story, kind, f"{kind}-{k}")
            figures |= {name: figure for name, (_, figure) in drawn.items()}
            parts.append(_outcome_part(story, kind, drawn, opened=not several and kind == "objective"))
    # What a single objective has to tell matters more than how its constraints came out.
    outcomes = "".join(parts)
    rest = shared + outcomes if several else parts[0] + shared + "".join(parts[1:])
    top = front_card(tradeoff) if several else best_card(tradeoff.objectives[0])
    beliefs = _beliefs_card(tradeoff)
    columns = f"{beliefs}\n{top}" if several else f'<div class="columns">\n{beliefs}\n{top}\n</div>'
    return f"{header(tradeoff.title, _facts(tradeoff), tradeoff_headline(tradeoff))}\n{columns}\n{rest}", figures


def _facts(tradeoff: Tradeoff) -> list[str]:
    verbs = {-1.0: "minimized", 1.0: "maximized"}
    facts = [f"method {tradeoff.method}"]
    facts += [f"{shortened(story.title)} {verbs[story.direction.value]}" for story in tradeoff.objectives[:6]]
    facts += [f"{len(tradeoff.objectives) - 6} more objectives"] if len(tradeoff.objectives) > 6 else []
    facts += [counted(len(tradeoff.constraints), "constraint")] if tradeoff.constraints else []
    failed = sum(any(s.values[i] is None for s in tradeoff.objectives) for i in range(len(tradeoff)))
    partial = len(tradeoff) - len(tradeoff.results) - failed
    facts.append(counted(len(tradeoff), "trial"))
    facts += [f"{failed} failed"] if failed else []
    return facts + ([f"{partial} without all constraints"] if partial else [])


def _best_words(tradeoff: Tradeoff) -> str:
    """The best value of one objective among the results that meet all constraints."""
    story, results = tradeoff.objectives[0], counted(len(tradeoff.results), "result")
    if not tradeoff.results:
        return "No trial has a value yet."
    if story.best_value is None or not tradeoff.met:
        return f"None of {results} meets all constraints yet."
    size = "Smallest" if story.direction.value < 0 else "Largest"
    met = f"{len(tradeoff.met)} of {results} {'does' if len(tradeoff.met) == 1 else 'do'}"
    return f"{size} value that meets all constraints: {number(story.best_value, 6)} ({met})."


def _front_words(tradeoff: Tradeoff) -> str:
    results = counted(len(tradeoff.results), "result")
    if not tradeoff.results:
        return "No trial has a value yet."
    if not tradeoff.met:
        return f"None of {results} meets all constraints yet, so there is no Pareto front."
    count = len(tradeoff.front)
    among = f"{results}, of which {len(tradeoff.met)} meet all constraints" if tradeoff.constraints else results
    size = f"The Pareto front has {counted(count, 'trial')}, out of {among}."
    volume = float(tradeoff.hypervolumes[-1])
    if volume == 0.0:
        return f"{size} No result is better than the reference point in every objective: the hypervolume is 0."
    known = number(volume, 5) if volume < float("inf") else "too large for a computer"
    return f"{size} Its hypervolume is {known}."


def _belief_words(stories: Sequence[Story]) -> str:
    """For which outcomes the intervals can be believed, those of one answer together."""
    groups: dict[str, list[str]] = {}
    for story in stories:
        groups.setdefault(_answer(story.calibration), []).append(shortened(story.title))
    said = [f"{answer.format(_joined(names))}" for answer, names in groups.items()]
    return f"Can the intervals be believed? {sentence('; '.join(said))}"


def _answer(table: CalibrationTable) -> str:
    if not table.forecasting and not table.rows[0].of:
        return "there are none for {}, as this method makes no forecasts"
    found = {row.verdict for row in table.rows}
    if Verdict.TOO_NARROW in found:
        mixed = Verdict.TOO_WIDE in found
        return "no for {} (some too narrow, some too wide)" if mixed else "no for {} (too narrow)"
    if Verdict.TOO_WIDE in found:
        return "yes for {}, but they are wider than they need to be"
    return "too early to say for {}" if Verdict.NOT_YET in found else "so far yes for {}"


def _joined(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _beliefs_card(tradeoff: Tradeoff) -> str:
    """A row for each outcome, a column for each coverage, and a verdict where they meet."""
    nominals = [row.nominal for row in tradeoff.objectives[0].calibration.rows]
    head = "".join(f'<th scope="col">{percent(nominal)}</th>' for nominal in nominals)
    rows: list[str] = []
    for story in tradeoff.outcomes:
        cells = "".join(f"<td>{badge(row.verdict)}</td>" for row in story.calibration.rows)
        count = story.calibration.rows[0].of
        name = html.escape(shortened(story.title))
        rows.append(f'<tr><th scope="row">{name}</th>{cells}<td>{count}</td></tr>')
    return f"""<section class="card"><h2>Can the intervals be believed?</h2>
<div class="scroll"><table class="front"><tr><th scope="col">intervals of</th>{head}<th scope="col">results</th></tr>
{"".join(rows)}</table></div></section>"""


def _outcome_figures(story: Story, kind: str, prefix: str) -> dict[str, tuple[Section, go.Figure]]:
    """The figures of one outcome, which say its name and what is wanted of it."""
    drawn: dict[str, tuple[Section, go.Figure]] = {}
    for section in SECTIONS if kind == "objective" else CONSTRAINT_SECTIONS:
        if section.name == "fan" and not story.slices:
            continue
        figure = section.draw(story)
        figure.update_layout(title=dict(text=f"{figure.layout.title.text}: {outcome_name(story)}"))
        if figure.layout.yaxis.title.text == "value":
            limit = f"{outcome_name(story)} (met at or below 0)"
            figure.update_layout(yaxis=dict(title=dict(text=axis_title(story) if kind == "objective" else limit)))
            if kind == "constraint" and len(story):
                figure.add_hline(y=0.0, line=dict(color=OUTCOME, width=1, dash="dot"))
        drawn[f"{prefix}-{section.name}"] = (section, figure)
    return drawn


def _outcome_part(story: Story, kind: str, drawn: dict[str, tuple[Section, go.Figure]], *, opened: bool) -> str:
    sections = "".join(figure_section(s, figure, name=name, inner=True) for name, (s, figure) in drawn.items())
    what = sentence(wanted(story) if kind == "objective" else "met at or below 0")
    return f"""<details class="card outcome"{" open" if opened else ""}>
<summary><h2>{kind.capitalize()}: {html.escape(shortened(story.title))}</h2> <span>{what}
{html.escape(story.calibration.headline())}</span></summary>
<section class="inner"><h3>Can the intervals be believed?</h3>
{calibration_rows(story.calibration)}</section>
{sections}</details>
"""
