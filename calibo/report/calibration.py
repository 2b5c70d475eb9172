"""Figures of calibration: forecasts beside results, coverage over time, reliability, and probabilities of feasibility."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calibo.arguments import checked
from calibo.data import Array
from calibo.diagnostics import (
    CalibrationRow,
    FeasibilityRow,
    ReliabilityCurve,
    RunningCoverage,
    Verdict,
    calibration_table,
    confidence_sequence,
    covered,
    pit,
    points_needed,
    reliability_curve,
    running_coverage,
)
from calibo.diagnostics.coverage import bounded, central_intervals
from calibo.diagnostics.reliability import BAND_LEVELS
from calibo.digits import interval_text
from calibo.errors import RecipeError
from calibo.report import figure as draw
from calibo.report.data import OutcomeData, ReportData
from calibo.report.summary import counted, number, params_text, percent, room_for, sentence

#: Heights, as fractions of the drawing area, of marks that have no place on the value axis.
_BOTTOM, _TOP = 0.03, 0.97
#: Distance from the median, in units of the interval, beyond which results are drawn at the edge.
_FARTHEST = 3.0
#: Name of the curves of the raw model.
RAW_NAME = "raw model"
#: With fewer results there is no curve of reliability to speak of.
_FEWEST = points_needed(0.8)
_MARKERS = {
    "as stated": dict(color=draw.OUTCOME, symbol="circle", size=11),
    "too optimistic": dict(color=draw.MISS, symbol="x", size=12),
    "too pessimistic": dict(color=draw.MISS, symbol="x", size=12),
    "too few to judge": dict(color=draw.RAW, symbol="circle-open", size=11),
}
#: Places of the three coverages beside the middle of their group.
_OFFSETS = (-0.22, 0.0, 0.22)
_PLACE_MARKERS = {
    Verdict.COMPATIBLE: ("as expected", _MARKERS["as stated"]),
    Verdict.TOO_NARROW: ("too narrow", _MARKERS["too optimistic"]),
    Verdict.TOO_WIDE: ("too wide", _MARKERS["too pessimistic"]),
    Verdict.NOT_YET: ("too few to judge", _MARKERS["too few to judge"]),
}


@checked
def plot_forecasts(outcome: OutcomeData, *, coverage: float = 0.8, wide: float = 0.95) -> go.Figure:
    """Plot the intervals forecast for each trial before it ran, with its result as a dot and misses marked.

    Args:
        outcome: The objective or constraint.
        coverage: Coverage of the thick intervals; a result outside is a miss.
        wide: Coverage of the thin intervals.
    """
    figure = draw.blank("Forecasts and results", x="trial", y="value")
    if not len(outcome):
        return draw.empty(figure, "no trial has finished")
    with np.errstate(over="ignore", invalid="ignore"):
        hits = covered(outcome.calibrated, outcome.outcomes, coverage)
    missed = {i for i, hit in zip(outcome.forecasted, hits.tolist(), strict=True) if not hit}
    shown = draw.thinned(len(outcome), keep=sorted(missed)).tolist()
    forecasted = [i for i in shown if i in set(outcome.forecasted)]
    numbers = [outcome.numbers[i] for i in forecasted]
    ends = {
        level: central_intervals([outcome.forecast(i).calibrated for i in forecasted], level)
        for level in (coverage, wide)
    }
    for level, width, opacity in ((wide, 1.5, 0.55), (coverage, 5.0, 0.5)):
        look = dict(color=draw.tint(draw.CALIBRATED, opacity), width=min(width, 1.2 + 600 / len(shown)))
        figure.add_trace(draw.bars(numbers, ends[level], f"{percent(level)} interval", look))
    plain = [i for i in shown if outcome.forecasts[i] is None and outcome.values[i] is not None]
    texts = _hover_texts(outcome, forecasted, ends, room_for(len(shown)))
    size = 1.0 if len(shown) <= 200 else 0.65
    inside, outside = ([i for i in forecasted if (i in missed) is miss] for miss in (False, True))
    hover = "<b>trial %{x}</b><br>value %{y:.5~g}<br>%{customdata[0]}%{customdata[1]}"
    for name, indices, marker in (
        (f"inside {percent(coverage)}", inside, dict(color=draw.OUTCOME, symbol="circle", size=7 * size)),
        (f"outside {percent(coverage)}: a miss", outside, dict(color=draw.MISS, symbol="x", size=10 * size)),
        ("no forecast", plain, dict(color=draw.RAW, symbol="circle-open", size=7 * size)),
    ):
        x, y = [outcome.numbers[i] for i in indices], [outcome.value(i) for i in indices]
        figure.add_trace(draw.dots(x, y, name, marker, hover, customdata=[texts[i] for i in indices]))
    # A second axis holds marks at fixed heights, whatever the value axis shows.
    figure.update_layout(yaxis2=dict(overlaying="y", range=[0, 1], visible=False, fixedrange=True))
    _mark_failures(figure, outcome, shown)
    for level, width in ((wide, 1.5), (coverage, 5.0)):
        _mark_unbounded(figure, numbers, ends[level], level, width)
    _add_zoom(figure, outcome, forecasted + plain, np.concatenate([e.ravel() for e in ends.values()]))
    draw.whole_numbers(figure, len(outcome))
    draw.subtitle(figure, _forecast_summary(outcome, coverage, missed=len(missed), shown=len(shown)))
    return figure


@checked
def plot_surprise(outcome: OutcomeData, *, coverage: float = 0.8) -> go.Figure:
    """Plot the results in units of their forecast intervals, which stays readable as the intervals shrink.

    Args:
        outcome: The objective or constraint.
        coverage: Coverage of the intervals; a result outside lies beyond -1 or 1.
    """
    figure = draw.blank("Results in units of their intervals", x="trial", y="distance from the median", height=340)
    if not outcome.makes_forecasts and not outcome.forecasted:
        return draw.without_forecasts(figure)
    units = _in_units(outcome, coverage)
    if not units:
        return draw.empty(figure, "no result has a forecast interval of finite width")
    kept = [k for k, (_, unit) in enumerate(units) if abs(unit) > 1.0]
    shown = [units[k] for k in draw.thinned(len(units), keep=kept)]
    figure.add_hrect(y0=-1.0, y1=1.0, fillcolor=draw.tint(draw.CALIBRATED, 0.13), line_width=0, layer="below")
    figure.add_hline(y=0.0, line=dict(color=draw.CALIBRATED, width=1))
    for name, inside, beyond, marker in (
        (f"inside {percent(coverage)}", True, False, dict(color=draw.OUTCOME, symbol="circle", size=7)),
        (f"outside {percent(coverage)}", False, False, dict(color=draw.MISS, symbol="x", size=9)),
        (f"beyond {_FARTHEST:g} units", False, True, dict(color=draw.MISS, symbol="diamond-tall", size=11)),
    ):
        mine = [(i, u) for i, u in shown if (abs(u) <= 1.0) is inside and (abs(u) > _FARTHEST) is beyond]
        boxes = [f"{number(outcome.value(i))}, {number(u)} units" for i, u in mine]
        x, y = [outcome.numbers[i] for i, _ in mine], [float(np.clip(u, -_FARTHEST, _FARTHEST)) for _, u in mine]
        hover = "<b>trial %{x}</b><br>%{customdata}"
        figure.add_trace(draw.dots(x, y, name, marker, hover, customdata=boxes))
    figure.update_layout(yaxis=dict(range=[-1.08 * _FARTHEST, 1.08 * _FARTHEST], dtick=1))
    draw.whole_numbers(figure, len(outcome))
    above, below = (sum(sign * unit > 1.0 for _, unit in units) for sign in (1.0, -1.0))
    draw.subtitle(
        figure, f"Of {counted(len(units), 'result')}, {above} above and {below} below the {percent(coverage)} interval."
    )
    return figure


def _in_units(outcome: OutcomeData, coverage: float) -> list[tuple[int, float]]:
    """Return trials by their indices with the distance of the result from the median, in widths of that side's interval."""
    found: list[tuple[int, float]] = []
    for i, one in zip(outcome.forecasted, outcome.calibrated, strict=True):
        low, high = one.interval(coverage)
        middle, value = one.icdf(0.5), outcome.value(i)
        width = high - middle if value >= middle else middle - low
        if np.isfinite(width) and width > 0.0:
            found.append((i, (value - middle) / width))
    return found


def _hover_texts(
    outcome: OutcomeData, forecasted: Sequence[int], ends: dict[float, Array], room: int
) -> dict[int, tuple[str, str]]:
    """Return the intervals (if there is a forecast) and parameters of each trial."""
    texts = {i: ("no forecast<br>", params_text(outcome.params[i], room)) for i in outcome.finished}
    for row, i in enumerate(forecasted):
        lines = [f"{percent(level)}: {interval_text(*e[row].tolist())}<br>" for level, e in ends.items()]
        texts[i] = ("".join(lines), texts[i][1])
    return texts


def _mark_failures(figure: go.Figure, outcome: OutcomeData, shown: Sequence[int]) -> None:
    """Mark failed trials, which have no value, on the lower edge."""
    failed = [outcome.numbers[i] for i in shown if outcome.values[i] is None]
    marker = dict(color=draw.RAW, symbol="cross-thin-open", size=11, line=dict(width=2))
    hover = "<b>trial %{x}</b><br>failed: no value"
    figure.add_trace(draw.dots(failed, [_BOTTOM] * len(failed), "failed", marker, hover, yaxis="y2"))


def _mark_unbounded(figure: go.Figure, numbers: Sequence[int], ends: Array, level: float, width: float) -> None:
    """Draw intervals without a finite end, for which too few results were held out, from edge to edge."""
    unbounded = [trial for trial, row in zip(numbers, ends, strict=True) if np.isinf(row).any()]
    name = f"unbounded at {percent(level)}: too few held-out results"
    look = dict(color=draw.tint(draw.CALIBRATED, 0.25), width=width, dash="dot")
    edges = [(0.0, 1.0)] * len(unbounded)
    figure.add_trace(draw.bars(unbounded, edges, name, look, yaxis="y2", showlegend=bool(unbounded)))


def _add_zoom(figure: go.Figure, outcome: OutcomeData, indices: Sequence[int], ends: Array) -> None:
    """Show most results first, and everything at a button, where a few extreme values would hide all differences."""
    values = np.array([outcome.value(i) for i in indices], dtype=np.float64)
    found = draw.zoom(values, ends)
    if found is None:
        return
    beyond = [i for i, value in zip(indices, values.tolist(), strict=True) if not found.low <= value <= found.high]
    above = [outcome.value(i) > found.high for i in beyond]
    marker = dict(color=draw.MISS, symbol=["triangle-up" if up else "triangle-down" for up in above], size=10)
    figure.add_trace(
        draw.dots(
            [outcome.numbers[i] for i in beyond],
            [_TOP if up else _BOTTOM for up in above],
            "beyond this view",
            marker,
            "<b>trial %{x}</b><br>value %{customdata}, beyond this view",
            yaxis="y2",
            customdata=[number(outcome.value(i)) for i in beyond],
            visible=found.needed,
        )
    )
    draw.zoom_menu(figure, {"yaxis": found}, near=found.needed, marks=len(figure.data) - 1)  # pyright: ignore[reportArgumentType]


def _forecast_summary(outcome: OutcomeData, coverage: float, *, missed: int, shown: int) -> str:
    total = len(outcome.forecasted)
    if not total and not outcome.makes_forecasts:
        text = "This method makes no forecasts, so there is nothing to judge."
    elif not total:
        text = "Not yet: no trial with a forecast has a result, so there is nothing to judge."
    else:
        expected = round((1.0 - coverage) * total)
        text = (
            f"{missed} of {counted(total, 'result')} fell outside the {percent(coverage)} interval "
            f"(about {expected} expected)."
        )
    text += draw.undrawable_note([outcome.value(i) for i in outcome.finished])
    if shown < len(outcome):
        text += f" {shown} of {len(outcome)} trials are drawn, misses before others, so misses look too frequent here."
    return text


@checked
def plot_coverage(
    outcome: OutcomeData, *, coverages: Sequence[float] = (0.5, 0.8, 0.95), confidence: float = 0.95
) -> go.Figure:
    """Plot the running coverage of the intervals, with the band in which calibrated ones stay; raw model dashed.

    Args:
        outcome: The objective or constraint.
        coverages: Coverages to choose from with buttons; 80 % is shown first if it is among them, else the smallest.
        confidence: Probability with which calibrated intervals never leave the band of any of the coverages.
    """
    if not coverages:
        raise RecipeError("plot_coverage needs at least one coverage, got none: try coverages=(0.5, 0.8, 0.95)")
    figure = draw.blank("Coverage over time", x="results so far", y="share inside the interval")
    figure.update_layout(yaxis=dict(range=[0, 1.02], tickformat=".0%"))
    if not outcome.forecasted:
        early = "no trial with a forecast has a result"
        return draw.empty(figure, early) if outcome.makes_forecasts else draw.without_forecasts(figure)
    draw.whole_numbers(figure, len(outcome.forecasted))
    raw = outcome.raw if outcome.recalibrated else None
    with np.errstate(over="ignore", invalid="ignore"):
        table = calibration_table(outcome.calibrated, outcome.outcomes, raw, sorted(coverages), confidence=confidence)
    layouts: list[dict[str, object]] = [
        {"annotations": _too_early_note(row), "title.subtitle.text": sentence(row.sentence())} for row in table.rows
    ]
    views = [_coverage_traces(outcome, row, confidence, tests=len(coverages)) for row in table.rows]
    nominals = [row.nominal for row in table.rows]
    first = nominals.index(0.8) if 0.8 in nominals else 0
    draw.add_views(figure, views, [percent(nominal) for nominal in nominals], layouts, first=first)
    return figure


def _coverage_traces(outcome: OutcomeData, row: CalibrationRow, confidence: float, *, tests: int) -> list[go.Scatter]:
    """Return the band (two edges), nominal coverage, raw model and calibrated forecasts; no curves while it is too early."""
    coverage = row.nominal
    with np.errstate(over="ignore", invalid="ignore"):
        judged = np.flatnonzero(bounded(outcome.calibrated, coverage)).tolist()
        calibrated, raw = (
            running_coverage(
                [of[i] for i in judged], outcome.outcomes[judged], coverage, confidence=confidence, tests=tests
            )
            for of in (outcome.calibrated, outcome.raw)
        )
    if not judged:
        return []
    # Steps of the band and of the curves fall on different results, so both are drawn at the same places.
    at = draw.evenly(len(calibrated.count), draw.CURVE_POINTS)
    x = calibrated.count[at].tolist()
    name = f"where right intervals stay at all times ({percent(confidence)})"
    dotted = dict(color=draw.OUTCOME, width=1, dash="dot")
    nominal = draw.line([x[0], x[-1]], [coverage] * 2, f"nominal: {percent(coverage)}", dotted)
    traces = [*draw.band(x, *calibrated.band[at].T, color=draw.tint(draw.CALIBRATED, 0.13), name=name), nominal]
    if row.verdict is Verdict.NOT_YET:
        return traces
    return traces + [
        _coverage_curve(raw if name == RAW_NAME else calibrated, at, name, look) for name, look in _curves(outcome)
    ]


def _curves(outcome: OutcomeData) -> list[tuple[str, dict[str, object]]]:
    """Return the names and lines of the curves of the raw model (if there was a calibrator) and of the forecasts."""
    if not outcome.recalibrated:
        return [("forecasts", dict(color=draw.CALIBRATED, width=2.5))]
    return [
        (RAW_NAME, dict(color=draw.RAW, width=2, dash="dash")),
        ("calibrated", dict(color=draw.CALIBRATED, width=2.5)),
    ]


def _coverage_curve(running: RunningCoverage, at: np.ndarray, name: str, look: dict[str, object]) -> go.Scatter:
    count, inside = running.count[at], running.contained[at]
    refuted = confidence_sequence(inside, count, confidence=running.confidence, tests=running.tests)
    texts = [
        f"{k} of {t} inside ({k / t:.1%})<br>coverages from {low:.0%} to {high:.0%} are not refuted"
        for k, t, low, high in zip(inside.tolist(), count.tolist(), *(ends.tolist() for ends in refuted), strict=True)
    ]
    return draw.line(count.tolist(), running.fraction[at], name, look, f"{name}: %{{customdata}}", customdata=texts)


def _too_early_note(row: CalibrationRow) -> list[dict[str, object]]:
    if row.verdict is not Verdict.NOT_YET:
        return []
    needed = counted(row.needed, "result")
    return [draw.not_yet(f"{percent(row.nominal)} intervals need at least<br>{needed}, {row.of} so far")]


@checked
def plot_reliability(outcome: OutcomeData, *, confidence: float = 0.95) -> go.Figure:
    """Plot how often results fell below each level of their forecasts, before and after calibration.

    Calibrated forecasts follow the diagonal.

    Args:
        outcome: The objective or constraint.
        confidence: Probability with which the curve of calibrated forecasts never leaves the band.
    """
    title = "Reliability before and after calibration" if outcome.recalibrated else "Reliability of the forecasts"
    figure = draw.blank(title, x="level of the forecast", y="share of results at or below it", height=500)
    square = dict(range=[-0.01, 1.01], constrain="domain", tickformat=".0%", dtick=0.2)
    figure.update_layout(xaxis=square, yaxis=dict(**square, scaleanchor="x"))
    with np.errstate(over="ignore", invalid="ignore"):
        after = reliability_curve(pit(outcome.calibrated, outcome.outcomes), confidence=confidence)
        before = reliability_curve(pit(outcome.raw, outcome.outcomes), confidence=confidence)
    if not outcome.forecasted and not outcome.makes_forecasts:
        return draw.without_forecasts(figure)
    if after.levels.size < _FEWEST:
        needed = f"needs at least {counted(_FEWEST, 'result')} with a forecast"
        return draw.empty(figure, f"{needed}, {after.levels.size} so far")
    # The band is a staircase; its steps are just before and just after each level at which the curve is judged.
    levels = np.sort([0.0, *(level - 1e-9 for level in BAND_LEVELS), *(level + 1e-9 for level in BAND_LEVELS), 1.0])
    name = f"where right forecasts stay at all times ({percent(confidence)})"
    diagonal = draw.line([0, 1], [0, 1], "exactly calibrated", dict(color=draw.OUTCOME, width=1, dash="dot"))
    curves = [_staircase(before if name == RAW_NAME else after, name, look) for name, look in _curves(outcome)]
    bands = draw.band(levels.tolist(), *after.band(levels).T, color=draw.tint(draw.CALIBRATED, 0.13), name=name)
    figure.add_traces([*bands, diagonal, *curves])
    draw.subtitle(figure, _reliability_summary(outcome, before, after))
    return figure


def _staircase(curve: ReliabilityCurve, name: str, look: dict[str, object]) -> go.Scatter:
    at = draw.evenly(curve.levels.size, draw.CURVE_POINTS)
    x, y = ([0.0, *values[at].tolist(), 1.0] for values in (curve.levels, curve.observed))
    hover = f"{name}: %{{y:.1%}} of results at or below level %{{x:.1%}}"
    return draw.line(x, y, name, {**look, "shape": "hv"}, hover)


def _reliability_summary(outcome: OutcomeData, before: ReliabilityCurve, after: ReliabilityCurve) -> str:
    inside = {True: "stays inside the band", False: "leaves the band"}
    results = counted(after.levels.size, "result")
    if not outcome.recalibrated:
        return f"The curve {inside[after.inside]} after {results}."
    same = before.inside == after.inside
    raw = "as the raw model's does" if same else f"while the raw model's {inside[before.inside]}"
    return f"After {results} the calibrated curve {inside[after.inside]}, {raw}."


@checked
def plot_places(outcome: OutcomeData) -> go.Figure:
    """Plot the coverage of the intervals near the data, between, and far from them, with where right ones stay.

    Args:
        outcome: The objective or constraint.
    """
    figure = draw.blank("Coverage by place", x="", y="share inside the interval", height=380)
    table = outcome.calibration_by_place
    if not outcome.forecasted and not outcome.makes_forecasts:
        return draw.without_forecasts(figure)
    if not any(row.of for row in table.rows):
        return draw.empty(figure, "no trial with a forecast has a result yet")
    rows = [
        (at + _OFFSETS[k], place, row)
        for at, place in enumerate(table.rows)
        for k, row in enumerate(place.calibration.rows)
        if row.of
    ]
    at = [x for x, _, _ in rows]
    ends = [(row.low / row.of, row.high / row.of) for _, _, row in rows]
    look = dict(color=draw.tint(draw.CALIBRATED, 0.25), width=18)
    figure.add_trace(draw.bars(at, ends, "where right intervals stay at all times (95 %)", look))
    marker = dict(color=draw.CALIBRATED, symbol="line-ew-open", size=18, line=dict(width=2))
    nominal = [row.nominal for _, _, row in rows]
    figure.add_trace(draw.dots(at, nominal, "nominal", marker, "nominal: %{y:.0%}"))
    for verdict, (name, marker) in _PLACE_MARKERS.items():
        judged = [(x, place, row) for x, place, row in rows if row.verdict is verdict]
        x, y = [x for x, _, _ in judged], [row.contained / row.of for _, _, row in judged]
        texts = [f"{place.place.value}, {row.sentence()}" for _, place, row in judged]
        figure.add_trace(draw.dots(x, y, f"observed: {name}", marker, "%{y:.1%}: %{customdata}", customdata=texts))
    labels = [f"{row.place.value}<br>{counted(row.of, 'result')}" for row in table.rows]
    figure.update_layout(
        xaxis=dict(tickvals=list(range(len(labels))), ticktext=labels, range=[-0.6, len(labels) - 0.4], showgrid=False),
        yaxis=dict(range=[-0.03, 1.03], tickformat=".0%"),
    )
    draw.subtitle(figure, table.headline())
    return figure


@checked
def plot_feasibility(data: ReportData) -> go.Figure:
    """Plot, for each range of predicted probabilities of feasibility, the share of trials that met all constraints."""
    title = "Predicted and observed feasibility"
    figure = draw.blank(title, x="predicted probability of feasibility", y="share of feasible trials", height=380)
    if not data.constraints:
        return draw.empty(figure, "there are no constraints")
    table = data.feasibility
    rows = [(at, row) for at, row in enumerate(table.rows) if row.of]
    if not rows:
        return draw.empty(figure, "no trial with a forecast of the constraints has a result")
    places = [at for at, _ in rows]
    ends = [(row.expected[0] / row.of, row.expected[1] / row.of) for _, row in rows]
    look = dict(color=draw.tint(draw.CALIBRATED, 0.25), width=26)
    figure.add_trace(draw.bars(places, ends, "where right probabilities stay at all times (95 %)", look))
    marker = dict(color=draw.CALIBRATED, symbol="line-ew-open", size=26, line=dict(width=2))
    stated = [row.stated for _, row in rows]
    figure.add_trace(draw.dots(places, stated, "predicted on average", marker, "predicted on average: %{y:.1%}"))
    for verdict, marker in _MARKERS.items():
        judged = [(at, row) for at, row in rows if row.verdict == verdict]
        x, y = [at for at, _ in judged], [row.met / row.of for _, row in judged]
        texts = [row.sentence() for _, row in judged]
        figure.add_trace(draw.dots(x, y, f"observed: {verdict}", marker, "%{y:.1%}: %{customdata}", customdata=texts))
    labels = [f"{_range_name(row)}<br>{counted(row.of, 'trial')}" for row in table.rows]
    count = len(labels)
    figure.update_layout(
        xaxis=dict(tickvals=list(range(count)), ticktext=labels, range=[-0.6, count - 0.4], showgrid=False),
        yaxis=dict(range=[-0.03, 1.03], tickformat=".0%"),
    )
    draw.subtitle(figure, table.headline())
    return figure


def _range_name(row: FeasibilityRow) -> str:
    if row.low <= 0.0:
        return f"below {percent(row.high)}"
    return f"{percent(row.low)} or more" if row.high >= 1.0 else f"{100 * row.low:g} to {percent(row.high)}"
