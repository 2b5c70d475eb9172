"""Reproduces Figures 4, 5, 6 and 8 of Kim et al. (2025).

Run with ``python reproductions/kim2025/run.py``; every finished run is stored at once, so that it can be stopped and started
again. Writes ``results/figure*.json`` and ``.png`` and prints the paper's claims beside what was found.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from arithmetic import fix_arithmetic

fix_arithmetic()

from claims import claims
from command import Reproduction, write_figures
from figures import NUMBERS, Finished, figure
from judging import claim_lines
from pictures import draw
from runs import perform
from settings import FULL, SMOKE, Job


def markdown(done: Mapping[str, Finished]) -> str:
    """Return the claims, and the final means of every figure, as tables for the README."""
    lines = claim_lines(claims(done), part="figure", paper="paper")
    for number, one in done.items():
        repeats = len(one.figure.cells[0].jobs)
        lines += ["", f"Figure {number}, {one.figure.title}: {one.figure.up}, {repeats} repeats", ""]
        lines += _final_table(one)
    return "\n".join(lines)


def _final_table(done: Finished) -> list[str]:
    """Means at the end (70 % intervals): methods down, the values of a sweep across."""
    if done.figure.kind == "intervals":
        rows = done.summary()
        names = list(rows[0])[2:]
        lines = [f"| method | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
        return lines + [f"| {row['method']} | {' | '.join(f'{row[name]:.3f}' for name in names)} |" for row in rows]
    table: dict[str, dict[float | None, str]] = {}
    for row in done.summary():
        shown = f"{row['mean'][-1]:.2f} ({row['low'][-1]:.2f} to {row['high'][-1]:.2f})"
        table.setdefault(row["method"], {})[row.get("at")] = shown
    values = sorted({x for cells in table.values() for x in cells if x is not None})
    heads = [f"{x:g}" for x in values] or ["at the end"]
    lines = [f"| method | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for method, cells in table.items():
        # A method without the setting that is varied stands in the first column, for all.
        shown = [cells[None], *["same"] * (len(heads) - 1)] if None in cells else [cells[x] for x in values]
        lines.append(f"| {method} | {' | '.join(shown)} |")
    return lines


REPRODUCTION = Reproduction(
    folder=Path(__file__).parent,
    about=__doc__,
    parts=NUMBERS,
    called="figures",
    full=FULL,
    smoke=SMOKE,
    figure=figure,
    finished=Finished,
    job=Job,
    filed_by="problem",
    perform=perform,
    order=lambda job: (job.seed, -job.steps),
    budget=lambda job: f"{job.initial} + {job.steps} measurements",
    claims=lambda done, _: claims(done),
    tables=lambda done, _: markdown(done),
    write=lambda done, _, results: write_figures(done, results, draw),
)

if __name__ == "__main__":
    REPRODUCTION.main()
