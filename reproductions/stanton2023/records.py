"""The runs of all figures: which there are, one of them, and a file in which finished ones are kept."""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import offline
import optimization
import ranking
import tradeoffs
import wellspecified
from judging import FEWEST_SEEDS
from settings import Size

from calibo.errors import CaliboWarning

FIGURES = (5, 6, 7, 10, 12, 13, 14, 15)
#: Pairs of a problem and a method of each figure that has several.
PANELS = {
    **{figure: optimization.panels(figure) for figure in optimization.PANELS},
    12: tradeoffs.PANELS,
    13: [(problem, method) for problem in ranking.PROBLEMS for method in ranking.METHODS],
}
#: Figures whose rows are of one panel each, so that some of these can be shown before the others.
BY_PANEL = (6, 7, 10, 12, 13, 15)


@dataclass(frozen=True, order=True)
class Job:
    """One run; jobs are done seed by seed, so that what an interrupted study leaves is balanced.

    Attributes:
        seed: Number of the trial.
        figure: Number of the figure.
        problem: What is optimised; "" for Figures 5 and 14.
        method: By what; "" for Figures 5 and 14.
    """

    seed: int
    figure: int
    problem: str = ""
    method: str = ""


#: What runs have found, by job.
Records = dict[Job, dict[str, Any]]


def all_jobs(
    figures: Iterable[int], size: Size, problems: Collection[str] = (), methods: Collection[str] = ()
) -> list[Job]:
    """Every run of some figures, of those problems and methods only that are named, if any are."""
    found = []
    for figure in figures:
        panels, seeds = PANELS.get(figure, [("", "")]), range(size.trials[figure])
        panels = [panel for panel in panels if not problems or panel[0] in problems]
        panels = [panel for panel in panels if not methods or panel[1] in methods]
        found += [Job(seed, figure, problem, method) for seed in seeds for problem, method in panels]
    return sorted(found)


def there(figures: Iterable[int], size: Size, records: Records) -> Records:
    """Return the runs of some figures of the first trials that are whole.

    Of figures with rows of their own for each panel, those panels are taken that have the fewest trials which a verdict
    needs, or else all that were begun.
    """
    found: Records = {}
    for figure in figures:
        panels = PANELS.get(figure, [("", "")])
        seeds = {panel: _trials_of(figure, panel, size, records) for panel in panels}
        if figure in BY_PANEL:
            begun = panels_of(records, figure)
            panels = [panel for panel in begun if seeds[panel] >= FEWEST_SEEDS] or begun
        trials = min((seeds[panel] for panel in panels), default=0)
        jobs = (Job(seed, figure, *panel) for seed in range(trials) for panel in panels)
        found |= {job: records[job] for job in jobs}
    return found


def _trials_of(figure: int, panel: tuple[str, str], size: Size, records: Records) -> int:
    """Return how many trials of a panel, from the first on, are there."""
    most = size.trials[figure]
    return next((seed for seed in range(most) if Job(seed, figure, *panel) not in records), most)


def panels_of(records: Records, figure: int) -> list[tuple[str, str]]:
    """Return the problems and methods of a figure that have runs."""
    runs = {(job.problem, job.method) for job in records if job.figure == figure}
    return [panel for panel in PANELS[figure] if panel in runs]


def perform(job: Job, size: Size) -> dict[str, Any]:
    """Return the run of a job."""
    with warnings.catch_warnings():
        # Fallbacks (sets that are empty, or everything) are counted in the records instead.
        warnings.simplefilter("ignore", CaliboWarning)
        if job.figure == 5:
            return offline.trial(job.seed, size)
        if job.figure == 12:
            return tradeoffs.run(job.problem, job.method, job.seed, size.tradeoffs)
        if job.figure == 13:
            return ranking.run(job.problem, job.method, job.seed, size.ranking)
        if job.figure == 14:
            return wellspecified.trial(job.seed, size)
        return optimization.run(job.figure, job.problem, job.method, job.seed, size)


def load(path: Path, size: Size) -> Records:
    """Return the finished runs with the settings of ``size``; a last line that was cut off is left out."""
    return {job: entry["record"] for job, entry in _entries(path, size)}


def _entries(path: Path, size: Size) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Yield the lines of finished runs with the settings of ``size``."""
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        job = Job(**entry["job"])
        if entry["settings"] == _settings(size, job):
            yield job, entry


def found_by(path: Path, size: Size) -> dict[Job, str]:
    """Return the commit of the code that made each finished run with the settings of ``size``."""
    return {job: str(entry["commit"]) for job, entry in _entries(path, size)}


def seconds_by_panel(path: Path, size: Size) -> dict[tuple[int, str, str], float]:
    """Return the mean seconds of the finished runs of each figure, problem and method, where they were stored."""
    times: dict[tuple[int, str, str], list[float]] = {}
    for job, entry in _entries(path, size):
        if "seconds" in entry:
            times.setdefault((job.figure, job.problem, job.method), []).append(entry["seconds"])
    return {panel: sum(values) / len(values) for panel, values in times.items()}


def save(path: Path, job: Job, record: dict[str, Any], size: Size, commit: str, seconds: float) -> None:
    """Add a finished run, with the commit of the code that ran it and the seconds that it took."""
    about = {"job": asdict(job), "settings": _settings(size, job)}
    entry = {**about, "record": record, "commit": commit, "seconds": seconds}
    whole = not path.exists() or path.read_bytes()[-1:] in (b"", b"\n")
    with path.open("a") as file:
        file.write(("" if whole else "\n") + json.dumps(rounded(entry)) + "\n")


def _settings(size: Size, job: Job) -> dict[str, Any]:
    """Return what makes runs comparable: all sizes but the number of trials; of Figures 12 and 13 their own sizes."""
    if job.figure == 12:
        return asdict(size.tradeoffs)
    if job.figure == 13:
        return asdict(size.ranking)
    return {name: value for name, value in asdict(size).items() if name not in ("trials", "ranking", "tradeoffs")}


def rounded(value: Any) -> Any:
    """Return what JSON gives back of a record whose numbers are stored with seven digits."""
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [rounded(entry) for entry in cast("list[Any]", value)]
    return float(f"{value:.7g}") if isinstance(value, float) else value
