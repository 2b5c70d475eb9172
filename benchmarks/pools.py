"""Evaluations needed to reach the top 1 % of a table: calibo against random search, BoTorch and Optuna's TPE.

Run with ``python -m benchmarks.pools --data FOLDER`` (or the variable CALIBO_DATA), where the folder has the tables of
``TASKS``; needs the extra ``bench``. For each seed all tools start from the same 5 random rows and observe the same
replicate of a row. A run ends at a row of the top 1 % (by the mean of its replicates), or after 100 evaluations.
Finished runs are kept in ``results/pools.json`` and are not done again; ``--table`` prints what is there, ``--page`` writes
it into docs/choosing.md.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import json
import re
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from tqdm import tqdm

from benchmarks.peers import summary
from benchmarks.peers.adapters.calibo_methods import strategy_from
from calibo.data import Array
from calibo.spaces.encoding import one_hot
from calibo.tables.replay import LabelledPool, replay, top_count


@dataclass(frozen=True)
class Task:
    """A table and what is sought in it.

    Attributes:
        file: The file in the folder of tables.
        target: Column of the outcomes.
        direction: Whether large or small outcomes are better.
        features: Pattern of the columns that describe a row, the target excepted.
        kind: Whether all columns are numbers or some are choices, for the words.
        rows: Of a larger table, so many rows are drawn, the same for all; ``None`` for all.
    """

    file: str
    target: str
    direction: Literal["max", "min"] = "max"
    features: str = ".*"
    kind: str = "numbers"
    rows: int | None = None


_ZINC, _DESCRIPTORS = "zinc512_drd3_logp_qed.parquet", "exact.*|fp_.*|heavy.*|m[aio].*_.*|num_val.*"
TASKS = {
    "crossed_barrel": Task("pvlab/crossed_barrel.csv", "toughness"),
    "autoam": Task("pvlab/autoam.csv", "Score"),
    "perovskite": Task("pvlab/perovskite.csv", "Instability index", "min"),
    "zinc_logp": Task(_ZINC, "penalized_logP", "max", _DESCRIPTORS),
    "zinc_qed": Task(_ZINC, "qed", "max", _DESCRIPTORS),
    "zinc_docking": Task(_ZINC, "3pbl_docking", "min", _DESCRIPTORS),
    "antibody": Task("antibody_nbthermo_tm.parquet", "tm_mean", "max", "(?!sequence|n_meas|tm_sd|origin).*"),
    "lda_grid": Task("grid_lda.parquet", "perplexity", "min", "kappa|tau0|batch_size"),
    "direct_arylation": Task("rxn_direct_arylation_edbo.parquet", "yield", kind="choices"),
    "nasbench201": Task("nasbench201.parquet", "c10_val_mean", "max", "op.", "choices", rows=2000),
}
#: The default of ``calibo.rank`` is ``auto`` on tables of numbers and ``cbo`` with choices.
METHODS = ("auto", "cbo")
PEERS = ("BoTorch LogEI", "Optuna TPE", "random")
INITIAL, LIMIT, SHARE = 5, 100, 0.01
#: Runs that end sooner because they are slow, a suggestion taking up to 2 s: their medians are known if they are below.
SOONER = {("direct_arylation", "BoTorch LogEI"): 40, ("nasbench201", "BoTorch LogEI"): 40}
#: Numeric columns with at most so many different values are grids to TPE.
GRID = 30
#: Suggestions of TPE in a row that may hit rows already measured, at no cost, before the nearest other row is taken.
REDRAWS = 20
PATH = Path(__file__).parent / "results" / "pools.json"
PAGE = Path(__file__).parents[1] / "docs" / "choosing.md"

#: Encoded candidates that were measured, n of them by position, and their values, n -> the next position.
Ask = Callable[[list[int], Array], int]


def table_of(task: str, folder: Path) -> tuple[Any, list[str], str]:
    """Return the table, its features and its target."""
    import pandas as pd

    wanted = TASKS[task]
    path = folder / wanted.file
    table = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    if wanted.rows is not None:
        table = table.sample(wanted.rows, random_state=0)
    features = [column for column in table.columns if re.fullmatch(wanted.features, column) and column != wanted.target]
    return table, features, wanted.target


def random_ask(pool: LabelledPool, seed: int) -> Ask:
    """Choose at random a row that was not measured."""
    rng = np.random.default_rng([seed, 3])
    return lambda known, values: int(rng.choice(np.setdiff1d(np.arange(len(pool)), known)))


def botorch_ask(pool: LabelledPool, seed: int) -> Ask:
    """SingleTaskGP and LogEI over all rows that were not measured; choices as indicators, numbers scaled to [0, 1]."""
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf_discrete
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    X = torch.from_numpy(one_hot(pool.space.X, pool.space.categories))

    def ask(known: list[int], values: Array) -> int:
        Y = torch.from_numpy(values[:, None])
        model = SingleTaskGP(X[known], Y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = LogExpectedImprovement(model, best_f=Y.max())
        left = np.setdiff1d(np.arange(len(pool)), known)
        best, _ = optimize_acqf_discrete(acquisition, q=1, choices=X[left])
        return int(left[int((X[left] - best).abs().sum(dim=1).argmin())])

    return ask


def tpe_ask(pool: LabelledPool, seed: int) -> Ask:
    """Optuna's TPE with its defaults: a suggestion means the nearest row, and is drawn again if that was measured."""
    import optuna
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
    from scipy.spatial.distance import cdist

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    space: dict[str, BaseDistribution] = {}
    # What a suggested number or choice is on the unit cube.
    grids = [np.unique(column) for column in pool.space.X.T]
    on_grid = [bool(choices) or len(grid) <= GRID for choices, grid in zip(pool.space.categories, grids, strict=True)]
    for j, (choices, grid) in enumerate(zip(pool.space.categories, grids, strict=True)):
        indices = IntDistribution(0, len(grid) - 1)
        numeric = indices if on_grid[j] else FloatDistribution(0.0, 1.0)
        space[f"x{j}"] = CategoricalDistribution(tuple(range(len(grid)))) if choices else numeric
    features = one_hot(pool.space.X, pool.space.categories)
    added = 0

    def point(params: dict[str, Any]) -> Array:
        return np.array([grids[j][params[f"x{j}"]] if on_grid[j] else params[f"x{j}"] for j in range(len(grids))])

    def params_of(x: Array) -> dict[str, Any]:
        return {f"x{j}": int(np.searchsorted(grids[j], v)) if on_grid[j] else float(v) for j, v in enumerate(x)}

    def ask(known: list[int], values: Array) -> int:
        nonlocal added
        for row, value in zip(known[added:], values[added:], strict=True):
            params = params_of(pool.space.X[row])
            study.add_trial(optuna.trial.create_trial(params=params, distributions=space, value=float(value)))
        added = len(known)
        distance = np.empty(0)
        for _ in range(REDRAWS):
            trial = study.ask(space)
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            suggested = one_hot(point(trial.params)[None, :], pool.space.categories)
            distance = cdist(suggested, features)[0]
            if int(distance.argmin()) not in known:
                break
        distance[known] = np.inf
        return int(distance.argmin())

    return ask


ASKS: dict[str, Callable[[LabelledPool, int], Ask]] = dict(zip(PEERS, (botorch_ask, tpe_ask, random_ask), strict=True))


def run(task: str, tool: str, seed: int, folder: Path) -> int | None:
    """Return the number of evaluations until a row of the top 1 % was measured; ``None`` if none was within the limit."""
    table, features, target = table_of(task, folder)
    direction = TASKS[task].direction
    if tool not in ASKS:
        options: dict[str, Any] = {"steps": LIMIT - INITIAL, "seed": seed, "until": SHARE, "direction": direction}
        method = strategy_from(tool) if ":" in tool else tool
        done = replay(table, features, target, method=method, start=("random", INITIAL), **options)
        return done.evaluations_to_top(SHARE)
    pool = LabelledPool.of(table, features, target, direction=direction)
    # The peers maximize.
    observed = pool.direction.value * pool.measurements("draw", seed=seed)[1]
    known = pool.start(("random", INITIAL), seed=seed).tolist()
    ask, top = ASKS[tool](pool, seed), pool.ranks < top_count(len(pool), SHARE)
    while not top[known].any() and len(known) < min(SOONER.get((task, tool), LIMIT), len(pool)):
        known.append(ask(known, observed[known]))
    hits = np.flatnonzero(top[known])
    return int(hits[0]) + 1 if len(hits) else None


def load(path: Path = PATH) -> dict[str, dict[str, dict[str, int | None]]]:
    """Read the finished runs: task -> tool -> seed -> evaluations."""
    return json.loads(path.read_text()) if path.exists() else {}


def save(path: Path, task: str, tool: str, seed: int, evaluations: int | None) -> None:
    """Add a finished run."""
    known = load(path)
    known.setdefault(task, {}).setdefault(tool, {})[str(seed)] = evaluations
    path.parent.mkdir(exist_ok=True)
    # One line for each tool.
    tasks = [
        f' "{name}": {{\n' + ",\n".join(f'  "{t}": {json.dumps(by[t])}' for t in sorted(by)) + "\n }"
        for name, by in known.items()
    ]
    path.write_text("{\n" + ",\n".join(tasks) + "\n}\n")


def markdown(path: Path = PATH) -> str:
    """Medians and quartiles of the evaluations, and how many runs did not get there."""
    known = load(path)
    found = {tool for by_tool in known.values() for tool in by_tool}
    tools = [tool for tool in (*METHODS, *PEERS) if tool in found] + sorted(found - {*METHODS, *PEERS})
    lines = ["| table | columns | " + " | ".join(tools) + " |", "|---" * (len(tools) + 2) + "|"]
    for task in (task for task in TASKS if task in known):
        cells = [_cell(known[task].get(tool, {}), SOONER.get((task, tool), LIMIT)) for tool in tools]
        lines.append(f"| {task} | {TASKS[task].kind} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n\n" + "; ".join(_runs(known, tool) for tool in tools) + "."


def _runs(known: dict[str, dict[str, dict[str, int | None]]], tool: str) -> str:
    """Return how many runs of each table a tool has."""
    counts = sorted(len(by_tool[tool]) for by_tool in known.values() if tool in by_tool)
    span = str(counts[0]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    return f"{tool}: {span} runs of {len(counts)} tables"


def _cell(runs: dict[str, int | None], limit: int) -> str:
    """Return median and quartiles of the evaluations of some runs, empty without any."""
    if not runs:
        return ""
    counts = np.array([limit + 1 if v is None else v for v in runs.values()], dtype=float)
    quartiles = np.quantile(counts, [0.25, 0.5, 0.75]).round(1)
    low, mid, high = (f"> {limit}" if value > limit else f"{value:g}" for value in quartiles)
    missed = int((counts > limit).sum())
    return f"**{mid}** ({low} to {high})" + (f", {missed} not" if missed else "")


def main() -> None:
    """Do the runs that are missing, or show those that are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("CALIBO_DATA"), help="folder of the tables")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--tools", nargs="+", default=[*METHODS, *PEERS], help="peers, methods, or file.py:strategy")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--again", action="store_true", help="also do the runs that are there already")
    parser.add_argument("--minutes", type=float, default=np.inf, help="begin no run after so many minutes")
    parser.add_argument("--results", type=Path, default=PATH, help="file of the finished runs")
    parser.add_argument("--table", action="store_true", help="only print the table of the results that are there")
    parser.add_argument("--page", action="store_true", help="only write that table into docs/choosing.md")
    arguments = parser.parse_args()
    if arguments.page:
        summary.write(PAGE, "pools", markdown(arguments.results))
    if arguments.table or arguments.page:
        print(markdown(arguments.results))
        return
    if arguments.data is None:
        parser.error("say where the tables are: --data FOLDER, or the variable CALIBO_DATA")
    warnings.simplefilter("ignore")
    jobs = [
        (task, tool, seed) for seed in range(arguments.seeds) for tool in arguments.tools for task in arguments.tasks
    ]
    known = load(arguments.results)
    done = {(task, tool, int(seed)) for task in known for tool in known[task] for seed in known[task][tool]}
    until = time.monotonic() + 60.0 * arguments.minutes
    for task, tool, seed in tqdm([job for job in jobs if arguments.again or job not in done], mininterval=5.0):
        if time.monotonic() > until:
            break
        save(arguments.results, task, tool, seed, run(task, tool, seed, Path(arguments.data)))
    print(markdown(arguments.results))


if __name__ == "__main__":
    main()
