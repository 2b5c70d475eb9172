"""Figures 5, 6, 7, 10, 11, 12, 13, 14 and 15 of Stanton, Maddox and Wilson (2023): runs, tables and pictures.

``python reproductions/stanton2023/run.py`` does all; ``--smoke`` does a little of everything in seconds. Finished runs are
kept in ``results/runs.jsonl``, with the commit of their code, and are not done again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, astuple, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from arithmetic import fix_arithmetic

fix_arithmetic()

import ranking
import tradeoffs
from command import VERIFIED, verified_or_exit, verify
from harness import fill, present_commit
from judging import FEWEST_SEEDS
from pictures import draw
from records import (
    BY_PANEL,
    FIGURES,
    PANELS,
    Job,
    Records,
    all_jobs,
    found_by,
    load,
    panels_of,
    perform,
    rounded,
    save,
    seconds_by_panel,
    there,
)
from settings import FULL, SMOKE, Size
from tables import Row, claims, markdown, rows
from tqdm import tqdm

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="a little of everything, into a temporary folder")
    parser.add_argument("--figures", type=int, nargs="+", choices=FIGURES, default=FIGURES)
    parser.add_argument("--problems", nargs="+", default=(), help="run these problems of the figures only")
    parser.add_argument("--methods", nargs="+", default=(), help="run these methods of the figures only")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--trials", type=int, help="at most so many of each figure")
    parser.add_argument("--out", type=Path, help="folder of the results")
    parser.add_argument(
        "--data", type=Path, help=f"folder of the tables of Figure 13, or the variable {ranking.VARIABLE}"
    )
    parser.add_argument("--table", action="store_true", help="only print the table of the results that are there")
    parser.add_argument("--readme", action="store_true", help="run nothing; put the same into the README")
    parser.add_argument("--left", action="store_true", help="run nothing; say how many runs are left")
    parser.add_argument("--verify", type=int, help="run so many stored runs, drawn at random, again and compare")
    parser.add_argument("--claims", action="store_true", help="run nothing; write what the runs that are there say")
    arguments = parser.parse_args()
    out: Path = arguments.out or (
        Path(tempfile.mkdtemp(prefix="stanton2023-")) if arguments.smoke and not arguments.left else RESULTS
    )
    if arguments.table or arguments.readme:
        tables = "\n\n".join(markdown(lines) for figure in arguments.figures if (lines := stored(out, figure)))
        print(tables)
        if arguments.readme:
            readme = Path(__file__).parent / "README.md"
            readme.write_text(fill(readme.read_text(), tables))
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
    if arguments.left:
        jobs = all_jobs(figures, size, arguments.problems, arguments.methods)
        missing = len(set(jobs) - load(out / "runs.jsonl", size).keys())
        print(f"{Path(__file__).parent.name}: {missing} of {len(jobs)} runs are left{guess(jobs, out, size)}")
        return
    if arguments.verify:
        check(figures, size, out, arguments.verify)
        return
    out.mkdir(parents=True, exist_ok=True)
    if arguments.claims:
        records = there(figures, size, load(out / "runs.jsonl", size))
        seeds = {figure: len({job.seed for job in records if job.figure == figure}) for figure in figures}
        size = replace(size, trials={**size.trials, **seeds})
    else:
        jobs = all_jobs(figures, size, arguments.problems, arguments.methods)
        records = study(jobs, size, out / "runs.jsonl", arguments.processes)
    found = rows(records)
    for figure, lines in found.items():
        if size.trials[figure] < min(FEWEST_SEEDS, told_by(out, lines)):
            print(
                f"Figure {figure}: {size.trials[figure]} trials are there, and the stored table of earlier ones stays"
            )
            continue
        whole = len(panels_of(records, figure)) == len(PANELS[figure]) if figure in BY_PANEL else True
        kept = [] if whole else [row for row in stored(out, figure) if row.what not in {line.what for line in lines}]
        shown = [asdict(row) for row in [*kept, *lines]]
        (out / f"figure{figure}.json").write_text(json.dumps(shown, indent=1) + "\n")
        if whole:
            draw(figure, records, out / f"figure{figure}.png")
        for row in lines:
            print(f"Figure {row.figure:4s} {row.what:60s} paper: {row.paper:32s} ours: {row.ours}")
        commits = found_by(out / "runs.jsonl", size)
        names = {commits[job] for job in records if job.figure == figure}
        write_claims(out, size, figure, lines, ", ".join(sorted(names)), whole=whole)


def told_by(out: Path, lines: Sequence[Row]) -> int:
    """Return the most trials that stored claims of some rows rest on."""
    file, texts = out / "claims.json", {row.what for row in lines}
    stored = json.loads(file.read_text()) if file.exists() else []
    return max((claim["seeds"] for claim in stored if claim["text"] in texts), default=0)


def check(figures: Iterable[int], size: Size, out: Path, count: int) -> None:
    """Run some of the stored runs of some figures, drawn at random, again; say and store which give something else."""
    found, wanted = load(out / "runs.jsonl", size), set(all_jobs(figures, size))
    jobs = {" ".join(str(part) for part in astuple(job) if part != ""): job for job in found if job in wanted}
    commits = found_by(out / "runs.jsonl", size)
    different = verify(
        {key: commits[job] for key, job in jobs.items()},
        count,
        out / VERIFIED,
        lambda key: rounded(perform(jobs[key], size)) == found[jobs[key]],
    )
    verified_or_exit(different)


def write_claims(out: Path, size: Size, figure: int, lines: Sequence[Row], commit: str, *, whole: bool) -> None:
    """Write the claims of a figure, with the commit of the code that it was run with; others stay as they are.

    Args:
        out: Folder of the results.
        size: With the trials of the figure.
        figure: Its number.
        lines: Its rows.
        commit: Of its runs.
        whole: Whether these are all its rows; else those of other panels stay, too.
    """
    file = out / "claims.json"
    basis = {"figure": figure, "seeds": size.trials[figure], "budget": budget(figure, size), "commit": commit}
    new = [{**asdict(claim), **basis} for claim in claims(lines, size.trials[figure])]
    texts = {claim["text"] for claim in new}
    before = json.loads(file.read_text()) if file.exists() else []
    kept = [row for row in before if row["figure"] != figure or not (whole or row["text"] in texts)]
    file.write_text(json.dumps(sorted([*kept, *new], key=lambda row: row["figure"]), indent=1) + "\n")


def budget(figure: int, size: Size) -> str:
    """Return what a run of a figure may spend, in words."""
    if figure in (7, 15):
        return f"{size.initial} + 3 x {size.rounds} evaluations"
    if figure == 10:
        return f"{size.initial} + {size.single_rounds} evaluations"
    if figure == 12:
        return f"{size.tradeoffs.initial} + {max(size.tradeoffs.rounds.values())} evaluations"
    if figure == 13:
        return f"{size.ranking.known} + {size.ranking.revealed} rows"
    return f"{size.evaluations} evaluations" if figure == 6 else "no search"


def guess(jobs: Sequence[Job], out: Path, size: Size) -> str:
    """Say how long some runs take on two cores, by stored ones of the same panel; for how many there are none."""
    times = seconds_by_panel(out / "runs.jsonl", size)
    known = [
        times[job.figure, job.problem, job.method] for job in jobs if (job.figure, job.problem, job.method) in times
    ]
    if not known:
        return ""
    without = f", {len(jobs) - len(known)} aside, of which no time is stored" if len(known) < len(jobs) else ""
    return f"; all take about {sum(known) / 120.0:.0f} minutes on two cores, by those stored{without}"


def study(jobs: Sequence[Job], size: Size, path: Path, processes: int) -> Records:
    """Run the jobs that are not in the file yet, and return the results of all."""
    known = load(path, size)
    missing, commit = [job for job in jobs if job not in known], present_commit()
    print(f"{len(jobs) - len(missing)} of {len(jobs)} runs are there already")
    for job, record, seconds in tqdm(performed(missing, size, processes), total=len(missing), disable=not missing):
        save(path, job, record, size, commit, seconds)
    done = load(path, size)
    return {job: done[job] for job in jobs}


def performed(jobs: list[Job], size: Size, processes: int) -> Iterator[tuple[Job, dict[str, Any], float]]:
    """Yield runs as they finish, each with its seconds of computing."""
    if processes == 1 or len(jobs) < 2:
        yield from ((job, *timed(job, size)) for job in jobs)
        return
    with ProcessPoolExecutor(processes) as pool:
        futures = {pool.submit(timed, job, size): job for job in jobs}
        for future in as_completed(futures):
            yield futures[future], *future.result()


def timed(job: Job, size: Size) -> tuple[dict[str, Any], float]:
    """Return a run, and the seconds of computing (of one core) that it took."""
    started = time.process_time()
    return perform(job, size), round(time.process_time() - started, 1)


def stored(out: Path, figure: int) -> list[Row]:
    """Return the rows of a figure that an earlier run has written."""
    path = out / f"figure{figure}.json"
    return [Row(**row) for row in json.loads(path.read_text())] if path.exists() else []


if __name__ == "__main__":
    main()
