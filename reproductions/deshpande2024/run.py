"""Reproduces the figures and tables of Deshpande et al. (2024), under the paper's model and, where it matters, under ours.

Run with ``python reproductions/deshpande2024/run.py``; every finished run is stored at once, so that it can be stopped and
started again. Writes ``results/figure*.json`` and ``.png`` and prints the paper's claims beside what was found.
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
from figures import PARTS, Finished, figure
from judging import claim_lines
from pictures import draw
from runs import perform
from settings import FULL, SMOKE, Job

NAMES = {"table1": "Tables 1 and 3", "table2": "Table 2", "table4": "Table 4", "A4": "A.4"}


def markdown(done: Mapping[str, Finished]) -> str:
    """Return the claims, and means at the end of every panel, as tables for the README."""
    lines = claim_lines(claims(done), part="part", paper="paper")
    for number, one in done.items():
        repeats, name = len(one.figure.cells[0].jobs), NAMES.get(number, f"Figure {number}")
        lines += ["", f"{name}, {one.figure.title}: {repeats} repeats", ""]
        lines += ["| panel, model | method | calibration error | best value | area |", "|---|---|---|---|---|"]
        for c in one.figure.cells:
            error, best = (
                one.error(c.panel, c.model, c.method).mean(),
                one.best(c.panel, c.model, c.method)[:, -1].mean(),
            )
            area = one.area(c.panel, c.model, c.method).mean()
            lines.append(f"| {c.panel}, {c.model} | {c.method} | {error:.2f} | {best:.4g} | {area:.3f} |")
    return "\n".join(lines)


REPRODUCTION = Reproduction(
    folder=Path(__file__).parent,
    about=__doc__,
    parts=PARTS,
    called="parts",
    full=FULL,
    smoke=SMOKE,
    figure=figure,
    finished=Finished,
    job=Job,
    filed_by="problem",
    perform=perform,
    order=lambda job: job.seed,
    budget=lambda job: f"{job.initial} + {job.steps} evaluations",
    claims=lambda done, _: claims(done),
    tables=lambda done, _: markdown(done),
    write=lambda done, _, results: write_figures(done, results, draw),
)

if __name__ == "__main__":
    REPRODUCTION.main()
