"""Reproduces Figures 4, 5, 6 and 8 of Kim et al. (2025).

Run with ``python reproductions/kim2025/run.py``; every finished run is stored at once, so that it can be stopped and started
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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from claims import Claim, claims
from figures import NUMBERS, Figure, Finished, figure
from harness import Store, fill, finish
from pictures import draw
from runs import perform
from settings import FULL, SMOKE, Job

RESULTS = Path(__file__).parent / "results"
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
    lines = ["| figure | claim | paper | ours (70 % interval) | |", "|---|---|---|---|---|"]
    lines += [f"| {c.figure} | {c.text} | {c.paper} | {c.ours} | {c.verdict} |" for c in claims(done)]
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
    results = arguments.results or (Path(tempfile.mkdtemp(prefix="kim2025-")) if arguments.smoke else RESULTS)
    figures = [figure(number, size) for number in arguments.figures]
    store = Store(results / "runs", Job)
    if arguments.table or arguments.readme:
        tables = markdown(finished(figures, store))
        print(tables)
        if arguments.readme:
            README.write_text(fill(README.read_text(), tables))
        return 0
    jobs = [job for one in figures for job in one.jobs]
    ran = finish(jobs, perform, store, processes=arguments.processes, order=lambda job: (job.seed, -job.steps))
    done = finished(figures, store)
    write(done, results)
    _print(claims(done))
    seconds = sum(store.load()[key]["seconds"] for key in {job.key for job in jobs})
    print(f"{ran} runs now; all of them took {seconds:.0f} s of computing; results in {results}")
    return ran


if __name__ == "__main__":
    main()
