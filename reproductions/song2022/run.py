"""Reproduces Figures 3 to 7, 9 and 11 and the run times of Song et al. (2022).

Run with ``python reproductions/song2022/run.py``; every finished run is stored at once, so that it can be stopped and started
again. Writes ``results/figure*.json`` and ``.png`` and prints the paper's claims beside what was found.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from arithmetic import fix_arithmetic

fix_arithmetic()

from claims import claims
from command import Reproduction, write_figures
from figures import NUMBERS, Finished, figure
from judging import claim_lines
from pictures import draw
from runs import perform
from settings import COMPOSITE_EI, FULL, SMOKE, Job

#: Which runs take longest.
_SLOW = {COMPOSITE_EI: 0, "LFBO RF": 1, "BORE RF": 1}


def budget(job: Job) -> str:
    """Return what a run may spend, in words."""
    if job.problem == "curve":
        return f"{job.steps:,} observations"
    return f"{job.initial} results" if job.problem == "timing" else f"{job.initial} + {job.steps} evaluations"


def markdown(done: Mapping[str, Finished]) -> str:
    """Return the claims, and the final means of every figure, as tables for the README."""
    lines = claim_lines(claims(done), part="figure", paper="paper")
    for number, one in done.items():
        repeats = len(one.figure.cells[0].jobs)
        name = "Appendix C.2" if number == "C2" else f"Figure {number}"
        lines += ["", f"{name}, {one.figure.title}: {one.figure.up}, {repeats} repeats", ""]
        lines += _final_table(one)
    return "\n".join(lines)


def _final_table(done: Finished) -> list[str]:
    """Medians for errors, means (80 % intervals) else, at the end: methods down; panels, or values of a sweep, across."""
    table: dict[str, dict[str, str]] = {}
    for row in done.summary():
        sweep = f"{row['at']:g}" if "at" in row else ""
        head = " ".join(filter(None, [row["panel"] if len(done.figure.panels) > 1 else "", sweep]))
        table.setdefault(row["method"], {})[head if done.figure.kind != "searches" else "optimum found"] = _shown(
            row, done
        )
    heads = list(dict.fromkeys(head for cells in table.values() for head in cells))
    lines = [f"| method | {' | '.join(head or 'at the end' for head in heads)} |", "|---" * (len(heads) + 1) + "|"]
    return lines + [f"| {m} | {' | '.join(cells.get(head, '') for head in heads)} |" for m, cells in table.items()]


def _shown(row: dict[str, Any], done: Finished) -> str:
    if done.figure.kind == "searches":
        return f"{row['found']:.2f}"
    if done.figure.kind == "errors":
        return f"{row['median'][-1]:.2g}"
    low = max(row["low"][-1], 0.0)
    return f"{row['mean'][-1]:.3g} ({low:.3g} to {row['high'][-1]:.3g})"


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
    order=lambda job: (job.seed, _SLOW.get(job.method, 9)),
    budget=budget,
    claims=lambda done, _: claims(done),
    tables=lambda done, _: markdown(done),
    write=lambda done, _, results: write_figures(done, results, draw),
    timed=("C2",),
)

if __name__ == "__main__":
    REPRODUCTION.main()
