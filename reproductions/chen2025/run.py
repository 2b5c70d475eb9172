"""Reproduces Table 3.1 and the searches of Chen (2025) on NAS-Bench-201.

Run with ``python reproductions/chen2025/run.py``; every finished run is stored at once, so that it can be stopped and started
again. Writes ``results/*.json`` and ``.png`` and prints the thesis's claims beside what was found.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from arithmetic import fix_arithmetic

fix_arithmetic()

from claims import claims
from command import Reproduction
from distributions import table
from figures import PARTS, Finished, figure
from pictures import draw
from runs import perform
from settings import FULL, SMOKE, Job, Size
from tables import markdown


def write(done: Mapping[str, Finished], size: Size, results: Path) -> None:
    """Write the tables and pictures of finished parts."""
    rows = table(size.trials)
    (results / "table31.json").write_text(json.dumps(rows) + "\n")
    for name, one in done.items():
        shown = {"seconds": round(one.seconds, 1), "rows": one.summary()}
        (results / f"{name}.json").write_text(json.dumps(shown) + "\n")
    draw(rows, done, results)


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
    filed_by="dataset",
    perform=perform,
    order=lambda job: (job.network is not None, job.seed),
    budget=lambda job: f"{job.evaluations} evaluations",
    claims=claims,
    tables=markdown,
    write=write,
)

if __name__ == "__main__":
    REPRODUCTION.main()
