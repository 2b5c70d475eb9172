"""How often a certificate of small regret is true, and what it costs in trials.

Run with ``python -m benchmarks.stopping`` (both halves of the problems, 10 seeds); ``--half``, ``--seeds`` and
``--problems`` do a part, ``--quick`` a small one of which nothing is written, and ``--table`` only prints what was
measured before. A study whose rows are there already is skipped.

Every problem has a known optimum. A study of 80 trials is asked after every third trial whether the regret of its
recommended point is below epsilon, for epsilon = 1 % and 5 % of the distance between the median of random values and
the optimum, and confidences of .8, .9 and .95. Counted are certificates given within 80 trials, the trial of the
first, and whether it was true: whether the true value of the recommended point was within epsilon of the optimum at
that moment. "raw" is the same question asked of the uncalibrated model, on the same candidates. What the rule does
was chosen on the half "chosen"; the problems of the half "reported" are others.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).parent))

from benchmarks.place_problems import Task, gramacy_lee, mixed_hartmann, mixed_valley, standard
from calibo import Optimizer, PoolSpace
from calibo.data import Array
from calibo.models import SuccessModel
from calibo.optimize import Progress
from calibo.optimize.regret import CAREFUL, QUICK, Belief, Regret
from calibo.problems import problem
from calibo.search.ascent import ascend
from calibo.search.moves import climbed_columns, finite_columns, hill_climb
from calibo.spaces import as_space

TRIALS, EVERY = 80, 3
SHARES, CONFIDENCES = (0.01, 0.05), (0.8, 0.9, 0.95)
QUESTIONS = tuple(product(SHARES, CONFIDENCES))
METHOD = "auto"
RESULTS = Path(__file__).parent / "results" / "stopping.csv"
FIELDS = (
    "half",
    "problem",
    "seed",
    "model",
    "share",
    "confidence",
    "given",
    "true",
    "small_since",
    "ask_cpu",
    "check_cpu",
)


def pool_of_hartmann() -> Task:
    """Return a pool of 1,000 rows with the values of Hartmann's function of six variables."""
    known = problem("hartmann6")
    rows = np.random.default_rng(0).random((1000, 6)).round(3)
    names = [f"x{i}" for i in range(6)]
    space = PoolSpace([dict(zip(names, map(float, row), strict=True)) for row in rows])
    return Task(space, lambda points: known(np.array([[p[name] for name in names] for p in points])))  # pyright: ignore[reportArgumentType]


TASKS: dict[str, dict[str, Callable[[], Task]]] = {
    "chosen": {
        "forrester": partial(standard, "forrester"),
        "six-hump camel": partial(standard, "six_hump_camel"),
        "rastrigin2": partial(standard, "rastrigin2"),
        "rosenbrock2": partial(standard, "rosenbrock2"),
        "ackley2": partial(standard, "ackley2"),
        "levy3": partial(standard, "levy3"),
        "hartmann3": partial(standard, "hartmann3"),
        "alpine3": partial(standard, "alpine1_3"),
        "hartmann6": partial(standard, "hartmann6"),
        "noisy cosines": partial(standard, "cosines", 0.03),
        "noisy levy2": partial(standard, "levy2", 0.5),
        "mixed hartmann": mixed_hartmann,
    },
    "reported": {
        "gramacy-lee": gramacy_lee,
        "branin": partial(standard, "branin"),
        "mccormick": partial(standard, "mccormick"),
        "beale": partial(standard, "beale"),
        "cross-in-tray": partial(standard, "cross_in_tray"),
        "ackley3": partial(standard, "ackley3"),
        "powers4": partial(standard, "powers4"),
        "levy5": partial(standard, "levy5"),
        "noisy branin": partial(standard, "branin", 2.0),
        "noisy hartmann3": partial(standard, "hartmann3", 0.05),
        "mixed valley": mixed_valley,
        "pool of hartmann6": pool_of_hartmann,
    },
}


def optimum_and_median(task: Task) -> tuple[float, float]:
    """Return the smallest value of a task, of all points or by climbs from many, and the median of random ones."""
    space = as_space(task.space)
    every = space.enumerate() if space.is_pool else None
    X = space.sample(20_000, np.random.default_rng(7)) if every is None else every
    y = task.values(space.decode(X))
    if every is not None:
        return float(y.min()), float(np.median(y))

    def height(points: Array) -> Array:
        return -task.values(space.decode(points))

    found = X[np.argsort(y)[:40]]
    for _ in range(3):
        found = space.repair(ascend(height, found, climbed_columns(space), 200))
        found = hill_climb(height, found, space, 20) if finite_columns(space) else found
    return float(min(y.min(), task.values(space.decode(found)).min())), float(np.median(y))


@dataclass
class Certificate:
    """When a certificate was first given, and whether it was true then."""

    given: int | None = None
    true: bool | None = None


def estimates(progress: Progress, epsilons: Sequence[float]) -> dict[str, Regret]:
    """Estimate the regret as ``RegretBelow`` does, and by the raw model on the same candidates."""
    rng, data = progress.generator(), progress.data
    success = SuccessModel.of(data, rng=rng) if len(data.X_failed) else None
    calibrated = Belief(data, progress.space, progress.models, success)
    raw = Belief(data, progress.space, tuple(model.stages[0] for model in progress.models), success, widening=1.0)
    for effort in (QUICK, CAREFUL):
        X = calibrated.candidates(effort, rng=rng)
        found = {
            "calibrated": calibrated.regret_among(X, effort.draws, rng=rng),
            "raw": raw.regret_among(X, effort.draws, rng=rng),
        }
        if max(one.probability_below(max(epsilons)) for one in found.values()) < min(CONFIDENCES):
            break
    return found


def run(half: str, name: str, seed: int) -> list[dict[str, Any]]:
    """Run one study and return a row for each model and question."""
    warnings.simplefilter("ignore")
    task = TASKS[half][name]()
    best, median = optimum_and_median(task)
    epsilons = [share * (median - best) for share in SHARES]
    optimizer, rng = Optimizer(task.space, METHOD, seed=seed), np.random.default_rng([seed, 1])
    given = {(model, q): Certificate() for model in ("calibrated", "raw") for q in QUESTIONS}
    since: dict[float, int | None] = dict.fromkeys(SHARES)
    cpu = {"ask": [], "check": []}
    for t in range(1, TRIALS + 1):
        start = time.process_time()
        suggestion = optimizer.ask()
        cpu["ask"].append(time.process_time() - start)
        value = float(task.values([suggestion.params])[0]) + task.noise * rng.standard_normal()
        optimizer.tell(suggestion, value)
        if t % EVERY or t < 6:
            continue
        progress = optimizer.progress()
        start = time.process_time()
        found = estimates(progress, epsilons)
        cpu["check"].append(time.process_time() - start)
        truth = float(task.values(optimizer.space.decode(progress.data.X[[found["calibrated"].row]]))[0]) - best
        for share, epsilon in zip(SHARES, epsilons, strict=True):
            since[share] = t if truth <= epsilon and since[share] is None else since[share]
        for (model, (share, confidence)), certificate in given.items():
            epsilon = epsilons[SHARES.index(share)]
            if certificate.given is None and found[model].probability_below(epsilon) >= confidence:
                certificate.given, certificate.true = t, truth <= epsilon
        if all(one.given is not None for one in given.values()):
            break
    costs = {f"{kind}_cpu": f"{np.mean(seconds):.4f}" for kind, seconds in cpu.items()}
    return [
        {"half": half, "problem": name, "seed": seed, "model": model, "share": share, "confidence": confidence}
        | {"given": one.given, "true": one.true, "small_since": since[share]}
        | costs
        for (model, (share, confidence)), one in given.items()
    ]


def table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one line per half, model and question."""
    lines = [
        "| problems | model | epsilon | confidence | given | true | median trial | small since |",
        "|---" * 8 + "|",
    ]
    for half in TASKS:
        for model, (share, confidence) in product(("calibrated", "raw"), QUESTIONS):
            here = [r for r in rows if asked(r, half, model, share, confidence)]
            if not here:
                continue
            known = [r for r in here if r["given"]]
            true = sum(r["true"] == "True" for r in known)
            trial = f"{np.median([int(r['given']) for r in known]):.0f}" if known else ""
            # Of certificates that were true: since which trial the regret had been small.
            since = [int(r["small_since"]) for r in known if r["true"] == "True"]
            cells = [half, model, f"{100 * share:g} %", f"{confidence:g}", f"{len(known)} of {len(here)}"]
            cells += [f"{true} ({true / max(len(known), 1):.2f})", trial, f"{np.median(since):.0f}" if since else ""]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def per_problem(rows: Sequence[Mapping[str, Any]], confidence: float = 0.9) -> list[str]:
    """Return one line per problem: certificates that were true, of those given, at one confidence."""
    kinds = tuple(product(("calibrated", "raw"), SHARES))
    heads = " | ".join(f"{model} {100 * share:g} %" for model, share in kinds)
    lines = [f"| problem (confidence {confidence:g}: true of given) | runs | {heads} |", "|---" * 6 + "|"]
    for half, name in ((half, name) for half, names in TASKS.items() for name in names):
        own = [r for r in rows if r["problem"] == name]
        if not own:
            continue
        cells = [str(len({r["seed"] for r in own}))]
        for model, share in kinds:
            known = [r for r in own if asked(r, half, model, share, confidence) and r["given"]]
            cells.append(f"{sum(r['true'] == 'True' for r in known)} of {len(known)}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def asked(row: Mapping[str, Any], half: str, model: str, share: float, confidence: float) -> bool:
    """Return whether a row is of this half, model and question."""
    same = (row["half"], row["model"]) == (half, model)
    return same and float(row["share"]) == share and float(row["confidence"]) == confidence


def costs(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the CPU time of a check relative to that of a suggestion, as a sentence."""
    runs = {(r["problem"], r["seed"]): (float(r["ask_cpu"]), float(r["check_cpu"])) for r in rows}
    ask, check = np.array(list(runs.values())).T
    ratio = np.median(check / ask)
    each = f"{1e3 * ask.mean():.0f} ms a suggestion, {1e3 * check.mean():.0f} ms a check of both models"
    return f"CPU: {each}; in the median {ratio:.1f} times as long"


def read(path: Path) -> list[dict[str, Any]]:
    """Read rows that were measured before."""
    if not path.exists():
        return []
    with path.open() as file:
        return list(csv.DictReader(file))


def write(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write rows, sorted."""
    path.parent.mkdir(exist_ok=True)
    ordered = sorted(rows, key=lambda r: (r["half"], r["problem"], int(r["seed"]), r["model"], str(r["share"])))
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([FIELDS, *([row[field] for field in FIELDS] for row in ordered)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=[*TASKS, "both"], default="both")
    parser.add_argument("--problems", nargs="+", default=None)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="two problems, one seed; nothing is written")
    parser.add_argument("--table", action="store_true", help="print what was measured before")
    arguments = parser.parse_args()
    rows = [] if arguments.quick else read(RESULTS)
    done = {(r["half"], r["problem"], int(r["seed"])) for r in rows}
    halves = list(TASKS) if arguments.half == "both" else [arguments.half]
    names = [(half, name) for half in halves for name in TASKS[half] if name in (arguments.problems or TASKS[half])]
    seeds = 0 if arguments.table else 1 if arguments.quick else arguments.seeds
    work = [(*one, seed) for seed in range(seeds) for one in (names[:2] if arguments.quick else names)]
    work = [one for one in work if one not in done]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for found in tqdm(pool.map(run, *zip(*work, strict=True)) if work else [], total=len(work)):
            rows += [{key: "" if value is None else str(value) for key, value in row.items()} for row in found]
            if not arguments.quick:
                write(rows, RESULTS)
    print(*table(rows), "", *per_problem(rows), "", costs(rows), sep="\n")


if __name__ == "__main__":
    main()
