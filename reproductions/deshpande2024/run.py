"""Reproduces Figures 1, 2, 3 and 6 and Table 2 of Deshpande et al. (2024), under the paper's model and under ours.

Run with ``python reproductions/deshpande2024/run.py``; every finished run is stored at once, so that it can be stopped and
started again. Writes ``results/figure*.json`` and ``.png`` and prints the paper's claims beside what was found.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from claims import claims
from command import Reproduction, write_figures
from figures import MODELS, PARTS, Finished, figure
from judging import claim_lines
from pictures import draw
from runs import perform
from settings import FULL, METHODS, SMOKE, Job


def markdown(done: Mapping[str, Finished]) -> str:
    """Return the claims, and means at the end of every panel, as tables for the README."""
    lines = claim_lines(claims(done), part="part", paper="paper")
    for number, one in done.items():
        repeats = len(one.figure.cells[0].jobs)
        lines += [
            "",
            f"{'Table 2' if number == 'table2' else f'Figure {number}'}, {one.figure.title}: {repeats} repeats",
            "",
        ]
        lines += [
            f"| panel, model | {' | '.join(f'error: {m}' for m in METHODS)} | {' | '.join(f'best: {m}' for m in METHODS)} |"
        ]
        lines += ["|---" * (1 + 2 * len(METHODS)) + "|"]
        for panel in one.figure.panels:
            for model in MODELS:
                errors = [f"{one.error(panel, model, method).mean():.2f}" for method in METHODS]
                best = [f"{one.best(panel, model, method)[:, -1].mean():.4g}" for method in METHODS]
                lines.append(f"| {panel}, {model} | {' | '.join(errors + best)} |")
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
