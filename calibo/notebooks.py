"""How suggestions, forecasts and trials are shown in notebooks: small tables with the intervals drawn to one scale."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calibo.digits import interval_text, side_by_side

if TYPE_CHECKING:
    from calibo.data import Forecast, Marginal

#: Size of a drawn interval in pixels, and the share of its width left free on either side.
_WIDTH, _HEIGHT, _MARGIN = 320, 22, 0.04
#: Heights of the bars of the 95, 80 and 50 % intervals.
_BARS = ((0.95, 4), (0.8, 10), (0.5, 16))
#: Drawn in the colour of the text, so that it is readable on light and dark pages.
_OPACITY = {0.95: 0.25, 0.8: 0.4, 0.5: 0.6}
#: Half the size of the cross at what was measured, and its colour, that of misses in reports.
_CROSS, _MEASURED = 5, "#d55e00"


def forecast_html(forecast: Forecast) -> str:
    """Return a forecast as a table: the calibrated intervals, and below them those before calibration."""
    return forecasts_html({"forecast": forecast})


def forecasts_html(forecasts: Mapping[str, Forecast]) -> str:
    """Return forecasts by name as a table with a row each, each drawn to its own scale."""
    rows = [row for name, forecast in forecasts.items() for row in _rows(name, forecast)]
    head = "".join(f"<th>{title}</th>" for title in ("", "median", "50 %", "80 %", "95 %", ""))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def suggestion_html(params: Mapping[str, Any], number: int, forecasts: Mapping[str, Forecast], reason: str) -> str:
    """Return a suggestion as a page fragment.

    Args:
        params: Its parameters.
        number: Its number; below 0 if it has none.
        forecasts: Its forecasts by name; empty before there is a model.
        reason: Why the method chose its parts; may be empty.
    """
    title = "Suggestion" if number < 0 else f"Suggestion {number}"
    names = "".join(f"<th>{html.escape(str(name))}</th>" for name in params)
    values = "".join(f"<td>{html.escape(_shown(value))}</td>" for value in params.values())
    table = f"<table><thead><tr>{names}</tr></thead><tbody><tr>{values}</tr></tbody></table>"
    told = forecasts_html(forecasts) if forecasts else "<p>No forecast yet: it is a point of the initial design.</p>"
    why = f"<p>{html.escape(reason)}</p>" if reason else ""
    return f"<p><b>{title}</b></p>{table}{told}{why}"


@dataclass(frozen=True)
class ShownOutcome:
    """One outcome of a trial, as a row of a table.

    Attributes:
        cells: Texts of its first columns.
        forecast: What was expected; ``None`` without a forecast.
        value: What was measured; ``None`` while it is not.
    """

    cells: tuple[str, ...]
    forecast: Forecast | None
    value: float | None


def outcomes_html(title: str, columns: Sequence[str], rows: Sequence[ShownOutcome]) -> str:
    """Return a title and a table of outcomes, each with what was expected and what was measured, drawn to its own scale.

    Args:
        title: A sentence.
        columns: Headings of the first columns, as many as the rows have cells.
        rows: The outcomes.
    """
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in (*columns, "expected (80 %)", "measured (cross)", ""))
    body = "".join(_outcome_row(row) for row in rows)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
    return f"<p>{html.escape(title)}</p>{table}"


def _outcome_row(row: ShownOutcome) -> str:
    expected, drawn = "", ""
    if row.forecast is not None:
        marginal = row.forecast.calibrated
        median, low, high = side_by_side(marginal.icdf(0.5), *marginal.interval(0.8))
        expected = f"{median} ({low} to {high})"
        drawn = interval_svg(marginal, _scale([marginal], row.value), row.value)
    cells = [*map(html.escape, row.cells), expected, "" if row.value is None else _shown(row.value), drawn]
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _rows(name: str, forecast: Forecast) -> list[str]:
    shown = [(name, forecast.calibrated)]
    if len(forecast.stages) > 1:
        shown.append(("before calibration", forecast.raw))
    scale = _scale([distribution for _, distribution in shown])
    return [_row(title, distribution, scale) for title, distribution in shown]


def _row(title: str, distribution: Marginal, scale: tuple[float, float]) -> str:
    ends = [distribution.interval(coverage) for coverage in (0.5, 0.8, 0.95)]
    median, *_ = side_by_side(distribution.icdf(0.5), *ends[0])
    cells = [median, *(interval_text(low, high) for low, high in ends)]
    drawn = interval_svg(distribution, scale)
    text = "".join(f"<td>{cell}</td>" for cell in cells)
    return f"<tr><th>{html.escape(title)}</th>{text}<td>{drawn}</td></tr>"


def _scale(distributions: Sequence[Marginal], measured: float | None = None) -> tuple[float, float]:
    """Return the ends of a scale that holds all 95 % intervals; an interval without end is drawn to the edge."""
    ends = [end for one in distributions for end in (*one.interval(0.95), one.icdf(0.5)) if math.isfinite(end)]
    ends += [] if measured is None else [measured]
    return min(ends), max(ends)


def interval_svg(distribution: Marginal, scale: tuple[float, float], measured: float | None = None) -> str:
    """Return a picture of the central intervals: thin for 95 %, thicker for 80 and 50 %, a line at the median.

    Args:
        distribution: What was expected.
        scale: The values at the left and the right end.
        measured: What was measured, drawn as a cross; ``None`` for none.
    """
    low, high = scale
    # By halves, since the difference of two floats need not be one.
    width = 0.5 * high - 0.5 * low

    def place(value: float) -> float:
        share = 0.5 if width <= 0.0 else min(max((0.5 * value - 0.5 * low) / width, 0.0), 1.0)
        return _WIDTH * (_MARGIN + (1.0 - 2.0 * _MARGIN) * share)

    parts: list[str] = []
    for coverage, thick in _BARS:
        left, right = (place(end) for end in distribution.interval(coverage))
        parts.append(
            f'<rect x="{left:.1f}" y="{(_HEIGHT - thick) / 2:.1f}" width="{max(right - left, 1.0):.1f}" height="{thick}" '
            f'fill="currentColor" fill-opacity="{_OPACITY[coverage]}"/>'
        )
    middle = place(distribution.icdf(0.5))
    parts.append(
        f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="1" y2="{_HEIGHT - 1}" stroke="currentColor" stroke-width="2"/>'
    )
    if measured is not None:
        at, centre, arm = place(measured), _HEIGHT / 2, _CROSS
        path = f"M{at - arm:.1f},{centre - arm}l{2 * arm},{2 * arm}m0,{-2 * arm}l{-2 * arm},{2 * arm}"
        parts.append(f'<path d="{path}" stroke="{_MEASURED}" stroke-width="2.5" fill="none"/>')
    what = "50, 80 and 95 % intervals around the median" + ("" if measured is None else ", and what was measured")
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{what}">'
        f"<title>{what}</title>{''.join(parts)}</svg>"
    )


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
