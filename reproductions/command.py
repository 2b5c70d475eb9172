"""What all reproductions share: the command line that runs what is missing and writes what was found."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from harness import Store, fill, finish, key_of, present_commit, seconds_of
from judging import FEWEST_SEEDS, Claim, print_claims

#: File in the folder of results that says which stored runs were run again, and whether they gave the same.
VERIFIED = "verified.json"
#: Folder, in that of the runs, of runs of earlier code.
EARLIER = "older"
#: Runs of earlier code have at most so many seeds.
_MOST_EARLIER = 50


@dataclass(frozen=True)
class Part:
    """A part of a reproduction.

    Attributes:
        figure: With its ``jobs``.
        store: Where its runs are kept.
    """

    figure: Any
    store: Store

    @property
    def earlier(self) -> bool:
        """Whether its runs are of earlier code."""
        return self.store.folder.name == EARLIER


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
        timed: Parts whose results are times, which no second run repeats.
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
    timed: Sequence[str] = ()

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
            minutes = self.minutes(figures, store)
            guess = "" if minutes is None else f"; all take about {minutes:.0f} minutes on two cores, by those stored"
            print(f"{self.folder.name}: {left} of {left + there} runs are left{guess}")
            return 0
        if arguments.verify:
            return verified_or_exit(self.verify(figures, store, arguments.verify, results / VERIFIED))
        if arguments.table or arguments.readme or arguments.claims:
            there = self.there(figures, size, (store, Store(store.folder / EARLIER, self.job, self.filed_by)))
            done = self.stored(there)
            if arguments.claims:
                self.write(done, size, results)
                self._keep(self.claims(done, size), there, results / "claims.json")
                return 0
            tables = self._of_earlier_code(name for name in done if there[name].earlier) + self.tables(done, size)
            print(tables)
            if arguments.readme:
                readme = self.folder / "README.md"
                readme.write_text(fill(readme.read_text(), tables))
            return 0
        jobs = [job for one in figures.values() for job in one.jobs]
        ran = finish(jobs, self.perform, store, processes=arguments.processes, order=self.order)
        there = {name: Part(one, store) for name, one in figures.items()}
        done = self.stored(there)
        results.mkdir(parents=True, exist_ok=True)
        self.write(done, size, results)
        said = self.claims(done, size)
        self._keep(said, there, results / "claims.json")
        print_claims(said)
        seconds = seconds_of(jobs, store.load())
        print(f"{ran} runs now; all of them took {seconds:.0f} s of computing; results in {results}")
        return ran

    def _of_earlier_code(self, parts: Iterable[str]) -> str:
        """Return a paragraph that names the parts that are told by runs of earlier code; nothing if there are none."""
        names = ", ".join(parts)
        return f"By runs of earlier code (`results/runs/{EARLIER}`): {self.called} {names}.\n\n" if names else ""

    def verify(self, figures: Mapping[str, Any], store: Store, count: int, file: Path) -> int:
        """Run some of the stored jobs, drawn at random, again; say and store which give something else, and how many."""
        found, commits = store.load(), store.commits()
        steady = (one for name, one in figures.items() if name not in self.timed)
        jobs = {key_of(job): job for one in steady for job in one.jobs if key_of(job) in found}
        return verify({key: commits[key] for key in jobs}, count, file, lambda key: self._again(jobs[key], found[key]))

    def _again(self, job: Any, found: Mapping[str, Any]) -> bool:
        """Return whether a job gives what is stored, to the last digit, the time it takes aside."""
        return {**self.perform(job), "seconds": 0} == {**found, "seconds": 0}

    def there(self, figures: Mapping[str, Any], size: Any, stores: Sequence[Store]) -> dict[str, Part]:
        """Return parts with as many seeds as are stored of all their runs; whole parts of which no seed is.

        A part is told by its runs of the present code, the first store, as soon as they have the fewest seeds that a verdict
        needs; before that by the store that has more, of earlier code if need be, which may have more seeds than are meant.
        """
        chosen = {}
        for name in figures:
            seeds = [self._seeds(name, size, store, earlier=place > 0) for place, store in enumerate(stores)]
            enough = seeds[0] >= min(FEWEST_SEEDS, size.repeats[name])
            best = 0 if enough else int(np.argmax(seeds))
            repeats = {**size.repeats, name: seeds[best] or size.repeats[name]}
            chosen[name] = Part(self.figure(name, replace(size, repeats=repeats)), stores[best])
        return chosen

    def _seeds(self, name: str, size: Any, store: Store, *, earlier: bool) -> int:
        """Return how many seeds all runs of a part are stored of."""
        found = store.load().keys()
        for repeats in range(_MOST_EARLIER if earlier else size.repeats[name], 0, -1):
            part = self.figure(name, replace(size, repeats={**size.repeats, name: repeats}))
            if {key_of(job) for job in part.jobs} <= found:
                return repeats
        return 0

    def left(self, figures: Mapping[str, Any], store: Store) -> tuple[int, int]:
        """Return how many runs of some parts are missing, and how many are there."""
        needed = {key_of(job) for one in figures.values() for job in one.jobs}
        missing = needed - store.load().keys()
        return len(missing), len(needed) - len(missing)

    def minutes(self, figures: Mapping[str, Any], store: Store) -> float | None:
        """Estimate the minutes that all runs of some parts take on two cores, by those that are stored.

        A run takes as long as the stored ones of its method and problem did on average, or else those of all methods;
        ``None`` if nothing is stored.
        """
        found = store.load()
        if not found:
            return None
        jobs = {key_of(job): job for one in figures.values() for job in one.jobs}
        times: dict[tuple[str, ...], list[float]] = {}
        for key in jobs.keys() & found.keys():
            for group in self._groups(jobs[key]):
                times.setdefault(group, []).append(found[key]["seconds"])
        if not times:
            return None
        means = {group: float(np.mean(values)) for group, values in times.items()}
        seconds = (next(means[group] for group in self._groups(job) if group in means) for job in jobs.values())
        return sum(seconds) / 120.0

    def _groups(self, job: Any) -> tuple[tuple[str, ...], ...]:
        """Return what a run is like, from like to unlike."""
        where = str(getattr(job, self.filed_by))
        return (where, job.method), (job.method,), ()

    def _keep(self, said: Sequence[Claim], parts: Mapping[str, Part], file: Path) -> None:
        """Write claims with what they rest on: seeds, budget, commit, and whether that is earlier code.

        Those of other parts stay as they are; those of parts whose runs are not stored, from before, are of earlier code.
        """
        before = json.loads(file.read_text()) if file.exists() else []
        basis = {part: self._basis(parts.get(part)) for part in {claim.part for claim in said}}
        new = [
            {**basis[claim.part], **asdict(claim), "seeds": claim.seeds or basis[claim.part]["seeds"]} for claim in said
        ]
        kept = [
            {**row, "earlier": True} if row["part"] in parts else row
            for row in before
            if row["part"] not in {claim.part for claim in said}
        ]
        rank = {part: i for i, part in enumerate(self.parts)}
        rows = sorted([*kept, *new], key=lambda row: rank.get(row["part"], -1))
        file.write_text(json.dumps(rows, indent=1) + "\n")

    def _basis(self, part: Part | None) -> dict[str, Any]:
        """Return seeds, budgets and commits of the runs of a part; nothing for claims that no run decides."""
        if part is None or not part.figure.jobs:
            return {"seeds": 0, "budget": "", "commit": "", "earlier": False}
        jobs, commits = part.figure.jobs, part.store.commits()
        budgets = list(dict.fromkeys(self.budget(job) for job in jobs))
        return {
            "seeds": len({job.seed for job in jobs}),
            "budget": budgets[0] if len(budgets) == 1 else f"{budgets[0]} to {budgets[-1]}",
            "commit": ", ".join(sorted({commits[key_of(job)] for job in jobs})),
            "earlier": part.earlier,
        }

    def stored(self, parts: Mapping[str, Part]) -> dict[str, Any]:
        """Return the parts all of whose runs are stored, by name; the others are named."""
        done = {}
        for name, part in parts.items():
            found = part.store.load()
            missing = len({key_of(job) for job in part.figure.jobs} - found.keys())
            if missing:
                print(f"{name}: {missing} runs are missing")
            elif part.figure.jobs:
                done[name] = self.finished(part.figure, found)
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
        parser.add_argument(
            "--claims", action="store_true", help="run nothing; write claims, tables and pictures from what is stored"
        )
        parser.add_argument("--table", action="store_true", help="run nothing; print what is stored as markdown")
        parser.add_argument("--readme", action="store_true", help="run nothing; put the same into the README")
        arguments = parser.parse_args(argv)
        if arguments.smoke and arguments.readme:
            parser.error("--smoke means nothing: it does not go into the README")
        return arguments


def verify(commits: Mapping[str, str], count: int, file: Path, again: Callable[[str], bool]) -> int:
    """Run some of the stored jobs, drawn at random, again; say and store which differ, and return how many.

    Args:
        commits: The commit that each stored job was run with, by key.
        count: How many to draw.
        file: Where the outcome is stored.
        again: Whether the job of a key gives what is stored, to the last digit.
    """
    keys = sorted(commits)
    if not keys:
        print("nothing is stored that could be run again")
        return 0
    drawn = [keys[i] for i in np.random.default_rng().permutation(len(keys))[:count]]
    rows = []
    for key in drawn:
        rows.append({"job": key, "commit": commits[key], "same": again(key)})
        print(f"{'the same' if rows[-1]['same'] else 'DIFFERENT'}: {key} (commit {commits[key]})", flush=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"commit": present_commit(), "rows": rows}, indent=1) + "\n")
    return sum(not row["same"] for row in rows)


def verified_or_exit(different: int) -> int:
    """End the process with an error if stored runs gave something else."""
    if different:
        raise SystemExit(f"{different} stored run{'s' if different > 1 else ''} gave something else")
    return different


def write_figures(done: Mapping[str, Any], results: Path, draw: Callable[[Any, Path], None]) -> None:
    """Write a table and a picture of each finished figure, named by its number."""
    for number, one in done.items():
        table = {"title": one.figure.title, "seconds": round(one.seconds, 1), "rows": one.summary()}
        (results / f"figure{number}.json").write_text(json.dumps(table) + "\n")
        draw(one, results / f"figure{number}.png")
