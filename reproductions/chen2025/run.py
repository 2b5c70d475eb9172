"""Reproduces Table 3.1 and the searches of Chen (2025) on NAS-Bench-201.

Run with ``python reproductions/chen2025/run.py``; every finished run is stored at once, so that it can be stopped and started
again. Writes ``results/*.json`` and ``.png`` and prints the thesis's claims beside what was found.
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
from distributions import table
from figures import PARTS, Figure, Finished, figure
from harness import Store, fill, finish
from pictures import draw
from runs import perform
from settings import FULL, SMOKE, Job
from tables import markdown

RESULTS = Path(__file__).parent / "results"
README = Path(__file__).parent / "README.md"


def finished(figures: Iterable[Figure], store: Store) -> dict[str, Finished]:
    """The parts all of whose runs are stored, by name; the others are named."""
    found, done = store.load(), {}
    for one in figures:
        missing = len({job.key for job in one.jobs} - found.keys())
        if missing:
            print(f"{one.name}: {missing} runs are missing")
        elif one.jobs:
            done[one.name] = Finished(one, found)
    return done


def write(rows: list[dict[str, Any]], done: dict[str, Finished], results: Path) -> None:
    """Writes the tables and pictures of finished parts."""
    results.mkdir(parents=True, exist_ok=True)
    (results / "table31.json").write_text(json.dumps(rows) + "\n")
    for name, one in done.items():
        shown = {"seconds": round(one.seconds, 1), "rows": one.summary()}
        (results / f"{name}.json").write_text(json.dumps(shown) + "\n")
    said = [asdict(claim) for claim in claims(rows, done)]
    (results / "claims.json").write_text(json.dumps(said, indent=1) + "\n")
    draw(rows, done, results)


def _print(rows: Sequence[Claim]) -> None:
    wide = max((len(row.text) for row in rows), default=0)
    for row in rows:
        print(f"{row.part:12s} {row.text:{wide}s}  thesis {row.thesis:10s} ours {row.ours:26s} {row.verdict}")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; the number of jobs that were run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--smoke", action="store_true", help="a few steps of everything, in seconds; means nothing")
    parser.add_argument("--seeds", type=int, help="of every part, instead of those in settings.py")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--results", type=Path, help="where to write (a temporary folder for --smoke)")
    parser.add_argument("--table", action="store_true", help="run nothing; print what is stored as markdown")
    parser.add_argument("--readme", action="store_true", help="run nothing; put the same into the README")
    arguments = parser.parse_args(argv)
    if arguments.smoke and arguments.readme:
        parser.error("--smoke means nothing: it does not go into the README")
    size = SMOKE if arguments.smoke else FULL
    if arguments.seeds:
        size = replace(size, seeds={part: min(arguments.seeds, most) for part, most in size.seeds.items()})
    results = arguments.results or (Path(tempfile.mkdtemp(prefix="chen2025-")) if arguments.smoke else RESULTS)
    figures = [figure(name, size) for name in arguments.parts]
    store = Store(results / "runs", Job, "dataset")
    rows = table(size.trials)
    if arguments.table or arguments.readme:
        tables = markdown(rows, finished(figures, store))
        print(tables)
        if arguments.readme:
            README.write_text(fill(README.read_text(), tables))
        return 0
    jobs = [job for one in figures for job in one.jobs]
    ran = finish(
        jobs, perform, store, processes=arguments.processes, order=lambda job: (job.network is not None, job.seed)
    )
    done = finished(figures, store)
    write(rows, done, results)
    _print(claims(rows, done))
    seconds = sum(store.load()[key]["seconds"] for key in {job.key for job in jobs})
    print(f"{ran} runs now; all of them took {seconds:.0f} s of computing; results in {results}")
    return ran


if __name__ == "__main__":
    main()
