"""The report as one page of HTML: the summary first, then the figures, and nothing from the network."""

from __future__ import annotations

import html
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from calibo.arguments import checked
from calibo.data import FAR_ABOVE, NEAR_BELOW, shown_params
from calibo.diagnostics import CalibrationTable, Verdict
from calibo.errors import StudyError
from calibo.files import replacing, why_unwritable
from calibo.report.calibration import (
    plot_coverage,
    plot_feasibility,
    plot_forecasts,
    plot_places,
    plot_reliability,
    plot_surprise,
)
from calibo.report.data import OutcomeData, ReportData
from calibo.report.figure import OUTCOME, evenly
from calibo.report.html import Live, badge, calibration_rows, document, figure_section, header, panel, place_rows, table
from calibo.report.insight import (
    READING_IMPORTANCE,
    READING_MAP,
    optimum_panel,
    plot_importance,
    plot_map,
    why_panel,
)
from calibo.report.pareto import plot_pareto_front
from calibo.report.progress import plot_best_so_far, plot_hypervolume
from calibo.report.slices import plot_slices
from calibo.report.summary import (
    axis_title,
    counted,
    direction_text,
    facts,
    headline,
    number,
    outcome_name,
    percent,
    sentence,
    shortened,
)
from calibo.trials import State

#: More rows or parameters than these are left out of the table of Pareto-optimal trials.
MOST_ROWS, MOST_PARAMETERS = 30, 40
_CALIBRATION = "Can the intervals be trusted?"
_LIMIT = "met at or below 0"
_PROMISE = (
    "You may look at them after every trial: intervals that are right are called too narrow or too wide, now or at any "
    "later time, in at most 5 of 100 studies. Near the data, between and far from the data: by how far the model had to "
    "reach (see Coverage by place); results without a forecast are in no group. "
    "Calibration helps or hurts if its forecasts score better or worse than the raw model's by more than chance; that, "
    "too, is wrong in at most 5 of 100 studies."
)


@dataclass(frozen=True)
class Section:
    """One figure of the report and how to read it.

    Attributes:
        name: Id of the element that holds it.
        draw: Makes the figure from an `OutcomeData` or a `ReportData`.
        reading: How to read it, in plain words.
    """

    name: str
    draw: Callable[[Any], go.Figure]
    reading: str


#: Figures of an objective.
SECTIONS: tuple[Section, ...] = (
    Section(
        "forecasts",
        plot_forecasts,
        "Before each trial ran, the model predicted its result: with 80 % probability inside the thick bar, with "
        "95 % inside the thin one. The dot is what was measured. An orange cross is a miss: a result outside its "
        "thick bar. One in five should be a miss; many more mean bars that are too short, hardly any mean bars that "
        "are too long. The first trials are chosen without a model and have no bar. Zoom with the mouse, "
        "double-click to reset.",
    ),
    Section(
        "surprise",
        plot_surprise,
        "The same results in units of their intervals: 0 is the median that was forecast, and the shaded band from -1 to 1 "
        "is the 80 % interval, however short it had become. So this stays readable when the intervals shrink as the study "
        "converges. Four in five results should be inside the band, half of the others above and half below. A "
        "triangle on the edge is a result even further away.",
    ),
    Section(
        "coverage",
        plot_coverage,
        "After each result: which share of all results so far fell inside their interval? It should settle at the "
        "dotted line. The shaded band is where chance alone may put it: in 95 of 100 studies with intervals that are "
        "right, the lines of all three coverages stay inside their bands for ever. So you may look after every trial: "
        "a line inside the band is no evidence of miscalibration, below it the intervals are too narrow, above it too "
        "wide. The dashed line is the model without calibration. With few results the band is wide: being inside it "
        "then says little.",
    ),
    Section(
        "places",
        plot_places,
        "A model may be right near the data and wrong far from them, or the other way round. Forecasts are grouped by "
        "how far the model had to reach, which it says itself: near the data if the spread of the forecast, before its "
        f"last correction, was up to {percent(NEAR_BELOW)} of that of the results so far, far from the data if it was above "
        f"{percent(FAR_ABOVE)}, or while no two results with a forecast differed yet. In each group, from left to "
        "right, the 50, 80 and 95 % intervals: the short line is the share of results that should be inside, the dot the "
        "share that was, and the bar where it stays at all times if the intervals are right, in 95 of 100 studies. A dot "
        "below its bar: too narrow. Above: too wide.",
    ),
    Section(
        "reliability",
        plot_reliability,
        "A forecast says for every level where the result will lie: below its 10 % level in one case of ten, and "
        "so on. The curve shows how often results really fell below each level; calibrated forecasts follow the "
        "diagonal. An S that is steep in the middle means intervals too wide, steep at the ends too narrow, a "
        "curve all above or all below that forecasts are too high or too low. In 95 of 100 studies with forecasts that "
        "are right the curve stays inside the band after every trial.",
    ),
    Section(
        "slices",
        plot_slices,
        "One parameter varies, the others stay at the best point. The shaded intervals are predictions of the next "
        "measurement (50, 80 and 95 %), dashed is the 80 % interval of the model without calibration. Below, the "
        "acquisition function: the higher, the sooner the method would try that value next. Dots are results whose "
        "other parameters are close to the best point's.",
    ),
    Section(
        "best-so-far",
        plot_best_so_far,
        "Each dot is a result; the line is the best of all results so far and its diamonds are improvements. If "
        "measurements are noisy the best one was partly lucky: the expected value (if drawn) is the better estimate.",
    ),
)

#: Figures of forecasts beside results; a constraint has only these, since it has no best value.
FORECAST_SECTIONS = SECTIONS[:5]

PARETO_FRONT = Section(
    "pareto-front",
    plot_pareto_front,
    "Each mark is a result, placed by its values of two objectives; an axis says whether small or large values are "
    "better. A green diamond is on the Pareto front: no other result is at least as good in all objectives and "
    "better in one, so choosing among them is choosing what matters more. With two objectives the green line bounds "
    "what the front dominates, and the shaded area down to the reference point is the hypervolume. Hollow marks do "
    "not meet all constraints. With more than two objectives the menus choose which are drawn, and a result that "
    "looks dominated here can be on the front through another one. Failed trials are not drawn. A click on the last "
    "entry of the legend shows the forecasts of the latest results.",
)

HYPERVOLUME = Section(
    "hypervolume",
    plot_hypervolume,
    "The hypervolume is one number for a whole front: the area (with three objectives the volume, and so on) between "
    "it and the reference point, a set of values that any useful result should improve on. It never falls; a step is "
    "a result that pushed the front outwards. A long flat stretch at the end means that nothing better is being "
    "found. Its size depends on the units and on the reference point, so compare it only within one study.",
)

FEASIBILITY = Section(
    "feasibility",
    plot_feasibility,
    "Before each trial ran, the forecasts of its constraints gave the probability that it meets them all. Trials are "
    "grouped by that probability; the dot is the share of them that did, the short line the mean predicted "
    "probability, and the bar where the share stays after every trial if the probabilities are right, in 95 of 100 "
    "studies. A dot below its bar: the predictions were too optimistic. Above: too pessimistic. Groups of fewer than "
    "five trials are not judged.",
)


@checked
def write_report(data: ReportData, path: str | os.PathLike[str]) -> Path:
    """Write the report as one self-contained HTML file, which opens without a network.

    An old report of that name is replaced only once the new one is complete.

    Args:
        data: What the report shows.
        path: The file to write, normally ending in .html.

    Returns:
        The path of the file.

    Raises:
        StudyError: If the folder is missing or cannot be written to.
    """
    return save(path, lambda script: page(data, script=script))


def save(path: str | os.PathLike[str], page: Callable[[str], str]) -> Path:
    """Write a page, whose function takes Plotly's script, to a file; an old one is replaced only by a complete new one.

    Raises:
        StudyError: If the folder is missing or cannot be written to.
    """
    target = Path(path)
    if reason := why_unwritable(target):
        raise _unwritable(target, reason)
    text = page(get_plotlyjs())
    try:
        with replacing(target) as new:
            new.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unwritable(target, error.strerror or str(error)) from error
    return target


def _unwritable(target: Path, reason: str) -> StudyError:
    return StudyError(
        f"the report cannot be written to {target} ({reason}): give a file in a folder you may write to, such as "
        "report.html. The study itself is untouched"
    )


def live_page(data: ReportData, *, version: str, every: float) -> str:
    """Return the page of a study that is served, which loads itself anew when the study has another version.

    Args:
        data: What the report shows.
        version: Version of the study as it is shown.
        every: Seconds between two looks for a newer one.
    """
    return page(data, script=get_plotlyjs(), live=Live(version, every))


def page(data: ReportData, *, script: str, live: Live | None = None) -> str:
    """Return the whole page.

    Args:
        data: What the report shows.
        script: Plotly's script, put into the page once.
        live: For a page that is served and loads itself anew when there is a newer version.
    """
    make = _single_objective if len(data.outcomes) == 1 else _several_outcomes
    body, figures = make(data)
    top = header(data.title, facts(data), headline(data))
    return document(data.title, f"{top}\n{body}", figures, script=script, live=live)


def _single_objective(data: ReportData) -> tuple[str, dict[str, go.Figure]]:
    """Return the page below the header of one objective without constraints, and its figures by their ids."""
    (objective,) = data.objectives
    figures = {section.name: section.draw(objective) for section in SECTIONS}
    for figure in figures.values() if data.names else ():
        _name_axis(figure, axis_title(objective))
    parts = [figure_section(figures[section.name], section.name, section.reading) for section in SECTIONS]
    calibration = panel(_CALIBRATION, _calibration_card(objective))
    learned, drawn = _insight(data)
    top = _columns(calibration, _best_parameters(objective) + learned[0])
    return top + "".join(parts) + learned[1] + _failures(data), figures | drawn


def _insight(data: ReportData) -> tuple[tuple[str, str], dict[str, go.Figure]]:
    """Return the panels for the top of the page, the parts below its figures, and further figures by their ids."""
    found = data.insight
    if found is None:
        return ("", ""), {}
    figures: dict[str, go.Figure] = {}
    parts = [why_panel(found)]
    if found.importance:
        figures["importance"] = plot_importance(found)
        parts.append(figure_section(figures["importance"], "importance", READING_IMPORTANCE))
    if found.map is not None:
        figures["map"] = plot_map(found, larger_is_better=data.directions[0].value > 0)
        parts.append(figure_section(figures["map"], "map", READING_MAP))
    return (optimum_panel(found), "".join(parts)), figures


def _failures(data: ReportData) -> str:
    """Return the failed trials with their reasons, the latest first; empty if none failed."""
    failed = [trial for trial in reversed(data.trials) if trial.state is State.FAILED]
    if not failed:
        return ""
    rows = [
        [str(trial.number), _wrapping(trial.error or "no reason is known"), _wrapping(shown_params(trial.params))]
        for trial in failed[:MOST_ROWS]
    ]
    more = f"<p>The latest {MOST_ROWS} of {len(failed)}.</p>" if len(failed) > MOST_ROWS else ""
    return panel(f"{counted(len(failed), 'trial')} failed", more + table(["trial", "reason", "parameters"], rows))


def _wrapping(text: str) -> str:
    return f'<div class="text">{html.escape(shortened(text, 300))}</div>'


def _several_outcomes(data: ReportData) -> tuple[str, dict[str, go.Figure]]:
    """Return the page below the header of several objectives or constraints, and its figures by their ids."""
    several = len(data.objectives) > 1
    overall = [PARETO_FRONT, HYPERVOLUME] if several else []
    overall += [FEASIBILITY] if data.constraints else []
    figures = {section.name: section.draw(data) for section in overall}
    shared = "".join(figure_section(figures[section.name], section.name, section.reading) for section in overall)
    parts: list[str] = []
    for kind, outcomes in (("objective", data.objectives), ("constraint", data.constraints)):
        for k, outcome in enumerate(outcomes):
            part, drawn = _outcome_part(outcome, kind, f"{kind}-{k}", opened=not several and kind == "objective")
            parts.append(part)
            figures |= drawn
    calibration = panel(_CALIBRATION, _calibration_table(data))
    if several:
        return f"{calibration}\n{_pareto_optimal(data)}\n{shared}{''.join(parts)}{_failures(data)}", figures
    # The figures of a single objective come before those of its constraints.
    top = _columns(calibration, _best_parameters(data.objectives[0]))
    return f"{top}{parts[0]}{shared}{''.join(parts[1:])}{_failures(data)}", figures


def _columns(left: str, right: str) -> str:
    return f'<div class="columns">\n{left}\n<div>{right}</div>\n</div>\n'


def _outcome_part(outcome: OutcomeData, kind: str, prefix: str, *, opened: bool) -> tuple[str, dict[str, go.Figure]]:
    """Return the part of the page about one objective or constraint, and its figures by their ids."""
    drawn: dict[str, go.Figure] = {}
    sections: list[str] = []
    axis = axis_title(outcome) if kind == "objective" else f"{outcome_name(outcome)} ({_LIMIT})"
    for section in SECTIONS if kind == "objective" else FORECAST_SECTIONS:
        if section.name == "slices" and not outcome.slices:
            continue
        figure = section.draw(outcome)
        figure.update_layout(title=dict(text=f"{figure.layout.title.text}: {outcome_name(outcome)}"))
        if _name_axis(figure, axis) and kind == "constraint" and len(outcome):
            figure.add_hline(y=0.0, line=dict(color=OUTCOME, width=1, dash="dot"))
        name = f"{prefix}-{section.name}"
        drawn[name] = figure
        sections.append(figure_section(figure, name, section.reading, inner=True))
    what = sentence(direction_text(outcome) if kind == "objective" else _LIMIT)
    part = f"""<details class="panel outcome"{" open" if opened else ""}>
<summary><h2>{kind.capitalize()}: {html.escape(shortened(outcome.name))}</h2> <span>{what}
{html.escape(outcome.calibration.headline())}</span></summary>
<section class="inner"><h3>{_CALIBRATION}</h3>
{_calibration_card(outcome)}</section>
{"".join(sections)}</details>
"""
    return part, drawn


def _name_axis(figure: go.Figure, title: str) -> bool:
    """Give an axis of values the name of its outcome, and return whether there is such an axis."""
    if figure.layout.yaxis.title.text != "value":
        return False
    figure.update_layout(yaxis=dict(title=dict(text=title)))
    return True


def _calibration_card(outcome: OutcomeData) -> str:
    """Return the verdicts on the intervals of one outcome: by coverage, against the raw model, and by place."""
    parts = [calibration_rows(outcome.calibration)]
    if help_sentence := outcome.calibration.help_sentence():
        parts.append(f"<p><b>Is calibration helping?</b> {html.escape(sentence(help_sentence))}</p>")
    if any(row.of for row in outcome.calibration_by_place.rows):
        parts.append(f"<p><b>Where are they right?</b></p>\n{place_rows(outcome.calibration_by_place)}")
    if outcome.forecasted:
        parts.append(f"<details><summary>What these verdicts promise</summary><p>{_PROMISE}</p></details>")
    return "\n".join(parts)


def _calibration_table(data: ReportData) -> str:
    """Return a row for each outcome with a verdict for each coverage, and for all of them together."""
    nominals = [percent(row.nominal) for row in data.objectives[0].calibration.rows]
    rows = [
        [_cut(one.name), *map(badge, _verdicts(one.calibration)), str(one.calibration.rows[0].of)]
        for one in data.outcomes
    ]
    return table(["intervals of", *nominals, "together", "results"], rows)


def _verdicts(calibration: CalibrationTable) -> list[Verdict]:
    """Return the verdicts on each coverage, and on all of them together."""
    return [*(row.verdict for row in calibration.rows), calibration.verdict]


def _best_parameters(objective: OutcomeData) -> str:
    """Return the best parameters and their value."""
    if objective.best_params is None:
        some = "result meets all constraints" if objective.finished else "trial has a value"
        return panel("Best parameters", f"<p>No {some} yet.</p>")
    rows = "\n".join(
        f'<tr><th scope="row">{html.escape(str(name))}</th><td>{html.escape(number(value, 6))}</td></tr>'
        for name, value in objective.best_params.items()
    )
    value = html.escape(number(objective.best_value, 6))
    total = f'<tr class="total"><th scope="row">value</th><td>{value}</td></tr>'
    return panel("Best parameters", f'<div class="scroll"><table class="best">{rows}{total}</table></div>')


def _pareto_optimal(data: ReportData) -> str:
    """Return the trials on the front, best in the first objective first; some of a long front, evenly spread."""
    heading = "Pareto-optimal trials"
    if not data.front:
        some = "result meets all constraints" if data.results else "trial has a value"
        return panel(heading, f"<p>No {some} yet.</p>")
    first = data.objectives[0]
    order = sorted(data.front, key=lambda i: -first.direction.value * first.value(i))
    shown = [order[k] for k in evenly(len(order), MOST_ROWS)]
    names = list(dict.fromkeys(str(name) for i in shown for name in data.params[i]))
    left_out = len(names) - MOST_PARAMETERS
    names = names[:MOST_PARAMETERS]
    text = "No other result is at least as good in every objective and better in one."
    if len(shown) < len(order):
        text += f" {len(shown)} of {len(order)} are listed, evenly spread along {shortened(first.name)}."
    text += f" {counted(left_out, 'parameter')} left out." if left_out > 0 else ""
    values = [f"{_cut(one.name)}<br><small>{direction_text(one)}</small>" for one in data.objectives]
    limits = [f"{_cut(one.name)}<br><small>{_LIMIT}</small>" for one in data.constraints]
    head = ["trial", *values, *limits, *(_cut(name) for name in names)]
    return panel(heading, f"<p>{html.escape(text)}</p>\n{table(head, [_row(data, i, names) for i in shown])}")


def _row(data: ReportData, index: int, names: list[str]) -> list[str]:
    """Return the number, values and parameters of a trial."""
    params = {str(name): value for name, value in data.params[index].items()}
    values = [number(outcome.value(index), 5) for outcome in data.outcomes]
    cells = [*values, *(number(params[name], 5) if name in params else "" for name in names)]
    return [str(data.numbers[index]), *(_cut(cell) for cell in cells)]


def _cut(text: str) -> str:
    return html.escape(shortened(text))
