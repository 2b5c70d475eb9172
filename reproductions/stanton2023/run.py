"""Figures 5, 6, 7, 12, 13, 14 and 15 of Stanton, Maddox and Wilson (2023): runs, tables and pictures.

``python reproductions/stanton2023/run.py`` does all; ``--smoke`` does a little of everything in seconds. Finished runs are
kept in ``runs.jsonl`` and are not done again.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import ranking
import tradeoffs
from pictures import draw
from records import FIGURES, Job, Records, all_jobs, load, perform, save
from settings import FULL, SMOKE, Size
from tables import Row, markdown, rows
from tqdm import tqdm

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="a little of everything, into results/smoke")
    parser.add_argument("--figures", type=int, nargs="+", choices=FIGURES, default=FIGURES)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--trials", type=int, help="at most so many of each figure")
    parser.add_argument("--out", type=Path, help="folder of the results")
    parser.add_argument(
        "--data", type=Path, help=f"folder of the tables of Figure 13, or the variable {ranking.VARIABLE}"
    )
    parser.add_argument("--table", action="store_true", help="only print the table of the results that are there")
    arguments = parser.parse_args()
    out: Path = arguments.out or (RESULTS / "smoke" if arguments.smoke else RESULTS)
    if arguments.table:
        print("\n\n".join(markdown(lines) for figure in arguments.figures if (lines := stored(out, figure))))
        return
    if arguments.data:
        os.environ[ranking.VARIABLE] = str(arguments.data)
    figures = list(arguments.figures)
    if 12 in figures and not tradeoffs.possible():
        figures.remove(12)
        print("Figure 12 is left out: its boxes need BoTorch, pip install 'calibo[botorch]'")
    if 13 in figures and not ranking.folder():
        figures.remove(13)
        print("Figure 13 is left out: say where its tables are with --data")
    size = SMOKE if arguments.smoke else FULL
    if arguments.trials:
        size = replace(size, trials={f: min(count, arguments.trials) for f, count in size.trials.items()})
    out.mkdir(parents=True, exist_ok=True)
    records = study(figures, size, out / "runs.jsonl", arguments.processes)
    for figure, lines in rows(records).items():
        (out / f"figure{figure}.json").write_text(json.dumps([asdict(row) for row in lines], indent=1) + "\n")
        draw(figure, records, out / f"figure{figure}.png")
        for row in lines:
            print(f"Figure {row.figure:4s} {row.what:60s} paper: {row.paper:32s} ours: {row.ours}")


def study(figures: Iterable[int], size: Size, path: Path, processes: int) -> Records:
    """Run the jobs of some figures that are not in the file yet, and return the results of all."""
    known = load(path, size)
    jobs = all_jobs(figures, size)
    missing = [job for job in jobs if job not in known]
    print(f"{len(jobs) - len(missing)} of {len(jobs)} runs are there already")
    for job, record in tqdm(performed(missing, size, processes), total=len(missing), disable=not missing):
        save(path, job, record, size)
        known[job] = record
    done = load(path, size)
    return {job: done[job] for job in jobs}


def performed(jobs: list[Job], size: Size, processes: int) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Yield runs as they finish."""
    if processes == 1 or len(jobs) < 2:
        yield from ((job, perform(job, size)) for job in jobs)
        return
    with ProcessPoolExecutor(processes) as pool:
        futures = {pool.submit(perform, job, size): job for job in jobs}
        for future in as_completed(futures):
            yield futures[future], future.result()


def stored(out: Path, figure: int) -> list[Row]:
    """Return the rows of a figure that an earlier run has written."""
    path = out / f"figure{figure}.json"
    return [Row(**row) for row in json.loads(path.read_text())] if path.exists() else []


if __name__ == "__main__":
    main()
