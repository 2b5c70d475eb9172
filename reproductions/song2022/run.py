"""Reproduces Figures 3 to 7, 9 and 11 and the run times of Song et al. (2022).

Run with ``python reproductions/song2022/run.py``; every finished run is stored at once, so that it can be stopped and started
again. Writes ``results/figure*.json`` and ``.png`` and prints the paper's claims beside what was found.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from claims import Claim, claims
from figures import NUMBERS, Figure, Finished, figure
from harness import Store, fill, finish
from pictures import draw
from runs import perform
from settings import COMPOSITE_EI, FULL, SMOKE, Job

RESULTS = Path(__file__).parent / "results"
#: Which runs take longest.
_SLOW = {COMPOSITE_EI: 0, "LFBO RF": 1, "BORE RF": 1}
README = Path(__file__).parent / "README.md"


def finished(figures: Iterable[Figure], store: Store) -> dict[str, Finished]:
    """The figures all of whose runs are stored, by number; the others are named."""
    found, done = store.load(), {}
    for one in figures:
        missing = len({job.key for job in one.jobs} - found.keys())
        if missing:
            print(f"figure {one.number}: {missing} runs are missing")
        else:
            done[one.number] = Finished(one, found)
    return done


def markdown(done: dict[str, Finished]) -> str:
    """The claims, and the final means of every figure, as tables for the README."""
    lines = ["| figure | claim | paper | ours (80 % interval) | |", "|---|---|---|---|---|"]
    lines += [f"| {c.figure} | {c.text} | {c.paper} | {c.ours} | {c.verdict} |" for c in claims(done)]
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


def write(done: dict[str, Finished], results: Path) -> None:
    """Writes the tables and pictures of finished figures."""
    results.mkdir(parents=True, exist_ok=True)
    for number, one in done.items():
        table = {"title": one.figure.title, "seconds": round(one.seconds, 1), "rows": one.summary()}
        (results / f"figure{number}.json").write_text(json.dumps(table) + "\n")
        draw(one, results / f"figure{number}.png")
    rows = [asdict(claim) for claim in claims(done)]
    (results / "claims.json").write_text(json.dumps(rows, indent=1) + "\n")


def _print(rows: Sequence[Claim]) -> None:
    wide = max((len(row.text) for row in rows), default=0)
    for row in rows:
        print(f"{row.figure:3s} {row.text:{wide}s}  paper {row.paper:18s} ours {row.ours:24s} {row.verdict}")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; the number of jobs that were run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figures", nargs="+", choices=NUMBERS, default=NUMBERS)
    parser.add_argument("--smoke", action="store_true", help="a few steps of everything, in seconds; means nothing")
    parser.add_argument("--repeats", type=int, help="of every figure, instead of those in settings.py")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--results", type=Path, help="where to write (a temporary folder for --smoke)")
    parser.add_argument("--table", action="store_true", help="run nothing; print what is stored as markdown")
    parser.add_argument("--readme", action="store_true", help="run nothing; put the same into the README")
    arguments = parser.parse_args(argv)
    if arguments.smoke and arguments.readme:
        parser.error("--smoke means nothing: it does not go into the README")
    size = SMOKE if arguments.smoke else FULL
    if arguments.repeats:
        size = replace(size, repeats=dict.fromkeys(size.repeats, arguments.repeats))
    results = arguments.results or (Path(tempfile.mkdtemp(prefix="song2022-")) if arguments.smoke else RESULTS)
    figures = [figure(number, size) for number in arguments.figures]
    store = Store(results / "runs", Job)
    if arguments.table or arguments.readme:
        tables = markdown(finished(figures, store))
        print(tables)
        if arguments.readme:
            README.write_text(fill(README.read_text(), tables))
        return 0
    jobs = [job for one in figures for job in one.jobs]
    ran = finish(
        jobs, perform, store, processes=arguments.processes, order=lambda job: (job.seed, _SLOW.get(job.method, 9))
    )
    done = finished(figures, store)
    write(done, results)
    _print(claims(done))
    seconds = sum(store.load()[key]["seconds"] for key in {job.key for job in jobs})
    print(f"{ran} runs now; all of them took {seconds:.0f} s of computing; results in {results}")
    return ran


if __name__ == "__main__":
    main()
