"""Stored runs of the default continued by variants of it, all from the same data: what a part is worth with few evaluations.

A whole run for each variant and seed is mostly chance: where two searches part early, nothing later can be compared. Here the
first evaluations of a stored run are told to each variant, which then chooses some more; told the initial points alone, it
makes a whole run. Only what the search acts on is run, not the forecasts that are shown, which do not change where it goes.

    python -m benchmarks.peers.run --optimizers auto --problems all --seeds 0-6 --runs FOLDER
    python -m benchmarks.peers.continued --runs FOLDER --start 25 --count 12 --variants without_ranks,always_ranks
    python -m benchmarks.peers.continued --table

Finished rows are in ``results/continued.csv`` and are not done again. Columns, by variant, problem and seed:
    start         evaluations that were told
    evaluations   in all
    initial       median noise-free value of the initial points
    answer        noise-free value of the point with the best measurement
    lowest        lowest noise-free value
    seconds       CPU of a suggestion
"""

from __future__ import annotations

import os

from benchmarks.peers.hosts import THREADS

os.environ.update(THREADS)

import argparse
import csv
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from tqdm import tqdm

from benchmarks.peers import problems, store, summary
from benchmarks.peers.adapters.calibo_methods import own_space
from benchmarks.peers.problems import PeerProblem
from benchmarks.peers.protocol import Run
from benchmarks.peers.run import deadline, names_of, seeds_of
from benchmarks.peers.spaces import clean
from calibo import methods
from calibo.acquisition import (
    Acquisition,
    AcquisitionRule,
    ExpectedImprovement,
    ImprovementByNoise,
    ProbabilityOfImprovement,
    UpperQuantile,
)
from calibo.data import Array, Dataset
from calibo.models import GaussianProcess, InputWarping, Matern52, Model, NoisePrior, Surrogate, Warped
from calibo.models.outcome_transforms import OutcomeShape
from calibo.optimize import ModelBased, Optimizer, Strategy
from calibo.optimize.auto import acts_on_ranks, in_steps, repeats_tell
from calibo.search import Plan, Search
from calibo.spaces import Space

PATH, PAGE = Path(__file__).parents[1] / "results" / "continued.csv", summary.ROOT / "docs" / "choosing.md"
NOISE = NoisePrior.wide()
COLUMNS = ("variant", "problem", "seed", "start", "evaluations", "initial", "answer", "lowest", "seconds")
#: Smallest relative regret that is told apart.
FLOOR = 1e-4


@dataclass(frozen=True)
class Acting(Strategy):
    """What the default acts on, without what it shows.

    Attributes:
        process: The model of the outcomes.
        rule: Builds the acquisition function, unless outcomes come in steps.
        ranks: Whether bad outcomes count by rank; ``None`` for where the default does so.
        steps: Whether outcomes that come in steps are searched as by the default, if ``ranks`` is ``None``.
        again: Whether points may be measured again where the default would, whatever the rule.
    """

    process: Surrogate = GaussianProcess(noise=NOISE)  # noqa: RUF009 (frozen)
    rule: AcquisitionRule = ImprovementByNoise()  # noqa: RUF009 (frozen)
    ranks: bool | None = None
    steps: bool = True
    again: bool = False
    name: str = "acting"

    def plan(self, data: Dataset, *, rng: np.random.Generator) -> Plan:
        stepped = self.ranks is None and in_steps(data)
        ranked = acts_on_ranks(data) or (stepped and not self.steps) if self.ranks is None else self.ranks
        surrogate = Warped(self.process, shapes=(OutcomeShape.HALF_RANK,)) if ranked else Warped(self.process)
        given = replace(data, refit=True, forecasts=())
        rule = methods.auto().steps.rule if stepped and self.steps else self.rule
        plan = ModelBased(surrogate, rule).plan(given, rng=rng)
        by_noise = type(ImprovementByNoise().chosen(plan.models[0], given)).__name__
        if not repeats_tell(data, replace(plan, rule=by_noise if self.again else plan.rule)):
            return plan
        return replace(plan, avoid=np.vstack([data.X_pending, data.X_failed]))

    def searcher(self, space: Space) -> Search:
        return ModelBased(self.process, self.rule).searcher(space)


@dataclass(frozen=True)
class ImprovementOfMeasurements(AcquisitionRule):
    """log E (y - y*)_+ of single points: the improvement of a measurement over the best one, noise counted as a gain."""

    logarithmic: ClassVar[bool] = True
    smooth: ClassVar[bool] = True

    def build(self, model: Model, data: Dataset, *, rng: np.random.Generator) -> Acquisition:
        best = float(data.Y[:, 0].max())
        return lambda X: _improvement(model, X, best)


def _improvement(model: Model, X: Array, best: float) -> Array:
    return model.predict(X if X.ndim == 2 else X[:, -1, :], latent=False).log_expected_improvement(best)


VARIANTS: dict[str, Strategy] = {
    "auto": Acting(),
    "without_ranks": Acting(ranks=False),
    "always_ranks": Acting(ranks=True),
    "never_noisy": Acting(rule=ExpectedImprovement()),
    "of_measurements": Acting(rule=ImprovementOfMeasurements()),
    "narrow_noise": Acting(GaussianProcess()),
    "quadratic_trend": Acting(GaussianProcess(Matern52(), trend="quadratic", noise=NOISE)),
    "warped_inputs": Acting(GaussianProcess(Matern52(), warping=InputWarping(), noise=NOISE)),
    # What a search might do that knows that its budget ends.
    "expected_value": Acting(rule=UpperQuantile(0.501), again=True),
    "probability": Acting(rule=ProbabilityOfImprovement(margin=0.0), again=True),
}


@dataclass(frozen=True)
class Job:
    """A stored run to be continued.

    Attributes:
        variant: Name of the variant.
        problem: Name of the problem.
        seed: Seed of the run.
        start: How many of its evaluations are told.
        count: How many more the variant chooses.
    """

    variant: str
    problem: str
    seed: int
    start: int
    count: int


def continued(job: Job, run: Run) -> dict[str, Any]:
    """Return the row of a run continued by a variant."""
    problem = problems.get(job.problem, job.seed)
    optimizer = Optimizer(own_space(problem.space), VARIANTS[job.variant], seed=job.seed, n_initial=1)
    values, measured = list(run.values[: job.start]), list(run.measured[: job.start])
    for point, value in zip(run.points, measured, strict=False):
        optimizer.tell(dict(zip(problem.space, point, strict=True)), value)
    seconds = 0.0
    for number in range(job.start, job.start + job.count):
        began = time.process_time()
        asked = optimizer.ask()
        seconds += time.process_time() - began
        outcome, value = problem.evaluate(clean(problem.space, dict(asked.params)), job.seed, number)
        optimizer.tell(asked, outcome)
        values.append(value)
        measured.append(outcome)
    return row_of(job, problem, values, measured, seconds / job.count)


def searched(variant: str, strategy: Strategy, problem: PeerProblem, seed: int, evaluations: int) -> dict[str, Any]:
    """Return the row of a whole search by a variant, from the initial points that all optimizers are given."""
    optimizer = Optimizer(own_space(problem.space), strategy, seed=seed, n_initial=1)
    values, measured, seconds = list[float](), list[float](), 0.0
    for number in range(evaluations):
        if number < problem.n_initial:
            asked = params = problem.initial(seed)[number]
        else:
            began = time.process_time()
            asked = optimizer.ask()
            seconds += time.process_time() - began
            params = clean(problem.space, dict(asked.params))
        outcome, value = problem.evaluate(params, seed, number)
        optimizer.tell(asked, outcome)
        values.append(value)
        measured.append(outcome)
    job = Job(variant, problem.name, seed, problem.n_initial, evaluations - problem.n_initial)
    return row_of(job, problem, values, measured, seconds / job.count)


def row_of(
    job: Job, problem: PeerProblem, values: list[float], measured: list[float], seconds: float
) -> dict[str, Any]:
    """Return the row of a search, given all of its noise-free values and measurements, and the CPU of a suggestion."""
    found = {"variant": job.variant, "problem": job.problem, "seed": job.seed, "start": job.start}
    initial = float(np.median(values[: problem.n_initial]))
    answer = values[int(np.argmin(measured))]
    cells = {"initial": initial, "answer": answer, "lowest": min(values)}
    return (
        found
        | {"evaluations": len(values)}
        | {k: f"{v:.10g}" for k, v in cells.items()}
        | {"seconds": f"{seconds:.3g}"}
    )


def wanted(given: argparse.Namespace) -> Iterator[Job]:
    """Yield the jobs, one seed after the other."""
    for seed in seeds_of(given.seeds):
        for problem in names_of(given.problems):
            yield from (Job(variant, problem, seed, given.start, given.count) for variant in given.variants.split(","))


def load(path: Path = PATH) -> pd.DataFrame:
    """Return the finished rows."""
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=COLUMNS)


def add(path: Path, row: dict[str, Any]) -> None:
    """Add a finished row."""
    new = not path.exists()
    with path.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


def optima(frame: pd.DataFrame) -> dict[str, float]:
    """Return the smallest value of each problem that is known, by what the rows have seen; that of BBOB is by instance."""
    known = {name: problems.get(name, 0).optimum for name in frame["problem"].unique() if not name.startswith("bbob")}
    seen = frame.groupby("problem")["lowest"].min()
    return {name: min(value, seen[name]) if name.startswith("train") else value for name, value in known.items()}


def log_regrets(frame: pd.DataFrame) -> pd.DataFrame:
    """Return log10 of the relative regrets, a row for each continued run, a column for each variant."""
    found = optima(frame)
    best = [
        found[name] if name in found else problems.get(name, int(seed)).optimum
        for name, seed in zip(frame["problem"], frame["seed"], strict=True)
    ]
    relative = (frame["answer"] - best) / np.maximum(frame["initial"] - best, 1e-300)
    logs = frame.assign(log=np.log10(np.maximum(relative, FLOOR)))
    return logs.pivot_table(index=["problem", "seed", "start", "evaluations"], columns="variant", values="log")


def markdown(frame: pd.DataFrame) -> str:
    """Return the table of all variants against the default, by where they start and by family; whole runs first."""
    logs = log_regrets(frame)
    places = logs.index.to_frame()
    families = places["problem"].map(problems.family_of)
    whole = places["start"] <= places["problem"].map(lambda name: problems.get(name, 0).n_initial)
    starts = places["start"].where(~whole, 0)
    rows = []
    for start, end in sorted(set(zip(starts, places["evaluations"], strict=True))):
        part = logs[(starts == start) & (places["evaluations"] == end)]
        for variant in (name for name in VARIANTS if name != "auto" and name in part):
            gaps = (part[variant] - part["auto"]).dropna()
            cells = [cell(gaps[families[gaps.index] == family]) for family in _FAMILIES]
            if any(cells):
                rows.append(
                    (
                        f"{start} to {end}" if start else f"all {end}",
                        f"`{variant}`",
                        *cells,
                        cell(gaps),
                        str(len(gaps)),
                    )
                )
    return summary.table(("evaluations", "variant", *_FAMILIES, "all", "pairs"), rows)


_FAMILIES = ("bbob5", "bbob10", "noisy", "trainings", "tables")


def cell(gaps: pd.Series) -> str:
    """Return mean and standard error of differences of log10 regret, and how many are smaller and larger."""
    if len(gaps) < 2:
        return ""
    error = gaps.std(ddof=1) / np.sqrt(len(gaps))
    return f"{gaps.mean():+.2f} ± {error:.2f} ({int((gaps < -1e-9).sum())} : {int((gaps > 1e-9).sum())})"


def main(arguments: list[str] | None = None) -> None:
    """Continue what is not done yet, or show what is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=store.FOLDER, help="folder of the finished runs of auto")
    parser.add_argument("--variants", default=",".join(VARIANTS), help="names, separated by commas; auto is needed too")
    parser.add_argument("--problems", default="trainings,tables", help="suites or problems, separated by commas")
    parser.add_argument("--seeds", default="0-6")
    parser.add_argument("--start", type=int, default=25, help="evaluations that are told")
    parser.add_argument("--count", type=int, default=12, help="further evaluations")
    parser.add_argument("--results", type=Path, default=PATH)
    parser.add_argument("--deadline", help="HH:MM, local time, after which none is begun")
    parser.add_argument("--table", action="store_true", help="only write the table into docs/choosing.md")
    given = parser.parse_args(arguments)
    if given.table:
        summary.write(PAGE, "continued", markdown(load(given.results)))
        return
    keys = load(given.results)[list(COLUMNS[:5])].itertuples(index=False, name=None)
    done = {(str(v), str(p), int(s), int(n), int(end) - int(n)) for v, p, s, n, end in keys}
    runs, until = store.runs(given.runs), deadline(given.deadline)
    jobs = [job for job in wanted(given) if (job.variant, job.problem, job.seed, job.start, job.count) not in done]
    for job in tqdm(jobs, mininterval=5.0):
        run = runs.get(("auto", job.problem, job.seed))
        if time.time() > until:
            break
        if run is not None and len(run.values) >= job.start:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                add(given.results, continued(job, run))


if __name__ == "__main__":
    main()
