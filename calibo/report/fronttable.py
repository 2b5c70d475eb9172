"""The Pareto-optimal trials as a plain table: their values, then their parameters."""

from __future__ import annotations

import html

from calibo.report.axes import wanted
from calibo.report.thinning import evenly
from calibo.report.tradeoff import Tradeoff
from calibo.report.words import counted, number, shortened

#: More rows or parameters than these are left out of the table.
MOST_ROWS, MOST_PARAMETERS = 30, 40


def front_card(tradeoff: Tradeoff) -> str:
    """The trials on the front, best in the first objective first; of a long front some, evenly spread."""
    if not tradeoff.front:
        some = "result meets all constraints" if tradeoff.results else "trial has a value"
        return f'<section class="card"><h2>Pareto-optimal trials</h2>\n<p>No {some} yet.</p></section>'
    first = tradeoff.objectives[0]
    order = sorted(tradeoff.front, key=lambda i: -first.direction.value * first.value(i))
    shown = [order[k] for k in evenly(len(order), MOST_ROWS)]
    names = list(dict.fromkeys(str(name) for i in shown for name in tradeoff.params[i]))
    left_out = len(names) - MOST_PARAMETERS
    names = names[:MOST_PARAMETERS]
    rows = "\n".join(_row(tradeoff, i, names) for i in shown)
    said = "No other result is at least as good in every objective and better in one."
    if len(shown) < len(order):
        said += f" {len(shown)} of {len(order)} are listed, evenly spread along {shortened(first.title)}."
    said += f" {counted(left_out, 'parameter')} left out." if left_out > 0 else ""
    return f"""<section class="card"><h2>Pareto-optimal trials</h2>
<p>{html.escape(said)}</p>
<div class="scroll"><table class="front">{_head(tradeoff, names)}
{rows}</table></div></section>"""


def _head(tradeoff: Tradeoff, names: list[str]) -> str:
    values = [f"{_cut(story.title)}<br><small>{wanted(story)}</small>" for story in tradeoff.objectives]
    limits = [f"{_cut(story.title)}<br><small>met at or below 0</small>" for story in tradeoff.constraints]
    cells = ["trial", *values, *limits, *(_cut(name) for name in names)]
    return "<tr>" + "".join(f'<th scope="col">{cell}</th>' for cell in cells) + "</tr>"


def _row(tradeoff: Tradeoff, index: int, names: list[str]) -> str:
    params = {str(name): value for name, value in tradeoff.params[index].items()}
    values = [number(story.value(index), 5) for story in tradeoff.outcomes]
    cells = [*values, *(number(params[name], 5) if name in params else "" for name in names)]
    number_ = f'<th scope="row">{tradeoff.numbers[index]}</th>'
    return f"<tr>{number_}" + "".join(f"<td>{_cut(cell)}</td>" for cell in cells) + "</tr>"


def _cut(text: str) -> str:
    return html.escape(shortened(text))
