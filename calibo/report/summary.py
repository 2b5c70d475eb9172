"""Numbers and sentences of a report: how values are written, and what the results and forecasts come to."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

from calibo.diagnostics import CalibrationTable, Verdict
from calibo.diagnostics.tables import listed
from calibo.report.data import OutcomeData, ReportData

#: A single value or name longer than this is cut.
_LONGEST = 48


def number(value: object, digits: int = 4) -> str:
    """Format a number with `digits` significant digits and no trailing zeros; anything else with `str`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int) and abs(value) < 10**9:
        return str(value)
    try:
        as_float = float(value)
    except OverflowError:  # an int beyond all floats
        return shortened(str(value))
    return f"{as_float:.{digits}g}" if math.isfinite(as_float) else str(as_float)


def percent(probability: float) -> str:
    """Format 0.8 as "80 %"."""
    return f"{100 * probability:g} %"


def counted(count: int, what: str) -> str:
    """Format a count with its noun: "1 result", "38 results"."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def met_text(count: int, among: str = "") -> str:
    """Say how many meet all constraints: "1 meets all constraints", "3 of the results meet all constraints"."""
    return f"{count}{among} {'meets' if count == 1 else 'meet'} all constraints"


def shortened(text: str, longest: int = _LONGEST) -> str:
    """Cut a text that is too long, with an ellipsis."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def sentence(text: str) -> str:
    """Give a text a capital and a full stop."""
    return f"{text[0].upper()}{text[1:]}."


def safe(text: str) -> str:
    """Escape a user's text for a figure, where Plotly would read some HTML tags."""
    return html.escape(text, quote=False)


def params_text(params: Mapping[str, Any], room: int = 600) -> str:
    """Format parameters for a hover box, a line each, escaped; those beyond `room` characters are only counted."""
    lines: list[str] = []
    used = 0
    for name, value in params.items():
        line = f"{shortened(str(name))} = {shortened(number(value))}"
        used += len(line)
        if lines and used > room:
            lines.append(f"… {len(params) - len(lines)} more")
            break
        lines.append(line)
    return "<br>".join(safe(line) for line in lines)


def room_for(trials: int) -> int:
    """Return how many characters of parameters each of `trials` trials may show, so that a report stays small."""
    return max(50, min(600, 60_000 // max(trials, 1)))


def outcome_name(outcome: OutcomeData) -> str:
    """Return an outcome's name, cut if it is too long and escaped."""
    return safe(shortened(outcome.name))


def direction_text(outcome: OutcomeData) -> str:
    """Say whether small or large values of an objective are better."""
    return "smaller is better" if outcome.direction.value < 0 else "larger is better"


def axis_title(outcome: OutcomeData) -> str:
    """Return the title of an objective's axis: "loss (smaller is better)"."""
    return f"{outcome_name(outcome)} ({direction_text(outcome)})"


def reference_text(data: ReportData) -> str:
    """Format the reference point, escaped: "loss = 3.2, latency = 40"."""
    pairs = zip(data.objectives, data.reference_point or (), strict=False)
    return ", ".join(f"{outcome_name(objective)} = {number(value)}" for objective, value in pairs)


def facts(data: ReportData) -> list[str]:
    """Return the facts under the title: the method, directions, and numbers of constraints and trials."""
    verbs = {-1.0: "minimized", 1.0: "maximized"}
    parts = [f"method {data.method}"]
    if len(data.outcomes) == 1 and not data.names:
        parts.append(verbs[data.objectives[0].direction.value])
    else:
        parts += [f"{shortened(one.name)} {verbs[one.direction.value]}" for one in data.objectives[:6]]
    parts += [f"{len(data.objectives) - 6} more objectives"] if len(data.objectives) > 6 else []
    parts += [counted(len(data.constraints), "constraint")] if data.constraints else []
    failed = sum(any(objective.values[i] is None for objective in data.objectives) for i in range(len(data)))
    partial = len(data) - len(data.results) - failed
    parts.append(counted(len(data), "trial"))
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{data.pruned} pruned"] if data.pruned else []
    parts += [f"{data.running} running"] if data.running else []
    return parts + ([f"{partial} without all constraints"] if partial else [])


def headline(data: ReportData) -> str:
    """Summarize the best value or the Pareto front, the calibration of the intervals, and feasibility."""
    one = len(data.objectives) == 1
    parts = [_best(data) if one else _front(data)]
    parts.append(data.objectives[0].calibration.headline() if one else _calibration(data.objectives))
    parts += [text for text in map(_exceptions, data.objectives) if text]
    if data.constraints and any(row.of for row in data.feasibility.rows):
        parts.append(data.feasibility.headline())
    return " ".join(parts)


def _exceptions(outcome: OutcomeData) -> str:
    """Name the places where intervals are wrong that are right on the whole: no part of a page contradicts another."""
    if outcome.calibration.verdict.accuses:
        return ""
    wrong: dict[Verdict, list[str]] = {}
    for row in outcome.calibration_by_place.rows:
        if row.calibration.verdict.accuses:
            wrong.setdefault(row.calibration.verdict, []).append(row.place.value)
    parts = [
        f"too {'narrow' if one is Verdict.TOO_NARROW else 'wide'} {listed(places)}" for one, places in wrong.items()
    ]
    return f"That is on the whole: those of {shortened(outcome.name)} are {', '.join(parts)}." if parts else ""


def _best(data: ReportData) -> str:
    """Describe the best value of a single objective."""
    objective, results = data.objectives[0], counted(len(data.results), "result")
    if not data.results:
        return "No trial has a value yet."
    if objective.best_value is None:
        return f"None of {results} meets all constraints yet."
    size, value = "Smallest" if objective.direction.value < 0 else "Largest", number(objective.best_value, 6)
    if not data.constraints:
        return f"{size} {shortened(objective.name)} so far: {value}, after {results}."
    met = f"{len(data.met)} of {results} {'does' if len(data.met) == 1 else 'do'}"
    return f"{size} value that meets all constraints: {value} ({met})."


def _front(data: ReportData) -> str:
    """Describe the size of the Pareto front and its hypervolume."""
    results = counted(len(data.results), "result")
    if not data.results:
        return "No trial has a value yet."
    if not data.met:
        return f"None of {results} meets all constraints yet, so there is no Pareto front."
    among = f"{results}, of which {met_text(len(data.met))}" if data.constraints else results
    size = f"The Pareto front has {counted(len(data.front), 'trial')}, out of {among}."
    volume = float(data.hypervolumes[-1])
    if volume == 0.0:
        return f"{size} No result is better than the reference point in every objective: the hypervolume is 0."
    known = number(volume, 5) if volume < float("inf") else "too large for a computer"
    return f"{size} Its hypervolume is {known}."


def _calibration(outcomes: Sequence[OutcomeData]) -> str:
    """Say for which outcomes the intervals can be trusted, those with the same answer together."""
    groups: dict[str, list[str]] = {}
    for outcome in outcomes:
        groups.setdefault(_answer(outcome.calibration), []).append(shortened(outcome.name))
    parts = [answer.format(listed(names)) for answer, names in groups.items()]
    return f"Can the intervals be trusted? {sentence('; '.join(parts))}"


def _answer(table: CalibrationTable) -> str:
    if not table.forecasting and not table.rows[0].of:
        return "there are none for {}, as this method makes no forecasts"
    if table.verdict is Verdict.TOO_NARROW:
        mixed = any(row.verdict is Verdict.TOO_WIDE for row in table.rows)
        return "no for {} (some too narrow, some too wide)" if mixed else "no for {} (too narrow)"
    if table.verdict is Verdict.TOO_WIDE:
        return "yes for {}, but they are wider than they need to be"
    return "too early to say for {}" if table.verdict is Verdict.NOT_YET else "so far yes for {}"
