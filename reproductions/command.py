"""What all reproductions share: the command line that runs what is missing and writes what was found."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from harness import Store, fill, finish, key_of, seconds_of
from judging import Claim, print_claims


@dataclass(frozen=True)
class Reproduction:
    """One paper's reproduction, as its command line needs it.

    Attributes:
        folder: Its folder, which ``README.md`` and ``results/`` are in.
        about: What it does, for the help.
        parts: Names of its parts.
        called: What parts are called on the command line.
        full: The size of a full run; ``repeats`` says how many seeds each part has.
        smoke: The size of one that means nothing.
        figure: (name, size) -> a part, with its ``jobs``.
        finished: (part, results of all jobs by key) -> a part whose runs are there.
        job: The dataclass of a job.
        filed_by: Its field by which files are named.
        perform: What a job is.
        order: Of the jobs to run.
        budget: What a job may spend, in words.
        claims: (finished parts, size) -> the claims about them.
        tables: The same -> markdown for the README.
        write: (finished parts, size, folder) writes tables and pictures.
    """

    folder: Path
    about: str | None
    parts: Sequence[str]
    called: str
    full: Any
    smoke: Any
    figure: Callable[[str, Any], Any]
    finished: Callable[[Any, Mapping[str, Mapping[str, Any]]], Any]
    job: type[Any]
    filed_by: str
    perform: Callable[[Any], dict[str, Any]]
    order: Callable[[Any], Any]
    budget: Callable[[Any], str]
    claims: Callable[[Mapping[str, Any], Any], list[Claim]]
    tables: Callable[[Mapping[str, Any], Any], str]
    write: Callable[[Mapping[str, Any], Any, Path], None]

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Run the command line and return the number of jobs that were run."""
        arguments = self._parsed(argv)
        size = self.smoke if arguments.smoke else self.full
        if arguments.repeats:
            size = replace(size, repeats={part: most and arguments.repeats for part, most in size.repeats.items()})
        results = arguments.results or self.folder / "results"
        if arguments.smoke and not arguments.results:
            results = Path(tempfile.mkdtemp(prefix=f"{self.folder.name}-"))
        figures = {name: self.figure(name, size) for name in arguments.parts}
        store = Store(results / "runs", self.job, self.filed_by)
        if arguments.left:
            left, there = self.left(figures, store)
            print(f"{self.folder.name}: {left} of {left + there} runs are left")
            return 0
        if arguments.verify:
            return self.verify(figures, store, arguments.verify)
        if arguments.table or arguments.readme or arguments.claims:
            there = self.there(figures, size, store)
            done = self.stored(there, store)
            if arguments.claims:
                self._keep(self.claims(done, size), there, store, results / "claims.json")
                return 0
            tables = self.tables(done, size)
            print(tables)
            if arguments.readme:
                readme = self.folder / "README.md"
                readme.write_text(fill(readme.read_text(), tables))
            return 0
        jobs = [job for one in figures.values() for job in one.jobs]
        ran = finish(jobs, self.perform, store, processes=arguments.processes, order=self.order)
        done = self.stored(figures, store)
        results.mkdir(parents=True, exist_ok=True)
        self.write(done, size, results)
        said = self.claims(done, size)
        self._keep(said, figures, store, results / "claims.json")
        print_claims(said)
        seconds = seconds_of(jobs, store.load())
        print(f"{ran} runs now; all of them took {seconds:.0f} s of computing; results in {results}")
        return ran

    def verify(self, figures: Mapping[str, Any], store: Store, count: int) -> int:
        """Run some of the stored jobs, drawn at random, again; say which give something else, and return how many."""
        found, commits = store.load(), store.commits()
        jobs = {key_of(job): job for one in figures.values() for job in one.jobs if key_of(job) in found}
        keys = sorted(jobs)
        drawn = np.random.default_rng().permutation(len(keys))[:count]
        different = 0
        for key in (keys[i] for i in drawn):
            same = {**self.perform(jobs[key]), "seconds": 0} == {**found[key], "seconds": 0}
            different += not same
            print(f"{'the same' if same else 'DIFFERENT'}: {key} (commit {commits[key]})")
        return different

    def there(self, figures: Mapping[str, Any], size: Any, store: Store) -> dict[str, Any]:
        """Return parts with as many seeds as are stored of all their runs; whole parts of which no seed is."""
        found = store.load().keys()
        chosen = dict(figures)
        for name in figures:
            for repeats in range(size.repeats[name], 0, -1):
                part = self.figure(name, replace(size, repeats={**size.repeats, name: repeats}))
                if {key_of(job) for job in part.jobs} <= found:
                    chosen[name] = part
                    break
        return chosen

    def left(self, figures: Mapping[str, Any], store: Store) -> tuple[int, int]:
        """Return how many runs of some parts are missing, and how many are there."""
        needed = {key_of(job) for one in figures.values() for job in one.jobs}
        missing = needed - store.load().keys()
        return len(missing), len(needed) - len(missing)

    def _keep(self, said: Sequence[Claim], figures: Mapping[str, Any], store: Store, file: Path) -> None:
        """Write claims with what they rest on: seeds, budget and commit; those of parts without new ones stay as they are."""
        before = json.loads(file.read_text()) if file.exists() else []
        new = [{**asdict(claim), **self._basis(figures.get(claim.part), store)} for claim in said]
        kept = [row for row in before if row["part"] not in {claim.part for claim in said}]
        rank = {part: i for i, part in enumerate(self.parts)}
        rows = sorted([*kept, *new], key=lambda row: rank.get(row["part"], -1))
        file.write_text(json.dumps(rows, indent=1) + "\n")

    def _basis(self, figure: Any, store: Store) -> dict[str, Any]:
        """Return seeds, budgets and commits of the runs of a part; nothing for claims that no run decides."""
        if figure is None or not figure.jobs:
            return {"seeds": 0, "budget": "", "commit": ""}
        commits, budgets = store.commits(), list(dict.fromkeys(self.budget(job) for job in figure.jobs))
        return {
            "seeds": len({job.seed for job in figure.jobs}),
            "budget": budgets[0] if len(budgets) == 1 else f"{budgets[0]} to {budgets[-1]}",
            "commit": ", ".join(sorted({commits[key_of(job)] for job in figure.jobs})),
        }

    def stored(self, figures: Mapping[str, Any], store: Store) -> dict[str, Any]:
        """Return the parts all of whose runs are stored, by name; the others are named."""
        found, done = store.load(), {}
        for name, one in figures.items():
            missing = len({key_of(job) for job in one.jobs} - found.keys())
            if missing:
                print(f"{name}: {missing} runs are missing")
            elif one.jobs:
                done[name] = self.finished(one, found)
        return done

    def _parsed(self, argv: Sequence[str] | None) -> argparse.Namespace:
        parser = argparse.ArgumentParser(
            description=self.about, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
        )
        parser.add_argument(f"--{self.called}", dest="parts", nargs="+", choices=self.parts, default=self.parts)
        parser.add_argument("--smoke", action="store_true", help="a few steps of everything, in seconds; means nothing")
        parser.add_argument("--repeats", type=int, help=f"seeds of all {self.called}, instead of those in settings.py")
        parser.add_argument("--processes", type=int, default=2)
        parser.add_argument("--results", type=Path, help="where to write (a temporary folder for --smoke)")
        parser.add_argument("--left", action="store_true", help="run nothing; say how many runs are left")
        parser.add_argument("--verify", type=int, help="run so many stored jobs, drawn at random, again and compare")
        parser.add_argument("--claims", action="store_true", help="run nothing; write claims.json from what is stored")
        parser.add_argument("--table", action="store_true", help="run nothing; print what is stored as markdown")
        parser.add_argument("--readme", action="store_true", help="run nothing; put the same into the README")
        arguments = parser.parse_args(argv)
        if arguments.smoke and arguments.readme:
            parser.error("--smoke means nothing: it does not go into the README")
        return arguments


def write_figures(done: Mapping[str, Any], results: Path, draw: Callable[[Any, Path], None]) -> None:
    """Write a table and a picture of each finished figure, named by its number."""
    for number, one in done.items():
        table = {"title": one.figure.title, "seconds": round(one.seconds, 1), "rows": one.summary()}
        (results / f"figure{number}.json").write_text(json.dumps(table) + "\n")
        draw(one, results / f"figure{number}.png")
