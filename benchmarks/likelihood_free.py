"""CPU seconds of one likelihood-free suggestion: against BoTorch and syne-tune, and as results become many.

Run with ``python benchmarks/likelihood_free.py --syne-tune-python PATH`` (needs the extras ``botorch`` and ``xgboost``);
without PATH syne-tune is left out. ``--quick`` measures once, and nothing is written. PATH is the Python of an environment of
its own, as syne-tune is no dependency:

    python -m venv ENV && ENV/bin/pip install syne-tune==0.16.0 xgboost scikit-learn

Every tool knows the same n random cells of the space of NAS-Bench-201, 6 choices of 5, and proposes one more; one thread,
imports and the first suggestion not counted.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import json
import subprocess
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from calibo.classifiers import XGBoost
from calibo.data import Array, Dataset
from calibo.methods import bore, lfbo
from calibo.optimize import Strategy, propose
from calibo.spaces import Categorical, Float, as_space

HERE = Path(__file__).parent
N = 200
SIZES = (1_000, 10_000, 100_000)
CELLS = as_space({f"op{i}": Categorical([f"{j}" for j in range(5)]) for i in range(6)})
NUMBERS = as_space({f"x{i}": Float(0.0, 1.0) for i in range(6)})

#: What runs in syne-tune's own environment: cells and losses come in as JSON, CPU seconds of a suggestion go out.
SYNE_TUNE = """
import json, sys, time
from syne_tune.config_space import choice
from syne_tune.optimizer.schedulers.searchers.bore import Bore
seconds = []
for seed, (cells, losses) in enumerate(json.load(sys.stdin)):
    searcher = Bore({name: choice([str(j) for j in range(5)]) for name in cells[0]}, random_seed=seed)
    for i, (cell, loss) in enumerate(zip(cells, losses)):
        searcher.on_trial_complete(i, cell, loss)
    start = time.process_time()
    searcher.suggest()
    seconds.append(time.process_time() - start)
print(json.dumps(seconds))
"""


def known(space: Any, n: int, seed: int) -> Dataset:
    """n random points with outcomes of a sum over columns and pairs of columns, with some noise; larger is better."""
    rng = np.random.default_rng(seed)
    X = space.sample(n, rng)
    a, b, pairs = rng.normal(size=6), rng.uniform(0.0, 1.0, 6), 0.5 * rng.normal(size=(6, 6))
    waves = np.cos(4.0 * (X - b))
    y = waves @ a + ((waves @ pairs) * waves).sum(axis=1) + 0.1 * rng.standard_normal(n)
    return Dataset(X=X, Y=y[:, None], categories=tuple(column.categories for column in space.columns))


def calibo_ask(strategy: Strategy) -> Callable[[Dataset, int], Callable[[], object]]:
    """Prepare a timed calibo suggestion."""

    def prepare(data: Dataset, seed: int) -> Callable[[], object]:
        space = CELLS if any(data.categories) else NUMBERS
        return lambda: propose(data, space=space, strategy=strategy, seed=seed, number=len(data))

    return prepare


def indicators(X: Array) -> Array:
    """Cells as 30 indicators, m x 6 -> m x 30."""
    return np.eye(5)[np.floor(5.0 * X).astype(np.intp)].reshape(len(X), -1)


def botorch_ask(data: Dataset, seed: int) -> Callable[[], object]:
    """Prepare a timed BoTorch suggestion: a GP with a kernel for choices, and LogEI by local search among cells."""
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import MixedSingleTaskGP
    from botorch.optim import optimize_acqf_discrete_local_search
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    X, Y = torch.from_numpy(np.floor(5.0 * data.X)), torch.from_numpy(data.Y)
    choices = [torch.arange(5).double()] * 6

    def ask() -> object:
        model = MixedSingleTaskGP(X, Y, cat_dims=list(range(6)))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = LogExpectedImprovement(model, best_f=Y.max())
        return optimize_acqf_discrete_local_search(
            acquisition, q=1, discrete_choices=choices, num_restarts=10, raw_samples=512
        )

    return ask


def botorch_indicators_ask(data: Dataset, seed: int) -> Callable[[], object]:
    """Prepare a timed BoTorch suggestion as for numbers: SingleTaskGP on 30 indicators, LogEI on the box, then rounded."""
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    X, Y = torch.from_numpy(indicators(data.X)), torch.from_numpy(data.Y)
    bounds = torch.stack([torch.zeros(30), torch.ones(30)]).double()

    def ask() -> object:
        model = SingleTaskGP(X, Y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = LogExpectedImprovement(model, best_f=Y.max())
        found, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512)
        return found.reshape(6, 5).argmax(dim=1)

    return ask


TOOLS: dict[str, Callable[[Dataset, int], Callable[[], object]]] = {
    "lfbo XGBoost": calibo_ask(lfbo(classifier=XGBoost())),
    "bore XGBoost": calibo_ask(bore(classifier=XGBoost())),
    "lfbo": calibo_ask(lfbo()),
    "botorch LogEI": botorch_ask,
    "botorch LogEI, indicators": botorch_indicators_ask,
}


def peers(repeats: int, python: str | None) -> dict[str, float]:
    """Median CPU seconds of every tool at n = 200."""
    tasks = [known(CELLS, N, seed) for seed in range(repeats + 1)]
    seconds = {
        tool: [_seconds(prepare(data, seed)) for seed, data in enumerate(tasks)] for tool, prepare in TOOLS.items()
    }
    if python is not None:
        seconds["syne-tune BORE"] = _syne_tune(tasks, python)
    return {tool: float(np.median(spent[1:])) for tool, spent in seconds.items()}


def _syne_tune(tasks: list[Dataset], python: str) -> list[float]:
    known = json.dumps([(CELLS.decode(data.X), (-data.Y[:, 0]).tolist()) for data in tasks])
    done = subprocess.run([python, "-c", SYNE_TUNE], input=known, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"syne-tune did not run with {python}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def growth(repeats: int) -> list[dict[str, Any]]:
    """Median CPU seconds of a suggestion for more and more results."""
    rows: list[dict[str, Any]] = []
    for space, kind in ((CELLS, "6 choices of 5"), (NUMBERS, "6 numbers")):
        for n in (N, *SIZES):
            row: dict[str, Any] = {"space": kind, "n": n}
            for tool in ("lfbo XGBoost", "lfbo"):
                asks = [TOOLS[tool](known(space, n, seed), seed) for seed in range(repeats + 1)]
                row[tool] = float(np.median([_seconds(ask) for ask in asks][1:]))
            rows.append(row)
            print(row, flush=True)
    return rows


def _seconds(ask: Callable[[], object]) -> float:
    start = time.process_time()
    ask()
    return time.process_time() - start


def ratios(seconds: dict[str, float]) -> dict[str, float]:
    """Return the ratios for which there are targets."""
    ours = seconds["lfbo XGBoost"]
    return {f"lfbo XGBoost / {tool}": ours / seconds[tool] for tool in seconds if tool.startswith(("botorch", "syne"))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="once, only n = 200, and nothing is written")
    parser.add_argument("--syne-tune-python", metavar="PATH", help="a Python that has syne-tune 0.16.0 and xgboost")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    repeats = 1 if arguments.quick else arguments.repeats
    seconds = peers(repeats, arguments.syne_tune_python)
    for kind, numbers in (("seconds", seconds), ("ratios", ratios(seconds))):
        print(kind, {tool: round(number, 3) for tool, number in numbers.items()}, flush=True)
    if arguments.quick:
        return
    result = {"n": N, "seconds": seconds, "ratios": ratios(seconds), "growth": growth(min(repeats, 3))}
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "likelihood_free.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
